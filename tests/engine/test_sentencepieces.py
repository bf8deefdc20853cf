"""Tokenizers of published translators: source.spm, target.spm and vocab.json, as MarianTokenizer reads them.

fixtures/opus was made with transformers 5.24 and sentencepiece 0.2.3: two unigram models of a few lines of Chinese and
of English, and in expected.json what MarianTokenizer makes of some texts.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.errors import FileError, InputError
from engine.generation import greedy
from engine.model import load
from engine.tokenizer import Tokenizer

pytest.importorskip("sentencepiece")

OPUS = Path(__file__).parents[1] / "fixtures" / "opus"
EXPECTED: dict[str, dict[str, Any]] = json.loads((OPUS / "expected.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def source() -> Tokenizer:
    return Tokenizer.from_pieces(OPUS, "source")


@pytest.fixture(scope="module")
def target() -> Tokenizer:
    return Tokenizer.from_pieces(OPUS, "target")


@pytest.fixture
def published(oracles: Path, tmp_path: Path) -> Path:
    """A translator's folder as published: no tokenizer.json."""
    folder = tmp_path / "opus"
    shutil.copytree(oracles / "marian", folder)
    for file in OPUS.iterdir():
        shutil.copy(file, folder)
    return folder


@pytest.mark.parametrize("text", EXPECTED["source"])
def test_source_texts(text: str, source: Tokenizer) -> None:
    assert source.encode(text) == EXPECTED["source"][text]


@pytest.mark.parametrize("text", EXPECTED["target"])
def test_target_texts(text: str, target: Tokenizer) -> None:
    assert target.encode(text) == EXPECTED["target"][text]
    assert target.decode(EXPECTED["target"][text]) == EXPECTED["decoded"][text]


def test_offices_and_size(source: Tokenizer) -> None:
    assert (source.eos, source.unk, source.pad, source.bos, source.mask) == (0, 1, 95, None, None)
    assert source.size == 96


def test_tokens_know_the_characters_that_they_came_from(source: Tokenizer) -> None:
    text = ">>eng<< 这件事发生在昨天。"
    tokens = source.tokenize(text)
    assert [text[slice(*token.span)] if token.span else None for token in tokens] == [
        ">>eng<<", "", "这", "件", "事", "发", "生", "在", "昨天", "。", None
    ]  # fmt: skip
    assert tokens[-1].label == "</s>"
    assert tokens[-1].special
    assert [token.label for token in source.tokenize("我爱")] == ["␣我", "爱", "</s>"]


def test_ids_between_the_numbers_have_a_label(source: Tokenizer) -> None:
    assert source.token(90).label == "⟨#90⟩"
    assert source.token(4).label == "␣"


def test_what_was_written(source: Tokenizer) -> None:
    assert source.written(source.encode("我爱你。")).strip() == "我爱你。"


def test_a_published_translator_opens(published: Path) -> None:
    model = load(published)
    trace = model.trace("我爱你。", targets="I love")
    assert [token.id for token in trace.source_tokens[0]] == EXPECTED["source"]["我爱你。"]
    assert [token.id for token in trace.tokens[0]] == [95, *EXPECTED["target"]["I love you."][:6]]
    assert trace["decoder.layers.1.cross_attention.weights"].shape == (1, 4, 7, 5)
    assert model.vocabulary[0] == "</s>"
    assert len(list(greedy(model, EXPECTED["source"]["我爱你。"], 3))) <= 3


def test_a_vocabulary_of_its_own_for_the_target(published: Path) -> None:
    numbers = json.loads((published / "vocab.json").read_text("utf-8"))
    moved = {piece: (id + 1) % 96 for piece, id in numbers.items()}
    (published / "target_vocab.json").write_text(json.dumps(moved), "utf-8")
    trace = load(published).trace("我爱你。", targets="I love you.")
    assert [token.id for token in trace.tokens[0]][1:] == [id + 1 for id in EXPECTED["target"]["I love you."][:-1]]
    assert [token.id for token in trace.source_tokens[0]] == EXPECTED["source"]["我爱你。"]


@pytest.mark.parametrize(
    ("name", "content", "key"),
    [
        ("source.spm", b"", "sentencepiece-unsound"),
        ("source.spm", b"no model at all", "sentencepiece-unsound"),
        ("target.spm", None, "file-missing"),
        ("vocab.json", None, "file-missing"),
        ("vocab.json", b"[]", "json-not-object"),
        ("vocab.json", b"{}", "vocabulary-without-unknown"),
        ("vocab.json", b'{"<unk>": -1}', "vocabulary-number"),
        ("vocab.json", b'{"<unk>": "1"}', "vocabulary-number"),
        ("vocab.json", b'{"<unk>": 96}', "vocabulary-size"),
    ],
)
def test_files_that_cannot_be_used(name: str, content: bytes | None, key: str, published: Path) -> None:
    (published / name).unlink()
    if content is not None:
        (published / name).write_bytes(content)
    with pytest.raises(FileError) as caught:
        load(published)
    assert caught.value.key == key
    assert "\n" not in str(caught.value)
    assert name.removesuffix(".json").removesuffix(".spm") in str(caught.value) or key == "vocabulary-size"


def test_without_source_pieces_a_translator_takes_ids_only(published: Path) -> None:
    (published / "source.spm").unlink()
    model = load(published)
    assert model.trace(ids=[4, 0])["encoder.tokens"].shape == (1, 2)
    with pytest.raises(FileError, match=r"neither source\.spm nor tokenizer\.json") as caught:
        model.trace("我爱你。")
    assert caught.value.key == "no-pieces"
    assert "target.spm" in str(caught.value)


def test_a_source_text_that_is_not_utf8(source: Tokenizer) -> None:
    with pytest.raises(InputError) as caught:
        source.tokenize("\ud800")
    assert caught.value.key == "text-not-utf8"


def test_without_the_library_it_is_said_what_to_do() -> None:
    code = (
        "import sys; sys.modules['sentencepiece'] = None\n"
        "from pathlib import Path; from engine.tokenizer import Tokenizer; from engine.errors import FileError\n"
        f"try: Tokenizer.from_pieces(Path({str(OPUS)!r}), 'source')\n"
        "except FileError as error: print(error.key, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("sentencepiece-missing ")
    assert "pip install sentencepiece" in done.stdout
