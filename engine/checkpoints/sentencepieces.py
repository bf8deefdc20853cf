"""Tokenizers that come as SentencePiece models beside a vocabulary of their own, as published translators have them.

A folder holds source.spm and target.spm, which cut texts into pieces, and vocab.json, which numbers the pieces of both;
target_vocab.json numbers the target's where it is there. As in transformers, models/marian/tokenization_marian.py, save
that punctuation is left as it is where that uses sacremoses.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from engine.checkpoints.files import library_faults, read_bytes, read_json, shortened, shown
from engine.errors import FileError

MODEL_LIMIT = 64 << 20
SPACE = "▁"

Side = Literal["source", "target"]


@dataclass(frozen=True)
class Encoding:
    """A text cut into tokens: ids, the characters each came from, and 0 for those that came from the text."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    sequence_ids: list[int | None]


class _Component:
    """A part of a tokenizer as the tokenizers library would describe it."""

    def __init__(self, **settings: object) -> None:
        self._settings = settings

    def __getstate__(self) -> bytes:
        return json.dumps(self._settings).encode()


class SentencePieces:
    """One side's pieces and their numbers, with what is used here of the tokenizers library's ``Tokenizer``."""

    normalizer = pre_tokenizer = post_processor = None
    decoder = _Component(type="Metaspace", replacement=SPACE)

    def __init__(self, folder: Path, side: Side, special: dict[str, str]) -> None:
        """``special`` gives the contents of special tokens by office: eos, pad, unk.

        Raises:
            FileError: a file is missing or makes no sense, or the sentencepiece library is not installed.
        """
        self._ids = _numbers(folder, side, special["unk"])
        self._pieces = {id: piece for piece, id in self._ids.items()}
        self._processor = _processor(folder / f"{side}.spm")
        self._special = {content for content in special.values() if content in self._ids}
        self._end, self._unknown = self._ids.get(special["eos"]), self._ids[special["unk"]]
        self.model = SimpleNamespace(unk_token=special["unk"], dropout=None)

    def token_to_id(self, content: str) -> int | None:
        """The number of a piece."""
        return self._ids.get(content)

    def id_to_token(self, id: int) -> str | None:
        """The piece of a number."""
        return self._pieces.get(id)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Every piece with its number."""
        return self._ids

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """The special tokens by their numbers."""
        return {self._ids[content]: SimpleNamespace(content=content, special=True) for content in self._special}

    def add_special_tokens(self, contents: Sequence[str]) -> None:
        """Special from now on; they are in the vocabulary already."""
        self._special |= {content for content in contents if content in self._ids}

    def encode(self, text: str, add_special_tokens: bool = True) -> Encoding:
        """The tokens of a text, and the one that ends it. A target language's code (``>>eng<<``) may come first."""
        code, start = [], 0
        if text.startswith(">>") and "<<" in text:
            start = text.index("<<") + 2
            code = [self._ids.get(text[:start], self._unknown)]
        cut = self._processor.encode(text[start:], return_type="offset_mapping")
        ids = [*code, *(self._ids.get(piece, self._unknown) for piece in cut["pieces"])]
        offsets = [(0, start)] * len(code) + [(begin + start, end + start) for begin, end in cut["offsets"]]
        sequences: list[int | None] = [0] * len(ids)
        if add_special_tokens and self._end is not None:
            return Encoding([*ids, self._end], [*offsets, (0, 0)], [*sequences, None])
        return Encoding(ids, offsets, sequences)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of the ids."""
        pieces = [self._pieces.get(id, "") for id in ids]
        if skip_special_tokens:
            pieces = [piece for piece in pieces if piece not in self._special]
        return "".join(pieces).replace(SPACE, " ").strip()


def _numbers(folder: Path, side: Side, unknown: str) -> dict[str, int]:
    own = folder / "target_vocab.json"
    file = own if side == "target" and os.path.lexists(own) else folder / "vocab.json"
    numbers = read_json(file)
    for piece, id in numbers.items():
        if isinstance(id, bool) or not isinstance(id, int) or not 0 <= id < 1 << 24:
            text = "{file}: the number of {piece} is {value}; a whole number from 0 is needed"
            raise FileError("vocabulary-number", text, file=file, piece=shortened(piece, 80), value=shown(id))
    if unknown not in numbers:
        text = "{file}: has no token {token}, which stands for what is not in the vocabulary"
        raise FileError("vocabulary-without-unknown", text, file=file, token=unknown)
    return numbers


def _processor(file: Path) -> Any:
    try:
        sentencepiece: Any = importlib.import_module("sentencepiece")
    except ImportError:
        text = "{file}: is read by the sentencepiece library, which is not installed: pip install sentencepiece"
        raise FileError("sentencepiece-missing", text, file=file) from None
    data = read_bytes(file, MODEL_LIMIT)

    def fault(reason: str) -> FileError:
        text = "{file}: is not a model that the sentencepiece library can read ({reason})"
        return FileError("sentencepiece-unsound", text, file=file, reason=reason)

    with library_faults(fault):
        processor = sentencepiece.SentencePieceProcessor(model_proto=data)
        processor.encode("a 你", return_type="offset_mapping")
    return processor
