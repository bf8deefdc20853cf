"""What every op has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from engine.axes import Axis
from engine.derivation import Reference, Step, Sum
from engine.operand import Array, Cell, Index, Operand

Inputs = Sequence[Operand]


class Op(ABC):
    """A kind of computation, with its settings as attributes. One op serves many stages.

    ``signs`` write the equation around its operands: ``("", "·", "")`` is `a · b`, ``("softmax(", ")")`` is
    `softmax(a)`; there is one more of them than there are operands. ``transposed`` marks the operands that the equation
    turns on their side, as it does Kᵀ. ``variety`` tells apart what the same step is in different models, where its
    explanation depends on it: a mask that hides later tokens from one that hides padding. ``by_rows`` says that a row
    of the result, along its last axis, follows from the same row of every operand that has such rows.
    """

    name: ClassVar[str]
    transposed: ClassVar[tuple[int, ...]] = ()
    by_rows: ClassVar[bool] = False
    variety: str = ""

    @abstractmethod
    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        """What is written before, between and after the operands."""

    @abstractmethod
    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        """The axes of the result."""

    @abstractmethod
    def formula(self, symbol: str, inputs: Inputs) -> str:
        """The computation in textbook notation, for a result called ``symbol``."""

    @abstractmethod
    def forward(self, *arrays: Array) -> Array:
        """The result, float32, from the operands' numbers in float32."""

    def run(self, inputs: Inputs, fetch: Callable[[Operand], Array]) -> Array:
        """`forward` on the operands, each fetched whole; an op that needs less of one overrides this."""
        return self.forward(*map(fetch, inputs))

    @abstractmethod
    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        """For each operand, the part of it that this cell of the result is made of, as an index of ints and slices."""

    @abstractmethod
    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        """The arithmetic of one cell. The last step's value is the cell's number, up to rounding."""

    def cost(self, inputs: Inputs) -> int:
        """About how many multiplications the result takes, to tell short work from long."""
        size = 1
        for axis in self.axes(inputs):
            size *= axis.size
        return size


def copied(name: str, operand: Operand, cell: Cell, note: str = "") -> tuple[Step, ...]:
    """The derivation of a number that is another number, elsewhere."""
    reference = Reference.to(operand, *cell)
    return (Step(name, reference.value, (note, reference) if note else (reference,)),)


def products(axis: str, first: Operand, first_part: Index, second: Operand, second_part: Index) -> Sum:
    """Σ over the axis that is a slice in both parts, each summand the product of two cells."""
    values = first.part(first_part).astype(np.float64) * second.part(second_part).astype(np.float64)

    def factors(position: int) -> tuple[Reference, ...]:
        return Reference.to(first, *at(first_part, position)), Reference.to(second, *at(second_part, position))

    return Sum(axis, first, values, factors)


def at(part: Index, position: int) -> Cell:
    """The cell at a position along the part's one slice."""
    return tuple((piece.start or 0) + position if isinstance(piece, slice) else piece for piece in part)
