"""Curves as dots, two across and four down in each cell, gathered by what they mean before they are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ACROSS, DOWN = 2, 4

Points = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Dots across and dots down."""

_BRUSHES = {1: [(0, 0)], 2: [(0, 0), (1, 0), (0, 1), (1, 1)], 3: [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)]}


def arc(left: float, right: float, base: float, height: float) -> Points:
    """Half of an ellipse over the span from left to right, ``height`` dots above ``base``, or below if negative."""
    count = int(2 * (right - left) + 4 * abs(height)) + 8
    angles = np.linspace(0.0, np.pi, count)
    return (left + right) / 2 + (right - left) / 2 * np.cos(angles), base - height * np.sin(angles)


def line(start: tuple[float, float], end: tuple[float, float]) -> Points:
    """A straight line between two points (across, down)."""
    count = int(2 * math.dist(start, end)) + 2
    return np.linspace(start[0], end[0], count), np.linspace(start[1], end[1], count)


def dotted(points: Points, every: float = 3.0) -> Points:
    """One dot every so many along the curve."""
    x, y = points
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    chosen = np.searchsorted(along, np.arange(0.0, along[-1], every))
    return x[chosen], y[chosen]


@dataclass(frozen=True)
class Ink:
    """The dots that are drawn in one style, as places across and down in cells."""

    style: str
    points: list[tuple[float, float]]


class Strokes:
    """Strokes on a sheet of so many cells.

    Each has a style by its group and rank. In a cell that strokes of two groups pass, only the higher group's are
    drawn; those of one group join, in the colour of the highest rank.
    """

    def __init__(self, width: int, height: int, groups: tuple[tuple[str, ...], ...]) -> None:
        self._styles = [style for styles in groups for style in styles]
        self._groups = np.repeat(np.arange(len(groups)), [len(styles) for styles in groups])
        self._first = [int(np.searchsorted(self._groups, group)) for group in range(len(groups))]
        self._dots = np.zeros((len(self._styles), height * DOWN, width * ACROSS), np.bool_)
        self._owner = np.full((height, width), -1, np.int64)

    def add(self, group: int, rank: int, points: Points, thickness: int = 1, owner: int = -1) -> None:
        """Put a stroke on the sheet; ``owner`` is what `owner` will say of its cells."""
        x, y = (np.floor(part).astype(np.int64) for part in points)
        dots = self._dots[self._first[group] + rank]
        height, width = dots.shape
        for dx, dy in _BRUSHES[thickness]:
            across, down = x + dx, y + dy
            inside = (across >= 0) & (across < width) & (down >= 0) & (down < height)
            across, down = across[inside], down[inside]
            dots[down, across] = True
            self._owner[down // DOWN, across // ACROSS] = owner

    def owner(self, x: int, y: int) -> int | None:
        """Whose stroke was last put through a cell."""
        height, width = self._owner.shape
        found = int(self._owner[y, x]) if 0 <= x < width and 0 <= y < height else -1
        return None if found < 0 else found

    def inks(self) -> list[Ink]:
        """What is to be drawn; no cell comes twice."""
        ranks, height, width = self._dots.shape
        cells = np.any(self._dots.reshape(ranks, height // DOWN, DOWN, width // ACROSS, ACROSS), axis=(2, 4))
        highest = np.full(cells.shape[1:], -1)
        for rank in range(ranks):
            highest[cells[rank]] = rank
        found = []
        for rank in sorted(set(highest.ravel().tolist()) - {-1}):
            mine = (highest == rank).repeat(DOWN, axis=0).repeat(ACROSS, axis=1)
            joined = np.any(self._dots[self._groups == self._groups[rank]], axis=0)
            down, across = np.nonzero(joined & mine)
            points = list(zip((across / ACROSS).tolist(), (down / DOWN).tolist(), strict=True))
            found.append(Ink(self._styles[rank], points))
        return found
