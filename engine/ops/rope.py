"""Rotary position embedding."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.axes import Axis
from engine.buffers import empty
from engine.derivation import Number, Piece, Reference, Step
from engine.operand import Array, Cell, Index
from engine.ops.base import Inputs, Op, copied


@dataclass(frozen=True)
class Rope(Op):
    """Queries or keys turned by their position (Su et al. 2021, arXiv:2104.09864), as Hub checkpoints store them.

    Inputs are x, B×H×N×d, and the angles, N×(r/2). Coordinate i of a head is paired with i + r/2 over its first r
    coordinates; a pair (x, y) turns by its angle θ to (x·cos θ − y·sin θ, y·cos θ + x·sin θ).

    ``magnitude`` multiplies cosine and sine: YaRN (Peng et al. 2023, arXiv:2309.00071, section 3.4) and LongRoPE (Ding
    et al. 2024, arXiv:2402.13753) lengthen queries and keys with it, which sharpens the softmax over long texts.
    """

    magnitude: float = 1.0
    name = "rope"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", "⟲", "")

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return inputs[0].axes

    def formula(self, symbol: str, inputs: Inputs) -> str:
        half = inputs[1].axes[-1].size
        x = inputs[0].symbol
        turned = f"{x}[i]·cos θᵢ − {x}[i+{half}]·sin θᵢ", f"{x}[i+{half}]·cos θᵢ + {x}[i]·sin θᵢ"
        if self.magnitude != 1.0:
            turned = f"{self.magnitude:.6g}·({turned[0]})", f"{self.magnitude:.6g}·({turned[1]})"
        return f"{symbol}[i] = {turned[0]},  {symbol}[i+{half}] = {turned[1]}"

    def forward(self, *arrays: Array) -> Array:
        x, angles = arrays
        half = angles.shape[-1]
        cos, sin = np.cos(angles), np.sin(angles)
        if self.magnitude != 1.0:
            cos *= np.float32(self.magnitude)
            sin *= np.float32(self.magnitude)
        left, right = x[..., :half], x[..., half : 2 * half]
        result = empty(x.shape)
        np.multiply(left, cos, out=result[..., :half])
        result[..., :half] -= right * sin
        np.multiply(right, cos, out=result[..., half : 2 * half])
        result[..., half : 2 * half] += left * sin
        result[..., 2 * half :] = x[..., 2 * half :]
        return result

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        *place, position, k = cell
        half = inputs[1].axes[-1].size
        if k >= 2 * half:
            return cell, (position, slice(0, 0))
        pair = k % half
        return (*place, position, slice(pair, pair + half + 1, half)), (position, pair)

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        *place, position, k = cell
        half = inputs[1].axes[-1].size
        if k >= 2 * half:
            return copied("=", inputs[0], cell)
        pair = k % half
        x = Reference.to(inputs[0], *place, position, pair)
        y = Reference.to(inputs[0], *place, position, pair + half)
        angle = Reference.to(inputs[1], position, pair)
        # The forward takes the cosine of a float32 angle in float32; so does a reader who checks it.
        cos, sin = self.magnitude * math.cos(angle.value), self.magnitude * math.sin(angle.value)
        times: tuple[Piece, ...] = () if self.magnitude == 1.0 else (Number(self.magnitude), " × ")
        letter = "" if self.magnitude == 1.0 else "m·"
        left, right = (f"{inputs[0].symbol}[{place}]" for place in (pair, pair + half))
        turned = (
            Step(
                f"{left}·{letter}cos θ − {right}·{letter}sin θ",
                x.value * cos - y.value * sin,
                (x, " × ", Number(cos), " − ", y, " × ", Number(sin)),
            )
            if k < half
            else Step(
                f"{right}·{letter}cos θ + {left}·{letter}sin θ",
                y.value * cos + x.value * sin,
                (y, " × ", Number(cos), " + ", x, " × ", Number(sin)),
            )
        )
        return (
            Step(f"{letter}cos θ", cos, (*times, "cos(", angle, ")")),
            Step(f"{letter}sin θ", sin, (*times, "sin(", angle, ")")),
            turned,
        )
