"""Text to tokens and back, with the characters each token came from and a label that never shows half a character."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

from engine.checkpoints.files import check_folder, is_panic, library_faults, read_bytes, shortened
from engine.checkpoints.sentencepieces import SentencePieces, Side
from engine.checkpoints.tokenizer_files import NAMED, TokenizerFiles
from engine.errors import FileError, InputError
from engine.spelling import Spelling, label_alone, labels_of, parts

if TYPE_CHECKING:
    import tokenizers

    from engine.checkpoints.gguf import Value

FILE_LIMIT = 128 << 20


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
        self._spelling = Spelling.of(library)
        self.size = max(library.get_vocab(with_added_tokens=True).values(), default=-1) + 1
        self._tokens: dict[int, Token] = {}

    @classmethod
    def from_folder(cls, folder: Path, rows: int | None = None) -> Tokenizer:
        """Reads tokenizer.json, and the files beside it that say more about its tokens where they are there.

        ``rows`` is how many tokens the model has an embedding for: those beyond that only the other files name are left
        out.

        Raises:
            FileError: tokenizer.json is missing, or one of the files cannot be read or makes no sense.
        """
        check_folder(folder)
        file = folder / "tokenizer.json"
        if not os.path.lexists(file):
            text = "{file}: holds no tokenizer.json; AutoTokenizer.from_pretrained(…).save_pretrained(…) writes one"
            raise FileError("tokenizer-missing", text, file=folder)
        beside = TokenizerFiles(folder)
        named, data = beside.named, read_bytes(file, FILE_LIMIT)
        with library_faults(lambda reason: _unsound(file, reason)), _panics_unseen():
            library = _loaded(data)
            beside.complete(library, rows)
            tokenizer = cls(file, library, named)
        if not tokenizer.size:
            raise FileError("tokenizer-empty", "{file}: its vocabulary is empty", file=file)
        return tokenizer

    @classmethod
    def from_pieces(cls, folder: Path, side: Side) -> Tokenizer:
        """Reads the SentencePiece model of one side of a translator, and the vocabulary beside it.

        Raises:
            FileError: one of the files is missing or makes no sense, or the sentencepiece library is not installed.
        """
        named = {"eos": "</s>", "pad": "<pad>", "unk": "<unk>"} | TokenizerFiles(folder).named
        return cls(folder / f"{side}.spm", cast(Any, SentencePieces(folder, side, named)), named)

    @classmethod
    def from_gguf(cls, file: Path, metadata: Mapping[str, Value]) -> Tokenizer | None:
        """Makes the tokenizer that a GGUF file's metadata describes; None where it describes none.

        Raises:
            FileError: it is of a kind that is not read, or makes no sense.
        """
        from engine.checkpoints.gguf_tokens import library_of

        with library_faults(lambda reason: _unsound(file, reason)), _panics_unseen():
            made = library_of(file, metadata)
            return None if made is None else cls(file, _tried(made[0]), made[1])

    @property
    def file(self) -> Path:
        """Where it was read from."""
        return self._file

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
            shown = f"⟨#{id}⟩" if piece is None else label_alone(self._spelled(id, piece))
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

    def written(self, ids: Sequence[int]) -> str:
        """The text that encodes to these ids: special tokens by name, those that `encode` adds of itself left out.

        Raises:
            InputError: an id is not in the vocabulary.
            FileError: the tokenizer itself fails.
        """
        checked = [self._checked(id) for id in ids]
        before, after = self._frame
        if before and tuple(checked[: len(before)]) == before:
            del checked[: len(before)]
        if after and tuple(checked[-len(after) :]) == after:
            del checked[-len(after) :]
        with library_faults(self._failed):
            return self._library.decode(checked, skip_special_tokens=False)

    @cached_property
    def _frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The special tokens that `encode` puts before and after every text."""
        with library_faults(self._failed):
            bare = self._library.encode("", add_special_tokens=True).ids
            letter = self._library.encode("a", add_special_tokens=True).ids
        common = next((i for i, (one, other) in enumerate(zip(bare, letter, strict=False)) if one != other), len(bare))
        return tuple(bare[:common]), tuple(bare[common:])

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
        labels = labels_of([self._spelled(token.id, token.piece) for token in alone])
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
    return _tried(library)


def _tried(library: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
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
    if any(part.get("trim_offsets") for part in parts(processor)):
        # Trimmed offsets leave out the space that belongs to a token.
        state = json.loads(processor.__getstate__(), object_hook=_untrimmed)
        processor.__setstate__(json.dumps(state).encode())
        library.post_processor = processor


def _untrimmed(part: dict[str, Any]) -> dict[str, Any]:
    return {**part, "trim_offsets": False} if "trim_offsets" in part else part


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
