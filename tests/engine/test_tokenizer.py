"""Tokens: the same ids as the tokenizers library gives, labels that show no half characters, and no way to crash it."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors

from engine.errors import FileError, InputError
from engine.spelling import byte_of_character
from engine.tokenizer import Tokenizer, _panics_unseen

SAMPLE = Path(__file__).parents[2] / "samples" / "models" / "tiny-gpt"
STORIES = Path(__file__).parents[3] / "shared" / "models" / "stories260K"

TEXTS = [
    "我爱你",
    "I like to code",
    "龘 and 龘龘",
    "👩‍👩‍👧 a family",
    "e\u0301 is é",
    "\u0344",
    "한글",
    " two  spaces\t\r\n",
    "<bos>我<mask>你<eos>",
    "[red]x[/red] \x1b[31m",
    "\u202eabc\u2066",
    "\0",
    "",
]


def saved(folder: Path, library: tokenizers.Tokenizer, **files: dict[str, Any]) -> Tokenizer:
    library.save(str(folder / "tokenizer.json"))
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return Tokenizer.from_folder(folder)


def byte_level(*merges: bytes, trim: bool = True) -> tokenizers.Tokenizer:
    """GPT-2's kind of tokenizer with all bytes and the given longer entries, each merged byte by byte."""
    alphabet = alphabet_of_bytes()
    entries = ["<|end|>", *(alphabet[byte] for byte in range(256))]
    pairs = []
    for merge in merges:
        spelled = "".join(alphabet[byte] for byte in merge)
        for length in range(2, len(spelled) + 1):
            if spelled[:length] not in entries:
                entries.append(spelled[:length])
                pairs.append((spelled[: length - 1], spelled[length - 1]))
    library = tokenizers.Tokenizer(models.BPE({entry: id for id, entry in enumerate(entries)}, pairs))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    library.decoder = decoders.ByteLevel()
    library.post_processor = processors.ByteLevel(trim_offsets=trim)
    library.add_special_tokens(["<|end|>"])
    return library


def alphabet_of_bytes() -> dict[int, str]:
    """How the library writes each byte, found by asking it to write characters that hold the byte."""
    writer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    found: dict[int, str] = {}
    astral = (0x10000, 0x40000, 0x80000, 0xC0000, 0x100000)
    for code in [*range(0x800), 0x800, *range(0x1000, 0x10000, 0x1000), *astral]:
        if not 0xD800 <= code < 0xE000:
            [(spelled, _)] = writer.pre_tokenize_str(chr(code))
            found |= dict(zip(chr(code).encode(), spelled, strict=True))
    # Bytes that never stand in UTF-8 are written as the characters of their codes.
    return {byte: found.get(byte, chr(byte)) for byte in range(256)}


