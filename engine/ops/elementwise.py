"""Computations on each number by itself, or on two numbers in the same place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.axes import Axis
from engine.derivation import Number, Reference, Step
from engine.operand import Array, Cell, Index
from engine.ops.base import Inputs, Op
from engine.ops.parallel import over_blocks


class Elementwise(Op):
    """An op whose result has the axes of its first operand, each cell made of the same cell of every operand."""

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return inputs[0].axes

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        return (cell,) * len(inputs)


@dataclass(frozen=True)
class Add(Elementwise):
    """x + y: the residual connection (He et al. 2015, arXiv:1512.03385)."""

    name = "add"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", *("+",) * (len(inputs) - 1), "")

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol} = x + {' + '.join(operand.symbol for operand in inputs[1:])}"

    def forward(self, *arrays: Array) -> Array:
        result: Array = arrays[0] + arrays[1]
        for array in arrays[2:]:
            result += array
        return result

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        first, *others = (Reference.to(operand, *cell) for operand in inputs)
        pieces = tuple(piece for other in others for piece in (" + ", other))
        return (Step("+", first.value + sum(other.value for other in others), (first, *pieces)),)


@dataclass(frozen=True)
class Multiply(Elementwise):
    """x ⊙ y, number by number: how a gate lets a signal through (Shazeer 2020, arXiv:2002.05202)."""

    name = "multiply"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", "⊙", "")

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol} = {inputs[0].symbol} ⊙ {inputs[1].symbol}"

    def forward(self, *arrays: Array) -> Array:
        result: Array = arrays[0] * arrays[1]
        return result

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        first, second = (Reference.to(operand, *cell) for operand in inputs)
        return (Step("×", first.value * second.value, (first, " × ", second)),)


@dataclass(frozen=True)
class Scale(Elementwise):
    """x ÷ divisor. Attention divides scores by √d (Vaswani et al. 2017, arXiv:1706.03762, eq. 1)."""

    divisor: float
    divisor_text: str
    name = "scale"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", f"÷ {self.divisor_text}")

    def formula(self, symbol: str, inputs: Inputs) -> str:
        worth = f"{self.divisor:.6g}"
        equals = "" if worth == self.divisor_text else f", {self.divisor_text} = {worth}"
        return f"{symbol} = {inputs[0].symbol} ÷ {self.divisor_text}{equals}"

    def forward(self, *arrays: Array) -> Array:
        result = np.empty_like(arrays[0])
        factor = np.float32(1.0 / self.divisor)
        over_blocks(lambda x, out: np.multiply(x, factor, out=out), arrays[0], result)
        return result

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        x = Reference.to(inputs[0], *cell)
        return (Step("÷", x.value / self.divisor, (x, " ÷ ", Number(self.divisor))),)


ActivationName = Literal["silu"]


@dataclass(frozen=True)
class Activation(Elementwise):
    """A fixed curve applied to every number, by the name that config.json gives it."""

    function: ActivationName
    name = "activation"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return (f"{self.function}(", ")")

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol} = {self.function}(x), " + CURVES[self.function].formula

    def forward(self, *arrays: Array) -> Array:
        result = np.empty_like(arrays[0])
        over_blocks(CURVES[self.function].forward, arrays[0], result)
        return result

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        return CURVES[self.function].derive(Reference.to(inputs[0], *cell))


@dataclass(frozen=True)
class Curve:
    """An activation function: its formula, its forward into a given array, and the arithmetic of one number."""

    formula: str
    forward: Callable[[Array, Array], object]
    derive: Callable[[Reference], tuple[Step, ...]]


def _silu(x: Array, out: Array) -> None:
    np.negative(x, out=out)
    with np.errstate(over="ignore"):  # e^(−x) is ∞ for x < −88, and x ÷ ∞ is the right 0
        np.exp(out, out=out)
    out += np.float32(1.0)
    np.divide(x, out, out=out)


def _derive_silu(x: Reference) -> tuple[Step, ...]:
    power = math.exp(min(-x.value, 700.0))
    return (
        Step("e^(−x)", power, ("exp(−", x, ")")),
        Step("silu", x.value / (1.0 + power), (x, " ÷ (1 + ", Number(power), ")")),
    )


CURVES: dict[ActivationName, Curve] = {
    # Hendrycks and Gimpel 2016, arXiv:1606.08415; Ramachandran et al. 2017, arXiv:1710.05941 (as "swish").
    "silu": Curve("silu(x) = x ÷ (1 + e^(−x))", _silu, _derive_silu),
}
