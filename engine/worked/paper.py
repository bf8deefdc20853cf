"""The TOML file of a worked example: its keys, where each stands, and what kind of thing each must be."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from engine.axes import Axis
from engine.checkpoints.files import read_bytes, shortened
from engine.errors import FileError
from engine.text import visible
from engine.worked.fitting import misfit
from engine.worked.numbers import Matrix, Writing

FILE_LIMIT = 4 << 20
MOST_TOKENS, MOST_TEXTS, MOST_HEADS, MOST_ENTRIES = 512, 16, 64, 1 << 16

SETTINGS = ("title", "notes", "tokens", "keys", "vocabulary", "mask", "scale", "positions", "theta", "width", "heads")
LETTERS = ("Q", "K", "V", "O", "out")
WEIGHTS = tuple(f"{kind}_{letter}" for letter in LETTERS for kind in ("W", "b"))
# What a stage is called in a file.
STAGES = {
    "embeddings": "embedding",
    "key_embeddings": "encoder.embedding",
    "position_vectors": "positions",
    "embedded": "embedded",
    "Q": "q",
    "K": "k",
    "V": "v",
    "Q_rotated": "q_rotated",
    "K_rotated": "k_rotated",
    "scores": "scores",
    "scaled": "scaled",
    "masked": "masked",
    "weights": "weights",
    "mixed": "heads",
    "concat": "concat",
    "output": "output",
    "h": "h",
    "logits": "logits",
    "probabilities": "probabilities",
    "target": "targets",
    "losses": "losses",
    "loss": "loss",
}
KEYS = (*SETTINGS, *WEIGHTS, *STAGES)
MASKED = ("scores", "scaled", "masked")


class Paper:
    """A file that has been read: what each key says, and which keys have been used."""

    def __init__(self, path: Path) -> None:
        """Reads the file.

        Raises:
            FileError: it cannot be read, is not TOML, or has a key that is not known.
        """
        self.path = path
        self.name = visible(path.name)
        data = read_bytes(path, FILE_LIMIT)
        try:
            self._text = data.decode("utf-8-sig").replace("\r\n", "\n")
            self._table: dict[str, Any] = tomllib.loads(self._text, parse_float=Decimal)
        except UnicodeDecodeError as error:
            text = "{file}: is not UTF-8 text: byte {byte} at position {position}"
            byte = f"0x{data[error.start]:02x}"
            raise FileError("worked-not-utf8", text, file=path, byte=byte, position=error.start) from None
        except (ValueError, ArithmeticError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else shortened(str(error))
            text = "{file}: is not TOML: {reason}"
            raise FileError("worked-not-toml", text, file=path, reason=reason) from None
        self._unused = dict.fromkeys(self._table)
        for key in self._table:
            if key not in KEYS:
                text = "{file}: there is no key {entry}; there are {known}"
                known = ", ".join(_close(key))
                raise FileError("worked-key", text, file=self.at(key), entry=shortened(key, 40), known=known)

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def at(self, key: str) -> str:
        """Where a key stands, for messages: the file and the line."""
        found = re.search(rf"^[ \t]*(?:\[[ \t]*)?[\"']?{re.escape(key)}[\"']?[ \t]*[\].=]", self._text, re.MULTILINE)
        return f"{self.path}:{self._text.count(chr(10), 0, found.start()) + 1}" if found else str(self.path)

    def source(self, key: str) -> str:
        """Where a key stands, for derivations: the file's name and the key."""
        return f"{self.name} · {key}"

    def raw(self, key: str) -> Any:
        """What the file says; the key counts as used."""
        self._unused.pop(key, None)
        return self._table.get(key)

    def peek(self, key: str) -> Any:
        """What the file says; the key does not count as used by that."""
        return self._table.get(key)

    def words(self, key: str) -> dict[str, str]:
        """A text for each language: ``{zh = "…", en = "…"}``, or one text for all."""
        said = self.raw(key)
        if said is None:
            return {}
        said = {"": said} if isinstance(said, str) else said
        if not isinstance(said, dict) or not all(isinstance(text, str) for text in said.values()):
            raise self.wrong(key, said, '"…" or {zh = "…", en = "…"}')
        return {code: "\n".join(map(visible, text.strip().split("\n"))) for code, text in said.items()}

    def choice(self, key: str, *choices: str) -> str:
        """One of some words; the first where the key is not there."""
        said = self.raw(key)
        if said is None:
            return choices[0]
        if not isinstance(said, str) or said not in choices:
            quoted = [f'"{choice}"' for choice in choices]
            raise self.wrong(key, said, ", ".join([*quoted, "[[1, 0], [1, 1]]"] if key == "mask" else quoted))
        return said

    def whole(self, key: str, default: int, most: int) -> int:
        """A whole number from 1."""
        said = self.raw(key)
        if said is None:
            return default
        if type(said) is not int or not 1 <= said <= most:
            raise self.wrong(key, said, f"1 … {most}")
        return said

    def real(self, key: str, default: float) -> float:
        """A number above 0."""
        said = self.raw(key)
        if said is None:
            return default
        number = float(Writing(self.at(key), key).matrix(said).values) if not isinstance(said, list | dict) else 0.0
        if number <= 0:
            raise self.wrong(key, said, "> 0")
        return number

    def texts(self, key: str) -> list[list[str]]:
        """Tokens of one text, ``["我", "爱", "你"]``, or of several of the same length."""
        said = self.raw(key)
        wanted = '["…", "…"]'
        if not isinstance(said, list) or not said:
            raise self.wrong(key, said, wanted)
        rows = said if all(isinstance(row, list) for row in said) else [said]
        for row in rows:
            if not row or not all(isinstance(token, str) and token for token in row):
                raise self.wrong(key, said, wanted)
            if len(row) > MOST_TOKENS or len(rows) > MOST_TEXTS:
                raise self._too_many(key, f"{len(rows)}×{len(row)}", f"{MOST_TEXTS}×{MOST_TOKENS}")
            if len(row) != len(rows[0]):
                text = "{file}: the texts of {entry} have {first} and {other} tokens; all must have the same number"
                values = {"first": len(rows[0]), "other": len(row)}
                raise FileError("worked-lengths", text, file=self.at(key), entry=key, **values)
        return rows

    def entries(self, key: str) -> list[str]:
        """The vocabulary: different tokens; none where the key is not there."""
        said = self.raw(key)
        if said is None:
            return []
        if not isinstance(said, list) or not said or not all(isinstance(token, str) and token for token in said):
            raise self.wrong(key, said, '["…", "…"]')
        if len(said) > MOST_ENTRIES:
            raise self._too_many(key, str(len(said)), str(MOST_ENTRIES))
        if len(set(said)) < len(said):
            twice = next(token for number, token in enumerate(said) if token in said[:number])
            raise FileError(
                "worked-twice", "{file}: {entry} has {token} twice", file=self.at(key), entry=key, token=twice
            )
        return said

    def rows(self, key: str) -> Mapping[str, Any] | None:
        """The rows by token, where that is how the file gives them."""
        said = self._table.get(key)
        return said if isinstance(said, dict) and set(said) != {"shape", "fill"} else None

    def shape(self, key: str) -> tuple[int, ...]:
        """The shape as it is written."""
        return Writing(self.at(key), key, key in MASKED).matrix(self._table[key]).values.shape

    def matrix(self, key: str, axes: Sequence[Axis], fits: Sequence[str] = ()) -> tuple[Matrix, tuple[Axis, ...]]:
        """The numbers of a key along these axes, and the axes with sizes that were open (0).

        Leading axes of size 1 may be left out, and where there is but one number all of them. A row by token leaves
        the others' rows NaN.

        Args:
            key: the key; it counts as used.
            axes: what the numbers must run along.
            fits: what decides over the size of each axis, for the message.

        Raises:
            FileError: they have another shape, or are no numbers.
        """
        rows = self.rows(key)
        raw = self.raw(key)
        writing = Writing(self.at(key), key, key in MASKED)
        found = writing.matrix(raw) if rows is None else self._by_row(writing, rows, axes, fits)
        shape = found.values.shape
        absent = len(axes) - len(shape)
        # A row of single numbers need not be wrapped one by one, and what is one number in all not at all.
        single = [
            place
            for place, axis in enumerate(axes)
            if axis.size == 1 and (place < len(axes) - 1 or axis.symbol == "1" or not shape)
        ]
        left_out = tuple(single)[: max(absent, 0)]
        full = np.expand_dims(found.values, left_out).shape if len(left_out) == absent else ()
        if len(full) != len(axes) or any(axis.size not in (0, size) for axis, size in zip(axes, full, strict=False)):
            raise misfit(self.at(key), key, shape, axes, fits, "" if shape else shortened(str(raw), 40))
        known = tuple(
            axis if axis.size else Axis(axis.symbol, size, axis.by_text, axis.side)
            for axis, size in zip(axes, full, strict=True)
        )
        return Matrix(np.expand_dims(found.values, left_out), np.expand_dims(found.halves, left_out)), known

    def finish(self) -> None:
        """Makes sure that every key has been used.

        Raises:
            FileError: nothing is computed from one.
        """
        for key in self._unused:
            raise self.unused(key)

    def unused(self, key: str) -> FileError:
        """The error for a key from which nothing follows."""
        text = "{file}: nothing is computed from {entry}; something that it belongs to is missing"
        return FileError("worked-unused", text, file=self.at(key), entry=key)

    def wrong(self, key: str, said: object, wanted: str) -> FileError:
        """The error for a key with another kind of value."""
        text = "{file}: {entry} is {value}; it must be {wanted}"
        shown = "—" if said is None else "{…}" if isinstance(said, dict) else shortened(str(said), 60)
        return FileError("worked-value", text, file=self.at(key), entry=key, value=shown, wanted=wanted)

    def partial(self, key: str) -> FileError:
        """The error for a matrix that nothing computes and of which rows are missing."""
        text = "{file}: {entry} gives only some rows; nothing computes the others, so that all are needed"
        return FileError("worked-partial", text, file=self.at(key), entry=key)

    def unknown_token(self, key: str, token: str, known: Sequence[str]) -> FileError:
        """The error for a token that is not among those there are."""
        text = "{file}: {entry} has no {token}; it has {known}"
        names = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
        return FileError("worked-token", text, file=self.at(key), entry=key, token=shortened(token, 40), known=names)

    def _by_row(self, writing: Writing, rows: Mapping[str, Any], axes: Sequence[Axis], fits: Sequence[str]) -> Matrix:
        tokens, width = axes[-2], axes[-1].size
        labels = list(tokens.labels or ())
        if any(axis.size != 1 for axis in axes[:-2]) or not width:
            raise self.wrong(writing.key, dict(rows), "[[…], […]]")
        values, halves = np.full((2, tokens.size, width), np.nan)
        for token, raw in rows.items():
            if labels.count(token) != 1:
                raise self.unknown_token(writing.key, token, labels)
            row = writing.row(raw, axes[-1], token, fits[-1] if fits else "")
            values[labels.index(token)], halves[labels.index(token)] = row.values, row.halves
        return Matrix(values, halves)

    def _too_many(self, key: str, count: str, limit: str) -> FileError:
        text = "{file}: {entry} has {count} tokens; there may be {limit}"
        return FileError("worked-too-many", text, file=self.at(key), entry=key, count=count, limit=limit)


def _close(key: str) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(key, KEYS, n=3, cutoff=0.6) or list(KEYS)
