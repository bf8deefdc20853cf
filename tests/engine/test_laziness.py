"""Stages are computed when somebody looks at them, once, and kept within the budget of memory."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.model import Model, load
from engine.operand import Array
from engine.ops import Linear
from engine.trace import Trace
from engine.values import Values

TEXT = "我爱你"
STREAM = ["embedding", *(f"layers.{i}.{part}.residual" for i in (0, 1) for part in ("attention", "mlp"))]
STREAM_BYTES = len(STREAM) * 3 * 64 * 4


@pytest.fixture(scope="module")
def expected(sample: Model) -> dict[str, bytes]:
    """The numbers of every stage, each of a trace that keeps everything, to the bit."""
    return {stage.name: stage.value.tobytes() for stage in sample.trace(TEXT)}


@pytest.fixture
def shallow_stack() -> Iterator[None]:
    """Leaves room for a few dozen calls, so that work that recurses stage by stage is found out."""
    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 80)
    yield
    sys.setrecursionlimit(limit)


def test_recording_computes_nothing(sample: Model) -> None:
    trace = sample.trace(TEXT)
    assert not trace.computed
    assert trace.memory == 0
    assert [stage.formula for stage in trace]
    assert [stage.shape_text for stage in trace]
    assert not trace.computed


def test_looking_computes_only_what_is_needed(sample: Model) -> None:
    trace = sample.trace(TEXT)
    assert trace["layers.0.attention.scores"].value.shape == (1, 4, 3, 3)
    names = ("norm", "q", "k", "q_heads", "k_heads", "q_rotated", "k_rotated", "scores")
    needed = {"tokens", "embedding", *(f"layers.0.attention.{name}" for name in names)}
    assert trace.computed == dict.fromkeys(needed, 1)


def test_a_stage_nobody_looks_at_is_never_computed(sample: Model) -> None:
    trace = sample.trace(TEXT)
    assert trace["norm"].value.size
    untouched = {stage.name for stage in trace} - set(trace.computed)
    assert untouched == {"logits", "probabilities", "targets", "losses", "loss"}


def test_each_stage_is_computed_once_where_memory_allows(sample: Model) -> None:
    trace = sample.trace(TEXT)
    for _ in range(2):
        for stage in reversed(trace.stages):
            assert stage.value.size
    assert trace.computed == {stage.name: 1 for stage in trace}


def test_explaining_a_cell_computes_only_what_leads_to_it(sample: Model) -> None:
    trace = sample.trace(TEXT)
    assert trace["layers.0.mlp.gate"].derivation((0, 1, 2)).steps
    assert "layers.0.attention.residual" in trace.computed
    assert "layers.0.mlp.up" not in trace.computed


def test_views_of_one_buffer_are_counted_once(sample: Model) -> None:
    trace = sample.trace(TEXT)
    assert trace["layers.0.attention.q_heads"].value.size
    # tokens; embedding, norm and q. The heads are q's own numbers in another order.
    assert trace.memory == 3 * 4 + 3 * (3 * 64 * 4)


def test_numbers_on_the_memory_map_of_a_file_take_no_memory(sample: Model) -> None:
    table = sample.trace(TEXT)["embedding"].inputs[1]
    values = Values(100)
    values.put("rows", table.part((slice(0, 50),)), lasting=False)
    assert "rows" in values
    assert values.bytes == 0
    values.put("copy", table.part((slice(0, 50),)).copy(), lasting=False)
    assert "copy" not in values


def test_what_was_asked_for_last_stays_longest() -> None:
    values = Values(2 * 40)
    for key in "ab":
        values.put(key, np.zeros(10, np.float32), lasting=False)
    assert values.get("a") is not None
    values.put("c", np.zeros(10, np.float32), lasting=False)
    assert [key for key in "abc" if key in values] == ["a", "c"]
    assert values.get("b") is None
    assert values.bytes == 80


def test_of_the_embedding_only_the_rows_are_read_that_are_needed(checkpoint: Callable[..., Path]) -> None:
    model = load(checkpoint(vocab_size=100_000, dtype=np.float16))
    stage = model.trace(ids=[99_999, 3])["embedding"]
    tracemalloc.start()
    assert stage.value.shape == (1, 2, 8)
    assert stage.derivation((0, 0, 0)).value == float(stage.value[0, 0, 0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize("budget", [0, 1, 3000, STREAM_BYTES, STREAM_BYTES + 2000, 50_000])
def test_the_budget_is_never_passed_and_what_was_dropped_comes_back_to_the_bit(
    sample: Model, expected: dict[str, bytes], budget: int
) -> None:
    trace = sample.trace(TEXT, memory=budget)
    held: list[int] = []

    def watch(done: int, count: int) -> None:
        held.append(trace.memory)

    for place in np.random.default_rng(budget).permutation(len(trace)):
        stage = trace.stages[place]
        trace.compute([stage], watch)
        assert stage.value.tobytes() == expected[stage.name]
        held.append(trace.memory)
    assert max(held) <= budget
    assert max(trace.computed.values()) > 1


def test_the_residual_stream_is_kept_first(sample: Model) -> None:
    trace = sample.trace(TEXT, memory=STREAM_BYTES)
    assert trace["probabilities"].value.size
    assert [stage.name for stage in trace if trace.is_kept(stage)] == STREAM
    assert trace.memory == STREAM_BYTES
    trace.computed.clear()
    assert trace["layers.1.attention.norm"].value.size
    assert trace.computed == {"layers.1.attention.norm": 1}


def test_within_the_stream_the_longest_unseen_goes_first(sample: Model) -> None:
    trace = sample.trace(TEXT, memory=2 * 3 * 64 * 4)
    assert trace["probabilities"].value.size
    assert [stage.name for stage in trace if trace.is_kept(stage)] == STREAM[-2:]


def test_what_is_too_large_to_keep_drives_nothing_out(sample: Model) -> None:
    trace = sample.trace(TEXT, memory=3 * 4096 * 4 - 1)
    assert trace["norm"].value.size
    kept = [stage.name for stage in trace if trace.is_kept(stage)]
    assert trace["logits"].value.size
    assert [stage.name for stage in trace if trace.is_kept(stage)] == kept


@pytest.mark.parametrize("memory", [0, 2000, 1 << 30])
@pytest.mark.usefixtures("shallow_stack")
def test_a_deep_model_does_not_recurse(checkpoint: Callable[..., Path], memory: int) -> None:
    model = load(checkpoint(num_hidden_layers=200))
    trace = model.trace(ids=[3, 1, 4, 1, 5], memory=memory)
    assert np.isfinite(trace["logits"].value).all()
    whole = model.trace(ids=[3, 1, 4, 1, 5])
    random = np.random.default_rng(memory)
    for place in random.integers(len(trace), size=20):
        assert np.array_equal(trace.stages[place].value, whole.stages[place].value)


def test_cost_is_the_work_that_is_left(sample: Model) -> None:
    trace = sample.trace(TEXT)
    stage = trace["layers.0.attention.q"]
    # One number a token, D numbers a token twice, then D products for each of N×D numbers.
    assert trace.cost([stage]) == 3 + 2 * 3 * 64 + 3 * 64 * 64
    assert stage.value.size
    assert trace.cost([stage]) == 0
    assert trace.cost([trace["layers.0.attention.q_heads"]]) == 3 * 64


def test_progress_is_told_after_each_stage(sample: Model) -> None:
    trace = sample.trace(TEXT)
    told: list[tuple[int, int, int]] = []
    trace.compute([trace["layers.0.attention.q"]], lambda *all: told.append((*all, len(trace.computed))))
    assert told == [(1, 4, 1), (2, 4, 2), (3, 4, 3), (4, 4, 4)]
    trace.compute([trace["layers.0.attention.q"]], lambda *all: told.append((*all, -1)))
    assert len(told) == 4


def test_stopping_leaves_the_trace_usable(sample: Model, expected: dict[str, bytes]) -> None:
    trace = sample.trace(TEXT)

    def stop(done: int, count: int) -> None:
        if done == 10:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        trace.compute(trace.stages, stop)
    assert len(trace.computed) == 10
    assert trace["logits"].value.tobytes() == expected["logits"]
    assert max(trace.computed.values()) == 1


@pytest.mark.parametrize("budget", [0, 4000, 1 << 30])
def test_two_threads_at_once(sample: Model, expected: dict[str, bytes], budget: int) -> None:
    trace = sample.trace(TEXT, memory=budget)
    start = Barrier(2)

    def look(seed: int) -> int:
        start.wait()
        places = np.random.default_rng(seed).permutation(len(trace))
        for place in places:
            trace.compute([trace.stages[place]])
        return sum(trace.stages[place].value.tobytes() != expected[trace.stages[place].name] for place in places)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(look, (1, 2))) == [0, 0]
    assert trace.memory <= budget


def test_two_threads_that_want_the_same_share_the_work(sample: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    forward = Linear.forward

    def slow(self: Linear, *arrays: Array) -> Array:
        time.sleep(0.02)
        return forward(self, *arrays)

    monkeypatch.setattr(Linear, "forward", slow)
    trace = sample.trace(TEXT)
    stage = trace["layers.0.attention.q"]
    start = Barrier(2)

    def look() -> bytes:
        start.wait()
        trace.compute([stage])
        return stage.value.tobytes()

    with ThreadPoolExecutor(2) as pool:
        first, second = (pool.submit(look) for _ in range(2))
        assert first.result() == second.result()
    assert set(trace.computed.values()) == {1}


def test_a_thread_may_look_while_another_computes(sample: Model, expected: dict[str, bytes]) -> None:
    trace: Trace = sample.trace(TEXT)
    seen: list[bytes] = []
    with ThreadPoolExecutor(1) as other:

        def look(done: int, count: int) -> None:
            if done == 5:
                # It would wait for ever if the lock were held for the whole of the work.
                seen.append(other.submit(lambda: trace["logits"].value.tobytes()).result(timeout=10))

        trace.compute(trace.stages, look)
    assert seen == [expected["logits"]]
    assert max(trace.computed.values()) == 1


def test_of_a_large_vocabulary_the_row_that_is_looked_at_is_made_alone(checkpoint: Callable[..., Path]) -> None:
    words = ["<unk>", *(f"w{number}" for number in range(70_000))]
    model = load(checkpoint(tokens=words, vocab_size=len(words), max_position_embeddings=64))
    trace = model.trace(ids=[list(range(1, 41)), list(range(101, 141))])
    probabilities, logits = trace["probabilities"], trace["logits"]
    assert trace.before_row(probabilities) == [trace["norm"]]
    row = probabilities.part((1, -1))
    assert row.shape == (70_001,)
    assert probabilities.number((1, 39, 7)) == row[7]
    assert not {"probabilities", "logits"} & set(trace.computed)
    assert not trace.is_kept(logits)
    # All of them are made as ever, and agree.
    assert logits.part((1, slice(None))).shape == (40, 70_001)
    np.testing.assert_allclose(row, probabilities.value[1, 39], rtol=2e-5)
    np.testing.assert_allclose(np.log(row), _log_softmax(logits.value[1, 39]), atol=2e-5)
    assert trace.before_row(probabilities) == [probabilities]


def test_of_a_small_vocabulary_all_rows_are_made_at_once(sample: Model) -> None:
    trace = sample.trace("我爱你")
    assert trace.before_row(trace["probabilities"]) == [trace["probabilities"]]
    row = trace["probabilities"].part((0, -1))
    assert trace.computed["probabilities"] == 1
    assert row.tobytes() == trace["probabilities"].value[0, -1].tobytes()


def _log_softmax(logits: Array) -> NDArray[np.float64]:
    wide = logits.astype(np.float64)
    shifted: NDArray[np.float64] = wide - wide.max()
    result: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return result
