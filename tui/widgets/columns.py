"""The labels over a matrix: as many as can be told apart, and always those of the columns that are marked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.cells import cell_len
from rich.style import Style

from engine.text import visible
from tui.widgets.grid import Geometry, Grid
from tui.widgets.marks import Marks
from tui.widgets.numbers import ASCII, Glyphs, cut
from tui.widgets.palette import Palette

# Every so many columns are numbered.
_STEPS = (1, 4, 5, *(step * 10**power for power in range(1, 7) for step in (1, 2, 5)))
# Less of a token's name than this says nothing.
LEAST_NAME = 4
LONGEST_NAME = 16

Placed = tuple[int, str, Style]
"""Where on the line a text begins, the text, and its style."""


@dataclass(frozen=True)
class ColumnLabels:
    """Places the labels of the columns in sight; none touches another. `spacing` is 0 where no numbers are written."""

    grid: Grid
    geometry: Geometry
    palette: Palette
    glyphs: Glyphs
    spacing: int

    def line(self, columns: range, marks: Marks) -> list[Placed]:
        """The labels over these columns."""
        here = marks.columns_here()
        first = [column for column in columns if column in here]
        labels: list[Placed] = []
        for column in (*first, *(column for column in self._wanted(columns) if column not in here)):
            style = self._style(column, column in here, column in marks.span)
            placed = self._placed(column, columns, style, whole=column in here)
            if placed is not None and not any(_touch(placed, other) for other in labels):
                labels.append(placed)
        return [*labels, *self._bracket(columns, marks.span, labels)]

    def _wanted(self, columns: range) -> Iterable[int]:
        grid, pitch = self.grid, self.geometry.pitch
        if not grid.numbered_columns or self.spacing:
            return columns
        widest = cell_len(grid.column_label(grid.columns - 1))
        step = next(s for s in _STEPS if (s == 1 and widest < pitch) or s * pitch > widest + 1)
        return (column for column in columns if column % step == 0)

    def _style(self, column: int, here: bool, in_span: bool) -> Style:
        if here:
            return self.palette.here
        return self.palette.label if in_span or not self.grid.numbered_columns else self.palette.quiet

    def _placed(self, column: int, columns: range, style: Style, *, whole: bool) -> Placed | None:
        """A label over its column: over the end of its numbers, over the middle of its colour if there is room."""
        pitch, gutter = self.geometry.pitch, self.geometry.gutter
        label = cut(visible(self.grid.column_label(column)), LONGEST_NAME, self.glyphs)
        width = cell_len(label)
        if self.spacing and width >= pitch and not whole:
            if pitch <= LEAST_NAME:
                return None
            label = cut(label, pitch - 1, self.glyphs)
            width = cell_len(label)
        start = gutter + (column - columns.start) * pitch
        if self.spacing:
            start += pitch - self.spacing // 2 - width
        elif not self.grid.numbered_columns:
            start += max(0, pitch - width) // 2
        end = gutter + len(columns) * pitch
        if whole:
            start = max(0, min(start, end - width))
        return (start, label, style) if label and start + width <= end else None

    def _bracket(self, columns: range, span: range, labels: list[Placed]) -> list[Placed]:
        """A line over the columns that belong together, wherever no label stands."""
        seen = range(max(span.start, columns.start), min(span.stop, columns.stop))
        if not seen:
            return []
        pitch, gutter = self.geometry.pitch, self.geometry.gutter
        first, last = (gutter + (column - columns.start) * pitch for column in (seen.start, seen.stop))
        across, left, right = ("-", "[", "]") if self.glyphs is ASCII else ("─", "╭", "╮")
        line = [across] * (last - first)
        if seen.start == span.start:
            line[0] = left
        if seen.stop == span.stop:
            line[-1] = right
        for start, text, _ in labels:
            for place in range(max(start, first), min(start + cell_len(text), last)):
                line[place - first] = " "
        text = "".join(line)
        return [
            (first + place, character, self.palette.mark) for place, character in enumerate(text) if character != " "
        ]


def _touch(one: Placed, other: Placed) -> bool:
    return one[0] <= other[0] + cell_len(other[1]) and other[0] <= one[0] + cell_len(one[1])
