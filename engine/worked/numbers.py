"""Arrays as a TOML file writes them: checked for shape and content, with the precision each number is written in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.axes import Axis
from engine.checkpoints.files import shortened
from engine.errors import FileError

# An array is written out in the file, which bounds it, or filled with one number: then this bounds it.
FILLED_LIMIT = 1 << 28
MOST_AXES = 4
LARGEST = float(np.finfo(np.float32).max)

Numbers = NDArray[np.float64]
# A TOML value that stands for numbers: nested lists, or {shape = […], fill = x}, or a row for each of some tokens.
Raw = Any


@dataclass(frozen=True)
class Matrix:
    """Numbers as they are written, and for each half a unit of its last digit: 0.005 for 0.08; 0 for whole numbers."""

    values: Numbers
    halves: Numbers


@dataclass(frozen=True)
class Writing:
    """Where an array is written: the file and line, and its key; ``masks`` says that it may hold −∞."""

    place: str
    key: str
    masks: bool = False

    def matrix(self, raw: Raw) -> Matrix:
        """The numbers of nested lists, or of ``{shape = [512, 50000], fill = 0}``, which take no memory.

        Raises:
            FileError: rows have different lengths, or something is not a number.
        """
        if isinstance(raw, Mapping):
            return self._filled(raw)
        shape = self._shape(raw, ())
        if len(shape) > MOST_AXES:
            raise self._no_matrix(f"lists nested {len(shape)} deep")
        flat = list(self._flat(raw))
        values = np.array([self._number(x) for x in flat], np.float64).reshape(shape)
        halves = np.array([_half(x) for x in flat], np.float64).reshape(shape)
        return Matrix(values, halves)

    def row(self, raw: Raw, axis: Axis, token: str, other: str) -> Matrix:
        """The numbers of the row of one token along an axis, whose size ``other`` decides.

        Raises:
            FileError: there are more or fewer of them, or something is not a number.
        """
        found = self.matrix(raw)
        if found.values.shape != (axis.size,):
            shape = found.values.shape
            text = "{file}: the row of {token} in {entry} is {shape}; to fit {other} it must be {wanted}"
            values = {
                "shape": f"{axis.symbol} = {shape[0]}" if len(shape) == 1 else written(shape),
                "wanted": f"{axis.symbol} = {axis.size}",
            }
            raise FileError("worked-row", text, file=self.place, entry=self.key, token=token, other=other, **values)
        return found

    def _filled(self, raw: Mapping[str, Raw]) -> Matrix:
        if set(raw) != {"shape", "fill"}:
            raise self._no_matrix("a table")
        shape, size = raw["shape"], 1
        sizes = shape if isinstance(shape, list) else [shape]
        if not sizes or len(sizes) > MOST_AXES or any(type(n) is not int or n < 1 for n in sizes):
            raise self._no_matrix(f"shape = {_shown(shape)}")
        size = math.prod(sizes)
        if size > FILLED_LIMIT:
            text = "{file}: {entry} has {count} numbers; there may be {limit}"
            raise FileError("worked-too-large", text, file=self.place, entry=self.key, count=size, limit=FILLED_LIMIT)
        fill = raw["fill"]
        return Matrix(
            np.broadcast_to(np.float64(self._number(fill)), sizes), np.broadcast_to(np.float64(_half(fill)), sizes)
        )

    def _shape(self, raw: Raw, place: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of nested lists, each as long as its neighbours."""
        if not isinstance(raw, list):
            return ()
        if not raw:
            raise self._no_matrix("an empty list")
        inner = [self._shape(part, (*place, number)) for number, part in enumerate(raw)]
        for number, shape in enumerate(inner):
            if shape != inner[0]:
                text = "{file}: {entry}[{row}] has {found} numbers where {entry}[{first}] has {wanted}"
                values = {
                    "row": ",".join(map(str, (*place, number))),
                    "first": ",".join(map(str, (*place, 0))),
                    "found": written(shape),
                    "wanted": written(inner[0]),
                }
                raise FileError("worked-ragged", text, file=self.place, entry=self.key, **values)
        return (len(raw), *inner[0])

    def _flat(self, raw: Raw) -> Iterator[Raw]:
        if isinstance(raw, list):
            for part in raw:
                yield from self._flat(part)
        else:
            yield raw

    def _number(self, raw: Raw) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float | Decimal):
            raise self._wrong_number(_shown(raw))
        number = _as_float(raw)
        if number == -math.inf and self.masks:
            return number
        # What is beyond float32 cannot be shown as it is written.
        if not abs(number) <= LARGEST:
            raise self._wrong_number(_shown(raw))
        return number

    def _wrong_number(self, value: str) -> FileError:
        text = "{file}: {entry} holds {value}; only finite numbers can be computed with"
        return FileError("worked-number", text, file=self.place, entry=self.key, value=value)

    def _no_matrix(self, found: str) -> FileError:
        text = (
            "{file}: {entry} is {found}; it must be numbers in rows, [[1, 2], [3, 4]], or {{shape = [2, 2], fill = 0}}"
        )
        return FileError("worked-no-matrix", text, file=self.place, entry=self.key, found=found)


def written(shape: Sequence[int]) -> str:
    """A shape without its axes' names: ``2×3``."""
    return "×".join(map(str, shape)) or "1"


def _as_float(raw: int | float | Decimal) -> float:
    try:
        return float(raw)
    except OverflowError:
        return math.inf


def _half(raw: Raw) -> float:
    """Half a unit of the last digit that is written; 0 for whole numbers, which are exact."""
    if not isinstance(raw, Decimal) or not raw.is_finite():
        return 0.0
    exponent = raw.as_tuple().exponent
    assert isinstance(exponent, int)
    return 0.5 * 10.0**exponent if exponent < 0 else 0.0


def _shown(raw: Raw) -> str:
    return shortened(str(raw), 40)
