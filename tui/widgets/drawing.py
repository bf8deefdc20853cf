"""The lines of a matrix, as segments, for the part of it that can be seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from engine.text import visible
from tui.widgets.cells import Cells, ColorCells, DigitCells, NumberCells
from tui.widgets.grid import Geometry, Grid, Look, shows_numbers
from tui.widgets.marks import Margin, RowState
from tui.widgets.numbers import ASCII, NumberFormat, cut
from tui.widgets.palette import Palette

_NUMBERING_STEPS = (1, 4, 5, *(step * 10**power for power in range(1, 7) for step in (1, 2, 5)))


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
        self._cells = self._chosen_cells()

    def window(self, rows: slice, columns: slice) -> Window:
        """The values and levels of these rows and columns."""
        values = self.grid.window(rows, columns)
        levels = self.palette.levels(values, self.kind, self.limit)
        return Window(rows.start, columns.start, values, levels)

    def row(self, row: int, window: Window, state: RowState) -> list[Segment]:
        """The line of a row that lies in the window."""
        line = row - window.first_row
        values, levels = window.values[line].tolist(), window.levels[line].tolist()
        texts = self._cells.texts(values, levels)
        styles = self._styles(levels, window.first_column, state.lit)
        segments = self._gutter(row, state)
        at = len(texts) if state.cursor is None else state.cursor - window.first_column
        if not 0 <= at < len(texts):
            return segments + self._joined(texts, styles)
        segments += self._joined(texts[:at], styles[:at])
        segments += self._under_cursor(texts[at], levels[at])
        return segments + self._joined(texts[at + 1 :], styles[at + 1 :])

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

    def _chosen_cells(self) -> Cells:
        width, glyphs, depth = self.geometry.cell, self.glyphs, self.palette.depth
        if self._in_numbers:
            return NumberCells(self.numbers, width, brackets=depth == "none" or glyphs is ASCII)
        if self.palette.prints_digits:
            return DigitCells(width, glyphs, self.kind, self.limit)
        return ColorCells(width, glyphs)

    def _gutter(self, row: int, state: RowState) -> list[Segment]:
        palette, width = self.palette, self.geometry.gutter - 2
        if width < 0:
            return []
        more = self.glyphs.more_rows if any(state.more) else " "
        label = cut(visible(self.grid.row_label(row)), width, self.glyphs)
        quiet = palette.quiet if self.numbered_rows else palette.label
        return [
            Segment(self.glyphs.here, palette.mark) if state.here else Segment(more, palette.quiet),
            *_blanks(width - cell_len(label), palette.blank),
            *([Segment(label, palette.here if state.here else quiet)] if label else []),
            *_blanks(1, palette.blank),
        ]

    def _styles(self, levels: list[int], first: int, lit: frozenset[int] | None) -> list[Style]:
        normal, faded = self.palette.normal, self.palette.faded
        if lit is None:
            return [normal[level] for level in levels]
        return [(normal if column in lit else faded)[level] for column, level in enumerate(levels, first)]

    def _joined(self, texts: list[str], styles: list[Style]) -> list[Segment]:
        """Cells side by side: each with its gap, or where there is none, neighbours of one style as one segment."""
        if gap := _blanks(self.geometry.gap, self.palette.blank):
            return [part for text, style in zip(texts, styles, strict=True) for part in (Segment(text, style), *gap)]
        segments: list[Segment] = []
        run, current = "", None
        for text, style in zip(texts, styles, strict=True):
            if style is current:
                run += text
                continue
            if run:
                segments.append(Segment(run, current))
            run, current = text, style
        return [*segments, Segment(run, current)] if run else segments

    def _under_cursor(self, text: str, level: int) -> list[Segment]:
        left, inside, right = self._cells.under_cursor(text)
        edge, cursor = self.palette.edge[level], self.palette.cursor[level]
        parts = (Segment(left, edge), Segment(inside, cursor), Segment(right, edge))
        return [*(part for part in parts if part.text), *_blanks(self.geometry.gap, self.palette.blank)]

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


def _blanks(width: int, style: Style) -> list[Segment]:
    return [Segment(" " * width, style)] if width > 0 else []
