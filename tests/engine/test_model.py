"""What a model takes (texts, batches, ids, padding) and where it is loaded from."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import engine
from engine.errors import FileError, InputError
from engine.model import Model, load, samples, shipped_models
from engine.trace import Trace

ROUNDING = 2e-5
WORDS = [f"w{number}" for number in range(11)]


@pytest.fixture
def tiny(checkpoint: Callable[..., Path]) -> Model:
    """A model of 11 words and 16 positions, with a tokenizer."""
    return load(checkpoint(tokens=WORDS))


def ids_of(trace: Trace) -> list[list[int]]:
    return [[token.id for token in row] for row in trace.tokens]


def same_numbers(trace: Trace, other: Trace, name: str = "logits") -> bool:
    return trace[name].value.tobytes() == other[name].value.tobytes()


def test_a_text(tiny: Model) -> None:
    trace = tiny.trace("w3 w5 w3")
    assert trace.texts == ("w3 w5 w3",)
    assert ids_of(trace) == [[3, 5, 3]]
    assert trace.ends == (2,)
    assert trace["tokens"].value.tolist() == [[3, 5, 3]]


def test_a_batch_gives_each_text_the_numbers_it_has_alone(tiny: Model) -> None:
    together = tiny.trace(["w3 w5 w3", "w7", "w1 w2"])
    assert ids_of(together) == [[3, 5, 3], [7], [1, 2]]
    assert together.ends == (2, 0, 1)
    for row, text in enumerate(together.texts):
        alone = tiny.trace(text)
        for stage in alone:
            found = together[stage.name].value[row]
            real = found[tuple(slice(axis.size) if axis.symbol in "NM" else slice(None) for axis in stage.axes[1:])]
            finite = np.isfinite(stage.value[0])
            assert (np.isfinite(real) == finite).all()
            assert real[finite] == pytest.approx(stage.value[0][finite], rel=ROUNDING, abs=ROUNDING)


def test_ids_are_what_the_text_is(tiny: Model) -> None:
    text = tiny.trace("w3 w5 w3")
    for ids in ([3, 5, 3], [[3, 5, 3]], (3, 5, 3), np.array([3, 5, 3]), np.array([[3, 5, 3]], np.uint8)):
        trace = tiny.trace(ids=ids)
        assert trace.texts == ("w3 w5 w3",)
        assert list(trace["tokens"].axes[1].labels or ()) == ["w3", "w5", "w3"]
        assert same_numbers(trace, text)


@pytest.mark.parametrize("ids", [[[3, 5, 3], [7]], ((3, 5, 3), (7,)), [np.array([3, 5, 3]), np.array([7])]])
def test_ragged_ids_are_a_padded_batch(tiny: Model, ids: Any) -> None:
    trace = tiny.trace(ids=ids)
    assert ids_of(trace) == [[3, 5, 3], [7]]
    assert same_numbers(trace, tiny.trace(["w3 w5 w3", "w7"]))


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing_at_real_positions(oracles: Path, side: str) -> None:
    model = load(oracles / "llama")
    ids, filler = [9, 40, 7, 61], [90, 91]
    alone = model.trace(ids=ids)
    padded, mask = (filler + ids, [0, 0, 1, 1, 1, 1]) if side == "left" else (ids + filler, [1, 1, 1, 1, 0, 0])
    real = slice(2, 6) if side == "left" else slice(0, 4)
    trace = model.trace(ids=padded, attention_mask=mask)
    assert ids_of(trace) == [ids]
    assert trace.ends == ((5,) if side == "left" else (3,))
    for layer in range(3):
        weights = trace[f"layers.{layer}.attention.weights"].value[..., real, :]
        assert (np.delete(weights, np.r_[real], axis=-1) == 0).all()
        expected = alone[f"layers.{layer}.attention.weights"].value
        assert weights[..., real] == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING)
    logits = alone["logits"].value
    assert np.abs(trace["logits"].value[:, real] - logits).max() <= ROUNDING * np.abs(logits).max()


def test_a_query_that_sees_nothing_attends_to_nothing(tiny: Model) -> None:
    trace = tiny.trace(ids=[3, 5], attention_mask=[0, 1])
    weights = trace["layers.0.attention.weights"].value
    assert (weights[0, :, 0] == 0).all()
    assert weights[0, :, 1].tolist() == [[0, 1], [0, 1]]
    assert np.isfinite(trace["probabilities"].value).all()


def test_padding_is_labelled_as_the_token_that_stands_there(tiny: Model, sample: Model) -> None:
    trace = tiny.trace(ids=[[9, 3, 5]], attention_mask=[[0, 1, 1]])
    assert list(trace["tokens"].axes[1].labels or ()) == ["w9", "w3", "w5"]
    assert [token.label for token in trace.tokens[0]] == ["w3", "w5"]
    batch = sample.trace(["我爱你", "猫"])
    assert list(batch["tokens"].axes[1].labels_of(1) or ()) == ["猫", "<pad>", "<pad>"]
    assert batch["tokens"].value[1].tolist() == [*sample.tokenizer.encode("猫"), 0, 0]


def test_without_a_tokenizer_ids_are_labels(checkpoint: Callable[..., Path]) -> None:
    model = load(checkpoint())
    trace = model.trace(ids=[4, 10])
    assert trace.texts == ("#4 #10",)
    assert trace["logits"].axes[2].label(10) == "#10"
    with pytest.raises(FileError, match=r"no tokenizer\.json") as caught:
        model.trace("w4")
    assert caught.value.key == "no-tokenizer"


def test_a_vocabulary_may_be_larger_than_the_tokenizers(checkpoint: Callable[..., Path]) -> None:
    model = load(checkpoint(tokens=WORDS[:8]))
    trace = model.trace(ids=[[1, 9], [7, 2]])
    assert [[token.label for token in row] for row in trace.tokens] == [["w1", "⟨#9⟩"], ["w7", "w2"]]
    assert trace["logits"].axes[2].label(10) == "⟨#10⟩"


def test_every_position_may_be_used(tiny: Model) -> None:
    assert tiny.trace(ids=[1] * 16)["logits"].value.shape == (1, 16, 11)


@pytest.mark.parametrize(
    ("given", "key", "part"),
    [
        ({"texts": ""}, "empty-text", "empty"),
        ({"texts": []}, "empty-text", "empty"),
        ({"texts": ["w1", ""]}, "empty-text", "empty"),
        ({"texts": " ".join(["w1"] * 17)}, "text-too-long", "17 tokens; tiny has 16"),
        ({"texts": ["w1", " ".join(["w1"] * 17)]}, "text-too-long", "17 tokens"),
        ({"texts": "w1 \ud800"}, "text-not-utf8", "U+D800"),
        ({"ids": []}, "empty-text", "empty"),
        ({"ids": [[1, 2], []]}, "empty-text", "empty"),
        ({"ids": np.zeros((0, 3), np.int64)}, "empty-text", "empty"),
        ({"ids": [1, 11]}, "unknown-id", "11 is not a token id of tiny, which has ids 0 to 10"),
        ({"ids": [1, -1]}, "unknown-id", "-1 is not"),
        ({"ids": [[1, 11], [2]]}, "unknown-id", "11 is not"),
        ({"ids": [[1, -1], [2]]}, "unknown-id", "-1 is not"),
        ({"ids": [[1], [2, 5000]]}, "unknown-id", "5000 is not"),
        ({"ids": [1] * 17}, "text-too-long", "17 tokens"),
        ({"ids": [[[1]]]}, "ids-shape", "1×1×1"),
        ({"ids": [1.0, 2.0]}, "ids-shape", "float64"),
        ({"ids": "w1"}, "ids-shape", "ids"),
        ({"ids": [[1, 2], 3]}, "ids-shape", "different lengths"),
        ({"ids": [10**30]}, "ids-shape", "whole numbers"),
        ({"ids": [1, 2], "attention_mask": [1, 1, 1]}, "mask-shape", "(1, 3)"),
        ({"ids": [[1, 2], [3, 4]], "attention_mask": [1, 1]}, "mask-shape", "(1, 2)"),
        ({"ids": [[1, 2], [3]], "attention_mask": [[1, 1], [1, 0]]}, "ids-shape", "different lengths"),
        ({"ids": [1, 2], "attention_mask": [0.5, 1.0]}, "ids-shape", "attention_mask"),
    ],
    ids=repr,
)
def test_what_it_cannot_take_is_said(tiny: Model, given: dict[str, Any], key: str, part: str) -> None:
    with pytest.raises(InputError) as caught:
        tiny.trace(**given)
    assert caught.value.key == key
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_texts_or_ids_are_needed_but_not_both(tiny: Model) -> None:
    untyped: Any = tiny
    with pytest.raises(TypeError, match="either texts or ids"):
        untyped.trace()
    with pytest.raises(TypeError, match="either texts or ids"):
        untyped.trace("w1", ids=[1])


def test_samples_load_by_name() -> None:
    assert set(shipped_models()) >= {"tiny-gpt"}
    model = engine.load("tiny-gpt")
    assert (model.name, model.folder) == ("tiny-gpt", samples() / "models" / "tiny-gpt")
    assert model.tokenizer.encode("我爱你") == [1381, 1983, 507]
    assert model.tokenizer.decode([1381, 1983, 507]) == "我爱你"


def test_it_stays_usable_when_the_working_folder_changes(
    checkpoint: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, elsewhere = checkpoint(tokens=WORDS), tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    model = load("tiny")
    assert model.name == "tiny"
    monkeypatch.chdir(elsewhere)
    assert same_numbers(model.trace("w1 w2"), load(folder).trace("w1 w2"))
    assert same_numbers(load("../tiny").trace("w1 w2"), load(folder).trace("w1 w2"))
    assert load("tiny-gpt").name == "tiny-gpt"


def test_a_folder_of_the_samples_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny-gpt").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError) as caught:
        load("tiny-gpt")
    assert caught.value.key == "config-missing"


def test_a_copy_gives_the_same_numbers(sample: Model, tmp_path: Path) -> None:
    copy = shutil.copytree(samples() / "models" / "tiny-gpt", tmp_path / "copy")
    assert same_numbers(load(copy).trace("我爱你"), sample.trace("我爱你"))


def test_half_precision_is_the_same_numbers_in_float32(checkpoint: Callable[..., Path]) -> None:
    half = checkpoint(name="half", dtype=np.float16)
    rounded = load_file(half / "model.safetensors")
    whole = checkpoint(name="whole", tensors={**rounded})
    trace = load(half).trace(ids=[1, 2, 3])
    assert trace["logits"].inputs[1].value.dtype == np.float32
    assert trace["logits"].value == pytest.approx(load(whole).trace(ids=[1, 2, 3])["logits"].value, abs=1e-6)
    unrounded = load(checkpoint(name="unrounded")).trace(ids=[1, 2, 3])
    assert not same_numbers(trace, unrounded)


def test_numbers_that_overflow_are_shown_and_not_warned_of(checkpoint: Callable[..., Path]) -> None:
    # Warnings are errors in these tests; for a user they would be lines across the screen.
    table = np.full((11, 8), 1e38, np.float32)
    table[0, 0] = np.inf
    trace = load(checkpoint(tensors={"model.embed_tokens.weight": table})).trace(ids=[0, 1])
    for stage in trace:
        assert stage.value.dtype == np.float32
        assert stage.derivation((0,) * len(stage.shape)).steps
    assert np.isinf(trace["embedding"].value).any()
    assert np.isnan(trace["norm"].value).any()
