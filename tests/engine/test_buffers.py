"""Memory for results is used again as soon as nobody needs what is in it, and never before."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from engine.buffers import SLAB, SMALL, Buffers
from engine.model import Model
from engine.operand import Array
from engine.values import Values

MEBIBYTE = 1 << 20


@pytest.fixture
def no_collector() -> Iterator[None]:
    """What goes, goes because nobody holds it, not because the collector came by."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def address(array: Array) -> int:
    place: int = array.__array_interface__["data"][0]
    return place


def test_memory_is_used_again_when_the_last_view_is_gone(no_collector: None) -> None:
    buffers = Buffers()
    first = buffers.empty((3, 50, 200))
    place, view = address(first), first.reshape(-1)[5:].reshape(5, -1)[1:]
    del first
    second = buffers.empty((3, 50, 200))
    assert address(second) != place
    del view
    # So does another of about the same size.
    assert place in {address(buffers.empty((3, 50, 200))), address(third := buffers.empty((3, 50, 199)))}
    assert third.shape == (3, 50, 199)


def test_what_is_looked_at_is_never_written_over() -> None:
    buffers = Buffers()
    arrays = []
    for number in range(200):
        array = buffers.empty((number % 7 + 1, 20_000))
        array[...] = number
        arrays.append((number, array[-1]))
        if number % 3 == 0:
            del arrays[number % len(arrays)]
    for number, row in arrays:
        assert (row == number).all()


def test_pieces_of_a_slab_do_not_overlap() -> None:
    buffers = Buffers()
    pieces = [buffers.empty((SMALL // 4 + 1000,)) for _ in range(2 * SLAB // SMALL)]
    places = sorted((address(piece), piece.nbytes) for piece in pieces)
    assert all(start + size <= later for (start, size), (later, _) in pairwise(places))


@pytest.mark.parametrize("shape", [(), (0, 5), (3,), (1 << 14,), (7, 1 << 16), (1, 5 * MEBIBYTE)])
def test_arrays_of_any_size(shape: tuple[int, ...]) -> None:
    array = Buffers().empty(shape)
    array[...] = 1.0
    assert array.shape == shape
    assert array.dtype == np.float32
    assert array.flags.writeable
    assert array.flags.c_contiguous


def test_no_more_is_held_than_the_most(no_collector: None) -> None:
    buffers = Buffers(most=4 * SLAB)
    held = [buffers.empty((SLAB // 4,)) for _ in range(4)]
    places = {address(array) for array in held}
    more = [buffers.empty((SLAB // 4,)) for _ in range(4)]
    del held, more
    assert buffers.spare == 4 * SLAB
    # Another size takes the place of what nobody uses.
    other = buffers.empty((SLAB // 2,))
    assert buffers.spare == 0
    del other
    assert buffers.spare == 2 * SLAB
    assert len(places) == 4


def test_many_threads() -> None:
    buffers = Buffers()

    def work(number: int) -> bool:
        for _ in range(50):
            array = buffers.empty((40_000,))
            array[...] = number
            if not (array == number).all():
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


def test_kept_values_count_the_memory_that_they_lie_in() -> None:
    buffers, values = Buffers(), Values(MEBIBYTE)
    array = buffers.empty((100, 1000))
    values.put("x", array, False)
    values.put("heads", array.reshape(100, 4, 250).swapaxes(0, 1), False)
    assert 400_000 <= values.bytes <= 450_000
    values.put("y", buffers.empty((200, 1000)), False)
    assert "x" not in values
    assert values.bytes <= MEBIBYTE


def test_a_trace_that_nobody_holds_is_gone_at_once(sample: Model, no_collector: None) -> None:
    trace = sample.trace("我爱你")
    trace.compute(trace.stages)
    gone = weakref.ref(trace)
    stage, weights = trace["layers.1.attention.norm"], trace["layers.0.attention.weights"].value
    other = weakref.ref(trace["logits"])
    del trace
    assert gone() is None
    assert other() is None
    # A stage lives on with what it is made of.
    assert stage.value.shape == (1, 3, 64)
    assert weights.sum() == pytest.approx(12.0)
