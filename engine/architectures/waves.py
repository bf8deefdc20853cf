"""The arithmetic of sinusoidal positions, however a model arranges sines and cosines."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.derivation import Number, Step

BASE = 10000.0


def angles(positions: int, pairs: NDArray[np.int64], width: int) -> NDArray[np.float64]:
    """n ÷ 10000^(2i/D) for positions n, pairs i and width D: N×len(i) (Vaswani et al. 2017, arXiv:1706.03762, 3.5)."""
    result: NDArray[np.float64] = np.arange(positions)[:, None] / np.power(BASE, 2 * pairs / width)
    return result


def wave_steps(position: int, pair: int, width: int, *, cosine: bool) -> tuple[Step, ...]:
    """How the sine or cosine of a position's angle comes about."""
    stretch = BASE ** (2 * pair / width)
    angle = position / stretch
    name, value = ("cos", math.cos(angle)) if cosine else ("sin", math.sin(angle))
    return (
        Step(f"10000^({2 * pair}/{width})", stretch, (f"10000^{2 * pair / width:g}",)),
        Step("θ", angle, (Number(position), " ÷ ", Number(stretch))),
        Step(f"{name} θ", value, (f"{name}(", Number(angle), ")")),
    )
