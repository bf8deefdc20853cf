"""Memory for results, used again: the system is asked for it seldom, in large pieces, and by one thread.

Fresh memory is not free: the system clears each page when it is first written to, which for a large result takes longer
than computing it, and several times as long again where two threads come upon the same page.
"""

from __future__ import annotations

import math
from collections import defaultdict
from threading import RLock

import numpy as np

from engine.operand import Array

# Smaller arrays are left to NumPy, which keeps their memory itself.
SMALL = 1 << 16
# So many bytes are asked for at once. NumPy asks for huge pages where it is given four megabytes or more.
SLAB = 1 << 24
HUGE_PAGE = 1 << 21
# Memory that nobody uses is given back where that and what is in use come to more than this.
MOST = (1 << 30) + (1 << 28)


class Buffer:
    """Memory that an array lies in; when the last view of that array is gone, it can be had again."""

    __slots__ = ("__array_interface__", "_pool", "_raw")

    def __init__(self, raw: Array, shape: tuple[int, ...], pool: Buffers) -> None:
        self._raw, self._pool = raw, pool
        self.__array_interface__ = raw[: math.prod(shape)].reshape(shape).__array_interface__

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return self._raw.nbytes

    def __del__(self) -> None:
        self._pool.give_back(self._raw)


class Buffers:
    """Pieces of memory of a few sizes, and which of them nobody uses."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._spare: defaultdict[int, list[Array]] = defaultdict(list)
        self._spare_bytes = self._used_bytes = 0
        # One thread may come back here: while it holds the lock, an array may be found to be gone.
        self._lock = RLock()

    @property
    def spare(self) -> int:
        """How many bytes are held that nobody uses."""
        return self._spare_bytes

    def empty(self, shape: tuple[int, ...]) -> Array:
        """An array to write a result into, float32, of any content."""
        size = 4 * math.prod(shape)
        if size < SMALL:
            return np.empty(shape, np.float32)
        rounded = _rounded(size)
        with self._lock:
            raw = self._spare[rounded].pop() if self._spare[rounded] else None
            if raw is None:
                if self._used_bytes + self._spare_bytes + max(rounded, SLAB) > self._most:
                    self._spare.clear()
                    self._spare_bytes = 0
                raw, *others = _slab(rounded)
                self._spare[rounded] += others
                self._spare_bytes += sum(other.nbytes for other in others)
            else:
                self._spare_bytes -= rounded
            self._used_bytes += rounded
        return np.asarray(Buffer(raw, shape, self))

    def give_back(self, raw: Array) -> None:
        """Take back what `empty` handed out."""
        with self._lock:
            self._used_bytes -= raw.nbytes
            if self._used_bytes + self._spare_bytes + raw.nbytes <= self._most:
                self._spare[raw.nbytes].append(raw)
                self._spare_bytes += raw.nbytes


def _rounded(size: int) -> int:
    """The next size of four binary digits: texts of a similar length use the same memory."""
    step = 1 << max(0, size.bit_length() - 4)
    return -(-size // step) * step


def _slab(size: int) -> list[Array]:
    """Fresh pieces of so many bytes, side by side. A piece is the system's again when all of them are let go."""
    count = max(1, SLAB // size)
    whole = np.empty(count * size // 4, np.float32)
    whole[:: HUGE_PAGE // 4] = 0.0
    return [whole[size // 4 * place :][: size // 4] for place in range(count)]


_buffers = Buffers()
empty = _buffers.empty