def word_piece() -> tokenizers.Tokenizer:
    entries = ["[UNK]", "[CLS]", "[SEP]", "play", "##ing", "我", "."]
    library = tokenizers.Tokenizer(models.WordPiece({entry: id for id, entry in enumerate(entries)}, unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    library.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    library.add_special_tokens(["[CLS]", "[SEP]"])
    return library


def labels(tokenizer: Tokenizer, text: str) -> list[str]:
    return [token.label for token in tokenizer.tokenize(text)]


def spans(tokenizer: Tokenizer, text: str) -> list[str | None]:
    """The characters that each token covers."""
    found = [token.span for token in tokenizer.tokenize(text)]
    return [None if span is None else text[slice(*span)] for span in found]


@pytest.fixture(scope="module")
def sample() -> Tokenizer:
    return Tokenizer.from_folder(SAMPLE)


def test_the_sample_gives_the_ids_that_its_model_was_run_on(sample: Tokenizer) -> None:
    expected = np.load(SAMPLE / "expected.npz")
    for text, row, mask in zip(
        ["我爱你", "I like to code", "猫追狗"], expected["input_ids"], expected["attention_mask"], strict=True
    ):
        assert sample.encode(text) == row[mask == 1].tolist()


@pytest.mark.parametrize("text", TEXTS)
def test_ids_text_and_pieces_are_the_librarys(sample: Tokenizer, text: str) -> None:
    library = tokenizers.Tokenizer.from_file(str(SAMPLE / "tokenizer.json"))
    encoding = library.encode(text)
    assert sample.encode(text) == encoding.ids
    tokens = sample.tokenize(text)
    assert [token.id for token in tokens] == encoding.ids
    assert [token.piece for token in tokens] == encoding.tokens
    assert [token.span for token in tokens] == encoding.offsets
    assert sample.decode(encoding.ids) == library.decode(encoding.ids)
    assert all(token.label.isprintable() and token.label for token in tokens)


def test_the_samples_labels_and_spans(sample: Tokenizer) -> None:
    text = "<bos>I like 龘\n"
    assert labels(sample, text) == [
        "<bos>",
        "I",
        "␣like",
        "␣",
        "龘⟨1/3 e9⟩",
        "龘⟨2/3 be⟩",
        "龘⟨3/3 98⟩",
        "⏎",
    ]
    assert spans(sample, text) == ["<bos>", "I", " like", " ", "龘", "龘", "龘", "\n"]
    assert [token.special for token in sample.tokenize(text)] == [True] + [False] * 7


def test_the_samples_special_tokens_and_size(sample: Tokenizer) -> None:
    assert (sample.pad, sample.bos, sample.eos, sample.mask, sample.unk) == (0, 1, 2, 3, None)
    assert sample.size == 4096
    assert sample.decode([1, *sample.encode("我爱你"), 2]) == "我爱你"


def test_entries_by_themselves(sample: Tokenizer) -> None:
    seven = sample.token(237)
    assert (seven.id, seven.piece, seven.label, seven.span, seven.special) == (237, "<0xE9>", "⟨e9⟩", None, False)
    assert sample.token(1).special


def test_labels_are_a_sequence_over_the_vocabulary(sample: Tokenizer) -> None:
    names = sample.labels
    assert len(names) == 4096
    assert list(names) == [sample.token(id).label for id in range(4096)]
    assert (names[-1], names[237], names[:2]) == (sample.token(4095).label, "⟨e9⟩", ["<pad>", "<bos>"])
    assert list(names[4094::-2047]) == [sample.token(id).label for id in (4094, 2047, 0)]
    with pytest.raises(IndexError):
        names[4096]
    assert sample.labels_up_to(4098)[4095:] == [sample.token(4095).label, "⟨#4096⟩", "⟨#4097⟩"]
    assert len(sample.labels_up_to(10)) == 10


def test_ids_in_context_are_labelled_as_in_a_text(sample: Tokenizer) -> None:
    ids = [*sample.encode("我龘"), 2]
    assert [token.label for token in sample.in_context(ids)] == [*labels(sample, "我龘"), "<eos>"]
    assert all(token.span is None for token in sample.in_context(ids))
    first, second, third = sample.encode("龘")
    assert [token.label for token in sample.in_context([second, first, second, 1, third])] == [
        "⟨be⟩",
        "⟨e9⟩",
        "⟨be⟩",
        "<bos>",
        "⟨98⟩",
    ]


@pytest.mark.parametrize("id", [-1, 4096, 1 << 70])
def test_an_id_outside_the_vocabulary_is_an_input_error(sample: Tokenizer, id: int) -> None:
    calls: list[Callable[[], object]] = [
        lambda: sample.token(id),
        lambda: sample.decode([5, id]),
        lambda: sample.in_context([id]),
        lambda: sample.written([id]),
    ]
    for call in calls:
        with pytest.raises(InputError, match="from 0 to 4095") as caught:
            call()
        assert caught.value.key == "token-unknown"


@pytest.mark.parametrize(
    ("text", "found"),
    [(b"ab\xe7".decode("utf-8", "surrogateescape"), "character 3 is the byte 0xe7"), ("a\ud83d", "U+D83D")],
)
def test_text_that_is_no_unicode_is_an_input_error(sample: Tokenizer, text: str, found: str) -> None:
    for call in (sample.encode, sample.tokenize):
        with pytest.raises(InputError) as caught:
            call(text)
        assert caught.value.key == "text-not-utf8"
        assert found in str(caught.value)


def test_the_alphabet_of_bytes_is_the_librarys() -> None:
    assert {character: byte for byte, character in alphabet_of_bytes().items()} == byte_of_character()
    assert set(pre_tokenizers.ByteLevel.alphabet()) == set(byte_of_character())


@pytest.mark.parametrize("text", ["我爱你 hello", "naïve café ÿ", "\0\x7f\x80\xad ß", "👩‍👩‍👧", " \n\t", "ĠÃ", "한글ก"])
def test_byte_level_pieces_spell_their_text(tmp_path: Path, text: str) -> None:
    tokenizer = saved(tmp_path, byte_level())
    tokens = tokenizer.tokenize(text)
    assert len(tokens) == len(text.encode())
    assert tokenizer.decode([token.id for token in tokens]) == text
    alone = [tokenizer.token(token.id).label for token in tokens]
    for token, shown, byte in zip(tokens, alone, text.encode(), strict=True):
        assert token.label.endswith(f" {byte:02x}⟩") or byte < 0x80
        assert shown == f"⟨{byte:02x}⟩" or byte < 0x80


def test_tokens_that_share_characters_show_their_shares(tmp_path: Path) -> None:
    parts = [b"\xe6\x88", b"\x91\xe7\x88", b"\xb1\xe4\xbd\xa0", b" x\xe4\xbd", b"\xf0\x9f\x98"]
    tokenizer = saved(tmp_path, byte_level(*parts))
    assert labels(tokenizer, "我爱你") == [
        "我⟨1-2/3 e6 88⟩",
        "我⟨3/3 91⟩爱⟨1-2/3 e7 88⟩",
        "爱⟨3/3 b1⟩你",
    ]
    assert spans(tokenizer, "我爱你") == ["我", "我爱", "爱你"]
    assert labels(tokenizer, " x你😀") == ["␣x你⟨1-2/3 e4 bd⟩", "你⟨3/3 a0⟩", "😀⟨1-3/4 f0 9f 98⟩", "😀⟨4/4 80⟩"]
    ids = tokenizer.encode("我爱你")
    assert [tokenizer.token(id).label for id in ids] == ["⟨e6 88⟩", "⟨91 e7 88⟩", "⟨b1⟩你"]


def test_a_special_token_parts_the_bytes_on_its_sides(tmp_path: Path) -> None:
    library = byte_level()
    # Spelled as a byte-level piece, it would be the bytes e9 e9.
    library.add_tokens(["éé"])
    tokenizer = saved(tmp_path, library, tokenizer_config={"eos_token": "<|end|>"})
    assert labels(tokenizer, "é<|end|>xéé") == ["é⟨1/2 c3⟩", "é⟨2/2 a9⟩", "<|end|>", "x", "éé"]
    added = tokenizer.tokenize("xéé")[1]
    assert (added.piece, added.special) == ("éé", False)
    end = tokenizer.eos
    assert end is not None
    lead, tail = tokenizer.encode("é")
    assert [token.label for token in tokenizer.in_context([lead, end, tail])] == ["⟨c3⟩", "<|end|>", "⟨a9⟩"]


@pytest.mark.parametrize(
    "processor",
    [
        processors.ByteLevel(trim_offsets=True),
        processors.RobertaProcessing(("<|end|>", 0), ("<|end|>", 0), trim_offsets=True),
        processors.Sequence([processors.ByteLevel(trim_offsets=True), processors.ByteLevel(trim_offsets=True)]),
    ],
)
def test_spans_hold_the_space_that_belongs_to_a_token(tmp_path: Path, processor: Any) -> None:
    library = byte_level(b" wor", b"hello")
    library.post_processor = processor
    tokenizer = saved(tmp_path, library)
    found = [span for span in spans(tokenizer, "hello wor ") if span is not None]
    assert found == ["hello", " wor", " "]


def test_word_pieces_keep_their_marks(tmp_path: Path) -> None:
    tokenizer = saved(tmp_path, word_piece(), special_tokens_map={"unk_token": "[UNK]", "pad_token": "[SEP]"})
    text = "Playing 我 zebra."
    assert labels(tokenizer, text) == ["[CLS]", "play", "##ing", "我", "[UNK]", ".", "[SEP]"]
    assert spans(tokenizer, text) == [None, "Play", "ing", "我", "zebra", ".", None]
    assert [token.special for token in tokenizer.tokenize(text)] == [True, False, False, False, True, False, True]
    assert (tokenizer.unk, tokenizer.pad, tokenizer.bos) == (0, 2, None)
    assert tokenizer.decode(tokenizer.encode("Playing 我.")) == "playing 我."


def test_the_unknown_token_is_known_from_the_model_alone(tmp_path: Path) -> None:
    tokenizer = saved(tmp_path, word_piece())
    assert tokenizer.unk == 0
    zebra = tokenizer.tokenize("zebra")[1]
    assert (zebra.label, zebra.span) == ("[UNK]", (0, 5))


def sentence_piece(*, fallback: bool) -> tokenizers.Tokenizer:
    entries = [("<unk>", 0.0), ("▁", -2.0), ("▁a", -1.0), ("a", -2.0), ("#", -3.0)]
    if fallback:
        entries += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
    library = tokenizers.Tokenizer(models.Unigram(entries, 0, fallback))
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    library.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    library.add_special_tokens(["<unk>"])
    return library


def test_the_mark_of_sentence_piece_is_a_space(tmp_path: Path) -> None:
    tokenizer = saved(tmp_path, sentence_piece(fallback=True))
    assert labels(tokenizer, "a #爱") == ["␣a", "␣", "#", "爱⟨1/3 e7⟩", "爱⟨2/3 88⟩", "爱⟨3/3 b1⟩"]
    assert spans(tokenizer, "a #爱") == ["a", " ", "#", "爱", "爱", "爱"]
    assert tokenizer.decode(tokenizer.encode("a #爱")) == "a #爱"


def test_unknown_text_keeps_its_span(tmp_path: Path) -> None:
    tokenizer = saved(tmp_path, sentence_piece(fallback=False), tokenizer_config={"unk_token": {"content": "<unk>"}})
    unknown = tokenizer.tokenize("a 爱 a")[2]
    assert (unknown.id, unknown.piece, unknown.label, unknown.span) == (tokenizer.unk, "<unk>", "<unk>", (2, 3))


def test_the_mark_is_only_a_space_where_the_tokenizer_makes_it_one(tmp_path: Path) -> None:
    library = tokenizers.Tokenizer(models.WordLevel({"▁a": 0, "<0x41>": 1, "Ġb": 2}, "▁a"))
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = saved(tmp_path, library)
    assert list(tokenizer.labels) == ["▁a", "<0x41>", "Ġb"]
    library.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(" ", "▁")])
    assert saved(tmp_path, library).labels[0] == "␣a"
    library.normalizer = normalizers.Replace(Regex(" +"), "▁")
    library.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse()])
    assert saved(tmp_path, library).labels[0] == "␣a"


