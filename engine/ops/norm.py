"""Normalisation of each token's vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engine.axes import Axis
from engine.buffers import empty
from engine.derivation import Number, Piece, Reference, Step, Sum
from engine.operand import Array, Cell, Index
from engine.ops.base import Inputs, Op, at
from engine.ops.parallel import over_blocks


@dataclass(frozen=True)
class Norm(Op):
    """What the two normalisations share: inputs x (…×D), γ (D) and, for LayerNorm, β (D)."""

    epsilon: float
    title: ClassVar[str]

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return (*(f"{self.title}(", ") ⊙", "+")[: len(inputs)], "")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return inputs[0].axes

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        *row, column = cell
        return ((*row, slice(None)), *((column,) for _ in inputs[1:]))

    def squares(self, part: Index, inputs: Inputs, mean: float, axis: str) -> Sum:
        """Σ(x − mean)²."""
        values = (inputs[0].part(part).astype(np.float64) - mean) ** 2

        def factors(position: int) -> tuple[Reference, ...]:
            return (Reference.to(inputs[0], *at(part, position)),)

        if mean == 0.0:
            return Sum(axis, inputs[0], values, factors, after=("²",))
        return Sum(axis, inputs[0], values, factors, before=("(",), after=(" − ", Number(mean), ")²"))


@dataclass(frozen=True)
class RMSNorm(Norm):
    """x ÷ √(mean(x²) + ε) ⊙ γ (Zhang and Sennrich 2019, arXiv:1910.07467). Gemma stores γ less 1 (``offset``)."""

    offset: float = 0.0
    name = "rms_norm"
    title = "RMSNorm"

    def formula(self, symbol: str, inputs: Inputs) -> str:
        gain = f"({self.offset:g} + {inputs[1].symbol})" if self.offset else inputs[1].symbol
        return f"{symbol} = x ÷ √(mean(x²) + ε) ⊙ {gain},  x = {inputs[0].symbol}"

    def forward(self, *arrays: Array) -> Array:
        x, gain = arrays
        factor = gain + np.float32(self.offset) if self.offset else gain
        result = empty(x.shape)

        def rows(x: Array, out: Array) -> None:
            mean_square = np.mean(np.square(x, out=out), axis=-1, keepdims=True)
            np.divide(x, np.sqrt(mean_square + np.float32(self.epsilon)), out=out)
            out *= factor

        over_blocks(rows, x, result)
        return result

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        part, gain_part = self.reads(cell, inputs)
        width = inputs[0].axes[-1]
        squares = self.squares(part, inputs, 0.0, width.symbol)
        mean_square = squares.total / width.size
        root = math.sqrt(mean_square + self.epsilon)
        x, gain = Reference.to(inputs[0], *cell), Reference.to(inputs[1], *gain_part)
        factor: tuple[Piece, ...] = ("(", Number(self.offset), " + ", gain, ")") if self.offset else (gain,)
        return (
            Step("mean(x²)", mean_square, (" ÷ ", Number(width.size)), squares),
            Step("rms", root, ("√(", Number(mean_square), " + ", Number(self.epsilon), ")")),
            Step(
                f"x ÷ rms × {'(1 + γ)' if self.offset else 'γ'}",
                x.value / root * (gain.value + self.offset),
                (x, " ÷ ", Number(root), " × ", *factor),
            ),
        )


@dataclass(frozen=True)
class LayerNorm(Norm):
    """(x − mean) ÷ √(variance + ε) ⊙ γ + β (Ba et al. 2016, arXiv:1607.06450)."""

    name = "layer_norm"
    title = "LayerNorm"

    def formula(self, symbol: str, inputs: Inputs) -> str:
        shift = f" + {inputs[2].symbol}" if len(inputs) == 3 else ""
        return f"{symbol} = (x − mean(x)) ÷ √(var(x) + ε) ⊙ {inputs[1].symbol}{shift},  x = {inputs[0].symbol}"

    def forward(self, *arrays: Array) -> Array:
        x, gain, *shift = arrays
        result = empty(x.shape)

        def rows(x: Array, out: Array) -> None:
            np.subtract(x, np.mean(x, axis=-1, keepdims=True), out=out)
            variance = np.mean(np.square(out), axis=-1, keepdims=True)
            out /= np.sqrt(variance + np.float32(self.epsilon))
            out *= gain
            for array in shift:
                out += array

        over_blocks(rows, x, result)
        return result

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        part, gain_part = self.reads(cell, inputs)[:2]
        width = inputs[0].axes[-1]
        values = inputs[0].part(part).astype(np.float64)
        total = Sum(width.symbol, inputs[0], values, lambda position: (Reference.to(inputs[0], *at(part, position)),))
        mean = total.total / width.size
        squares = self.squares(part, inputs, mean, width.symbol)
        variance = squares.total / width.size
        root = math.sqrt(variance + self.epsilon)
        x, gain = Reference.to(inputs[0], *cell), Reference.to(inputs[1], *gain_part)
        value = (x.value - mean) / root * gain.value
        pieces: tuple[Piece, ...] = ("(", x, " − ", Number(mean), ") ÷ ", Number(root), " × ", gain)
        if len(inputs) == 3:
            shift = Reference.to(inputs[2], *gain_part)
            value, pieces = value + shift.value, (*pieces, " + ", shift)
        return (
            Step("mean(x)", mean, (" ÷ ", Number(width.size)), total),
            Step("var(x)", variance, (" ÷ ", Number(width.size)), squares),
            Step("σ", root, ("√(", Number(variance), " + ", Number(self.epsilon), ")")),
            Step(f"(x − mean) ÷ σ × γ{' + β' if len(inputs) == 3 else ''}", value, pieces),
        )
