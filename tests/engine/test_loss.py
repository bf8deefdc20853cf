"""How well a text was predicted: targets, losses and their mean, by hand and as transformers has the logits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.axes import Axis
from engine.constants import Constant
from engine.generation import predictions, text_loss
from engine.model import Model, load, samples
from engine.ops import Losses, MeanLoss, Softmax, Successors
from engine.trace import Trace

NAMES = ("targets", "losses", "loss")
ROUNDING = 2e-5


def test_two_one_zero_by_hand() -> None:
    total = math.exp(2) + math.exp(1) + math.exp(0)
    shares = Softmax().forward(np.array([[[2, 1, 0]]], np.float32))
    assert shares[0, 0] == pytest.approx([math.exp(2) / total, math.exp(1) / total, 1 / total], rel=1e-6)
    losses = Losses().forward(shares, np.array([[0]], np.float32))
    assert losses.dtype == np.float32
    assert losses[0, 0] == pytest.approx(math.log(total) - 2, rel=1e-6)
    assert round(float(losses[0, 0]), 3) == 0.408


def test_targets_losses_and_mean_by_hand() -> None:
    shares = np.array([[[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [1, 0, 0]]], np.float32)
    targets = Successors().forward(np.array([[0, 1, 2]], np.float32))
    assert targets.tolist() == [[1, 2]]
    losses = Losses().forward(shares, targets)
    assert losses[0] == pytest.approx([math.log(4), math.log(8)], rel=1e-6)
    assert MeanLoss().forward(losses) == pytest.approx(np.array([[math.log(32) / 2]]), rel=1e-6)


def test_what_is_impossible_loses_without_limit_and_what_is_certain_nothing() -> None:
    shares = np.array([[[0, 1], [0, 1]]], np.float32)
    with np.errstate(divide="ignore"):
        losses = Losses().forward(shares, np.array([[0, 1]], np.float32))
    assert losses.tolist() == [[math.inf, 0.0]]
    assert not np.signbit(losses).any()
    certain = Constant("P", "P", (Axis("B", 1), Axis("N", 2), Axis("V", 2)), lambda: shares, "")
    ids = Constant("t", "t", (Axis("B", 1), Axis("N", 2)), lambda: np.array([[0, 1]], np.float32), "")
    assert Losses().derive((0, 0), (certain, ids))[-1].value == math.inf
    assert Losses().derive((0, 1), (certain, ids))[-1].value == 0.0


def test_as_transformers_has_the_logits(sample: Model) -> None:
    with np.load(samples() / "models" / "tiny-gpt" / "expected.npz") as expected:
        ids = expected["input_ids"]
        mask = expected["attention_mask"] if "attention_mask" in expected else np.ones_like(ids)
        logits = expected["logits"].astype(np.float64)
    trace = sample.trace(ids=ids, attention_mask=mask)
    peak = logits.max(axis=-1, keepdims=True)
    logarithms = logits - peak - np.log(np.exp(logits - peak).sum(axis=-1, keepdims=True))
    chosen = np.take_along_axis(logarithms[:, :-1], ids[:, 1:, None], axis=-1)[..., 0]
    counted = (mask[:, :-1] * mask[:, 1:]).astype(bool)
    wanted = np.where(counted, -chosen, 0.0)
    assert np.array_equal(trace["targets"].value, ids[:, 1:])
    assert np.abs(trace["losses"].value - wanted).max() < ROUNDING * max(1.0, wanted.max())
    means = wanted.sum(axis=1) / counted.sum(axis=1)
    assert trace["loss"].value[:, 0] == pytest.approx(means, rel=1e-5)
    for text, row in enumerate(ids):
        found = text_loss(trace, text)
        assert found is not None
        assert found.mean == pytest.approx(means[text], rel=1e-5)
        assert found.perplexity == pytest.approx(math.exp(means[text]), rel=1e-4)
        for outcome in found.outcomes:
            order = np.argsort(-logits[text, outcome.position], kind="stable")
            assert outcome.id == row[outcome.position + 1]
            assert int(np.flatnonzero(order == outcome.id)[0]) + 1 == outcome.rank


def test_stages(sample: Model) -> None:
    trace = sample.trace("我爱你")
    targets, losses, loss = (trace[name] for name in NAMES)
    assert [stage.shape_text for stage in (targets, losses, loss)] == ["B×N = 1×2", "B×N = 1×2", "B×1 = 1×1"]
    assert targets.formula == "targets[n] = tokens[n+1]"
    assert losses.formula == "losses[n] = −ln probabilities[n, targets[n]]"
    assert loss.formula == "loss = Σ losses[n] ÷ 2"
    assert list(losses.axes[1].labels or ()) == ["我", "爱"]
    assert [targets.number((0, n)) for n in (0, 1)] == [token.id for token in trace.tokens[0][1:]]
    for stage in (targets, losses, loss):
        assert len(stage.op.signs(stage.inputs)) == len(stage.inputs) + 1
        assert stage.value.dtype == np.float32
        assert stage.value.shape == stage.shape


def test_a_derivation_says_target_rank_and_logarithm(sample: Model) -> None:
    trace = sample.trace("我爱你")
    derivation = trace["losses"].derivation((0, 1))
    target, rank, logarithm = derivation.steps
    assert target.value == 507
    assert rank.value == 1
    share = trace["probabilities"].number((0, 1, 507))
    assert logarithm.value == -math.log(share)
    assert abs(derivation.gap) < 1e-6
    assert {reference.operand.name for reference in derivation.references()} == {"targets", "probabilities"}


def test_padding_does_not_count(sample: Model) -> None:
    texts = ["我爱你", "I like to code"]
    together = sample.trace(texts)
    assert {len(row) for row in together.tokens} == {3, 4}
    for number, text in enumerate(texts):
        alone = sample.trace(text)["loss"].number((0, 0))
        assert together["loss"].number((number, 0)) == pytest.approx(alone, rel=1e-5)
        found = text_loss(together, number)
        assert found is not None
        assert len(found.outcomes) == len(together.tokens[number]) - 1
    assert together["losses"].number((0, 2)) == 0.0
    assert together["losses"].derivation((0, 2)).total == 0.0
    assert together["loss"].formula == "loss = Σ losses[n] ÷ 2, 3"


def test_padding_on_the_left_does_not_count(sample: Model) -> None:
    ids = sample.tokenizer.encode("我爱你")
    alone = text_loss(sample.trace(ids=ids))
    trace = sample.trace(ids=[[0, *ids]], attention_mask=[[0, 1, 1, 1]])
    assert trace["losses"].number((0, 0)) == 0.0
    shifted = text_loss(trace)
    assert alone is not None
    assert shifted is not None
    assert [outcome.position for outcome in shifted.outcomes] == [1, 2]
    assert [outcome.token for outcome in shifted.outcomes] == ["我", "爱"]


def test_a_text_of_one_token_has_no_loss(sample: Model) -> None:
    assert not {"targets", "losses", "loss"} & {stage.name for stage in sample.trace("我")}
    assert text_loss(sample.trace("我")) is None
    beside = sample.trace(["我爱你", "猫"])
    assert text_loss(beside, 1) is None
    assert math.isnan(beside["loss"].number((1, 0)))
    assert math.isnan(beside["loss"].derivation((1, 0)).total)


def test_an_encoder_has_no_loss() -> None:
    trace = load("tiny-bert").trace("我爱你")
    assert trace.stages[-1].name == "probabilities"
    assert text_loss(trace) is None


def test_of_a_translator_the_text_it_writes_is_foreseen() -> None:
    model = load("tiny-translator")
    trace = model.trace("我爱你", targets="I love you")
    assert [stage.name for stage in trace.stages[-3:]] == list(NAMES)
    assert trace["targets"].inputs == (trace["decoder.tokens"],)
    found = text_loss(trace)
    assert found is not None
    assert [outcome.label for outcome in found.outcomes] == [token.label for token in trace.tokens[0][1:]]
    assert "losses" not in model.trace("我爱你")


def test_outcomes_are_what_is_predicted(sample: Model) -> None:
    trace: Trace = sample.trace("I like to code")
    found = text_loss(trace)
    assert found is not None
    for outcome in found.outcomes:
        best = predictions(trace, position=outcome.position, count=4096)
        assert best[outcome.rank - 1].id == outcome.id
        assert best[outcome.rank - 1].probability == outcome.probability
        assert outcome.loss == pytest.approx(-math.log(outcome.probability), rel=1e-5)
    assert found.mean == pytest.approx(sum(outcome.loss for outcome in found.outcomes) / 3, rel=1e-6)