@pytest.mark.skipif(not STORIES.exists(), reason="the test checkpoint is not here")
def test_a_llama_tokenizer() -> None:
    tokenizer = Tokenizer.from_folder(STORIES)
    assert (tokenizer.unk, tokenizer.bos, tokenizer.eos, tokenizer.size) == (0, 1, 2, 512)
    assert labels(tokenizer, "Once upon")[:2] == ["<s>", "␣Once"]
    assert labels(tokenizer, "日") == ["<s>", "␣", "日⟨1/3 e6⟩", "日⟨2/3 97⟩", "日⟨3/3 a5⟩"]
    assert tokenizer.tokenize("Once")[0].span is None
    story = "Once upon a time, there was a little girl named Lily. 爱\n"
    assert tokenizer.decode(tokenizer.encode(story)) == story.strip()


@pytest.mark.parametrize("newer", [False, True])
def test_which_file_has_the_last_word_on_special_tokens(newer: bool, tmp_path: Path) -> None:
    """As in transformers, special_tokens_map.json has it, but is not read where the config has the tokens as well."""
    library = byte_level()
    library.add_tokens(["<a>", "<b>"])
    config = {"bos_token": {"content": "<b>"}, "eos_token": "<a>", "model_max_length": 1e30}
    tokenizer = saved(
        tmp_path,
        library,
        special_tokens_map={"bos_token": "<a>", "eos_token": {"content": "<b>", "lstrip": False}, "pad_token": None},
        tokenizer_config=config | ({"added_tokens_decoder": {}} if newer else {}),
    )
    a, b = 257, 258
    assert (tokenizer.bos, tokenizer.eos, tokenizer.pad, tokenizer.mask) == ((b, a) if newer else (a, b)) + (None, None)
    assert tokenizer.token(b).special
    assert tokenizer.decode(tokenizer.encode("x<b>y<a>")) == "xy"
    assert tokenizer.size == 259


