"""What was not computed: numbers and tokens that a file gives by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.axes import Axis
from engine.constants import Constant
from engine.derivation import Step
from engine.operand import Array, Cell, Index, Weight
from engine.ops.base import Inputs, Op
from engine.ops.lookup import Tokenize


class GivenWeight(Weight):
    """A matrix given by hand: it stands where a model has a learned one."""


class GivenMask(Constant):
    """A mask given by hand, 1×N×M: it stands where positions would say what may be seen."""


@dataclass(frozen=True, eq=False)
class Given(Op):
    """Numbers given by hand. ``source`` says where: the file and the key in it."""

    numbers: Array
    given_axes: tuple[Axis, ...]
    source: str
    variety: str = "given"
    name = "given"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("",)

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return self.given_axes

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol} = {self.source}"

    def forward(self, *arrays: Array) -> Array:
        return self.numbers

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        return ()

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        return (Step("", float(self.numbers[cell]), (f"{self.source}[{','.join(map(str, cell))}]",)),)


@dataclass(frozen=True, eq=False)
class GivenTokens(Tokenize):
    """Tokens given by hand, B×N, each as its number among ``names``. ``source`` says where: the file and the key."""

    names: Sequence[str] = ()
    source: str = ""
    variety: str = "given"

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol} = {self.source}"

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        id = int(self.ids[cell])
        named = f"{self.names[id]} " if id < len(self.names) else ""
        return (Step("id", float(id), (f"{named}({self.source}[{cell[1]}])",)),)
