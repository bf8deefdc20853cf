"""Activation functions: for each its formula, its forward on a block of numbers, and the arithmetic of one number.

Hendrycks and Gimpel 2016, arXiv:1606.08415 (GELU, and SiLU, which Ramachandran et al. 2017, arXiv:1710.05941, call
swish); Nair and Hinton 2010 (ReLU).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.derivation import Number, Reference, Step
from engine.operand import Array

ActivationName = Literal["silu", "gelu", "gelu_tanh", "relu"]


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


# NumPy has no error function. With a = |x|, ½·erfc(a ÷ √2) = exp(−a²/2) · Σ cₖ·t^(k+1), t = 1 ÷ (1 + 0.4·a): the form
# of Abramowitz and Stegun 1964, 7.1.26, with ten coefficients fitted to a relative error of 1.6e-8 for a up to 16,
# beyond which the exponential is 0 in float32.
TAIL_SLOPE = np.float32(0.4)
TAIL = tuple(
    np.float32(c)
    for c in (
        0.1595754979,
        0.1596362298,
        0.1330585177,
        0.09175224839,
        -0.02815046114,
        0.1220983221,
        -0.37734244,
        0.3848924799,
        -0.1779484519,
        0.03242806508,
    )
)


def _gelu(x: Array, out: Array) -> None:
    # x·Φ(x) is max(x, 0) less a·½·erfc(a ÷ √2), whose error is small where x is large and where x is very negative.
    size = np.abs(x)
    share = np.multiply(size, TAIL_SLOPE)
    share += np.float32(1.0)
    np.divide(np.float32(1.0), share, out=share)
    np.multiply(share, TAIL[-1], out=out)
    for coefficient in TAIL[-2::-1]:
        out += coefficient
        out *= share
    np.multiply(size, size, out=share)
    share *= np.float32(-0.5)
    np.exp(share, out=share)
    out *= share
    out *= size
    np.maximum(x, np.float32(0.0), out=share)
    np.subtract(share, out, out=out)


def _derive_gelu(x: Reference) -> tuple[Step, ...]:
    erf = math.erf(x.value / math.sqrt(2.0))
    return (
        Step("erf(x ÷ √2)", erf, ("erf(", x, " ÷ √2)")),
        Step("gelu", x.value * (1.0 + erf) / 2.0, (x, " × (1 + ", Number(erf), ") ÷ 2")),
    )


SLOPE = math.sqrt(2.0 / math.pi)
BEND = 0.044715


def _gelu_tanh(x: Array, out: Array) -> None:
    np.multiply(x, x, out=out)
    out *= np.float32(BEND * SLOPE)
    out += np.float32(SLOPE)
    out *= x
    np.tanh(out, out=out)
    out += np.float32(1.0)
    out *= np.float32(0.5)
    out *= x


def _derive_gelu_tanh(x: Reference) -> tuple[Step, ...]:
    bent = x.value + BEND * x.value**3
    tanh = math.tanh(SLOPE * bent)
    return (
        Step("x + 0.044715·x³", bent, (x, " + 0.044715 × ", x, "³")),
        Step("tanh(√(2/π)·…)", tanh, ("tanh(√(2 ÷ π) × ", Number(bent), ")")),
        Step("gelu_tanh", 0.5 * x.value * (1.0 + tanh), (x, " × (1 + ", Number(tanh), ") ÷ 2")),
    )


def _relu(x: Array, out: Array) -> None:
    np.maximum(x, np.float32(0.0), out=out)


def _derive_relu(x: Reference) -> tuple[Step, ...]:
    return (Step("relu", max(x.value, 0.0), ("max(", x, ", 0)")),)


CURVES: dict[ActivationName, Curve] = {
    "silu": Curve("silu(x) = x ÷ (1 + e^(−x))", _silu, _derive_silu),
    "gelu": Curve("gelu(x) = x·(1 + erf(x ÷ √2)) ÷ 2", _gelu, _derive_gelu),
    "gelu_tanh": Curve("gelu_tanh(x) = x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) ÷ 2", _gelu_tanh, _derive_gelu_tanh),
    "relu": Curve("relu(x) = max(x, 0)", _relu, _derive_relu),
}