@pytest.mark.parametrize("value", [7, ["<s>"], {"text": "<s>"}, {"content": 7}, True])
def test_a_special_token_that_is_no_text_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(FileError, match=r"tokenizer_config\.json: bos_token is ") as caught:
        saved(tmp_path, byte_level(), tokenizer_config={"bos_token": value})
    assert caught.value.key == "special-token-invalid"


def test_truncation_padding_and_dropout_are_turned_off(tmp_path: Path) -> None:
    library = byte_level(b"hello", b"ell")
    library.enable_truncation(2)
    library.enable_padding(length=9)
    library.model.dropout = 0.9
    tokenizer = saved(tmp_path, library)
    assert all(tokenizer.encode("hello") == [tokenizer.size - 3] for _ in range(20))
    assert len(tokenizer.encode("hello" * 5)) == 5


def test_ids_that_no_token_has_are_named_by_number(tmp_path: Path) -> None:
    library = tokenizers.Tokenizer(models.WordLevel({"a": 0, "c": 2}, "a"))
    tokenizer = saved(tmp_path, library)
    assert list(tokenizer.labels) == ["a", "⟨#1⟩", "c"]
    assert [token.label for token in tokenizer.in_context([0, 1])] == ["a", "⟨#1⟩"]


def test_labels_that_would_act_on_a_terminal_are_made_visible(tmp_path: Path) -> None:
    vocabulary = {"\x1b[31m": 0, "\u0301": 1, "": 2, "\u202e": 3}
    tokenizer = saved(tmp_path, tokenizers.Tokenizer(models.WordLevel(vocabulary, "\x1b[31m")))
    assert list(tokenizer.labels) == ["␛[31m", "◌\u0301", "∅", "⟨202e⟩"]


