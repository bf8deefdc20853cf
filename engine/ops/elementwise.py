"""Computations on each number by itself, or on two numbers in the same place."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.axes import Axis
from engine.buffers import empty
from engine.derivation import Number, Reference, Step
from engine.operand import Array, Cell, Index
from engine.ops.base import Inputs, Op
from engine.ops.curves import CURVES, ActivationName
from engine.ops.parallel import over_blocks


class Elementwise(Op):
    """An op whose result has the axes of its first operand, each cell made of the same cell of every operand."""

    def axes(self, inputs: Inputs) -> tuple[Axis, ...]:
        return inputs[0].axes

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        return (cell,) * len(inputs)


@dataclass(frozen=True)
class Add(Elementwise):
    """x + y + …: the residual connection (He et al. 2015, arXiv:1512.03385), the sum of vectors that make up an input.

    An operand with fewer axes, such as a bias, is added to every row.
    """

    name = "add"
    by_rows = True

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", *("+",) * (len(inputs) - 1), "")

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol} = {' + '.join(operand.symbol for operand in inputs)}"

    def forward(self, *arrays: Array) -> Array:
        result = empty(arrays[0].shape)

        def block(out: Array, first: Array, second: Array, *others: Array) -> None:
            np.add(first, second, out=out)
            for other in others:
                out += other

        over_blocks(block, result, *(np.broadcast_to(array, result.shape) for array in arrays))
        return result

    def reads(self, cell: Cell, inputs: Inputs) -> tuple[Index, ...]:
        return tuple(cell[len(cell) - len(operand.axes) :] for operand in inputs)

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        parts = zip(inputs, self.reads(cell, inputs), strict=True)
        first, *others = (Reference.to(operand, *part) for operand, part in parts)
        pieces = tuple(piece for other in others for piece in (" + ", other))
        return (
            Step(
                " + ".join(operand.symbol for operand in inputs),
                first.value + sum(other.value for other in others),
                (first, *pieces),
            ),
        )


@dataclass(frozen=True)
class Multiply(Elementwise):
    """x ⊙ y, number by number: how a gate lets a signal through (Shazeer 2020, arXiv:2002.05202)."""

    name = "multiply"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", "⊙", "")

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol} = {inputs[0].symbol} ⊙ {inputs[1].symbol}"

    def forward(self, *arrays: Array) -> Array:
        result = empty(arrays[0].shape)
        over_blocks(lambda x, y, out: np.multiply(x, y, out=out), *arrays, result)
        return result

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        first, second = (Reference.to(operand, *cell) for operand in inputs)
        return (Step(f"{inputs[0].symbol} ⊙ {inputs[1].symbol}", first.value * second.value, (first, " × ", second)),)


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
        result = empty(arrays[0].shape)
        factor = np.float32(1.0 / self.divisor)
        over_blocks(lambda x, out: np.multiply(x, factor, out=out), arrays[0], result)
        return result

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        x = Reference.to(inputs[0], *cell)
        return (
            Step(f"{inputs[0].symbol} ÷ {self.divisor_text}", x.value / self.divisor, (x, " ÷ ", Number(self.divisor))),
        )


@dataclass(frozen=True)
class Times(Elementwise):
    """x × factor, as embeddings are by √D (Vaswani et al. 2017, arXiv:1706.03762, section 3.4)."""

    factor: float
    factor_text: str
    name = "times"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return ("", f"× {self.factor_text}")

    def formula(self, symbol: str, inputs: Inputs) -> str:
        worth = f"{self.factor:.6g}"
        equals = "" if worth == self.factor_text else f", {self.factor_text} = {worth}"
        return f"{symbol} = {inputs[0].symbol} × {self.factor_text}{equals}"

    def forward(self, *arrays: Array) -> Array:
        result = empty(arrays[0].shape)
        factor = np.float32(self.factor)
        over_blocks(lambda x, out: np.multiply(x, factor, out=out), arrays[0], result)
        return result

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        x = Reference.to(inputs[0], *cell)
        return (
            Step(f"{inputs[0].symbol} × {self.factor_text}", x.value * self.factor, (x, " × ", Number(self.factor))),
        )


@dataclass(frozen=True)
class SoftCap(Elementwise):
    """c·tanh(x ÷ c): numbers held between −c and c (Gemma Team 2024, arXiv:2408.00118, section 2)."""

    cap: float
    name = "soft_cap"
    by_rows = True

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return (f"{self.cap:g}·tanh(", f"÷ {self.cap:g})")

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol} = {self.cap:g}·tanh({inputs[0].symbol} ÷ {self.cap:g})"

    def forward(self, *arrays: Array) -> Array:
        result = empty(arrays[0].shape)
        cap = np.float32(self.cap)

        def block(x: Array, out: Array) -> None:
            np.divide(x, cap, out=out)
            np.tanh(out, out=out)
            out *= cap

        over_blocks(block, arrays[0], result)
        return result

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        x = Reference.to(inputs[0], *cell)
        tanh = math.tanh(x.value / self.cap)
        return (
            Step(f"tanh({inputs[0].symbol} ÷ {self.cap:g})", tanh, ("tanh(", x, " ÷ ", Number(self.cap), ")")),
            Step(f"{self.cap:g}·tanh", self.cap * tanh, (Number(self.cap), " × ", Number(tanh))),
        )


@dataclass(frozen=True)
class Activation(Elementwise):
    """A fixed curve applied to every number."""

    function: ActivationName
    name = "activation"

    def signs(self, inputs: Inputs) -> tuple[str, ...]:
        return (f"{self.function}(", ")")

    def formula(self, symbol: str, inputs: Inputs) -> str:
        return f"{symbol} = {self.function}({inputs[0].symbol}), " + CURVES[self.function].formula

    def forward(self, *arrays: Array) -> Array:
        result = empty(arrays[0].shape)
        over_blocks(CURVES[self.function].forward, arrays[0], result)
        return result

    def derive(self, cell: Cell, inputs: Inputs) -> tuple[Step, ...]:
        return CURVES[self.function].derive(Reference.to(inputs[0], *cell))
