"""Work in parts gives the same bits as ever, however many threads share it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import threadpoolctl

from engine.operand import Array
from engine.ops import Add, ApplyMask, LayerNorm, Multiply, RMSNorm, Softmax, parallel
from engine.ops.parallel import matrix_product, over_blocks


def numbers(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


LARGE = {
    "matrix": (numbers(700, 96), numbers(96, 1500)),
    "heads": (numbers(2, 3, 300, 32), numbers(2, 3, 32, 500)),
    "turned": (numbers(1, 300, 4, 32).swapaxes(1, 2), numbers(1, 4, 500, 32).swapaxes(2, 3)),
    "shared": (numbers(2, 2, 3, 257, 16), numbers(2, 2, 1, 16, 900)),
    "one for all": (numbers(5, 300, 64), numbers(64, 800)),
    "one row": (numbers(1, 4096), numbers(4096, 5000)),
}


@pytest.mark.parametrize("case", LARGE)
def test_a_product_has_the_same_bits_on_any_number_of_threads(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = LARGE[case]
    found = []
    for threads in (1, 2, 7):
        monkeypatch.setattr(parallel, "_threads", lambda threads=threads: threads)
        found.append(matrix_product(x, y))
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    np.testing.assert_allclose(found[0], x.astype(np.float64) @ y.astype(np.float64), atol=2e-4)
    assert found[0].dtype == np.float32


@pytest.mark.parametrize("rows", [1, 5, 130, 3000])
def test_a_bias_is_added_to_every_row_once(rows: int) -> None:
    x, y, bias = numbers(rows, 300), numbers(300, 1700), numbers(1700)
    exact = x.astype(np.float64) @ y.astype(np.float64) + bias
    np.testing.assert_allclose(matrix_product(x, y, bias), exact, atol=2e-4)
    columns = parallel.product_by_columns(x, lambda part: y[:, part], 1700, bias)
    np.testing.assert_allclose(columns, exact, atol=2e-4)


@pytest.mark.parametrize(("rows", "columns", "width"), [(1, 50257, 768), (128, 768, 768), (4000, 30, 9), (77, 101, 5)])
def test_pieces_of_a_product_cover_everything_once(rows: int, columns: int, width: int) -> None:
    seen = np.zeros((rows, columns), np.int64)
    pieces = parallel._pieces(rows, columns, columns * width)
    for row, column in pieces:
        seen[(*row, ..., column)] += 1
    assert (seen == 1).all()
    assert len(pieces) <= parallel.MOST


@pytest.mark.parametrize(
    ("forward", "operands"),
    [
        (Softmax().forward, (numbers(2, 2, 500, 400),)),
        (ApplyMask().forward, (numbers(1, 4, 400, 400), np.tri(400)[None])),
        (LayerNorm(1e-5).forward, (numbers(2, 700, 300), numbers(300), numbers(300))),
        (RMSNorm(1e-5, 1.0).forward, (numbers(2, 700, 300), numbers(300))),
        (Add().forward, (numbers(1, 700, 500), numbers(1, 700, 500))),
        (Add().forward, (numbers(1, 700, 500), numbers(500))),
        (Multiply().forward, (numbers(1, 700, 500), numbers(1, 700, 500))),
    ],
    ids=["softmax", "mask", "layer norm", "rms norm", "residual", "bias", "multiply"],
)
def test_blocks_have_the_same_bits_on_any_number_of_threads(
    forward: Callable[..., Array], operands: tuple[Array, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert operands[0].size > parallel.SMALL
    found = []
    for threads in (1, 2, 7):
        monkeypatch.setattr(parallel, "_threads", lambda threads=threads: threads)
        found.append(forward(*operands).tobytes())
    monkeypatch.setattr(parallel, "SMALL", 1 << 40)
    assert {*found, forward(*operands).tobytes()} == {found[0]}


@pytest.mark.parametrize("shape", [(5, 700), (3, 5, 7, 11), (2, 1, 1000, 3), (1, 1), (9, 4, 100)])
@pytest.mark.parametrize("most", [1, 50, 700, 10**6])
def test_parts_cover_everything_once(shape: tuple[int, ...], most: int) -> None:
    seen = np.zeros(shape, np.int64)
    for part in parallel._cut(shape, most):
        assert seen[part].shape[-1] == shape[-1]
        seen[part] += 1
    assert (seen == 1).all()


def test_what_goes_wrong_in_a_part_is_raised() -> None:
    def work(block: Array) -> None:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        over_blocks(work, numbers(600, 1000))


def test_blas_gets_its_threads_back() -> None:
    def threads() -> list[int]:
        return [library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads()
        matrix_product(*LARGE["heads"])
        assert threads() == before
    with parallel._blas_on_one_thread, parallel._blas_on_one_thread:
        assert set(threads()) <= {1}


def test_what_is_hidden_is_hidden_even_where_it_is_no_number() -> None:
    odd = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)
    scores, mask = np.stack([odd, odd])[None, None], np.array([[[1, 1, 1, 1], [0, 0, 0, 0]]], np.float32)
    seen, hidden = ApplyMask().forward(scores, mask)[0, 0]
    assert seen.tobytes() == odd.tobytes()
    assert np.isneginf(hidden).all()
