"""A matrix that can be drawn, and the room it takes, in cells and lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

from engine.text import visible
from tui.widgets.numbers import UNICODE, Glyphs, Kind, NumberFormat

Mode = Literal["numbers", "heat"]

_SAMPLED_LABELS = 256


class Grid(Protocol):
    """A matrix that can be asked for any part of itself.

    `limit` is the magnitude at the end of the colour scale. Labels that only number the rows or columns may be left
    out of a crowded margin; others are always shown.
    """

    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def limit(self) -> float: ...
    @property
    def numbered_rows(self) -> bool: ...
    @property
    def numbered_columns(self) -> bool: ...

    def window(self, rows: slice, columns: slice) -> NDArray[np.float32]:
        """The values of these rows and columns."""
        ...

    def row_label(self, row: int) -> str: ...

    def column_label(self, column: int) -> str: ...


@dataclass(frozen=True)
class Look:
    """How a grid is to be drawn; see the attributes of `MatrixView`."""

    mode: Mode = "numbers"
    cell_width: int = 2
    gap: int = 0
    digits: int | None = None
    labels: bool = True
    row_label_width: int = 12
    column_label_width: int = 8
    glyphs: Glyphs = UNICODE


@dataclass(frozen=True)
class Geometry:
    """Where the parts of a drawn grid are, in cells and lines."""

    rows: int
    columns: int
    header: int
    gutter: int
    cell: int
    gap: int

    @classmethod
    def of(cls, grid: Grid, look: Look, numbers: NumberFormat) -> Geometry:
        """The geometry of the whole grid; asks for a few labels and no values."""
        gutter, cell, gap = 0, max(1, look.cell_width), look.gap
        if look.labels:
            labels = (grid.row_label(row) for row in _sample(grid.rows, grid.numbered_rows))
            gutter = 2 + min(look.row_label_width, _widest(labels))
        if shows_numbers(grid, look):
            cell, gap = numbers.width + 2, 0
            if look.labels:
                labels = (grid.column_label(column) for column in _sample(grid.columns, grid.numbered_columns))
                cell = max(cell, min(look.column_label_width, _widest(labels)) + 2)
        return cls(grid.rows, grid.columns, int(look.labels), gutter, cell, gap)

    @property
    def pitch(self) -> int:
        """From the start of one column to the start of the next."""
        return self.cell + self.gap

    @property
    def width(self) -> int:
        return self.gutter + max(0, self.columns * self.pitch - self.gap)

    @property
    def height(self) -> int:
        return self.header + self.rows

    def columns_in(self, width: int) -> int:
        """How many whole columns can be seen at once; where not all fit, there is room to say so."""
        if self.width <= width:
            return self.columns
        return max(1, min(self.columns - 1, (width - self.gutter - 2) // self.pitch))


def shows_numbers(grid: Grid, look: Look) -> bool:
    """Names of tokens have no size that a colour could show: they are always written out."""
    return look.mode == "numbers" or grid.kind == "ids"


def _sample(count: int, numbered: bool) -> Iterable[int]:
    """Positions whose labels tell how wide labels are, without asking a whole vocabulary."""
    if numbered or count == 0:
        return range(count)[-1:]
    return range(0, count, -(-count // _SAMPLED_LABELS))


def _widest(labels: Iterable[str]) -> int:
    return max((cell_len(visible(label)) for label in labels), default=0)
