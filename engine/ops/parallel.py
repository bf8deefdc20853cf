"""Large work in parts: a part stays in the processor's cache, and parts run on several threads.

NumPy lets go of the interpreter lock inside its loops, so threads really work at the same time. How work is cut follows
from its shape alone, and each row's arithmetic is the same however rows are shared out: results do not depend on the
number of threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from threading import Lock
from typing import Any

import numpy as np

from engine.buffers import empty
from engine.operand import Array, Index

# Measured, in float32: the input and the output of such a block are in the second-level cache, and the interpreter
# lock, which every call of NumPy asks for, is not what threads wait for.
BLOCK = 131_072
# Below this, handing work to a thread costs more than it saves.
SMALL = 2 * BLOCK
# Of a stack of products, so many multiplications are a part worth a thread, and so many rows use the other matrix often
# enough.
PRODUCT, ROWS = 1 << 24, 128
# A single product is cut into parts of about so many multiplications, and no more of them than this. Reading the other
# matrix takes as long as the multiplications of a few rows.
HALF, MOST, FEW = 50_000_000, 8, 16
EVERY = slice(None)
# Measured: numbers converted to float32, so many at a time, are still in the cache when the product uses them.
CONVERTED = 1 << 18
# OpenBLAS starts to use several threads at about so many.
BLAS_ALONE = 1 << 18


def over_blocks(work: Callable[..., Any], *arrays: Array) -> None:
    """Call ``work`` on matching blocks of whole last-axis rows of all arrays, of one shape of two axes or more."""
    shape = arrays[0].shape
    if arrays[0].size <= SMALL:
        work(*arrays)
        return
    _share(lambda block: work(*(array[block] for array in arrays)), [(block,) for block in _cut(shape, BLOCK)])


def matrix_product(x: Array, y: Array, bias: Array | None = None) -> Array:
    """x·y of stacks of matrices, …×N×K times …×K×M; a stack of one matrix serves all. ``bias``, M, is added to rows."""
    leading = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    result = empty((*leading, x.shape[-2], y.shape[-1]))
    x, y = np.broadcast_to(x, (*leading, *x.shape[-2:])), np.broadcast_to(y, (*leading, *y.shape[-2:]))

    def part(rows: Index, columns: slice = EVERY) -> None:
        out = result[(*rows, ..., columns)]
        np.matmul(x[rows], y[(*rows[: len(leading)], ..., columns)], out=out)
        if bias is not None:
            out += bias[columns]

    row = y.shape[-2] * y.shape[-1]
    if math.prod(result.shape[:-1]) * row < BLAS_ALONE:
        part(())
        return result
    with _blas_on_one_thread:
        if leading:
            _share(part, [(index,) for index in _cut((*result.shape[:-1], row), max(PRODUCT, ROWS * row))])
        else:
            _share(part, _pieces(len(x), y.shape[-1], row))
    return result


def product_by_columns(x: Array, columns: Callable[[slice], Array], count: int, bias: Array | None = None) -> Array:
    """x·y (+ ``bias``) of N×K and K×``count``, of which a few ``columns`` at a time are made, used and forgotten."""
    result = empty((len(x), count))

    def part(index: Index) -> None:
        out = result[:, index[0]]
        np.matmul(x, columns(index[0]), out=out)
        if bias is not None:
            out += bias[index[0]]

    with _blas_on_one_thread:
        _share(part, [(index,) for index in _cut((count, x.shape[-1]), CONVERTED)])
    return result


def _pieces(rows: int, columns: int, row: int) -> list[tuple[Index, slice]]:
    """The parts of a product of so many rows and columns, cut across its longer side into a power of two of them.

    ``row`` is how many multiplications a row takes.
    """
    most = -(-max(rows, FEW) * row // HALF)
    count = min(MOST, 1 << (most - 1).bit_length())
    step = -(-max(rows, columns) // count)
    pieces = [slice(start, start + step) for start in range(0, max(rows, columns), step)]
    return [((), piece) for piece in pieces] if columns > rows else [((piece,), EVERY) for piece in pieces]


def _cut(shape: Sequence[int], most: int) -> list[Index]:
    """The parts of an array of this shape, whole rows of the last axis and about ``most`` numbers each, as indices."""
    inner = math.prod(shape[1:])
    if len(shape) > 2 and inner > most:
        return [(place, *rest) for place in range(shape[0]) for rest in _cut(shape[1:], most)]
    step = max(1, most // max(1, inner))
    return [(slice(start, start + step),) for start in range(0, shape[0], step)]


def _share(work: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> None:
    """Call ``work`` with every part's arguments, here and on the pool's threads: whoever is free takes the next."""
    waiting = iter(parts)

    def take() -> None:
        for part in waiting:
            work(*part)

    helpers = [_pool().submit(take) for _ in range(min(_threads(), len(parts)) - 1)]
    try:
        take()
    finally:
        for helper in helpers:
            helper.result()


def _threads() -> int:
    return min(8, os.cpu_count() or 1)


@cache
def _pool() -> ThreadPoolExecutor:
    # NumPy's settings are a thread's own; numbers that overflow are shown, not warned of.
    return ThreadPoolExecutor(_threads(), "engine", initializer=partial(np.seterr, all="ignore"))


class _OneThread:
    """Keeps BLAS to one thread while anybody is inside.

    The rows are shared out here. Threads of its own would not help, stall where a processor is busy with something
    else, and let the last bits of a product depend on how many of them there are.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()


_blas_on_one_thread = _OneThread()


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
