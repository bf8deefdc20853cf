"""Stages of a computation, and what computes them when somebody looks at one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import RLock

import numpy as np

from engine.axes import Axis
from engine.derivation import Derivation
from engine.operand import Array, Cell, Index, Operand
from engine.ops import Op
from engine.values import Values

# The two stacks of an encoder-decoder, which come first in the names of their stages.
SIDES = ("encoder", "decoder")

# From so many numbers over a vocabulary, those of one token are made alone.
MANY = 1 << 22
EVERY = slice(None)

# Told how many of the stages that are needed have been computed, and how many there are. It may raise to stop the work.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False, repr=False)
class Stage(Operand):
    """One named computation of the forward pass, such as ``layers.0.attention.scores``."""

    name: str
    symbol: str
    op: Op
    inputs: tuple[Operand, ...]
    axes: tuple[Axis, ...]
    evaluator: Evaluator
    position: int
    lasting: bool
    """Whether it is part of the residual stream, which is kept longest."""

    @property
    def kind(self) -> str:
        """What the same stage of every layer is called: its name without layer and side, with the op's variety."""
        parts = [part for part in self.name.split(".") if part not in ("layers", *SIDES) and not part.isdigit()]
        return ".".join([*parts, self.op.variety] if self.op.variety else parts)

    @property
    def layer(self) -> int | None:
        """The number of the layer it belongs to, from 0; None outside the layers."""
        return next((int(part) for part in self.name.split(".") if part.isdigit()), None)

    @property
    def side(self) -> str:
        """``encoder`` or ``decoder`` where the model has both; the empty text elsewhere."""
        first = self.name.partition(".")[0]
        return first if first in SIDES else ""

    @property
    def block(self) -> str | None:
        """What part of its layer it belongs to: ``attention``, ``cross_attention`` or ``mlp``; None outside layers."""
        return None if self.layer is None else self.name.split(".")[-2]

    @property
    def formula(self) -> str:
        """The computation in textbook notation: ``scores = Q·Kᵀ``."""
        return self.op.formula(self.symbol, self.inputs)

    @property
    def value(self) -> Array:
        return self.evaluator.value(self)

    def part(self, index: Index) -> Array:
        return self.evaluator.part(self, index)

    def reads(self, cell: Cell) -> tuple[Index, ...]:
        """For each of `inputs`, the part that a cell is made of, as an index of ints and slices."""
        return self.op.reads(self.check(cell), self.inputs)

    def derivation(self, cell: Sequence[int]) -> Derivation:
        """How the number in a cell was computed.

        Raises:
            InputError: there is no such cell.
        """
        place = self.check(tuple(cell))
        with _quiet():
            return Derivation(self, place, self.number(place), self.op.derive(place, self.inputs))


