"""Every hidden state, attention and logit is what transformers (eager, float32) computed on the same weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.model import load, samples
from engine.trace import Trace

RUNS = {"llama": 3, "qwen2-bf16-shards": 3, "tiny-gpt": 2}
"""The reference runs, and how many layers each model has."""

ROUNDING = 2e-5


@pytest.fixture(scope="module", params=RUNS)
def run(request: pytest.FixtureRequest, oracles: Path) -> tuple[Trace, dict[str, NDArray[Any]], int]:
    """A trace of the ids of a reference run, what the reference computed, and the number of layers."""
    name = str(request.param)
    folder = samples() / "models" / name if name == "tiny-gpt" else oracles / name
    with np.load(folder / "expected.npz") as file:
        expected = dict(file)
    trace = load(folder).trace(ids=expected["input_ids"], attention_mask=expected["attention_mask"])
    return trace, expected, RUNS[name]


Run = tuple[Trace, dict[str, NDArray[Any]], int]


def assert_same(shown: NDArray[Any], expected: NDArray[Any]) -> None:
    assert shown.shape == expected.shape
    assert np.abs(expected).max() > 0.1
    assert np.abs(shown - expected).max() <= ROUNDING * max(1.0, np.abs(expected).max())


def test_hidden_states(run: Run) -> None:
    trace, expected, layers = run
    # transformers gives the stream before each layer, and after the last one its norm.
    stages = ["embedding", *(f"layers.{layer}.mlp.residual" for layer in range(layers - 1)), "norm"]
    assert len(stages) == sum(key.startswith("hidden_") for key in expected)
    for number, name in enumerate(stages):
        assert_same(trace[name].value, expected[f"hidden_{number}"])


def test_attentions(run: Run) -> None:
    trace, expected, layers = run
    assert layers == sum(key.startswith("attention_") and key != "attention_mask" for key in expected)
    for layer in range(layers):
        assert_same(trace[f"layers.{layer}.attention.weights"].value, expected[f"attention_{layer}"])


def test_logits(run: Run) -> None:
    trace, expected, _ = run
    assert_same(trace["logits"].value, expected["logits"])


def test_probabilities_are_the_softmax_of_the_references_logits(run: Run) -> None:
    trace, expected, _ = run
    powers = np.exp(expected["logits"].astype(np.float64))
    shown = trace["probabilities"].value
    assert np.abs(shown - powers / powers.sum(-1, keepdims=True)).max() <= ROUNDING
    assert np.abs(shown.sum(-1, dtype=np.float64) - 1).max() <= 1e-5


def test_attention_is_shared_out_among_what_may_be_seen(run: Run) -> None:
    trace, expected, layers = run
    real = expected["attention_mask"].astype(bool)
    length = real.shape[1]
    hidden = ~(np.tri(length, dtype=bool)[None] & real[:, None, :])
    for layer in range(layers):
        weights = trace[f"layers.{layer}.attention.weights"].value
        assert (weights[np.broadcast_to(hidden[:, None], weights.shape)] == 0.0).all()
        assert np.abs(weights.sum(-1, dtype=np.float64) - 1).max() <= 1e-6


def test_every_number_is_float32(run: Run) -> None:
    trace, _, _ = run
    for stage in trace:
        assert stage.value.dtype == np.float32
        assert stage.value.shape == stage.shape
        assert not stage.value.flags.writeable
