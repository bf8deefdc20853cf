"""How the pieces of a vocabulary stand for bytes, and what to call tokens so that no half character is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from engine.text import label

if TYPE_CHECKING:
    import tokenizers

_BYTE_PIECE = re.compile("<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True, slots=True)
class Spelling:
    """How pieces stand for bytes."""

    byte_level: bool
    """Every byte is written as one character, as in GPT-2."""
    byte_fallback: bool
    """A byte can be written as ``<0xE7>``."""
    spaces: frozenset[str]
    """What is written for a space: ``▁`` with SentencePiece."""

    @classmethod
    def of(cls, library: tokenizers.Tokenizer) -> Spelling:
        """How the pieces of this tokenizer are to be read: its decoder says so, or what comes before the model."""
        decoder = list(parts(library.decoder))
        splitter = list(parts(library.pre_tokenizer))
        normalizer = list(parts(library.normalizer))
        types = {part["type"] for part in decoder or [*splitter, *normalizer]}
        spaces = {part["replacement"] for part in [*decoder, *splitter] if part["type"] == "Metaspace"}
        spaces |= {_replaced(part) for part in decoder if part["type"] == "Replace" and part["content"] == " "}
        spaces |= {part["content"] for part in normalizer if part["type"] == "Replace" and _replaced(part) == " "}
        return cls(
            byte_level="ByteLevel" in types,
            byte_fallback="ByteFallback" in types or getattr(library.model, "byte_fallback", False),
            spaces=frozenset(spaces - {"", " "}),
        )

    def bytes_of(self, piece: str) -> bytes:
        """The bytes of the text that a piece stands for, which need not be whole characters."""
        if self.byte_fallback and (byte := _BYTE_PIECE.fullmatch(piece)):
            return bytes.fromhex(byte[1])
        if self.byte_level:
            # A piece with any other character stands for itself, as in the library's decoder.
            with suppress(KeyError):
                return bytes(byte_of_character()[character] for character in piece)
        for mark in self.spaces:
            piece = piece.replace(mark, " ")
        return piece.encode()


def label_alone(spelled: bytes | str) -> str:
    """The label of a token without neighbours: bytes that are no whole character are shown as ``⟨e7 88⟩``."""
    if isinstance(spelled, bytes):
        with suppress(UnicodeDecodeError):
            return label(spelled.decode())
    return labels_of([spelled])[0]


def labels_of(spelled: Sequence[bytes | str]) -> list[str]:
    """One label a token. Neighbours that share a character show it with their share of its bytes: ``爱⟨1/3 e7⟩``.

    A token that is given as text, not bytes, shares nothing with its neighbours.
    """
    labels: list[str] = []
    run: list[bytes] = []
    for spelling in spelled:
        if isinstance(spelling, bytes):
            run.append(spelling)
        else:
            labels += _labels_of_run(run)
            labels.append(label(spelling))
            run = []
    return labels + _labels_of_run(run)


def _labels_of_run(run: list[bytes]) -> list[str]:
    characters = list(_characters(b"".join(run)))
    labels = []
    begin = first = 0
    for spelling in run:
        end = begin + len(spelling)
        last = first
        while last < len(characters) and characters[last].begin < end:
            last += 1
        labels.append(_label_of_share(characters[first:last], begin, end))
        goes_on = last > first and characters[last - 1].end > end
        begin, first = end, last - goes_on
    return labels


def _label_of_share(characters: list[_Character], begin: int, end: int) -> str:
    """What a token shows that has the bytes from ``begin`` to ``end`` of a run, and so a part of these characters."""
    shown = ""
    for (is_text, is_whole), group in groupby(characters, lambda one: (bool(one.text), one.is_within(begin, end))):
        if not is_text:
            shown += f"⟨{b''.join(one.data for one in group).hex(' ')}⟩"
        elif is_whole:
            shown += label("".join(one.text for one in group))
        else:
            shown += "".join(one.share(begin, end) for one in group)
    return shown or label("")


@dataclass(frozen=True, slots=True)
class _Character:
    """A character in a run of bytes, or a byte that belongs to none: then ``text`` is empty."""

    begin: int
    data: bytes
    text: str

    @property
    def end(self) -> int:
        return self.begin + len(self.data)

    def is_within(self, begin: int, end: int) -> bool:
        return begin <= self.begin and self.end <= end

    def share(self, begin: int, end: int) -> str:
        """The character with those of its bytes that lie from ``begin`` to ``end``: ``爱⟨1-2/3 e7 88⟩``."""
        low, high = max(begin - self.begin, 0), min(end - self.begin, len(self.data))
        places = f"{low + 1}" if high - low == 1 else f"{low + 1}-{high}"
        return f"{label(self.text)}⟨{places}/{len(self.data)} {self.data[low:high].hex(' ')}⟩"


def _characters(data: bytes) -> Iterator[_Character]:
    begin = 0
    # A byte that is not UTF-8 becomes a surrogate, which UTF-8 cannot hold.
    for text in data.decode("utf-8", "surrogateescape"):
        encoded = text.encode("utf-8", "surrogateescape")
        yield _Character(begin, encoded, "" if "\ud800" <= text <= "\udfff" else text)
        begin += len(encoded)


@cache
def byte_of_character() -> dict[str, int]:
    """The alphabet of byte-level tokenizers (bytes_to_unicode of GPT-2): what can be seen stands for its own code."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = [byte for byte in range(0x100) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(0x100 + place): byte for place, byte in enumerate(unseen)}


def parts(component: Any) -> Iterator[dict[str, Any]]:
    """The settings of a component of the tokenizer, and of those in it where it is a sequence of them."""
    if component is None:
        return
    waiting: list[Any] = [json.loads(component.__getstate__())]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict) and "type" in part:
            yield part
            waiting += [inner for value in part.values() if isinstance(value, list) for inner in value]


def _replaced(part: dict[str, Any]) -> str:
    pattern = part["pattern"]
    return str(pattern.get("String", ""))
