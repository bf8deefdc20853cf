"""Scaled dot-product attention, cut into the steps a textbook shows (Vaswani et al. 2017, arXiv:1706.03762)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.axes import Axis
from engine.buffers import empty
from engine.derivation import Number, Reference, Step, Sum
from engine.operand import Array, Cell, Index
from engine.ops.base import Inputs, Op, copied, products
from engine.ops.parallel import matrix_product, over_blocks


@dataclass(frozen=True)
class SplitHeads(Op):
    """…×N×(H·d) → …×H×N×d: each head takes d neighbouring coordinates. ``heads`` and ``tokens`` name the axes."""

    heads: Axis
    tokens: Axis
    name = "split_heads"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", "")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        batch, _, width = inputs[0].axes
        return batch, self.heads, self.tokens, Axis("d", width.size // self.heads.size)

    def formula(self, symbol: str, inputs: Inputs) -> str:
        width = inputs[0].axes[-1].size // self.heads.size
        return f"{symbol}[h, n, k] = {inputs[0].symbol}[n, {width}·h + k]"

    def forward(self, *arrays: Array) -> Array:
        batch, length, _ = arrays[0].shape
        return arrays[0].reshape(batch, length, self.heads.size, -1).swapaxes(1, 2)

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        batch, head, position, k = cell
        return ((batch, position, head * (inputs[0].axes[-1].size // self.heads.size) + k),)

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        return copied("=", inputs[0], self.reads(cell, inputs)[0])


@dataclass(frozen=True)
class MergeHeads(Op):
    """B×H×N×d → B×N×(H·d): the heads' results side by side again. ``width`` names the joined axis."""

    width: Axis
    name = "concat"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("concat(", ")")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        batch, _, tokens, _ = inputs[0].axes
        return batch, tokens, self.width

    def formula(self, symbol: str, inputs: Inputs) -> str:
        heads = inputs[0].axes[1].size
        parts = [f"{inputs[0].symbol}[{head}]" for head in ([0, 1, heads - 1] if heads > 3 else range(heads))]
        if heads > 3:
            parts.insert(2, "…")
        return f"{symbol} = [{' ‖ '.join(parts)}]"

    def forward(self, *arrays: Array) -> Array:
        batch, heads, length, width = arrays[0].shape
        result = empty((batch, length, heads, width))
        result[...] = arrays[0].swapaxes(1, 2)
        return result.reshape(batch, length, heads * width)

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        batch, position, column = cell
        width = inputs[0].axes[-1].size
        return ((batch, column // width, position, column % width),)

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        return copied("=", inputs[0], self.reads(cell, inputs)[0])


def _grouped(queries: Array, keys: Array) -> tuple[Array, Array]:
    """Queries as …×H_kv×G×N×d and keys as …×H_kv×1×M×d, so that the G query heads of a group meet one key head."""
    batch, heads, length, width = queries.shape
    groups = keys.shape[1]
    return queries.reshape(batch, groups, heads // groups, length, width), keys[:, :, None]


@dataclass(frozen=True)
class AttentionScores(Op):
    """Q·Kᵀ: queries B×H×N×d and keys B×H_kv×M×d give B×H×N×M; a key head serves H/H_kv neighbouring query heads."""

    name = "matmul"
    transposed = (1,)

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", "·", "")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        batch, heads, queries, _ = inputs[0].axes
        return batch, heads, queries, inputs[1].axes[2]

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol} = {inputs[0].symbol}·{inputs[1].symbol}ᵀ"

    def forward(self, *arrays: Array) -> Array:
        queries, keys = arrays
        if queries.shape[1] == keys.shape[1]:
            return matrix_product(queries, keys.swapaxes(-1, -2))
        grouped, shared = _grouped(queries, keys)
        return matrix_product(grouped, shared.swapaxes(-1, -2)).reshape(*queries.shape[:3], keys.shape[2])

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        batch, head, query, key = cell
        shared = head * inputs[1].axes[1].size // inputs[0].axes[1].size
        return (batch, head, query, slice(None)), (batch, shared, key, slice(None))

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        query_part, key_part = self.reads(cell, inputs)
        total = products(inputs[0].axes[-1].symbol, inputs[0], query_part, inputs[1], key_part)
        return (Step("Σ", total.total, sum=total),)

    def cost(self, inputs: Inputs) -> int:
        return super().cost(inputs) * inputs[0].axes[-1].size


@dataclass(frozen=True)
class ApplyMask(Op):
    """Scores B×H×N×M where the mask (1×N×M, or B×N×M where texts are padded) has a 1, and −∞ where it has a 0.

    ``variety`` says what the mask hides: later tokens (the empty text), ``padding`` alone, what lies outside a
    ``window`` as well, or what its ``own`` numbers say, where they are written out.
    """

    variety: str = ""
    name = "mask"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", "⊘", "")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return inputs[0].axes

    def formula(self, symbol: str, inputs: Inputs) -> str:
        scores, mask = (operand.symbol for operand in inputs)
        return f"{symbol}[n, m] = {scores}[n, m]  ({mask}[n, m] = 1),  −∞  ({mask}[n, m] = 0)"

    def forward(self, *arrays: Array) -> Array:
        scores, mask = arrays
        result = empty(scores.shape)
        # The smaller of a number and −∞ is −∞; of a number and NaN, which `fmin` takes for nothing, the number itself.
        bound = np.where(mask[:, None] == 0, np.float32(-np.inf), np.float32(np.nan))
        over_blocks(np.fmin, scores, np.broadcast_to(bound, scores.shape), result)
        return result

    def mask_cell(self, cell: Cell, mask: Index) -> Cell:
        """The mask's cell that decides over a cell of the scores."""
        batch, _, query, key = cell
        return (batch if mask[0] > 1 else 0, query, key)

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        return cell, self.mask_cell(cell, inputs[1].shape)

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        seen = Reference.to(inputs[1], *self.mask_cell(cell, inputs[1].shape))
        rule = Step(inputs[1].symbol, seen.value, (seen,))
        if seen.value:
            return rule, *copied("=", inputs[0], cell)
        return rule, Step("", -math.inf, (f"{inputs[1].symbol} = 0 → −∞",))


@dataclass(frozen=True)
class Softmax(Op):
    """exp(x) ÷ Σ exp(x) along the last axis. A row that is −∞ throughout is defined as all zeros."""

    name = "softmax"
    by_rows = True

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("softmax(", ")")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return inputs[0].axes

    def formula(self, symbol: str, inputs: Inputs) -> str:
        x, letter = inputs[0].symbol, "m" if inputs[0].axes[-1].symbol == "M" else "v"
        return f"{symbol}[n, {letter}] = exp({x}[n, {letter}]) ÷ Σ exp({x}[n, ·])"

    def forward(self, *arrays: Array) -> Array:
        result = empty(arrays[0].shape)
        over_blocks(_softmax_rows, arrays[0], result)
        return result

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        return ((*cell[:-1], slice(None)),)

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        (operand,) = inputs
        row, column = cell[:-1], cell[-1]
        x = operand.part((*row, slice(None))).astype(np.float64)
        highest = int(x.argmax())
        peak = Reference.to(operand, *row, highest)
        if math.isinf(peak.value):
            return (Step("Σ exp", 0.0, ("0",)),)
        # Less the row's largest number, every exponential is at most 1; the share is the same.
        powers = np.exp(x - peak.value)
        total = Sum(
            operand.axes[-1].symbol,
            operand,
            powers,
            lambda position: (Reference.to(operand, *row, position),),
            shown="value",
        )
        own, here = float(powers[column]), Reference.to(operand, *cell)
        return (
            Step("max", peak.value, (peak,)),
            Step("exp(x − max)", own, ("exp(", here, " − ", Number(peak.value), ")")),
            Step("Σ exp(x − max)", total.total, sum=total),
            Step("exp ÷ Σ exp", own / total.total, (Number(own), " ÷ ", Number(total.total))),
        )


def _softmax_rows(x: Array, out: Array) -> None:
    peak = x.max(axis=-1, keepdims=True)
    peak[peak == -np.inf] = 0.0
    np.subtract(x, peak, out=out)
    np.exp(out, out=out)
    total = out.sum(axis=-1, keepdims=True)
    total[total == 0.0] = 1.0
    np.divide(out, total, out=out)


@dataclass(frozen=True)
class WeightedSum(Op):
    """weights·V: attention weights B×H×N×M and values B×H_kv×M×d give B×H×N×d."""

    name = "matmul"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", "·", "")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return (*inputs[0].axes[:3], inputs[1].axes[3])

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol} = {inputs[0].symbol}·{inputs[1].symbol}"

    def forward(self, *arrays: Array) -> Array:
        weights, values = arrays
        if weights.shape[1] == values.shape[1]:
            return matrix_product(weights, values)
        grouped, shared = _grouped(weights, values)
        return matrix_product(grouped, shared).reshape(*weights.shape[:3], values.shape[3])

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        batch, head, query, k = cell
        shared = head * inputs[1].axes[1].size // inputs[0].axes[1].size
        return (batch, head, query, slice(None)), (batch, shared, slice(None), k)

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        weight_part, value_part = self.reads(cell, inputs)
        total = products(inputs[0].axes[-1].symbol, inputs[0], weight_part, inputs[1], value_part)
        return (Step("Σ", total.total, sum=total),)

    def cost(self, inputs: Inputs) -> int:
        return super().cost(inputs) * inputs[0].axes[-1].size