class Evaluator:
    """Computes stages, and keeps what it has computed within a budget of memory.

    A stage knows the evaluator, and the evaluator no stage: what it keeps goes with the last of them, at once.

    Attributes:
        computed: how often each stage has been computed, by name.
    """

    def __init__(self, memory: int) -> None:
        self.computed: Counter[str] = Counter()
        self._values = Values(memory)
        self._lock = RLock()

    def value(self, stage: Stage) -> Array:
        """The stage's numbers, computed now if they are not kept."""
        with self._lock:
            kept = self._values.get(stage.name)
            return kept if kept is not None else self._compute((stage,), None)[stage.name]

    def part(self, stage: Stage, index: Index) -> Array:
        """Some of the stage's numbers: of one row over a large vocabulary, without making those of all tokens."""
        places = index[: len(stage.axes) - 1]
        if not self.is_kept(stage) and _made_by_rows(stage) and _is_row(places, len(stage.axes) - 1):
            place = tuple(int(i) % axis.size for i, axis in zip(places, stage.axes[:-1], strict=True))
            part: Array = self._row(stage, place)[index[len(places) :]]
        else:
            part = self.value(stage)[index]
        return part

    def before_row(self, stage: Stage) -> list[Stage]:
        """The stages that must be computed before any one row of this one is at hand: itself, mostly."""
        if self.is_kept(stage) or not _made_by_rows(stage):
            return [stage]
        return [needed for x in stage.inputs if isinstance(x, Stage) for needed in self.before_row(x)]

    def is_kept(self, stage: Stage) -> bool:
        """Whether looking at the stage costs nothing."""
        return stage.name in self._values

    def cost(self, stages: Iterable[Stage]) -> int:
        """About how many multiplications it takes before all of these can be looked at."""
        return sum(stage.op.cost(stage.inputs) for stage in self._needed(stages))

    def compute(self, stages: Iterable[Stage], progress: Progress | None = None) -> None:
        """Compute what is not kept of these stages and of all they need, telling ``progress`` after each.

        The lock is let go between stages, so that another thread can look at something else meanwhile.
        """
        self._compute(tuple(stages), progress)

    @property
    def memory(self) -> int:
        """The bytes that kept values take."""
        return self._values.bytes

    def _row(self, stage: Stage, place: Cell) -> Array:
        def fetch(operand: Operand) -> Array:
            has_rows = isinstance(operand, Stage) and operand.shape[:-1] == stage.shape[:-1]
            return operand.part((*place, EVERY))[None] if has_rows else operand.value

        with self._lock:
            row = self._values.get((stage.name, place))
            if row is None:
                with _quiet():
                    (row,) = stage.op.run(stage.inputs, fetch)
                row.flags.writeable = False
                self._values.put((stage.name, place), row, False)
            return row

    def _needed(self, stages: Iterable[Stage]) -> list[Stage]:
        """The stages to compute, in order, so that all of ``stages`` can be had."""
        found: dict[int, Stage] = {}
        waiting = [stage for stage in stages if not self.is_kept(stage)]
        while waiting:
            stage = waiting.pop()
            if stage.position in found:
                continue
            found[stage.position] = stage
            waiting += [x for x in stage.inputs if isinstance(x, Stage) and not self.is_kept(x)]
        return [found[position] for position in sorted(found)]

    def _compute(self, wanted: tuple[Stage, ...], progress: Progress | None) -> dict[str, Array]:
        with self._lock:
            needed = self._needed(wanted)
        # How many computations still want a value: one that nobody wants any more is kept only by the budget.
        users = Counter(x.name for stage in needed for x in stage.inputs if isinstance(x, Stage))
        users.update(stage.name for stage in wanted)
        at_hand: dict[str, Array] = {}

        def fetch(operand: Operand) -> Array:
            if not isinstance(operand, Stage):
                return operand.value
            if operand.name not in at_hand:
                kept = self._values.get(operand.name)
                # It was kept when the work was planned, and another thread's work has taken its place since.
                at_hand[operand.name] = self.value(operand) if kept is None else kept
            return at_hand[operand.name]

        for done, stage in enumerate(needed):
            with self._lock:
                array = self._values.get(stage.name)
                if array is None:
                    with _quiet():
                        array = stage.op.run(stage.inputs, fetch)
                    array.flags.writeable = False
                    self.computed[stage.name] += 1
                    self._values.put(stage.name, array, stage.lasting)
                at_hand[stage.name] = array
                for operand in stage.inputs:
                    if isinstance(operand, Stage):
                        users[operand.name] -= 1
                        if not users[operand.name]:
                            at_hand.pop(operand.name, None)
            if progress is not None:
                progress(done + 1, len(needed))
        return at_hand


def _made_by_rows(stage: Stage) -> bool:
    """Whether a row is looked at without the others: logits and probabilities of a large vocabulary.

    They take a third of a small model's time, and most readers want them of one token.
    """
    return stage.op.by_rows and stage.axes[-1].symbol == "V" and stage.size >= MANY


def _is_row(places: Index, count: int) -> bool:
    return len(places) == count and all(isinstance(place, int | np.integer) for place in places)


def _quiet() -> np.errstate:
    """While it is entered, NumPy does not warn on the terminal: what overflows shows as ∞, what is undefined as NaN."""
    return np.errstate(all="ignore")
