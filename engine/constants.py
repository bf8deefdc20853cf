"""Arrays that follow from the positions alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.axes import Axis
from engine.derivation import Derivation, Step
from engine.operand import Array, Cell, Operand


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Operand):
    """An array that follows from the positions alone, such as a mask or a rotation's angles; made when looked at."""

    name: str
    symbol: str
    axes: tuple[Axis, ...]
    make: Callable[[], Array]
    formula: str
    kind: str = ""
    """What it is called in every model: ``mask``, ``angles`` or ``positions``; its name where nothing else is given."""
    derive: Callable[[Cell], tuple[Step, ...]] | None = None
    """The arithmetic of one cell, as an op gives it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.kind or self.name)

    @cached_property
    def value(self) -> Array:
        array = self.make()
        array.flags.writeable = False
        return array

    def derivation(self, cell: Sequence[int]) -> Derivation | None:
        """How the number in a cell follows from its position; None where nobody has said.

        Raises:
            InputError: there is no such cell.
        """
        place = self.check(tuple(cell))
        return None if self.derive is None else Derivation(self, place, self.number(place), self.derive(place))
