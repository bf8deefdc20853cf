"""An operand as a matrix on the screen: which of its axes are rows and columns, and what stands in a window of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.axes import Axis
from engine.constants import Constant
from engine.operand import Array, Cell, Index, Operand
from engine.ops import Given, GivenWeight, MergeHeads, Softmax, SplitHeads, Successors, Tokenize
from engine.stages import Stage
from tui.widgets.numbers import Kind

# The colour scale's end is the largest magnitude; of a matrix with more cells than this only every so many are asked.
SCANNED = 1 << 20
FEW = 8
# Nobody writes more digits after the point by hand than float32 tells apart.
MOST_DIGITS = 7
# What is computed from a few small numbers needs no more.
EVEN_DIGITS = 2


def kind_of(operand: Operand) -> Kind:
    """What sort of numbers an operand holds: shares of one, token ids, a mask, or any."""
    if isinstance(operand, Stage):
        if isinstance(operand.op, Softmax) or operand.name.endswith("attention.weights"):
            return "share"
        if isinstance(operand.op, Tokenize | Successors):
            return "ids"
    elif isinstance(operand, Constant) and operand.kind == "mask":
        return "mask"
    return "signed"


def matrix_axes(operand: Operand) -> tuple[int | None, int | None]:
    """The numbers of the axes that are rows and columns: the last two; a batch of single numbers is a column."""
    count = len(operand.axes)
    if count == 1:
        return None, 0
    if count == 2 and operand.axes[0].symbol == "B":
        return 1, None
    return count - 2, count - 1


@dataclass(frozen=True)
class OperandGrid:
    """A matrix of an operand: the text and head are fixed by ``cell``, the matrix axes run free.

    ``turned`` shows it on its side, as Kᵀ stands in Q·Kᵀ; ``only`` shows a single column of it, not turned.
    ``label_width`` is that of the widest row label in sight, where that is not the widest of all.
    """

    operand: Operand
    leading: Cell
    text: int
    turned: bool = False
    only: int | None = None
    label_width: int | None = None

    @classmethod
    def around(cls, operand: Operand, cell: Cell, text: int, turned: bool = False) -> OperandGrid:
        """The matrix in which a cell of an operand stands."""
        row, column = matrix_axes(operand)
        leading = tuple(0 if axis in (row, column) else position for axis, position in enumerate(cell))
        return cls(operand, leading, text, turned)

    @property
    def row_axis(self) -> Axis | None:
        """The axis down the side."""
        return self._axis(1 if self.turned else 0)

    @property
    def column_axis(self) -> Axis | None:
        """The axis along the top."""
        return self._axis(0 if self.turned else 1)

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.row_axis.size if self.row_axis else 1

    @property
    def columns(self) -> int:
        """How many columns."""
        return self.column_axis.size if self.column_axis and self.only is None else 1

    @property
    def kind(self) -> Kind:
        """What sort of numbers."""
        return kind_of(self.operand)

    @property
    def limit(self) -> float:
        """The largest magnitude, for the colour scale; 1 for shares."""
        return 1.0 if self.kind == "share" else _extent(self)[0]

    @property
    def whole_digits(self) -> int | None:
        """How many digits after the point say all of a matrix given by hand, or of one that comes out as even.

        None where it takes more than anybody writes.
        """
        given = isinstance(self.operand, GivenWeight) or (
            isinstance(self.operand, Stage) and isinstance(self.operand.op, Given)
        )
        return _digits_needed(self, MOST_DIGITS if given else EVEN_DIGITS)

    @property
    def low(self) -> float:
        """The low end of the colour scale: 0 where no number is below it."""
        return -self.limit if self.kind == "signed" and _extent(self)[1] else 0.0

    @property
    def has_masked(self) -> bool:
        """Whether any cell is −∞, for the legend."""
        return self.kind == "signed" and _has_masked(self)

    @property
    def numbered_rows(self) -> bool:
        """Whether rows are only numbered."""
        return self.row_axis is None or not self.row_axis.by_text

    @property
    def numbered_columns(self) -> bool:
        """Whether columns are only numbered."""
        return self.column_axis is None or not self.column_axis.by_text

    def row_label(self, row: int) -> str:
        """What stands at a row."""
        axis = self.row_axis
        # A single number needs no number.
        label = axis.label(row, self.text) if axis is not None and axis.symbol != "1" else ""
        return f"{label}→{self._successor(row)}" if self.pairs else label

    @property
    def pairs(self) -> bool:
        """Whether a row is labelled with two tokens: the one that predicts, and the one that it should predict."""
        return isinstance(self.operand, Stage) and isinstance(self.operand.op, Successors)

    def _successor(self, row: int) -> str:
        assert isinstance(self.operand, Stage)
        return self.operand.inputs[0].axes[1].label(row + 1, self.text)

    @property
    def row_names(self) -> Sequence[str] | None:
        """What stands along the rows; None where they are only numbered."""
        return self.row_axis.labels_of(self.text) if self.row_axis else None

    def column_label(self, column: int) -> str:
        """What stands at a column."""
        column += self.only or 0
        return self.column_axis.label(column, self.text) if self.column_axis else ""

    def window(self, rows: slice, columns: slice) -> Array:
        """The numbers in a window, rows × columns; no more of the operand than that is read."""
        if self.only is not None:
            columns = slice(self.only, self.only + len(range(*columns.indices(1))))
        down, across = (columns, rows) if self.turned else (rows, columns)
        row, column = matrix_axes(self.operand)
        index: list[int | slice] = list(self.leading)
        if row is not None:
            index[row] = down
        if column is not None:
            index[column] = across
        part = self.operand.part(tuple(index))
        if row is None:
            part = part[None, :]
        elif column is None:
            part = part[:, None]
        return part.T if self.turned else part

    def place(self, cell: Cell) -> tuple[int, int]:
        """The row and column of an operand's cell."""
        row, column = matrix_axes(self.operand)
        down = 0 if row is None else cell[row]
        across = 0 if column is None or self.only is not None else cell[column]
        return (across, down) if self.turned else (down, across)

    def cell(self, row: int, column: int) -> Cell:
        """The operand's cell at a row and column."""
        column += self.only or 0
        down, across = (column, row) if self.turned else (row, column)
        cell = list(self.leading)
        for axis, position in zip(matrix_axes(self.operand), (down, across), strict=True):
            if axis is not None:
                cell[axis] = position
        return tuple(cell)

    def marks(self, part: Index) -> tuple[int | None, int | None, frozenset[tuple[int, int]]]:
        """What a cell of a result is made of, in this matrix: a whole row, a whole column, or single cells."""
        row, column = matrix_axes(self.operand)
        down = 0 if row is None else part[row]
        across = 0 if column is None else part[column]
        if self.only is not None and across == self.only:
            across = 0
        if self.turned:
            down, across = across, down
        whole_row = across == slice(None)
        whole_column = down == slice(None)
        if whole_row or whole_column:
            return (None if whole_column else down), (None if whole_row else across), frozenset()
        rows = range(*down.indices(self.rows)) if isinstance(down, slice) else [down]
        columns = range(*across.indices(self.columns)) if isinstance(across, slice) else [across]
        return None, None, frozenset((i, j) for i in rows for j in columns)

    def _axis(self, which: int) -> Axis | None:
        axis = matrix_axes(self.operand)[which]
        return None if axis is None else self.operand.axes[axis]


