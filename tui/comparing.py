"""What a worked example's file says of a row, the row as it comes out, and the difference, under each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from engine.operand import Cell
from engine.worked import Comparison
from tui.language import Language
from tui.widgets.numbers import align

# Two digits more than the file has show what rounding hides.
EXTRA, MOST_DIGITS = 2, 7

Column = tuple[str, str, str]
"""A number of the file, the computed one, and how much more that is; the first and last may be empty."""


def names(say: Language) -> tuple[str, str, str]:
    """What the three lines are called."""
    return say("worked.printed"), say("worked.computed"), say("worked.difference")


def columns(comparison: Comparison, cell: Cell, part: slice = slice(None)) -> list[Column]:
    """The numbers, or some of them, of the row in which a stage's cell stands."""
    row: tuple[int | slice, ...] = (*cell[:-1], part)
    halves, given = comparison.printed.halves[row], comparison.given[row]
    computed, apart = comparison.stage.value[row], comparison.differences[row]
    found = []
    for half, one, other, gap in zip(halves, given, computed, apart, strict=True):
        digits = _digits(half)
        finer = min(max(digits, 2) + EXTRA, MOST_DIGITS)
        known = not np.isnan(one)
        apart_text = f"{gap:.{finer}f}"
        if float(apart_text):
            apart_text = ("+" if other > one else "-") + apart_text
        texts = (f"{one:.{digits}f}" if known else "", f"{other:.{finer}f}", apart_text if known else "")
        one_text, other_text, gap_text = (text.replace("-", "−").replace("inf", "∞") for text in texts)
        found.append((one_text, other_text, gap_text))
    return found


def aligned(texts: Sequence[Column], column: int, room: int) -> tuple[int, list[list[str]]]:
    """The cells of the three lines, all of one width, with as many columns as there is room for, `column` among them.

    Returns:
        the first column that is shown, and its cells and those after it, line by line; ``⋯`` at the end where some
        columns are left out.
    """
    longest = max(len(text) for three in texts for text in three)
    cell = longest + 2 if (longest + 2) * len(texts) <= room else longest + 1
    if cell * len(texts) <= room:
        first, shown = 0, list(texts)
    else:
        count = max(1, room // cell - 1)
        first = max(0, min(column - count + 1, len(texts) - count))
        shown = [*texts[first : first + count], ("⋯", "⋯", "⋯")]
    return first, [[align(three[line], cell, "right") for three in shown] for line in range(3)]


@lru_cache(maxsize=16)
def digits(comparison: Comparison) -> int:
    """How many digits after the point the file has, at most."""
    halves = comparison.printed.halves
    return _digits(float(np.min(halves, where=halves > 0, initial=0.5)))


def _digits(half: float) -> int:
    """The digits after the point of a number whose last digit is worth twice this."""
    return max(0, round(-np.log10(2 * half))) if half > 0 else 0
