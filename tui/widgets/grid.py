"""A matrix that can be drawn, and the room it takes, in cells and lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

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
    """How a grid is to be drawn.

    Attributes:
        cell_width: how many cells a value takes in heat mode; in numbers mode the numbers decide.
        spacing: how many blanks a number has beside it: one before it, and the others on both sides.
        digits: how many digits after the point; as many as help if None.
        bare: whether shares begin with their point, ``.97``.
        row_label_width: the widest row label that the gutter makes room for; longer ones are cut.
        column_label_width: the widest column label that numbers are moved apart for.
        row_height: how many lines a row takes; more than one only where all rows can be seen at once.
    """

    mode: Mode = "numbers"
    cell_width: int = 2
    spacing: int = 2
    digits: int | None = None
    bare: bool = False
    row_label_width: int = 12
    column_label_width: int = 8
    row_height: int = 1
    glyphs: Glyphs = UNICODE

    @property
    def paints_thin(self) -> bool:
        """Whether a painted value takes a single cell of a line."""
        return self.mode == "heat" and self.cell_width == 1

    def numbers(self, kind: Kind, limit: float) -> NumberFormat:
        """How this look writes numbers."""
        return NumberFormat.fitting(kind, limit, self.digits, self.glyphs, bare=self.bare)


class Labels(NamedTuple):
    """How many cells the widest row and column labels of a grid take."""

    rows: int
    columns: int

    @classmethod
    def of(cls, grid: Grid) -> Labels:
        """Measure a grid's labels, or where there are very many, some of them."""
        return cls(
            _widest(grid.row_label(row) for row in _sample(grid.rows, grid.numbered_rows)),
            _widest(grid.column_label(column) for column in _sample(grid.columns, grid.numbered_columns)),
        )


@dataclass(frozen=True)
class Geometry:
    """Where the parts of a drawn grid are, in cells and lines."""

    rows: int
    columns: int
    gutter: int
    pitch: int
    row_height: int = 1
    header: int = 1

    @classmethod
    def of(cls, grid: Grid, look: Look, labels: Labels | None = None) -> Geometry:
        """The geometry of the whole grid; asks for no values, and for a few labels where they are not given."""
        labels = Labels.of(grid) if labels is None else labels
        pitch = max(1, look.cell_width)
        if shows_numbers(grid, look):
            widest = max(look.numbers(grid.kind, grid.limit).width, min(look.column_label_width, labels.columns))
            pitch = widest + look.spacing
        return cls(grid.rows, grid.columns, 2 + min(look.row_label_width, labels.rows), pitch, look.row_height)

    @property
    def width(self) -> int:
        return self.gutter + self.columns * self.pitch

    @property
    def height(self) -> int:
        return self.header + self.rows * self.row_height

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
