"""The learned linear map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.axes import Axis
from engine.derivation import Number, Reference, Step
from engine.operand import Array, Cell, Index, Operand, Weight
from engine.ops.base import Inputs, Op, products
from engine.ops.parallel import matrix_product, product_by_columns


@dataclass(frozen=True)
class Linear(Op):
    """x·W (+ b): every row of x, …×N×in, times a matrix in×out.

    ``rows`` names the result's rows where they are to be called something else than x's: source tokens become M, what
    is looked at, where a target text looks at them.
    """

    rows: Axis | None = None
    name = "linear"
    by_rows = True

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return (*("", "·", "+")[: len(inputs)], "")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        kept = inputs[0].axes[:-1]
        return (*(kept if self.rows is None else (*kept[:-1], self.rows)), inputs[1].axes[1])

    def formula(self, symbol: str, inputs: Inputs) -> str:
        bias = f" + {inputs[2].symbol}" if len(inputs) == 3 else ""
        return f"{symbol} = {inputs[0].symbol}·{inputs[1].symbol}{bias}"

    def forward(self, *arrays: Array) -> Array:
        x, weight, *bias = arrays
        return _arranged(matrix_product(_flat(x), weight, *bias), x)

    def run(self, inputs: Inputs, fetch: Callable[[Operand], Array]) -> Array:
        weight = inputs[1]
        if not isinstance(weight, Weight) or not weight.converted:
            return super().run(inputs, fetch)
        x, bias = fetch(inputs[0]), [fetch(operand) for operand in inputs[2:]]

        def columns(part: slice) -> Array:
            return weight.part((slice(None), part))

        return _arranged(product_by_columns(_flat(x), columns, weight.shape[1], *bias), x)

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


def _flat(x: Array) -> Array:
    """All rows as one matrix: BLAS is several times faster on one large matrix than on a stack of small ones."""
    rows: Array = x.reshape(-1, x.shape[-1])
    return rows


def _arranged(rows: Array, x: Array) -> Array:
    """The rows arranged as those of x."""
    result: Array = rows.reshape(*x.shape[:-1], rows.shape[-1])
    return result
