"""Numbers of a file that share out 1 along each row: weights and probabilities that nothing computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.axes import Axis
from engine.errors import FileError
from engine.worked.comparison import ROUNDING
from engine.worked.numbers import Matrix


def check_shares(matrix: Matrix, axes: Sequence[Axis], place: str, key: str) -> None:
    """Make sure that rows hold shares: none is negative, and they add up to 1 as far as their digits can tell.

    Each number may be off by half a unit of the last digit that is written, so that 0.33, 0.33, 0.33 add up to 1.

    Args:
        matrix: the numbers, along ``axes``; the rows run along the last, their tokens along the one before.
        place: the file and line, and ``key`` what they stand under.

    Raises:
        FileError: a row cannot be shares; the message has its token, and what is wrong with it.
    """
    negative = np.argwhere(matrix.values < 0)
    if len(negative):
        cell = tuple(negative[0])
        text = "{file}: {entry}[{cell}] is {value}, in the row of {token}; shares of 1 are never negative"
        values = {"cell": _index(cell), "value": f"{matrix.values[cell]:g}", "token": _token(axes, cell)}
        raise FileError("worked-negative-share", text, file=place, entry=key, **values)
    sums, allowed = matrix.values.sum(axis=-1), matrix.halves.sum(axis=-1)
    wrong = np.argwhere(np.abs(sums - 1.0) > allowed * (1 + 1e-9) + ROUNDING)
    if len(wrong):
        row = tuple(wrong[0])
        text = "{file}: {entry}[{row}], the row of {token}, adds up to {sum}; as it is written it must be {wanted}"
        wanted = f"1 ± {allowed[row]:.2g}" if allowed[row] else "1"
        values = {"row": _index(row), "token": _token(axes, row), "sum": f"{sums[row]:.7g}", "wanted": wanted}
        raise FileError("worked-row-sum", text, file=place, entry=key, **values)


def _index(place: tuple[int, ...]) -> str:
    return ",".join(str(int(number)) for number in place)


def _token(axes: Sequence[Axis], place: tuple[int, ...]) -> str:
    rows = len(axes) - 2
    return axes[rows].label(int(place[rows]), int(place[0]))