# Changes to a sound tokenizer.json: each makes the library panic or raise, some only when it is used.
HOSTILE: dict[str, dict[str, Any]] = {
    "charsmap": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
    "charsmap out of bounds": {
        "normalizer": {
            "type": "Precompiled",
            "precompiled_charsmap": base64.b64encode(b"\4\0\0\0\xff\xff\xff\xffzz").decode(),
        }
    },
    "template": {
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<q>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [],
            "special_tokens": {},
        }
    },
    "no length": {"pre_tokenizer": {"type": "FixedLength", "length": 0}},
    "regex": {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": False}},
    "no model": {"model": None},
    "other model": {"model": {"type": "Pickle"}},
    "negative id": {"model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": -1}}},
    "merge prefix": {
        "model": {
            "type": "BPE",
            "vocab": {"a": 0, "b": 1, "ab": 2},
            "merges": [["a", "b"]],
            "continuing_subword_prefix": "##########",
        }
    },
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_tokenizer_is_one_quiet_error(tmp_path: Path, capfd: pytest.CaptureFixture[str], case: str) -> None:
    file = tmp_path / "tokenizer.json"
    sound = json.loads((SAMPLE / "tokenizer.json").read_text(encoding="utf-8"))
    file.write_text(json.dumps({**sound, **HOSTILE[case]}), encoding="utf-8")
    with pytest.raises(FileError) as caught:
        Tokenizer.from_folder(tmp_path)
    assert caught.value.key == "tokenizer-unsound"
    assert str(caught.value).startswith(f"{file}: ")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b"\xff", b'{"a":' * 1000, b'{"version": "1.0"}'])
