"""The lines of a matrix, as segments, for the part of it that can be seen."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from engine.text import visible
from tui.widgets.grid import Geometry, Grid, Look, shows_numbers
from tui.widgets.numbers import NumberFormat, align, cut
from tui.widgets.palette import INFINITE, MASKED, NAN, Palette

_NUMBERING_STEPS = (1, 4, 5, *(step * 10**power for power in range(1, 7) for step in (1, 2, 5)))


class Margin(NamedTuple):
    """What lies outside the window."""

    before: bool
    after: bool


class RowState(NamedTuple):
    """What is special about a row now. Columns that are not `lit` are faded, unless that is None."""

    here: bool = False
    cursor: int | None = None
    lit: frozenset[int] | None = None
    more: Margin = Margin(False, False)


class Window(NamedTuple):
    """The part of a grid that is on screen."""

    first_row: int
    first_column: int
    values: NDArray[np.float32]
    levels: NDArray[np.int16]

    def covers(self, rows: slice, columns: slice) -> bool:
        return (rows.start, columns.start) == (self.first_row, self.first_column) and self.values.shape == (
            rows.stop - rows.start,
            columns.stop - columns.start,
        )


class Drawing:
    """Draws the lines of one grid in one look with one palette."""

    def __init__(self, grid: Grid, look: Look, palette: Palette) -> None:
        self.grid = grid
        self.palette = palette
        self.glyphs = look.glyphs
        # A grid may work these out each time it is asked.
        self.kind, self.limit = grid.kind, grid.limit
        self.numbered_rows, self.numbered_columns = grid.numbered_rows, grid.numbered_columns
        self.numbers = NumberFormat.fitting(self.kind, self.limit, look.digits, look.glyphs)
        self.geometry = Geometry.of(grid, look, self.numbers)
        self._in_numbers = shows_numbers(grid, look)
        self._brackets = palette.depth == "none" or look.glyphs.left_edge == "["

    def window(self, rows: slice, columns: slice) -> Window:
        """The values and levels of these rows and columns."""
        values = self.grid.window(rows, columns)
        levels = self.palette.levels(values, self.kind, self.limit)
        return Window(rows.start, columns.start, values, levels)

    def row(self, row: int, window: Window, state: RowState) -> list[Segment]:
        """The line of a row that lies in the window."""
        line = row - window.first_row
        values, levels = window.values[line].tolist(), window.levels[line].tolist()
        runs = itertools.chain(self._gutter(row, state), self._cells(values, levels, window.first_column, state))
        return _merged(runs)

    def header(self, columns: range, here: frozenset[int], more: Margin) -> list[Segment]:
        """The line of column labels."""
        geometry, palette, mark = self.geometry, self.palette, self.glyphs.more_columns
        end = geometry.gutter + len(columns) * geometry.pitch
        placed = [*self._column_labels(columns, here)]
        if more.before:
            placed.append((max(0, geometry.gutter - 1 - cell_len(mark)), mark, palette.quiet))
        if more.after:
            placed.append((end + 1, mark, palette.quiet))
        segments, position = [], 0
        for start, text, style in sorted(placed, key=lambda label: label[0]):
            segments += [Segment(" " * (start - position), palette.blank), Segment(text, style)]
            position = start + cell_len(text)
        return [segment for segment in segments if segment.text]

    def _gutter(self, row: int, state: RowState) -> Iterator[tuple[str, Style]]:
        palette, width = self.palette, self.geometry.gutter - 2
        if width < 0:
            return
        if state.here:
            yield self.glyphs.here, palette.mark
        else:
            yield self.glyphs.more_rows if any(state.more) else " ", palette.quiet
        style = palette.here if state.here else palette.quiet if self.numbered_rows else palette.label
        label = cut(visible(self.grid.row_label(row)), width, self.glyphs)
        yield " " * (width - cell_len(label)), palette.blank
        yield label, style
        yield " ", palette.blank

    def _cells(
        self, values: list[float], levels: list[int], first: int, state: RowState
    ) -> Iterator[tuple[str, Style]]:
        palette, gap = self.palette, " " * self.geometry.gap
        for column, (value, level) in enumerate(zip(values, levels, strict=True), first):
            if gap and column > first:
                yield gap, palette.blank
            text = self._text(value, level)
            if column == state.cursor:
                yield from self._cursor(text, level)
            elif state.lit is None or column in state.lit:
                yield text, palette.normal[level]
            else:
                yield text, palette.faded[level]

    def _cursor(self, text: str, level: int) -> Iterator[tuple[str, Style]]:
        """The same cell with a frame at its sides; where a frame would hide a digit, the style alone shows it."""
        cursor, edge, glyphs = self.palette.cursor[level], self.palette.edge[level], self.glyphs
        if self._in_numbers and self._brackets:
            number = text.strip()
            yield f"[{number}]".rjust(len(text)), cursor
        elif self._in_numbers or (len(text) > 1 and not text.strip()):
            yield glyphs.left_edge, edge
            yield text[1:-1], cursor
            yield glyphs.right_edge, edge
        else:
            yield text if text.strip() else "▪".center(len(text)), cursor

    def _text(self, value: float, level: int) -> str:
        """What a cell says, in exactly its width."""
        cell = self.geometry.cell
        if self._in_numbers:
            number = self.numbers.text(value)
            if level == MASKED:
                number = self.glyphs.hatch * (self.numbers.width - len(number)) + number
            return f" {number:>{cell - 2}} "
        if level == MASKED:
            return self.glyphs.hatch * cell
        if level in (NAN, INFINITE):
            return align(
                ("NaN" if cell > 2 else "?") if level == NAN else self.glyphs.infinity, cell, "centre", self.glyphs
            )
        return self._digit(value).rjust(cell) if self.palette.prints_digits else " " * cell

    def _digit(self, value: float) -> str:
        """The sign, and the size in tenths of the limit."""
        limit = self.limit if self.limit > 0 else 1.0
        sign = " " if value == 0 or self.kind == "share" else "+" if value > 0 else self.glyphs.minus
        return f"{sign}{min(9, int(10 * abs(value) / limit))}"[-self.geometry.cell :]

    def _column_labels(self, columns: range, here: frozenset[int]) -> Iterator[tuple[int, str, Style]]:
        grid, geometry, palette = self.grid, self.geometry, self.palette
        if self.numbered_columns and not self._in_numbers:
            yield from self._spread_numbers(columns, here)
            return
        width = geometry.cell - self._in_numbers
        for position, column in enumerate(columns):
            style = palette.here if column in here else palette.quiet if self.numbered_columns else palette.label
            label = cut(visible(grid.column_label(column)), width - self._in_numbers, self.glyphs)
            spare = width - cell_len(label)
            before = spare if self._in_numbers else spare // 2
            yield geometry.gutter + position * geometry.pitch + before, label, style

    def _spread_numbers(self, columns: range, here: frozenset[int]) -> Iterator[tuple[int, str, Style]]:
        """As many column numbers as stand apart, the marked ones before the others."""
        grid, geometry, palette = self.grid, self.geometry, self.palette
        widest = cell_len(grid.column_label(grid.columns - 1))
        step = next(
            step
            for step in _NUMBERING_STEPS
            if (step == 1 and widest < geometry.pitch) or step * geometry.pitch > widest + 1
        )
        end = geometry.gutter + len(columns) * geometry.pitch - geometry.gap
        taken: list[tuple[int, int]] = []
        for column in sorted(columns, key=lambda column: column not in here):
            if column % step and column not in here:
                continue
            label = visible(grid.column_label(column))
            start = geometry.gutter + (column - columns.start) * geometry.pitch
            if column in here:
                start = min(start, end - cell_len(label))
            stop = start + cell_len(label)
            if stop <= end and all(stop < left or right < start for left, right in taken):
                taken.append((start, stop))
                yield start, label, palette.here if column in here else palette.quiet


def _merged(runs: Iterable[tuple[str, Style]]) -> list[Segment]:
    """Neighbours of one style as one segment."""
    segments = []
    for _, group in itertools.groupby(runs, key=lambda run: id(run[1])):
        texts, styles = zip(*group, strict=True)
        segments.append(Segment("".join(texts), styles[0]))
    return [segment for segment in segments if segment.text]
