"""The lines of a matrix, as segments, for the part of it that can be seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from engine.text import visible
from tui.widgets.cells import Cells, ColorCells, DigitCells, NumberCells
from tui.widgets.columns import ColumnLabels
from tui.widgets.grid import Geometry, Grid, Look, shows_numbers
from tui.widgets.marks import Margin, Marks, RowState
from tui.widgets.numbers import ASCII, cut
from tui.widgets.palette import MASKED, Palette


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
        self.numbers = look.numbers(self.kind, self.limit)
        self.spacing = look.spacing
        self.geometry = Geometry.of(grid, look)
        self._in_numbers = shows_numbers(grid, look)
        self._cells = self._chosen_cells()

    def window(self, rows: slice, columns: slice) -> Window:
        """The values and levels of these rows and columns."""
        values = self.grid.window(rows, columns)
        levels = self.palette.levels(values, self.kind, self.limit)
        return Window(rows.start, columns.start, values, levels)

    def row(self, row: int, window: Window, state: RowState, *, written: bool = True) -> list[Segment]:
        """The line of a row that lies in the window; of a row of several lines, the others are not `written` on."""
        line = row - window.first_row
        values, levels = window.values[line].tolist(), window.levels[line].tolist()
        texts = self._cells.texts(values, levels) if written else self._empty(levels)
        styles = self._styles(levels, window.first_column, state.lit)
        segments = self._gutter(row, state) if written else _blanks(self.geometry.gutter, self.palette.blank)
        at = len(texts) if state.cursor is None else state.cursor - window.first_column
        if not 0 <= at < len(texts):
            return segments + self._joined(texts, styles)
        segments += self._joined(texts[:at], styles[:at])
        segments += self._under_cursor(texts[at], levels[at], written=written)
        return segments + self._joined(texts[at + 1 :], styles[at + 1 :])

    def header(self, columns: range, marks: Marks, more: Margin) -> list[Segment]:
        """The line of column labels."""
        geometry, palette, mark = self.geometry, self.palette, self.glyphs.more_columns
        placed = ColumnLabels(self.grid, geometry, palette, self.glyphs, self.spacing if self._in_numbers else 0)
        line = placed.line(columns, marks)
        if more.before:
            line.append((max(0, geometry.gutter - 1 - cell_len(mark)), mark, palette.quiet))
        if more.after:
            line.append((geometry.gutter + len(columns) * geometry.pitch + 1, mark, palette.quiet))
        segments, position = [], 0
        for start, text, style in sorted(line, key=lambda label: label[0]):
            segments += [Segment(" " * (start - position), palette.blank), Segment(text, style)]
            position = start + cell_len(text)
        return [segment for segment in segments if segment.text]

    def _chosen_cells(self) -> Cells:
        width, glyphs, depth = self.geometry.pitch, self.glyphs, self.palette.depth
        if self._in_numbers:
            return NumberCells(self.numbers, width, self.spacing, depth == "none" or glyphs is ASCII)
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
            *_blanks(width - cell_len(label), palette.blank),
            Segment(self.glyphs.here, palette.mark) if state.here else Segment(more, palette.quiet),
            *([Segment(label, palette.here if state.here else quiet)] if label else []),
            *_blanks(1, palette.blank),
        ]

    def _styles(self, levels: list[int], first: int, lit: frozenset[int] | None) -> list[Style]:
        normal, faded = self.palette.normal, self.palette.faded
        if lit is None:
            return [normal[level] for level in levels]
        return [(normal if column in lit else faded)[level] for column, level in enumerate(levels, first)]

    @staticmethod
    def _joined(texts: list[str], styles: list[Style]) -> list[Segment]:
        """Cells side by side, neighbours of one style as one segment."""
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

    def _under_cursor(self, text: str, level: int, *, written: bool) -> list[Segment]:
        left, inside, right = self._cells.under_cursor(text)
        edge, cursor = self.palette.edge[level], self.palette.cursor[level] if written else self.palette.normal[level]
        parts = (Segment(left, edge), Segment(inside, cursor), Segment(right, edge))
        return [part for part in parts if part.text]

    def _empty(self, levels: list[int]) -> list[str]:
        """Cells on which nothing is written."""
        width = self.geometry.pitch
        return [self.glyphs.hatch * width if level == MASKED else " " * width for level in levels]


def _blanks(width: int, style: Style) -> list[Segment]:
    return [Segment(" " * width, style)] if width > 0 else []
