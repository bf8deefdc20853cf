"""One vector for a whole text."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.axes import Axis
from engine.derivation import Number, Reference, Step
from engine.operand import Array, Cell, Index
from engine.ops.base import Inputs, Op, products


@dataclass(frozen=True)
class Pool(Op):
    """tanh(x₀·W + b): the first token's vector through a layer, B×N×D → B×D (Devlin et al. 2018, arXiv:1810.04805)."""

    name = "pool"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("tanh(", "[0] ·", "+", ")")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return inputs[0].axes[0], inputs[1].axes[1]

    def formula(self, symbol: str, inputs: Inputs) -> str:
        x, weight, bias = (operand.symbol for operand in inputs)
        return f"{symbol} = tanh({x}[0]·{weight} + {bias})"

    def forward(self, *arrays: Array) -> Array:
        x, weight, bias = arrays
        result: Array = np.matmul(x[:, 0], weight)
        result += bias
        return np.tanh(result, out=result)

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        batch, column = cell
        return (batch, 0, slice(None)), (slice(None), column), (column,)

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        x_part, weight_part, bias_part = self.reads(cell, inputs)
        total = products(inputs[0].axes[-1].symbol, inputs[0], x_part, inputs[1], weight_part)
        bias = Reference.to(inputs[2], *bias_part)
        inner = total.total + bias.value
        return (
            Step("Σ", total.total, sum=total),
            Step("Σ + b", inner, (Number(total.total), " + ", bias)),
            Step("tanh", math.tanh(inner), ("tanh(", Number(inner), ")")),
        )

    def cost(self, inputs: Inputs) -> int:
        return super().cost(inputs) * inputs[0].axes[-1].size
