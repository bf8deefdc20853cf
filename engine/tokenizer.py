"""Text to tokens and back, with the characters each token came from and a label that never shows half a character."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from engine.checkpoints.files import check_folder, is_panic, library_faults, read_bytes, read_json, shortened
from engine.errors import FileError, InputError
from engine.text import label

if TYPE_CHECKING:
    import tokenizers

FILE_LIMIT = 128 << 20
NAMED = ("bos", "eos", "pad", "mask", "unk")

_BYTE_PIECE = re.compile("<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True, slots=True)
class Token:
    """One entry of the vocabulary, where it stands in a text or by itself."""

    id: int
    piece: str
    """The token as the tokenizer spells it: ``Ġworld``, ``▁world``, ``<0xE7>``."""
    label: str
    """How it is shown: ``␣world``, ``<bos>``, ``爱⟨1/3 e7⟩`` for the first of the three bytes of 爱."""
    span: tuple[int, int] | None
    """The characters of the text it came from; None for a token that came from no text."""
    special: bool


class Tokenizer:
    """The tokenizer of a model folder.

    ``size`` is the number of ids, added tokens included. ``bos``, ``eos``, ``pad``, ``mask`` and ``unk`` are the ids of
    the tokens with these offices, None where there is no such token.
    """

    size: int
    bos: int | None
    eos: int | None
    pad: int | None
    mask: int | None
    unk: int | None

    def __init__(self, file: Path, library: tokenizers.Tokenizer, named: dict[str, str]) -> None:
        """Wraps a loaded tokenizer; ``named`` gives the offices of special tokens: ``{"bos": "<s>"}``."""
        self._file = file
        self._library = library
        ids = {name: library.token_to_id(content) for name, content in named.items()}
        self.bos, self.eos, self.pad, self.mask, self.unk = (ids.get(name) for name in NAMED)
        _make_reproducible(library, [content for name, content in named.items() if ids[name] is not None])
        if self.unk is None and isinstance(unknown := getattr(library.model, "unk_token", None), str):
            self.unk = library.token_to_id(unknown)
        self._added = library.get_added_tokens_decoder()
        self._spelling = _Spelling.of(library)
        self.size = max(library.get_vocab(with_added_tokens=True).values(), default=-1) + 1
        self._tokens: dict[int, Token] = {}

    @classmethod
    def from_folder(cls, folder: Path) -> Tokenizer:
        """Reads tokenizer.json, and tokenizer_config.json and special_tokens_map.json where they are there.

        Raises:
            FileError: tokenizer.json is missing, or one of the files cannot be read or makes no sense.
        """
        check_folder(folder)
        file = folder / "tokenizer.json"
        if not os.path.lexists(file):
            text = "{file}: holds no tokenizer.json; AutoTokenizer.from_pretrained(…).save_pretrained(…) writes one"
            raise FileError("tokenizer-missing", text, file=folder)
        named = _named_tokens(folder)
        data = read_bytes(file, FILE_LIMIT)
        with library_faults(lambda reason: _unsound(file, reason)), _panics_unseen():
            tokenizer = cls(file, _loaded(data), named)
        if not tokenizer.size:
            raise FileError("tokenizer-empty", "{file}: its vocabulary is empty", file=file)
        return tokenizer

    def encode(self, text: str) -> list[int]:
        """The ids of the text, with the special tokens that the tokenizer puts around it.

        Raises:
            InputError: the text is not valid Unicode, or holds what the tokenizer has no token for.
            FileError: the tokenizer itself fails.
        """
        return self._encoding(text).ids

    def tokenize(self, text: str) -> list[Token]:
        """The tokens of the text: the ids of `encode`, with the labels they have there and the characters they cover.

        Raises:
            InputError, FileError: as `encode`.
        """
        encoding = self._encoding(text)
        # What the post-processor adds belongs to no sequence.
        came_from_text = [sequence is not None for sequence in encoding.sequence_ids]
        spans = [span if given else None for span, given in zip(encoding.offsets, came_from_text, strict=True)]
        return self._in_context(encoding.ids, spans)

    def in_context(self, ids: Sequence[int]) -> list[Token]:
        """The tokens of a sequence of ids, such as a model wrote: labelled as in a text, but without spans.

        Raises:
            InputError: an id is not in the vocabulary.
        """
        return self._in_context(ids, [None] * len(ids))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids, special tokens left out; bytes that are no character become �.

        Raises:
            InputError: an id is not in the vocabulary.
            FileError: the tokenizer itself fails.
        """
        checked = [self._checked(id) for id in ids]
        with library_faults(self._failed):
            return self._library.decode(checked, skip_special_tokens=True)

    def token(self, id: int) -> Token:
        """The entry of the vocabulary: bytes that are no whole character by themselves are shown as ``⟨e7⟩``.

        Raises:
            InputError: the id is not in the vocabulary.
        """
        id = self._checked(id)
        if id not in self._tokens:
            piece = self._library.id_to_token(id)
            shown = f"⟨#{id}⟩" if piece is None else _label_alone(self._spelled(id, piece))
            self._tokens[id] = Token(id, piece or "", shown, None, self._is_special(id))
        return self._tokens[id]

    @property
    def labels(self) -> Sequence[str]:
        """The label of every id from 0 to size − 1, each made when it is asked for."""
        return self.labels_up_to(self.size)

    def labels_up_to(self, size: int) -> Sequence[str]:
        """The labels of the ids from 0 to ``size`` − 1, for a vocabulary axis of a length that is not `size`.

        Ids that the tokenizer does not know show as ``⟨#4097⟩``.
        """
        return _Labels(self, size)

    def text_of(self, id: int) -> str | None:
        """What the text gains when this id is appended to it: nothing for special tokens.

        None where the token is part of a character, so that what it adds depends on its neighbours.

        Raises:
            InputError: the id is not in the vocabulary.
            FileError: the tokenizer itself fails.
        """
        piece = self.token(id).piece
        if self._is_special(id) or not piece:
            return ""
        if id in self._added:
            return piece
        if self._spelling.is_literal:
            with library_faults(self._failed):
                decoder = self._library.decoder
                return decoder.decode(["a", piece]).removeprefix("a") if decoder else f" {piece}"
        try:
            return self._spelling.bytes_of(piece).decode()
        except UnicodeDecodeError:
            return None

    def _encoding(self, text: str) -> tokenizers.Encoding:
        _check_unicode(text)
        try:
            return self._library.encode(text)
        except BaseException as error:
            if is_panic(error):
                raise self._failed(shortened(str(error))) from None
            if not isinstance(error, Exception):
                raise
            message = "the tokenizer has no token for a part of the text ({reason})"
            raise InputError("text-without-token", message, reason=shortened(str(error))) from None

    def _in_context(self, ids: Sequence[int], spans: Sequence[tuple[int, int] | None]) -> list[Token]:
        alone = [self.token(id) for id in ids]
        labels = _labels([self._spelled(token.id, token.piece) for token in alone])
        return [
            Token(token.id, token.piece, shown if token.piece else token.label, span, token.special)
            for token, shown, span in zip(alone, labels, spans, strict=True)
        ]

    def _spelled(self, id: int, piece: str) -> bytes | str:
        """The bytes that the token stands for; text for a special token, which never shares a character."""
        if id in self._added:
            return piece if self._is_special(id) else piece.encode()
        return self._spelling.bytes_of(piece)

    def _is_special(self, id: int) -> bool:
        return id in self._added and self._added[id].special

    def _checked(self, id: int) -> int:
        if not 0 <= id < self.size:
            text = "there is no token {id}: the ids of this model's vocabulary run from 0 to {last}"
            raise InputError("token-unknown", text, id=id, last=self.size - 1)
        return int(id)

    def _failed(self, reason: str) -> FileError:
        return FileError("tokenizer-failed", "{file}: the tokenizer failed ({reason})", file=self._file, reason=reason)


