"""The learned linear map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.axes import Axis
from engine.derivation import Number, Reference, Step
from engine.operand import Array, Cell, Index
from engine.ops.base import Inputs, Op, products


@dataclass(frozen=True)
class Linear(Op):
    """x·W (+ b): every row of x, …×in, times a matrix in×out."""

    name = "linear"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return (*("", "·", "+")[: len(inputs)], "")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return (*inputs[0].axes[:-1], inputs[1].axes[1])

    def formula(self, symbol: str, inputs: Inputs) -> str:
        bias = f" + {inputs[2].symbol}" if len(inputs) == 3 else ""
        return f"{symbol} = {inputs[0].symbol}·{inputs[1].symbol}{bias}"

    def forward(self, *arrays: Array) -> Array:
        x, weight = arrays[:2]
        # One product over all rows: BLAS is several times faster on one large matrix than on a stack of small ones.
        rows = np.matmul(x.reshape(-1, x.shape[-1]), weight)
        if len(arrays) == 3:
            rows += arrays[2]
        result: Array = rows.reshape(*x.shape[:-1], weight.shape[1])
        return result

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        *row, column = cell
        parts: tuple[Index, ...] = ((*row, slice(None)), (slice(None), column))
        return (*parts, (column,)) if len(inputs) == 3 else parts

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        x_part, weight_part, *bias_part = self.reads(cell, inputs)
        total = products(inputs[0].axes[-1].symbol, inputs[0], x_part, inputs[1], weight_part)
        steps = (Step("Σ", total.total, sum=total),)
        if not bias_part:
            return steps
        bias = Reference.to(inputs[2], *bias_part[0])
        return (*steps, Step("Σ + b", total.total + bias.value, (Number(total.total), " + ", bias)))

    def cost(self, inputs: Inputs) -> int:
        return super().cost(inputs) * inputs[0].axes[-1].size
