"""What the cells of a matrix say, each in exactly the width of a cell: numbers, nothing but colour, or a digit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tui.widgets.numbers import Glyphs, Kind, NumberFormat, align
from tui.widgets.palette import INFINITE, MASKED, NAN


class Cells(Protocol):
    """A way to write a row of cells."""

    def texts(self, values: Sequence[float], levels: Sequence[int]) -> list[str]:
        """What each cell says."""
        ...

    def under_cursor(self, text: str) -> tuple[str, str, str]:
        """A cell's text with a frame around it: its left edge, the inside, its right edge."""
        ...


@dataclass(frozen=True)
class NumberCells:
    """Numbers, after a blank, and where `spacing` is more than that, with blanks on both sides.

    `brackets` close in on the number under the cursor.
    """

    numbers: NumberFormat
    width: int
    spacing: int
    brackets: bool

    def texts(self, values: Sequence[float], levels: Sequence[int]) -> list[str]:
        after = self.spacing // 2
        inside = self.width - after
        return [
            f"{self._number(value, level):>{inside}}{'':{after}}" for value, level in zip(values, levels, strict=True)
        ]

    def under_cursor(self, text: str) -> tuple[str, str, str]:
        glyphs = self.numbers.glyphs
        if self.spacing < 2:
            # There is no room for a frame: its left side alone.
            return glyphs.left_edge, text[1:], ""
        if self.brackets:
            after = self.spacing // 2
            return "", f"[{text.strip()}]".rjust(self.width - after + 1).ljust(self.width), ""
        return glyphs.left_edge, text[1:-1], glyphs.right_edge

    def _number(self, value: float, level: int) -> str:
        text = self.numbers.text(value)
        return self.numbers.glyphs.hatch * (self.numbers.width - len(text)) + text if level == MASKED else text


class ColorCells:
    """Blanks, for the background to show."""

    def __init__(self, width: int, glyphs: Glyphs) -> None:
        self._blank = " " * width
        self._special = _special_texts(width, glyphs)
        self._glyphs = glyphs

    def texts(self, values: Sequence[float], levels: Sequence[int]) -> list[str]:
        special, blank = self._special.get, self._blank
        return [special(level, blank) for level in levels]

    def under_cursor(self, text: str) -> tuple[str, str, str]:
        if len(text) > 1:
            return self._glyphs.left_edge, text[1:-1], self._glyphs.right_edge
        return self._glyphs.cursor, "", ""


class DigitCells:
    """The sign of a number, and its size in tenths of the limit: ``+3``, ``−7``; of a share only its size, of a mask
    its 1 or 0.
    """

    def __init__(self, width: int, glyphs: Glyphs, kind: Kind, limit: float) -> None:
        self._width = width
        self._special = _special_texts(width, glyphs)
        self._signs = (" ", " ", " ") if kind in ("share", "mask") else (" ", "+", glyphs.minus)
        self._limit = limit if limit > 0 else 1.0
        self._in_tenths = kind != "mask"

    def texts(self, values: Sequence[float], levels: Sequence[int]) -> list[str]:
        special = self._special
        return [
            special[level] if level in special else self._digit(value)
            for value, level in zip(values, levels, strict=True)
        ]

    def under_cursor(self, text: str) -> tuple[str, str, str]:
        return "", text, ""

    def _digit(self, value: float) -> str:
        sign = self._signs[(value > 0) - (value < 0)]
        digit = min(9, int(10 * abs(value) / self._limit)) if self._in_tenths else int(value)
        return f"{sign}{digit}".rjust(self._width)[-self._width :]


def _special_texts(width: int, glyphs: Glyphs) -> dict[int, str]:
    return {
        MASKED: glyphs.hatch * width,
        NAN: align("NaN" if width > 2 else "?", width, "centre", glyphs),
        INFINITE: align(glyphs.infinity, width, "centre", glyphs),
    }
