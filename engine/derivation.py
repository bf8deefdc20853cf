"""How one cell came about: the arithmetic with its real numbers, and where each of them stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.operand import Cell, Operand

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reference:
    """A number that stands in a cell of an operand."""

    operand: Operand
    cell: Cell
    value: float

    @classmethod
    def to(cls, operand: Operand, *cell: int) -> Reference:
        """The reference to a cell, with the number that stands there."""
        return cls(operand, cell, operand.number(cell))


@dataclass(frozen=True, slots=True)
class Number:
    """A number worked out on the way, or a setting such as ε: it stands in no operand."""

    value: float


Piece = str | Reference | Number


@dataclass(frozen=True, slots=True)
class Term:
    """One summand: its position along the summed axis, the numbers multiplied, and their product."""

    position: int
    factors: tuple[Reference, ...]
    value: float


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum along an axis, of one summand a position.

    ``axis`` is its symbol, ``along`` an operand that has it; ``values`` are the summands in float64; ``factors`` gives
    the numbers a summand is made of. A summand is their product, or what ``before`` and ``after`` make of it: ``(`` …
    ``− 0.12)²``; where it is ``shown`` by its value, the step's name says what was done to the factor: Σ exp(x − max).
    """

    axis: str
    along: Operand
    values: Numbers
    factors: Callable[[int], tuple[Reference, ...]]
    before: tuple[Piece, ...] = ()
    after: tuple[Piece, ...] = ()
    shown: Literal["factors", "value"] = "factors"

    @property
    def total(self) -> float:
        """The sum, added in float64."""
        return float(self.values.sum())

    def largest(self, count: int) -> list[Term]:
        """The ``count`` summands of the largest magnitude, largest first."""
        order = np.argsort(-np.abs(self.values), kind="stable")[:count]
        return [Term(int(i), self.factors(int(i)), float(self.values[i])) for i in order]

    def rest(self, count: int) -> tuple[int, float]:
        """How many summands `largest` leaves out, and what they add up to."""
        order = np.argsort(-np.abs(self.values), kind="stable")[count:]
        return len(order), float(self.values[order].sum())


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the arithmetic: what is worked out, from which numbers, and what it comes to.

    A step is either written out (``pieces``, in which text stands just as it is written) or a sum along an axis
    (``sum``), after which ``pieces`` may go on: the mean of squares is a sum, then ``÷ 64``.
    """

    name: str
    value: float
    pieces: tuple[Piece, ...] = ()
    sum: Sum | None = None


@dataclass(frozen=True)
class Derivation:
    """How the number in one cell of a stage was computed.

    ``value`` is the stage's own float32 number. The steps are worked in float64 from the stored float32 operands, so
    the last step's value may differ from it in the last digits: `gap` says by how much.
    """

    operand: Operand
    cell: Cell
    value: float
    steps: tuple[Step, ...] = field(default=())

    @property
    def total(self) -> float:
        """What the steps come to."""
        return self.steps[-1].value if self.steps else self.value

    @property
    def gap(self) -> float:
        """The rounding gap: the shown number less what the steps come to; 0 where both are −∞."""
        return 0.0 if self.value == self.total else self.value - self.total

    def references(self) -> Iterator[Reference]:
        """Every number that stands in an operand, in the order the steps use them; of sums, the largest terms first."""
        for step in reversed(self.steps):
            yield from (piece for piece in step.pieces if isinstance(piece, Reference))
            if step.sum is not None:
                for term in step.sum.largest(len(step.sum.values)):
                    yield from term.factors