def head_columns(stage: Stage, cell: Cell) -> tuple[range, range]:
    """The columns of one head where several heads stand side by side, in a stage's operand and in its result."""
    if isinstance(stage.op, SplitHeads) and stage.axes[1].size > 1:
        width = stage.axes[-1].size
        first = cell[1] * width
        return range(first, first + width), range(0)
    if isinstance(stage.op, MergeHeads) and stage.inputs[0].axes[1].size > 1:
        width = stage.inputs[0].axes[-1].size
        first = cell[-1] // width * width
        return range(0), range(first, first + width)
    return range(0), range(0)


@lru_cache(maxsize=256)
def _digits_needed(grid: OperandGrid, most: int) -> int | None:
    # A few numbers tell of nearly every matrix that it needs more.
    for part in (grid.window(slice(0, FEW), slice(0, FEW)), _scanned(grid)):
        finite = part[np.isfinite(part)]
        exact = finite.astype(np.float64)
        fitting = (n for n in range(most + 1) if np.array_equal(np.round(exact, n).astype(np.float32), finite))
        digits = next(fitting, None)
        if digits is None:
            break
    return digits


def _scanned(grid: OperandGrid) -> Array:
    rows = slice(None, None, max(1, grid.rows * grid.columns // SCANNED))
    return grid.window(rows, slice(None))


@lru_cache(maxsize=256)
def _extent(grid: OperandGrid) -> tuple[float, bool]:
    """The largest magnitude, and whether there are numbers below zero."""
    part = _scanned(grid)
    finite = np.isfinite(part)
    largest = float(np.max(np.abs(part), where=finite, initial=0.0))
    return largest or 1.0, bool(np.any(part < 0, where=finite))


@lru_cache(maxsize=256)
def _has_masked(grid: OperandGrid) -> bool:
    return bool(np.isneginf(_scanned(grid)).any())
