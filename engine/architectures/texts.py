"""Texts and token ids made ready for a run: rows of one length, with the labels that stand along their axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.architectures.batch import Batch
from engine.errors import InputError
from engine.text import visible
from engine.tokenizer import Token, Tokenizer

Ids = ArrayLike | Sequence[Sequence[int]]


@dataclass(frozen=True)
class Rows:
    """Texts as token ids B×N, padded to one length.

    Attributes:
        names: the texts as they are written.
        tokens: the tokens of each, padding left out.
        ids: the ids, padding filled in.
        real: which ids are not padding.
    """

    names: Sequence[str]
    tokens: Sequence[Sequence[Token]]
    ids: NDArray[np.int64]
    real: NDArray[np.bool_]

    @property
    def ends(self) -> list[int]:
        """The position of each text's last token."""
        return [int(np.flatnonzero(kept)[-1]) if kept.any() else 0 for kept in self.real]

    def first(self, token: int | None) -> list[int]:
        """The position of the first such token in each text; its end where there is none."""
        found = (self.ids == token) & self.real if token is not None else np.zeros(self.ids.shape, np.bool_)
        return [int(row.argmax()) if row.any() else end for row, end in zip(found, self.ends, strict=True)]


class Reader:
    """Reads texts and ids for one side of a model: the text that is predicted, or the source that is read before it."""

    def __init__(self, model: str, tokenizer: Tokenizer | None, vocabulary: int, positions: int, filler: int) -> None:
        """``filler`` is the id that stands where there is padding."""
        self._model, self._tokenizer = model, tokenizer
        self._size, self._positions, self._filler = vocabulary, positions, filler
        self.vocabulary: Sequence[str] = (
            tokenizer.labels_up_to(vocabulary) if tokenizer is not None else _Numbers(vocabulary)
        )

    def texts(self, texts: Sequence[str], tokenize: Callable[[str], Sequence[Token]]) -> Rows:
        """The rows of texts.

        Raises:
            InputError: a text has no tokens or too many.
        """
        tokens = [tokenize(text) for text in texts]
        ids, real = self._padded([[token.id for token in row] for row in tokens])
        self._check(ids)
        return Rows(texts, tokens, ids, real)

    def given(self, ids: Ids, mask: ArrayLike | None = None, left_out: int | None = None) -> Rows:
        """The rows of ids that came as such; a first token ``left_out`` is not written in their names.

        Raises:
            InputError: they are no matrix, or one is not in the vocabulary, or there are too many or none.
        """
        matrix, real = self._matrices(ids, mask)
        self._check(matrix)
        tokens = [self._named(row[kept]) for row, kept in zip(matrix, real, strict=True)]
        names = [self._written(row[1:] if row and row[0].id == left_out else row) for row in tokens]
        return Rows(names, tokens, matrix, real)

    def batch(self, rows: Rows, names: Sequence[str], types: NDArray[np.int64] | None = None, side: str = "") -> Batch:
        """The rows with labels on their axes: ``names`` down the batch, tokens along the texts."""
        labels = tuple(self._labels(*each) for each in zip(rows.ids, rows.real, rows.tokens, strict=True))
        real = None if rows.real.all() else rows.real
        return Batch(rows.ids, tuple(map(visible, names)), labels, self.vocabulary, real, types, side)

    def types(self, types: Ids, rows: Rows, count: int) -> NDArray[np.int64]:
        """Token types that came as such, beside the rows that they are for; there are ``count`` types.

        Raises:
            InputError: the model has none, or they are of another shape or not among those there are.
        """
        matrix = matrix_of(types, "token_types")
        if not count:
            raise InputError("types-refused", "{model} has no token types", model=self._model)
        if matrix.shape != rows.ids.shape:
            raise InputError(
                "types-shape",
                "token_types have shape {types}, ids have {ids}; they must be the same",
                types=matrix.shape,
                ids=rows.ids.shape,
            )
        if matrix.min() < 0 or matrix.max() >= count:
            raise InputError(
                "unknown-type", "token types of {model} are 0 to {last}", model=self._model, last=count - 1
            )
        return matrix

    def token(self, id: int) -> Token:
        """A token that stands in no text, such as the one that a target text starts with."""
        return self._named(np.array([id]))[0]

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The rows' ids, filled up on the right to the longest, and which of them are real."""
        if not rows or not all(len(row) for row in rows):
            raise empty_text()
        matrix = np.full((len(rows), max(map(len, rows))), self._filler, np.int64)
        real = np.zeros(matrix.shape, np.bool_)
        for number, row in enumerate(rows):
            matrix[number, : len(row)] = row
            real[number, : len(row)] = True
        return matrix, real

    def _matrices(self, ids: Ids, mask: ArrayLike | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Ids that came as such, checked to be a matrix of whole numbers or rows that can be made one."""
        if mask is None and isinstance(ids, Sequence):
            lengths = {len(row) for row in ids if isinstance(row, Sequence | np.ndarray)}
            if len(lengths) > 1:
                return self._padded([matrix_of(row)[0].tolist() for row in ids])
        matrix = matrix_of(ids)
        if matrix.size == 0:
            raise empty_text()
        real = np.ones(matrix.shape, np.bool_) if mask is None else matrix_of(mask, "attention_mask") != 0
        if real.shape != matrix.shape:
            raise InputError(
                "mask-shape",
                "attention_mask has shape {mask}, ids have {ids}; they must be the same",
                mask=real.shape,
                ids=matrix.shape,
            )
        return matrix, real

    def _named(self, ids: NDArray[np.int64]) -> list[Token]:
        """Tokens of ids that came as such."""
        if self._tokenizer is not None and (not ids.size or ids.max() < self._tokenizer.size):
            return self._tokenizer.in_context(ids.tolist())
        return [Token(i, self.vocabulary[i], self.vocabulary[i], None, False) for i in ids.tolist()]

    def _written(self, tokens: Sequence[Token]) -> str:
        """The text that tokens make, special ones as their names; their labels where there is no tokenizer."""
        if self._tokenizer is None or any(token.id >= self._tokenizer.size for token in tokens):
            return " ".join(token.label for token in tokens)
        return self._tokenizer.written([token.id for token in tokens])

    def _labels(self, ids: NDArray[np.int64], real: NDArray[np.bool_], tokens: Sequence[Token]) -> list[str]:
        names = iter(tokens)
        return [next(names).label if kept else self.vocabulary[int(i)] for i, kept in zip(ids, real, strict=True)]

    def _check(self, ids: NDArray[np.int64]) -> None:
        wrong = ids[(ids < 0) | (ids >= self._size)]
        if wrong.size:
            raise InputError(
                "unknown-id",
                "{id} is not a token id of {model}, which has ids 0 to {last}",
                id=wrong[0],
                model=self._model,
                last=self._size - 1,
            )
        if ids.shape[1] > self._positions:
            raise InputError(
                "text-too-long",
                "the text has {count} tokens; {model} has {limit} positions: shorten it, or take a model with more",
                count=ids.shape[1],
                model=self._model,
                limit=self._positions,
            )


class _Numbers(Sequence[str]):
    """The vocabulary of a model without a tokenizer: every id by its number."""

    def __init__(self, size: int) -> None:
        self._ids = range(size)

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        found = self._ids[index]
        return f"#{found}" if isinstance(found, int) else [f"#{number}" for number in found]


def empty_text() -> InputError:
    """The error for a text without a token."""
    return InputError("empty-text", "the text is empty: there is no token to look at")


def matrix_of(values: Ids, name: str = "ids") -> NDArray[np.int64]:
    """Whole numbers in N or B×N, as a matrix.

    Raises:
        InputError: they are none.
    """
    try:
        array = np.atleast_2d(np.asarray(values))
    except ValueError:
        raise _no_matrix(name, "rows of different lengths") from None
    if array.ndim != 2 or (array.size and array.dtype.kind not in "biu"):
        raise _no_matrix(name, f"{array.dtype} in {'×'.join(map(str, array.shape))}")
    return array.astype(np.int64)


def _no_matrix(name: str, found: str) -> InputError:
    return InputError(
        "ids-shape", "{name} must be whole numbers in the shape N or B×N, not {found}", name=name, found=found
    )