@dataclass(frozen=True, slots=True)
class _Spelling:
    """How pieces stand for bytes."""

    byte_level: bool
    """Every byte is written as one character, as in GPT-2."""
    byte_fallback: bool
    """A byte can be written as ``<0xE7>``."""
    spaces: frozenset[str]
    """What is written for a space: ``▁`` with SentencePiece."""

    @classmethod
    def of(cls, library: tokenizers.Tokenizer) -> _Spelling:
        decoder = list(_parts(library.decoder))
        splitter = list(_parts(library.pre_tokenizer))
        normalizer = list(_parts(library.normalizer))
        types = {part["type"] for part in decoder or [*splitter, *normalizer]}
        spaces = {part["replacement"] for part in [*decoder, *splitter] if part["type"] == "Metaspace"}
        spaces |= {_replaced(part) for part in decoder if part["type"] == "Replace" and part["content"] == " "}
        spaces |= {part["content"] for part in normalizer if part["type"] == "Replace" and _replaced(part) == " "}
        return cls(
            byte_level="ByteLevel" in types,
            byte_fallback="ByteFallback" in types or getattr(library.model, "byte_fallback", False),
            spaces=frozenset(spaces - {"", " "}),
        )

    @property
    def is_literal(self) -> bool:
        """Pieces are text as it stands, and what goes between them is up to the decoder, as with WordPiece."""
        return not (self.byte_level or self.byte_fallback or self.spaces)

    def bytes_of(self, piece: str) -> bytes:
        if self.byte_fallback and (byte := _BYTE_PIECE.fullmatch(piece)):
            return bytes.fromhex(byte[1])
        if self.byte_level:
            # A piece with any other character stands for itself, as in the library's decoder.
            with suppress(KeyError):
                return bytes(_byte_of_character()[character] for character in piece)
        for mark in self.spaces:
            piece = piece.replace(mark, " ")
        return piece.encode()


