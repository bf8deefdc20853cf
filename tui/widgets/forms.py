"""The ways in which a matrix of an equation can be drawn, and the room each takes."""

from __future__ import annotations

import math
from dataclasses import replace

from tui.grids import OperandGrid
from tui.layout import Form, Painted, Wish, Written
from tui.widgets.grid import Geometry, Labels, Look
from tui.widgets.numbers import NumberFormat, usual_digits

# So many digits after the point of a number below a hundred; a larger one has fewer.
EXACT = 4
# An operand has room for so many painted numbers, whatever else there is.
FEW = 6
# More of a result's columns in colours say more than its operands would.
MANY = 12
BROAD = 4
# The widest label of two tokens, or of a part of an emoji.
TWO_TOKENS = 24


def wish(grid: OperandGrid, *, cell: int, name: int, title: int, digits: int, result: bool, rows_beside: bool) -> Wish:
    """The ways to draw a grid.

    Args:
        cell: how few cells a painted number takes.
        name: how many cells the matrix's name takes; ``title`` with its shape.
        digits: how many digits after the point it should have, to be compared with others.
        result: whether it is the result, whose rows are always named.
        rows_beside: whether the result has the same rows, so that they are named there.
    """
    labels = Labels.of(grid)

    def form(look: Look) -> Form:
        if grid.kind == "ids":
            # A single column has room for whole names.
            look = replace(look, row_label_width=TWO_TOKENS)
        elif grid.label_width is not None:
            look = replace(look, row_label_width=min(look.row_label_width, grid.label_width))
        return Form(look, max(Geometry.of(grid, look, labels).width, name + 2))

    written = {way: form(look) for way, look in _written(grid, digits).items()}
    if grid.kind == "ids":
        # Names of tokens have no size that a colour could show.
        painted = dict.fromkeys(Painted, written[Written.SPACED])
        least = written[Written.BARE].width
    else:
        painted = {way: form(look) for way, look in _painted(cell, named=result or not rows_beside).items()}
        gutter = Geometry.of(grid, painted[Painted.BARE].look, labels).gutter
        least = max(gutter + (MANY if result else FEW) * cell, name + 2)
    return Wish(written, painted, least, title + 2, not grid.numbered_columns)


def _written(grid: OperandGrid, wanted: int) -> dict[Written, Look]:
    usual, exact = _digits(grid, wanted)
    fewer = None if usual is None else max(min(1, usual), usual - 1)
    return {
        Written.BARE: Look(spacing=1, digits=fewer, bare=True, column_label_width=0),
        Written.SHORT: Look(spacing=1, digits=fewer, column_label_width=0),
        Written.CLOSE: Look(spacing=1, digits=usual, column_label_width=0),
        Written.SPACED: Look(digits=usual),
        Written.EXACT: Look(digits=exact),
        Written.AIRY: Look(digits=exact, spacing=4),
    }


def _digits(grid: OperandGrid, wanted: int) -> tuple[int | None, int | None]:
    """The usual digits after the point, and as many as are worth looking at; None where that is not ours to say."""
    limit = grid.limit
    if grid.kind not in ("signed", "share") or NumberFormat.fitting(grid.kind, limit).exponent:
        return None, None
    whole = grid.whole_digits
    if whole is not None:
        # As it would be written by hand, no digit more.
        return max(min(whole, EXACT), wanted), max(whole, wanted)
    usual = max(usual_digits(grid.kind, limit), wanted)
    before = math.floor(math.log10(limit)) if limit > 0 else 0
    return usual, max(usual, EXACT - max(0, before - 1), 1 - before + 2 if before < 0 else 0)


def _painted(cell: int, *, named: bool) -> dict[Painted, Look]:
    return {
        Painted.BARE: Look("heat", cell, row_label_width=12 if named else 0),
        Painted.THIN: Look("heat", cell),
        Painted.SQUARE: Look("heat", max(2, cell)),
        Painted.BROAD: Look("heat", BROAD),
    }
