"""What is added to a token's vector for the place where it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.axes import Axis
from engine.derivation import Reference, Step
from engine.operand import Array, Cell, Index, Operand
from engine.ops.base import Inputs, Op, copied


@dataclass(frozen=True)
class Positions(Op):
    """The first rows of a table P×D, one for each position, the same in every text: B×N×D.

    The table is learned (Gehring et al. 2017, arXiv:1705.03122) or made of sines and cosines (Vaswani et al. 2017,
    arXiv:1706.03762, section 3.5).
    """

    token_axes: tuple[Axis, Axis]
    name = "positions"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", f"[0…{self.token_axes[1].size - 1}]")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return (*self.token_axes, inputs[0].axes[1])

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol}[n] = {inputs[0].symbol}[n]"

    def forward(self, *arrays: Array) -> Array:
        texts, length = (axis.size for axis in self.token_axes)
        return np.repeat(arrays[0][None, :length], texts, axis=0)

    def run(self, inputs: Inputs, fetch: Callable[[Operand], Array]) -> Array:
        # A table has a row for every position that a text may have; only those that there are get read.
        return self.forward(inputs[0].part((slice(self.token_axes[1].size),)))

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        return (cell[1:],)

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        _, position, coordinate = cell
        return copied(f"{inputs[0].symbol}[{position},{coordinate}]", inputs[0], (position, coordinate))


@dataclass(frozen=True, eq=False)
class Types(Op):
    """The row of a table T×D for the type of each token, which says which of two joined texts it belongs to: B×N×D.

    Devlin et al. 2018, arXiv:1810.04805, section 3.1. ``types`` holds the type of each token, B×N.
    """

    types: Array
    token_axes: tuple[Axis, Axis]
    name = "types"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", "[type]")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return (*self.token_axes, inputs[0].axes[1])

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol}[n] = {inputs[0].symbol}[type of n]"

    def forward(self, *arrays: Array) -> Array:
        rows: Array = arrays[0][self.types.astype(np.intp)]
        return rows

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        batch, position, coordinate = cell
        return ((int(self.types[batch, position]), coordinate),)

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        ((kind, coordinate),) = self.reads(cell, inputs)
        found = Reference.to(inputs[0], kind, coordinate)
        return (Step(f"{inputs[0].symbol}[{kind},{coordinate}]", found.value, (found,)),)