def test_what_is_no_tokenizer_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "tokenizer.json").write_bytes(data)
    with pytest.raises(FileError) as caught:
        Tokenizer.from_folder(tmp_path)
    assert caught.value.key == "tokenizer-unsound"


def test_a_panic_is_unseen_and_everything_else_is_passed_on(capfd: pytest.CaptureFixture[str]) -> None:
    with _panics_unseen():
        os.write(2, b"a frame")
    assert capfd.readouterr().err == "a frame"
    with _panics_unseen():
        os.write(2, b"a frame\nthread '<unnamed>' (7) panicked at src/lib.rs:1:1:\nboom\nstack backtrace:\n  0: f\n")
    os.write(2, b", and more")
    assert capfd.readouterr().err == "a frame, and more"


def test_a_panic_while_encoding_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    class Panicking:
        def encode(self, text: str) -> None:
            raise type("PanicException", (BaseException,), {})("index out of bounds")

    tokenizer = saved(tmp_path, byte_level())
    tokenizer._library = Panicking()  # type: ignore[assignment]
    with pytest.raises(FileError, match="index out of bounds") as caught:
        tokenizer.encode("a")
    assert caught.value.key == "tokenizer-failed"


def test_interrupting_is_no_error_of_the_tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    byte_level().save(str(tmp_path / "tokenizer.json"))
    monkeypatch.setattr("engine.tokenizer._loaded", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Tokenizer.from_folder(tmp_path)


def test_text_without_tokens_is_an_input_error(tmp_path: Path) -> None:
    tokenizer = saved(tmp_path, tokenizers.Tokenizer(models.WordLevel({"a": 0}, "[UNK]")))
    assert tokenizer.encode("a") == [0]
    with pytest.raises(InputError) as caught:
        tokenizer.encode("b")
    assert caught.value.key == "text-without-token"


def test_a_missing_or_empty_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"holds no tokenizer\.json") as caught:
        Tokenizer.from_folder(tmp_path)
    assert caught.value.key == "tokenizer-missing"
    with pytest.raises(FileError) as caught:
        Tokenizer.from_folder(tmp_path / "nowhere")
    assert caught.value.key == "folder-missing"
    with pytest.raises(FileError) as caught:
        saved(tmp_path, tokenizers.Tokenizer(models.BPE()))
    assert caught.value.key == "tokenizer-empty"
    os.truncate(tmp_path / "tokenizer.json", 1 << 40)
    with pytest.raises(FileError) as caught:
        Tokenizer.from_folder(tmp_path)
    assert caught.value.key == "file-too-long"


def test_written_text_encodes_to_the_same_ids(tmp_path: Path, sample: Tokenizer) -> None:
    assert sample.written([1381, 1983, 507, 2]) == "我爱你<eos>"
    assert sample.encode("我爱你<eos>") == [1381, 1983, 507, 2]
    library = byte_level()
    library.add_special_tokens(["<s>", "</s>"])
    first, last = (library.token_to_id(name) for name in ("<s>", "</s>"))
    library.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", first), ("</s>", last)]
    )
    framed = saved(tmp_path, library)
    ids = framed.encode("我 b")
    assert first is not None
    assert (ids[0], ids[-1]) == (first, last)
    assert framed.written(ids) == "我 b"
    # What a model wrote has no end yet, and a token of that name inside is part of the text.
    assert framed.written([*ids[:-1], first]) == "我 b<s>"
