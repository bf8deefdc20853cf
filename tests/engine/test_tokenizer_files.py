"""The files beside tokenizer.json: each text gets the ids that transformers gives it, whatever they change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import FileError
from engine.tokenizer import Tokenizer

FIXTURES = Path(__file__).parents[1] / "fixtures" / "tokenizers"
CASES: list[dict[str, Any]] = json.loads((FIXTURES / "expected.json").read_text("utf-8"))


def written(folder: Path, tokenizer: str, files: dict[str, Any], change: dict[str, dict[str, Any]]) -> Path:
    """A folder with one of the small tokenizers, some settings of its parts changed, and files beside it."""
    held = json.loads((FIXTURES / f"{tokenizer}.json").read_text("utf-8"))
    held |= {part: (held[part] or {}) | settings for part, settings in change.items()}
    for name, content in {"tokenizer.json": held, **files}.items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    return folder


def beside(folder: Path, config: dict[str, Any], tokenizer: str = "byte-level", rows: int | None = None) -> Tokenizer:
    """A small tokenizer with this tokenizer_config.json."""
    return Tokenizer.from_folder(written(folder, tokenizer, {"tokenizer_config.json": config}, {}), rows)


@pytest.mark.parametrize("case", CASES, ids=[f"{case['tokenizer']}-{n}" for n, case in enumerate(CASES)])
def test_ids_are_those_of_transformers(case: dict[str, Any], tmp_path: Path) -> None:
    files = {"config.json": {"model_type": case["model_type"]}, **case["files"]}
    tokenizer = Tokenizer.from_folder(written(tmp_path, case["tokenizer"], files, case["change"]))
    for text, ids in case["ids"].items():
        assert tokenizer.encode(text) == ids, text
    assert tokenizer.size > max(id for ids in case["ids"].values() for id in ids)


def test_further_tokens_have_offices_and_are_special(tmp_path: Path) -> None:
    tokenizer = beside(tmp_path, {"pad_token": "<fill>", "mask_token": {"content": "love", "lstrip": True}})
    assert (tokenizer.pad, tokenizer.mask, tokenizer.size) == (290, 291, 292)
    assert [token.special for token in tokenizer.tokenize("I love<fill>")] == [False, True, True]
    assert tokenizer.decode(tokenizer.encode("you<fill>")) == "you"


def test_a_token_without_a_row_in_the_embedding_is_left_out(tmp_path: Path) -> None:
    config = {"pad_token": "<fill>", "additional_special_tokens": ["<pad>", "<extra>", "<more>"]}
    tokenizer = beside(tmp_path, config, rows=291)
    assert (tokenizer.pad, tokenizer.size) == (290, 291)
    assert len(tokenizer.encode("<extra>")) > 1
    assert beside(tmp_path, config, rows=290).pad is None
    assert beside(tmp_path, config).encode("<extra><more>") == [291, 292]


def test_decoding_takes_no_space_away_where_none_was_put(tmp_path: Path) -> None:
    for space in (True, False):
        config = {"tokenizer_class": "LlamaTokenizer", "add_prefix_space": space, "bos_token": "<s>"}
        tokenizer = beside(tmp_path, config, "sentence-piece")
        assert tokenizer.decode(tokenizer.encode(" I love you")) == " I love you"
        assert tokenizer.decode(tokenizer.encode("I love you")) == "I love you"


@pytest.mark.parametrize(
    ("config", "entry"),
    [
        ({"tokenizer_class": "BertTokenizer", "do_lower_case": "no"}, "do_lower_case"),
        ({"tokenizer_class": "BertTokenizer", "strip_accents": 1}, "strip_accents"),
        ({"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": "x" * 5000}, "add_prefix_space"),
        ({"added_tokens_decoder": ["<a>"]}, "added_tokens_decoder"),
        ({"added_tokens_decoder": {"one": {"content": "<a>"}}}, "added_tokens_decoder"),
        ({"added_tokens_decoder": {"9" * 5000: {"content": "<a>"}}}, "added_tokens_decoder"),
        ({"added_tokens_decoder": {"1": {"content": "<a>", "lstrip": 1}}}, "added_tokens_decoder[1].lstrip"),
        ({"additional_special_tokens": "<a>"}, "additional_special_tokens"),
        ({"extra_special_tokens": 7}, "extra_special_tokens"),
    ],
)
def test_settings_that_cannot_be(config: dict[str, Any], entry: str, tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        beside(tmp_path, config, "word-piece")
    assert (caught.value.key, caught.value.values["entry"]) == ("config-value", entry)
    assert "tokenizer_config.json" in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("config", "entry"),
    [
        ({"added_tokens_decoder": {"1": {"text": "<a>"}}}, "added_tokens_decoder[1]"),
        ({"additional_special_tokens": ["<a>", 7]}, "additional_special_tokens[1]"),
        ({"extra_special_tokens": {"image_token": None}}, "image_token"),
        ({"cls_token": ["<a>"]}, "cls_token"),
    ],
)
def test_what_is_no_token(config: dict[str, Any], entry: str, tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        beside(tmp_path, config)
    assert (caught.value.key, caught.value.values["entry"]) == ("special-token-invalid", entry)


@pytest.mark.parametrize("number", ["1", 1.0, True, None])
def test_an_added_token_without_an_id(number: Any, tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        Tokenizer.from_folder(written(tmp_path, "byte-level", {"added_tokens.json": {"<a>": number}}, {}))
    assert (caught.value.key, caught.value.values["entry"]) == ("config-value", "<a>")