class _Labels(Sequence[str]):
    def __init__(self, tokenizer: Tokenizer, size: int) -> None:
        self._tokenizer, self._size = tokenizer, size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        ids = range(self._size)[index]
        return self._label(ids) if isinstance(ids, int) else [self._label(id) for id in ids]

    def _label(self, id: int) -> str:
        return self._tokenizer.token(id).label if id < self._tokenizer.size else f"⟨#{id}⟩"


def _loaded(data: bytes) -> tokenizers.Tokenizer:
    import tokenizers

    library = tokenizers.Tokenizer.from_buffer(data)
    library.no_truncation()
    library.no_padding()
    # Much that makes the library panic shows only when it is used. Having no token for this text is no fault.
    with suppress(Exception):
        library.decode(library.encode("a 你\n").ids)
    return library


def _make_reproducible(library: tokenizers.Tokenizer, special: list[str]) -> None:
    """Makes one text always give the same ids, with spans that cover it, and special tokens be known as special."""
    # As transformers does with the tokens that the config names.
    known = {token.content for token in library.get_added_tokens_decoder().values() if token.special}
    library.add_special_tokens([content for content in special if content not in known])
    if getattr(library.model, "dropout", None) is not None:
        library.model.dropout = None
    processor = library.post_processor
    if any(part.get("trim_offsets") for part in _parts(processor)):
        # Trimmed offsets leave out the space that belongs to a token.
        state = json.loads(processor.__getstate__(), object_hook=_untrimmed)
        processor.__setstate__(json.dumps(state).encode())
        library.post_processor = processor


def _untrimmed(part: dict[str, Any]) -> dict[str, Any]:
    return {**part, "trim_offsets": False} if "trim_offsets" in part else part


def _parts(component: Any) -> Iterator[dict[str, Any]]:
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


def _named_tokens(folder: Path) -> dict[str, str]:
    """The contents of the tokens that the optional files give an office; tokenizer_config.json has the last word."""
    named = {}
    for file in (folder / "special_tokens_map.json", folder / "tokenizer_config.json"):
        entries = read_json(file) if os.path.lexists(file) else {}
        for name in NAMED:
            entry = entries.get(f"{name}_token")
            content = entry.get("content") if isinstance(entry, dict) else entry
            if isinstance(content, str):
                named[name] = content
            elif entry is not None:
                text = '{file}: {entry} is {value}; a text or an object with the text as "content" is needed'
                value = shortened(json.dumps(entry, ensure_ascii=False), 60)
                raise FileError("special-token-invalid", text, file=file, entry=f"{name}_token", value=value)
    return named


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        # Where Python met a byte that is not UTF-8, it put the byte at U+DC00.
        found = f"the byte 0x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"the lone surrogate U+{code:X}"
        message = "the text is not valid UTF-8: character {position} is {found}"
        raise InputError("text-not-utf8", message, position=error.start + 1, found=found) from None


def _unsound(file: Path, reason: str) -> FileError:
    text = "{file}: is not a tokenizer that the tokenizers library can use ({reason})"
    return FileError("tokenizer-unsound", text, file=file, reason=reason)


@contextmanager
def _panics_unseen() -> Iterator[None]:
    """Keeps off the terminal what Rust prints on a panic; anything else that is printed meanwhile is passed on."""
    import tempfile

    try:
        terminal = os.dup(2)
    except OSError:
        yield
        return
    try:
        with tempfile.TemporaryFile() as printed:
            if sys.stderr is not None:
                sys.stderr.flush()
            os.dup2(printed.fileno(), 2)
            try:
                yield
            finally:
                os.dup2(terminal, 2)
                printed.seek(0)
                os.write(2, re.split(rb"\n?thread '[^\n]* panicked at ", printed.read())[0])
    finally:
        os.close(terminal)


def _label_alone(spelled: bytes | str) -> str:
    if isinstance(spelled, bytes):
        with suppress(UnicodeDecodeError):
            return label(spelled.decode())
    return _labels([spelled])[0]


def _labels(spelled: Sequence[bytes | str]) -> list[str]:
    """One label a token. Neighbours that share a character show it with their share of its bytes: ``爱⟨1/3 e7⟩``."""
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
def _byte_of_character() -> dict[str, int]:
    """The alphabet of byte-level tokenizers (bytes_to_unicode of GPT-2): what can be seen stands for its own code."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = [byte for byte in range(0x100) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(0x100 + place): byte for place, byte in enumerate(unseen)}
