"""The tokenizer that a GGUF file describes in its metadata, made into one of the tokenizers library.

Two kinds are read: ``gpt2``, byte-level BPE with merges and a way of cutting texts up (``tokenizer.ggml.pre``), and
``llama``, SentencePiece's BPE, where pieces have scores and what is no piece is written byte by byte. As in llama.cpp,
src/llama-vocab.cpp, and for the second also as in transformers, convert_slow_tokenizer.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.checkpoints.files import shown
from engine.checkpoints.gguf import Value
from engine.checkpoints.gguf_cuts import CUTS
from engine.errors import FileError

if TYPE_CHECKING:
    import tokenizers

PREFIX = "tokenizer.ggml."
SPACE = "▁"

# The offices of tokens → the metadata entries that hold their ids.
NAMED = {
    "bos": "bos_token_id",
    "eos": "eos_token_id",
    "pad": "padding_token_id",
    "mask": "mask_token_id",
    "unk": "unknown_token_id",
}
UNKNOWN, CONTROL, USER_DEFINED = 2, 3, 4

# Every way of cutting a piece in two is tried, so pieces and vocabularies that nobody has would take for ever.
LONGEST_PIECE, MOST_CHARACTERS, MOST_MERGES = 1 << 8, 1 << 22, 1 << 20

# Files from before ``pre`` was written have the cut that every model of their architecture has, if there is one.
WITHOUT_PRE = {"gpt2": "gpt-2", "qwen2": "qwen2", "qwen3": "qwen2"}


def library_of(file: Path, metadata: Mapping[str, Value]) -> tuple[tokenizers.Tokenizer, dict[str, str]] | None:
    """The tokenizer of a file and the contents of the tokens with an office; None where the file has none.

    Raises:
        FileError: it is of a kind that is not read, or makes no sense.
        Exception: what the tokenizers library raises.
    """
    entries = _Entries(file, metadata)
    kind = entries.get("model")
    if kind is None or kind in ("none", "no_vocab"):
        return None
    if kind not in ("gpt2", "llama"):
        raise entries.wrong("model", kind, "gpt2 or llama")
    pieces = _Pieces(entries)
    library = _byte_level(entries, pieces) if kind == "gpt2" else _sentencepiece(entries, pieces)
    _mark(library, pieces)
    return library, pieces.named


class _Entries:
    """The metadata that begins with ``tokenizer.ggml.``, each entry checked when it is asked for."""

    def __init__(self, file: Path, metadata: Mapping[str, Value]) -> None:
        self.file = file
        self._metadata = metadata
        self.architecture = str(metadata.get("general.architecture"))

    def get(self, key: str) -> Value | None:
        return self._metadata.get(PREFIX + key)

    def flag(self, key: str, default: bool) -> bool:
        value = self.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return default if value is None else value

    def texts(self, key: str) -> list[str]:
        value = self.get(key)
        if not isinstance(value, list):
            raise self.wrong(key, value, "a list of texts")
        try:
            return [text.decode() for text in value]
        except UnicodeDecodeError as error:
            raise self.wrong(key, error.object[:80], "UTF-8 text") from None

    def numbers(self, key: str, kinds: str, count: int) -> Sequence[Any]:
        value = self.get(key)
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds or len(value) != count:
            raise self.wrong(key, value, f"a list of {count} numbers")
        listed: list[Any] = value.tolist()
        return listed

    def wrong(self, key: str, value: object, wanted: str) -> FileError:
        text = "{file}: {entry} is {value}; {wanted} is expected"
        values = {"entry": PREFIX + key, "value": shown(value), "wanted": wanted}
        return FileError("config-value", text, file=self.file, **values)


class _Pieces:
    """A vocabulary: its pieces, what kind each is, and which have an office."""

    def __init__(self, entries: _Entries) -> None:
        self.contents = entries.texts("tokens")
        self.ids = {piece: id for id, piece in enumerate(self.contents)}
        if len(self.ids) < len(self.contents):
            twice = next(piece for id, piece in enumerate(self.contents) if self.ids[piece] != id)
            raise entries.wrong("tokens", twice, "every piece once")
        count = len(self.contents)
        self.kinds = [1] * count if entries.get("token_type") is None else entries.numbers("token_type", "iu", count)
        self.named: dict[str, str] = {}
        for name, key in NAMED.items():
            id = entries.get(key)
            if id is None:
                continue
            if isinstance(id, bool) or not isinstance(id, int) or not 0 <= id < count:
                raise entries.wrong(key, id, f"a token id from 0 to {count - 1}")
            self.named[name] = self.contents[id]
        unknown = next((piece for piece, kind in zip(self.contents, self.kinds, strict=True) if kind == UNKNOWN), None)
        if unknown is not None:
            self.named.setdefault("unk", unknown)


def _byte_level(entries: _Entries, pieces: _Pieces) -> tokenizers.Tokenizer:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    name = entries.get("pre")
    if name is None:
        name = WITHOUT_PRE.get(entries.architecture, "default")
    cut = CUTS.get(name) if isinstance(name, str) else None
    if cut is None:
        raise entries.wrong("pre", name, "one of " + ", ".join(CUTS))
    merges = []
    for merge in entries.texts("merges"):
        # A piece may begin with a space, where it is no byte that is written another way.
        left, _, right = merge[1:].partition(" ")
        merges.append((merge[:1] + left, right))
    library = Tokenizer(models.BPE(pieces.ids, merges, ignore_merges=cut.whole))
    if cut.composed:
        library.normalizer = normalizers.NFC()
    steps: list[Any] = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in cut.patterns]
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    library.pre_tokenizer = pre_tokenizers.Sequence([*steps, byte_level])
    library.decoder = decoders.ByteLevel()
    _frame(library, entries, pieces, cut.bos)
    return library


def _sentencepiece(entries: _Entries, pieces: _Pieces) -> tokenizers.Tokenizer:
    from tokenizers import Tokenizer, decoders, models, normalizers

    library = Tokenizer(
        models.BPE(
            pieces.ids,
            _merges(entries, pieces),
            unk_token=pieces.named.get("unk"),
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    begins_with_space = entries.flag("add_space_prefix", True)
    spaces: list[Any] = [normalizers.Prepend(SPACE)] if begins_with_space else []
    library.normalizer = normalizers.Sequence([*spaces, normalizers.Replace(" ", SPACE)])
    steps: list[Any] = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    library.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)] if begins_with_space else steps)
    _frame(library, entries, pieces, True)
    return library


def _merges(entries: _Entries, pieces: _Pieces) -> list[tuple[str, str]]:
    """Which pieces are put together, in the order in which SentencePiece does it: the highest score first."""
    scores = entries.numbers("scores", "f", len(pieces.contents))
    longest = max(map(len, pieces.contents), default=0)
    if longest > LONGEST_PIECE or sum(map(len, pieces.contents)) > MOST_CHARACTERS:
        text = (
            "{file}: its vocabulary has pieces of up to {longest} characters; at most {limit}, {all} in all, are read"
        )
        limits = {"longest": longest, "limit": LONGEST_PIECE, "all": MOST_CHARACTERS}
        raise FileError("gguf-pieces-long", text, file=entries.file, **limits)
    ids, found = pieces.ids, []
    for piece, score in zip(pieces.contents, scores, strict=True):
        for place in range(1, len(piece)):
            left, right = piece[:place], piece[place:]
            if left in ids and right in ids:
                found.append((-score, -len(left), ids[left], left, right))
        if len(found) > MOST_MERGES:
            text = (
                "{file}: its vocabulary has more than {limit} ways of putting two pieces together, which are not read"
            )
            raise FileError("gguf-merges", text, file=entries.file, limit=MOST_MERGES)
    found.sort()
    return [(left, right) for *_, left, right in found]


def _mark(library: tokenizers.Tokenizer, pieces: _Pieces) -> None:
    """Tokens that are looked for in the text itself, before it is cut up."""
    from tokenizers import AddedToken

    control, own = [], []
    for piece, kind in zip(pieces.contents, pieces.kinds, strict=True):
        if kind in (CONTROL, UNKNOWN) and piece:
            control.append(AddedToken(piece, normalized=False, special=True))
        elif kind == USER_DEFINED and piece:
            own.append(AddedToken(piece, normalized=False, special=False))
    library.add_special_tokens(control)
    library.add_tokens(own)


def _frame(library: tokenizers.Tokenizer, entries: _Entries, pieces: _Pieces, begins: bool) -> None:
    """The tokens that every text begins and ends with."""
    from tokenizers import processors

    offices = {"bos": entries.flag("add_bos_token", begins), "eos": entries.flag("add_eos_token", False)}
    used = {name: pieces.named[name] for name, is_added in offices.items() if is_added and name in pieces.named}
    if used:
        order = [*(name for name in ("bos",) if name in used), "$A", *(name for name in ("eos",) if name in used)]
        special: list[Any] = [
            {"id": name, "ids": [pieces.ids[content]], "tokens": [content]} for name, content in used.items()
        ]
        library.post_processor = processors.TemplateProcessing(single=order, special_tokens=special)
