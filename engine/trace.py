"""The record of one forward pass: every stage in order, computed when somebody looks at it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import RLock

import numpy as np

from engine.axes import Axis
from engine.derivation import Derivation
from engine.errors import InputError
from engine.operand import Array, Cell, Index, Operand
from engine.ops import Op
from engine.tokenizer import Token
from engine.values import Values

GIBIBYTE = 1 << 30

# The two stacks of an encoder-decoder, which come first in the names of their stages.
SIDES = ("encoder", "decoder")

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
    trace: Trace
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
        return self.trace.value(self)

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


class Trace:
    """All stages of one run over one batch of texts.

    Attributes:
        texts: the texts that are predicted, one for each row of the batch.
        tokens: the tokens of each text, padding left out.
        ends: the position of each text's last token.
        asked: the position of each text where a prediction is asked for first: its mask token, or else its end.
        source_texts: the texts that an encoder-decoder reads before it writes these; none elsewhere.
        source_tokens: the tokens of each of those, padding left out.
        stages: every stage, in the order of the computation.
        computed: how often each stage has been computed, by name.
    """

    def __init__(
        self,
        texts: Sequence[str],
        tokens: Sequence[Sequence[Token]],
        ends: Sequence[int],
        memory: int = GIBIBYTE,
        *,
        asked: Sequence[int] | None = None,
        source_texts: Sequence[str] = (),
        source_tokens: Sequence[Sequence[Token]] = (),
    ) -> None:
        self.texts = tuple(texts)
        self.tokens = tuple(tuple(row) for row in tokens)
        self.ends = tuple(ends)
        self.asked = self.ends if asked is None else tuple(asked)
        self.source_texts = tuple(source_texts)
        self.source_tokens = tuple(tuple(row) for row in source_tokens)
        self.stages: list[Stage] = []
        self.computed: Counter[str] = Counter()
        self._by_name: dict[str, Stage] = {}
        self._values = Values(memory)
        self._lock = RLock()

    def __getitem__(self, name: str) -> Stage:
        """The stage of that name.

        Raises:
            InputError: there is none; the message names those that come closest.
        """
        stage = self._by_name.get(name)
        if stage is None:
            raise self._unknown(name)
        return stage

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Stage]:
        return iter(self.stages)

    def __len__(self) -> int:
        return len(self.stages)

    def record(self, name: str, op: Op, *inputs: Operand, symbol: str = "", lasting: bool = False) -> Stage:
        """Append a stage; nothing is computed yet. ``symbol`` is what formulas call it, else its name's last part."""
        if name in self._by_name:
            raise ValueError(f"stage {name} is recorded twice")
        axes = op.axes(inputs)
        stage = Stage(name, symbol or name.split(".")[-1], op, inputs, axes, self, len(self.stages), lasting)
        self.stages.append(stage)
        self._by_name[name] = stage
        return stage

    def tokens_along(self, axis: Axis) -> tuple[tuple[Token, ...], ...]:
        """The tokens of each text that stand along an N or M axis, padding left out."""
        return self.source_tokens if axis.side == "source" else self.tokens

    def value(self, stage: Stage) -> Array:
        """The stage's numbers, computed now if they are not kept."""
        with self._lock:
            kept = self._values.get(stage.name)
            return kept if kept is not None else self._compute((stage,), None)[stage.name]

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
        wanted = tuple(stages)
        self._compute(wanted, progress)

    @property
    def memory(self) -> int:
        """The bytes that kept values take."""
        return self._values.bytes

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

    def unknown_layer(self, layer: int) -> InputError:
        """The error for a layer that is not there."""
        return InputError(
            "unknown-layer",
            "there is no layer {layer}; this model has layers 0 to {last}",
            layer=layer,
            last=max((stage.layer for stage in self.stages if stage.layer is not None), default=-1),
        )

    def _unknown(self, name: str) -> InputError:
        import re
        from difflib import get_close_matches

        asked = re.search(r"layers\.(\d+)", name)
        if asked and int(asked[1]) not in {stage.layer for stage in self.stages}:
            return self.unknown_layer(int(asked[1]))
        close = get_close_matches(name, self._by_name, n=3, cutoff=0.5)
        last = name.split(".")[-1]
        close += [known for known in self._by_name if known.split(".")[-1] == last and known not in close][:3]
        return InputError(
            "unknown-stage",
            "there is no stage {name}; there are {stages}",
            name=name,
            stages=", ".join(close) + ", …" if close else ", ".join(list(self._by_name)[:4]) + ", …",
        )


def _quiet() -> np.errstate:
    """While it is entered, NumPy does not warn on the terminal: what overflows shows as ∞, what is undefined as NaN."""
    return np.errstate(all="ignore")
