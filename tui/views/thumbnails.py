"""Attention weights as a small picture: so many pixels, each the largest weight of the cells that it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rich.color import Color
from rich.style import Style

from engine.heads import Sight
from engine.operand import Array
from tui.widgets.palette import Palette

# Half-blocks multiply the colours of two pixels: so many levels keep the styles few.
LEVELS = 16
# Where colours cannot tell weights apart, these do, for as many levels of weight.
SHADES = " ·░▒▓█"
# A pixel of a cut edge has no level.
CUT = -1


@dataclass(frozen=True)
class Raster:
    """How many pixels across and down."""

    across: int
    down: int

    @classmethod
    def fitting(cls, queries: int, keys: int, room: int) -> Raster:
        """The pixels for a matrix in a square of ``room`` pixels: whole multiples of its cells where it fits."""
        times = room // max(queries, keys)
        return cls(keys * times, queries * times) if times else cls(min(keys, room), min(queries, room))


def pixels(weights: Array, sight: Sight, raster: Raster) -> NDArray[np.float32]:
    """The weights …×N×M as …×down×across pixels; NaN where the mask has cut all edges that a pixel stands for."""
    shown = np.where(sight, weights, -1.0).astype(np.float32)
    for axis, size in ((-2, raster.down), (-1, raster.across)):
        count = shown.shape[axis]
        if size >= count:
            shown = np.repeat(shown, size // count, axis=axis)
        else:
            starts = np.arange(size) * count // size
            shown = np.maximum.reduceat(shown, starts, axis=axis)
    return np.where(shown < 0, np.float32(np.nan), shown)


def levels(shares: NDArray[np.float32], count: int) -> NDArray[np.int16]:
    """The level of each pixel: as the square root of its weight, for most weights of a long text are small."""
    found = np.ceil(np.sqrt(np.nan_to_num(shares)) * (count - 1) - 1e-6)
    return np.where(np.isnan(shares), CUT, np.clip(found, 0, count - 1)).astype(np.int16)


@lru_cache(32)
def half_blocks(palette: Palette) -> dict[tuple[int, int], str]:
    """The style of ``▀`` for the levels of an upper and a lower pixel."""
    page = palette.blank.bgcolor or Color.default()
    # The levels of the pixels are bent already, as the palette bends a share.
    shares = np.linspace(0, 1, LEVELS, dtype=np.float32) ** 2
    colors = {CUT: page} | {
        number: palette.normal[found].bgcolor or page
        for number, found in enumerate(palette.levels(shares, "share", 1.0).tolist())
    }
    return {
        (upper, lower): str(Style(color=colors[upper], bgcolor=colors[lower])) for upper in colors for lower in colors
    }
