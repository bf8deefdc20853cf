"""What is special about the rows and columns of a matrix at the moment."""

from __future__ import annotations

from typing import NamedTuple

Cell = tuple[int, int]
"""A row and a column, from 0."""


class Margin(NamedTuple):
    """Whether something lies outside the window, before and after it."""

    before: bool
    after: bool


class RowState(NamedTuple):
    """How a row differs from any other. Columns that are not `lit` are faded, unless that is None."""

    here: bool = False
    cursor: int | None = None
    lit: frozenset[int] | None = None
    more: Margin = Margin(False, False)


class Marks(NamedTuple):
    """The cursor, and the row, the column and the cells that another matrix's selected cell was made of.

    The columns of a `span` belong together, such as those of a head.
    """

    cursor: Cell | None = None
    row: int | None = None
    column: int | None = None
    cells: frozenset[Cell] = frozenset()
    span: range = range(0)

    @property
    def fade(self) -> bool:
        """Whether what is not marked fades."""
        return self.row is not None or self.column is not None or bool(self.cells)

    def of_row(self, row: int, more: Margin) -> RowState:
        """What is special about a row."""
        cursor = self.cursor[1] if self.cursor is not None and self.cursor[0] == row else None
        marked = {column for line, column in self.cells if line == row}
        here = cursor is not None or row == self.row or bool(marked)
        if self.span and self.cells:
            # The whole span is lit: the cell in it needs another mark.
            cursor = min(marked, default=cursor)
            marked.update(self.span)
        if self.column is not None:
            marked.add(self.column)
        lit = frozenset(marked) if self.fade and row != self.row else None
        return RowState(here, cursor, lit, more)

    def columns_here(self) -> frozenset[int]:
        """The columns whose labels are marked."""
        columns = {column for _, column in self.cells}
        if self.cursor is not None:
            columns.add(self.cursor[1])
        if self.column is not None:
            columns.add(self.column)
        return frozenset(columns)
