"""What a computation works on: a named array with named axes, of which any part can be asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.axes import Axis, shape_text
from engine.errors import InputError

Array = NDArray[np.float32]
Cell = tuple[int, ...]
Index = tuple[Any, ...]


class Operand(ABC):
    """A named array: a stage's result, a learned weight, or a constant such as the mask.

    ``name`` is unique in a trace (``layers.0.attention.scores``); ``symbol`` is how a formula writes it (``Q``,
    ``W_Q``).
    """

    name: str
    symbol: str
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of every axis."""
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def shape_text(self) -> str:
        """The shape as textbooks write it: ``B×H×N×M = 1×4×3×3``."""
        return shape_text(self.axes)

    @property
    @abstractmethod
    def value(self) -> Array:
        """All numbers, float32, read-only, in the shape of `axes`."""

    def part(self, index: Index) -> Array:
        """The numbers at a NumPy index, without making more of the array than that needs."""
        part: Array = self.value[index]
        return part

    def number(self, cell: Cell) -> float:
        """The one number in a cell."""
        return float(self.part(cell))

    def check(self, cell: Cell) -> Cell:
        """The cell with negative positions resolved.

        Raises:
            InputError: it has another number of positions than there are axes, or one is out of range.
        """
        if len(cell) != len(self.axes):
            raise InputError(
                "cell-positions",
                "{cell} has {given} positions; a cell of {name} has {wanted}: {shape}",
                cell=cell,
                given=len(cell),
                name=self.name,
                wanted=len(self.axes),
                shape=self.shape_text,
            )
        for position, axis in zip(cell, self.axes, strict=True):
            if not -axis.size <= position < axis.size:
                raise InputError(
                    "cell-range",
                    "{position} is outside axis {axis} of {name}, which has positions 0 to {last}",
                    position=position,
                    axis=axis.symbol,
                    name=self.name,
                    last=axis.size - 1,
                )
        return tuple(int(position) % axis.size for position, axis in zip(cell, self.axes, strict=True))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} {self.shape_text}>"


@dataclass(frozen=True, eq=False, repr=False)
class Weight(Operand):
    """A learned array, read from its file when looked at.

    ``read`` gives the numbers at an index of the array as the formulas use it (a matrix is in×out, so that x·W reads
    from left to right, however the file stores it); ``source`` says where in which file they are. Reading one that is
    ``converted`` makes a copy, for its file has another kind of numbers.
    """

    name: str
    symbol: str
    axes: tuple[Axis, ...]
    read: Callable[[Index], Array]
    source: str
    converted: bool = False

    @property
    def value(self) -> Array:
        return self.read(())

    def part(self, index: Index) -> Array:
        return self.read(index)
