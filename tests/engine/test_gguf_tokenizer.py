"""The tokenizer that a GGUF file describes gives the ids that its original gives."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import pytest
import sentencepiece
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from engine.errors import FileError
from engine.model import Model, load
from tests.engine.gguf_files import Checkpoint, Kind

CORPUS = [
    "the cat sat on the mat, and the dog looked at the cat.",
    "there are 12345 stars in the sky tonight; he's counted them all!",
    "我爱你，我爱中国的猫和狗。",
    "once upon a time there was a little girl who loved to play with the little dog",
    "she said: don't run   so fast\n\nthat's the way we'll go home",
] * 4
TEXTS = [
    "the cat",
    " the  cat sat\n",
    "he's got 1234567 stars",
    "我爱你",
    "爱🙂é",
    "don't   run\n\n  so fast",
    "",
    "THE DOG'S <s> end",
]
WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+|DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

Add = Callable[[gguf.GGUFWriter], None]


def opened(oracles: Path, folder: Path, add: Add, vocabulary: int = 4096) -> Model:
    """A small model with a tokenizer in its metadata."""
    checkpoint = Checkpoint.like(oracles / "qwen2", vocab_size=vocabulary)
    rows = checkpoint.tensors["model.embed_tokens.weight"]
    checkpoint.tensors["model.embed_tokens.weight"] = rows[[id % len(rows) for id in range(vocabulary)]]
    return load(checkpoint.write(folder / "tiny.gguf", Kind.F16, add=add))


# --- byte-level BPE ------------------------------------------------------------------------------------------------


def trained(pre: str) -> Tokenizer:
    """Byte-level BPE that cuts texts up in one of the ways that files name, as those models' tokenizer.json do."""
    library = Tokenizer(models.BPE(ignore_merges=pre == "llama-bpe"))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pre in ("gpt-2", "smollm"))
    before: list[Any] = []
    if pre == "smollm":
        before = [pre_tokenizers.Digits(individual_digits=True)]
    elif pre != "gpt-2":
        pattern = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|" + WORDS.replace(
            "DIGITS", r"\p{N}" if pre == "qwen2" else r"\p{N}{1,3}"
        )
        before = [pre_tokenizers.Split(Regex(pattern), "isolated")]
    library.pre_tokenizer = pre_tokenizers.Sequence([*before, byte_level])
    library.decoder = decoders.ByteLevel()
    if pre == "qwen2":
        library.normalizer = normalizers.NFC()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        show_progress=False,
        special_tokens=["<s>", "<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    library.train_from_iterator(CORPUS, trainer)
    return library


def byte_level(library: Tokenizer, pre: str | None, **more: Any) -> Add:
    """Its entries, as the converter writes them."""
    model = json.loads(library.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
    merges = [" ".join(merge) if isinstance(merge, list) else merge for merge in model["merges"]]

    def add(writer: gguf.GGUFWriter) -> None:
        writer.add_tokenizer_model("gpt2")
        if pre is not None:
            writer.add_tokenizer_pre(pre)
        writer.add_token_list(more.get("pieces", pieces))
        writer.add_token_types([3, 3] + [1] * (len(more.get("pieces", pieces)) - 2))
        writer.add_token_merges(more.get("merges", merges))
        writer.add_bos_token_id(0)
        writer.add_eos_token_id(more.get("eos", 1))
        for key, value in more.items():
            if key.startswith("add_"):
                writer.add_bool(f"tokenizer.ggml.{key}", value)

    return add


@pytest.mark.parametrize("pre", ["gpt-2", "smollm", "llama-bpe", "qwen2"])
def test_byte_level(pre: str, oracles: Path, tmp_path: Path) -> None:
    library = trained(pre)
    tokenizer = opened(oracles, tmp_path, byte_level(library, pre, add_bos_token=False)).tokenizer
    assert (tokenizer.size, tokenizer.bos, tokenizer.eos) == (library.get_vocab_size(), 0, 1)
    for text in TEXTS:
        ids = library.encode(text).ids
        assert tokenizer.encode(text) == ids
        assert tokenizer.decode(ids) == library.decode(ids)
        assert tokenizer.written(ids) == text
    labels = [token.label for token in tokenizer.tokenize("é")]
    assert labels == ["é⟨1/2 c3⟩", "é⟨2/2 a9⟩"]


def test_the_start_and_the_end_are_added_where_the_file_says_so(oracles: Path, tmp_path: Path) -> None:
    library = trained("llama-bpe")
    plain = library.encode("the cat").ids
    for more, expected in (
        ({}, [0, *plain]),
        ({"add_bos_token": False}, plain),
        ({"add_bos_token": True, "add_eos_token": True}, [0, *plain, 1]),
    ):
        tokenizer = opened(oracles, tmp_path, byte_level(library, "llama-bpe", **more)).tokenizer
        assert tokenizer.encode("the cat") == expected
        assert tokenizer.written(expected) == "the cat"
    assert opened(oracles, tmp_path, byte_level(library, None)).tokenizer.encode("cat") == library.encode("cat").ids


# --- SentencePiece -------------------------------------------------------------------------------------------------


def pieces_model(**settings: Any) -> sentencepiece.SentencePieceProcessor:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=model,
        model_type="bpe",
        vocab_size=420,
        byte_fallback=True,
        character_coverage=0.98,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        split_digits=True,
        minloglevel=2,
        **settings,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def sentence_pieces(model: Any, **more: Any) -> Add:
    """Its entries, as the converter writes them."""
    count = model.get_piece_size()
    kinds = [
        2 if model.is_unknown(id) else 3 if model.is_control(id) else 6 if model.is_byte(id) else 1
        for id in range(count)
    ]

    def add(writer: gguf.GGUFWriter) -> None:
        writer.add_tokenizer_model("llama")
        writer.add_tokenizer_pre("default")
        writer.add_token_list(more.get("pieces", [model.id_to_piece(id) for id in range(count)]))
        writer.add_token_scores(more.get("scores", [model.get_score(id) for id in range(count)]))
        writer.add_token_types(more.get("kinds", kinds))
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_unk_token_id(0)
        if "space" in more:
            writer.add_add_space_prefix(more["space"])

    return add


@pytest.mark.parametrize("space", [True, False])
def test_sentencepiece(space: bool, oracles: Path, tmp_path: Path) -> None:
    model: Any = pieces_model(add_dummy_prefix=space)
    tokenizer = opened(oracles, tmp_path, sentence_pieces(model, space=space)).tokenizer
    assert (tokenizer.size, tokenizer.bos, tokenizer.eos, tokenizer.unk) == (420, 1, 2, 0)
    for text in [*TEXTS[:-1], *CORPUS]:
        ids = model.encode(text)
        assert tokenizer.encode(text) == [1, *ids], text
        assert tokenizer.decode([1, *ids]) == model.decode(ids)
        assert tokenizer.written([1, *ids]) == text
    assert [token.label for token in tokenizer.tokenize("🙂")][-4:] == [
        f"🙂⟨{part}⟩" for part in ("1/4 f0", "2/4 9f", "3/4 99", "4/4 82")
    ]


def test_a_model_explores_texts(oracles: Path, tmp_path: Path) -> None:
    model = opened(oracles, tmp_path, sentence_pieces(pieces_model()))
    trace = model.trace("我爱你")
    assert trace["logits"].shape[-1] == 4096
    assert [model.tokenize("我爱你")[0].piece, model.vocabulary[1]] == ["<s>", "<s>"]


# --- what does not fit ---------------------------------------------------------------------------------------------


def test_a_tokenizer_that_makes_no_sense(oracles: Path, tmp_path: Path) -> None:
    library, model = trained("gpt-2"), pieces_model()
    cases: dict[str, tuple[Add, str]] = {
        "merges": (byte_level(library, "gpt-2", merges=["zzz yyy"]), "tokenizer-unsound"),
        "no space": (byte_level(library, "gpt-2", merges=["zzz"]), "tokenizer-unsound"),
        "pre": (byte_level(library, "chatglm-bpe"), "config-value"),
        "twice": (byte_level(library, "gpt-2", pieces=["a", "b", "a"]), "config-value"),
        "eos": (byte_level(library, "gpt-2", eos=100_000), "config-value"),
        "scores": (sentence_pieces(model, scores=[1.0]), "config-value"),
        "long": (sentence_pieces(model, pieces=["a" * 5000, *(str(i) for i in range(419))]), "gguf-pieces-long"),
        "kind": (lambda writer: writer.add_tokenizer_model("rwkv"), "config-value"),
        "no list": (lambda writer: writer.add_tokenizer_model("llama"), "config-value"),
    }
    rows = [f"{start}{'a' * count}" for start in ["", *range(10_000, 10_041)] for count in range(1, 245)]
    every = {"pieces": rows, "scores": [0.0] * len(rows), "kinds": [1] * len(rows)}
    cases["merges without end"] = (sentence_pieces(model, **every), "gguf-merges")
    for name, (add, key) in cases.items():
        with pytest.raises(FileError) as caught:
            opened(oracles, tmp_path, add)
        assert caught.value.key == key, (name, caught.value)
        assert "tiny.gguf" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_more_tokens_than_the_embedding_has_rows(oracles: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        opened(oracles, tmp_path, byte_level(trained("gpt-2"), "gpt-2"), vocabulary=300)
    assert caught.value.key == "vocabulary-size"


def test_without_a_tokenizer_a_model_runs_ids(oracles: Path, tmp_path: Path) -> None:
    model = opened(oracles, tmp_path, lambda writer: writer.add_tokenizer_model("no_vocab"))
    assert model.trace(ids=[[1, 2, 3]])["logits"].shape == (1, 3, 4096)
    with pytest.raises(FileError) as caught:
        model.trace("the cat")
    assert caught.value.key == "no-tokenizer"
