"""Activation functions: as accurate as float32 allows, and derived as they are computed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from engine.axes import Axis
from engine.constants import Constant
from engine.ops import Activation
from engine.ops.curves import CURVES, ActivationName

NAMES: tuple[ActivationName, ...] = ("silu", "gelu", "gelu_tanh", "relu")

EXACT: dict[str, Callable[[float], float]] = {
    "silu": lambda x: x / (1 + math.exp(-x)) if x > -700 else 0.0,
    "gelu": lambda x: x * math.erfc(-x / math.sqrt(2)) / 2,
    "gelu_tanh": lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "relu": lambda x: max(x, 0.0),
}


def given(numbers: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Constant:
    axes = tuple(Axis(symbol, size) for symbol, size in zip("NF", numbers.shape, strict=True))
    return Constant("x", "x", axes, lambda: numbers.copy(), "")


@pytest.mark.parametrize("name", NAMES)
def test_against_double_precision(name: ActivationName) -> None:
    x = np.concatenate([np.linspace(-12, 12, 20_001), np.linspace(-2, 2, 20_001)]).astype(np.float32)[None]
    exact = np.array([[EXACT[name](float(number)) for number in x[0]]])
    shown = Activation(name).forward(x)
    assert shown.dtype == np.float32
    # Rounding to float32 alone costs 0.6e-7 of it; NumPy's exp and tanh are a little less exact than what is made here.
    allowed = {"silu": 2e-7, "gelu": 1e-7, "gelu_tanh": 2e-7, "relu": 0.0}[name]
    assert (np.abs(shown - exact) / np.maximum(1.0, np.abs(exact))).max() <= allowed


def test_the_error_function_in_gelu() -> None:
    x = np.linspace(-1, 1, 40_001, dtype=np.float32)[None]
    exact = np.array([[EXACT["gelu"](float(number)) for number in x[0]]])
    assert np.abs(Activation("gelu").forward(x) - exact).max() <= 1e-7


@pytest.mark.parametrize("name", NAMES)
def test_far_out(name: ActivationName) -> None:
    x = np.array([[-3e38, -1e20, -1e4, -90.0, -0.0, 0.0, 90.0, 1e4, 1e20, 3e38]], np.float32)
    with np.errstate(all="ignore"):
        shown = Activation(name).forward(x)
    assert np.array_equal(shown, np.where(x > 0, x, 0))


@pytest.mark.parametrize("name", NAMES)
def test_blocks_and_threads_change_nothing(name: ActivationName) -> None:
    x = np.random.default_rng(0).normal(0, 3, (700, 1024)).astype(np.float32)
    shown = Activation(name).forward(x)
    assert np.array_equal(shown[350:352], Activation(name).forward(x[350:352].copy()))


@pytest.mark.parametrize("name", NAMES)
def test_derivations(name: ActivationName) -> None:
    numbers = np.random.default_rng(1).normal(0, 3, (4, 50)).astype(np.float32)
    operand, op = given(numbers), Activation(name)
    shown = op.forward(numbers)
    for cell in np.ndindex(numbers.shape):
        *_, last = op.derive(cell, [operand])
        assert abs(last.value - float(shown[cell])) <= 3e-6 * max(1.0, abs(last.value))
    assert CURVES[name].formula in op.formula("activated", [operand])
    assert op.formula("activated", [operand]).startswith(f"activated = {name}({operand.symbol}), {name}(x) = ")


def test_known_values() -> None:
    x = np.array([[-1.0, 0.5, 1.0, 3.0]], np.float32)
    assert Activation("gelu").forward(x)[0].tolist() == pytest.approx(
        [-0.1586553, 0.3457312, 0.8413447, 2.99595], rel=1e-6
    )
    assert Activation("gelu_tanh").forward(x)[0].tolist() == pytest.approx(
        [-0.158808, 0.345714, 0.841192, 2.996363], rel=1e-5
    )
    assert Activation("relu").forward(x)[0].tolist() == [0.0, 0.5, 1.0, 3.0]
