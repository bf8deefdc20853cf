"""A model: its config, weights, tokenizer and description; what `load` gives and `trace` runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.architectures.config import Config
from engine.architectures.decoder import Batch, record_decoder
from engine.architectures.description import DecoderSpec
from engine.architectures.registry import family
from engine.checkpoints.files import read_config
from engine.checkpoints.tensors import open_tensors
from engine.errors import FileError, InputError
from engine.text import visible
from engine.tokenizer import Token, Tokenizer
from engine.trace import GIBIBYTE, Trace
from engine.weights import Weights

Ids = ArrayLike | Sequence[Sequence[int]]

HEAD, EMBEDDING = "logits.weight", "embedding.weight"


class Model:
    """A checkpoint that has been opened: its weights are mapped, not read.

    Attributes:
        name: the folder's name.
        folder: where it is.
        spec: what the model is made of.
        weights: its weights, by the names that traces give them.
        vocabulary: how every id of the embedding is shown.
    """

    def __init__(self, folder: Path, spec: DecoderSpec, weights: Weights, tokenizer: Tokenizer | None) -> None:
        self.name = visible(folder.resolve().name)
        self.folder = folder
        self.spec = spec
        self.weights = weights
        self._tokenizer = tokenizer
        self.vocabulary: Sequence[str] = (
            tokenizer.labels_up_to(spec.vocabulary) if tokenizer is not None else _Numbers(spec.vocabulary)
        )

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer.

        Raises:
            FileError: the folder has none; such a model runs given ids only.
        """
        if self._tokenizer is None:
            raise FileError(
                "no-tokenizer",
                "{folder} has no tokenizer.json; without one a model can be given token ids only",
                folder=self.folder,
            )
        return self._tokenizer

    @overload
    def trace(self, texts: str | Sequence[str], *, memory: int = GIBIBYTE) -> Trace: ...

    @overload
    def trace(self, *, ids: Ids, attention_mask: ArrayLike | None = None, memory: int = GIBIBYTE) -> Trace: ...

    def trace(
        self,
        texts: str | Sequence[str] | None = None,
        *,
        ids: Ids | None = None,
        attention_mask: ArrayLike | None = None,
        memory: int = GIBIBYTE,
    ) -> Trace:
        """Record a run over a text, several texts (a batch), or given token ids; nothing is computed yet.

        Args:
            texts: one text, or one for each row of the batch.
            ids: token ids, N or B×N, instead of texts. Texts and rows of ids that are shorter than the longest are
                padded on the right, and padding is masked.
            attention_mask: beside ids of one length, 1 for each token and 0 for padding, in the same shape.
            memory: how many bytes of computed values to keep.

        Raises:
            InputError: a text has no tokens or too many, or an id is not in the vocabulary.
        """
        if (texts is None) == (ids is None):
            raise TypeError("trace takes either texts or ids")
        if texts is not None:
            names = [texts] if isinstance(texts, str) else list(texts)
            rows = [self.tokenizer.tokenize(text) for text in names]
            matrix, real = self._padded([[token.id for token in row] for row in rows])
        else:
            matrix, real = self._given(ids, attention_mask)
            rows = [self._named(row[kept]) for row, kept in zip(matrix, real, strict=True)]
            names = [self._written(row) for row in rows]
        self._check(matrix)
        trace = Trace(names, rows, [int(np.flatnonzero(kept)[-1]) if kept.any() else 0 for kept in real], memory)
        labels = tuple(self._labels(*each) for each in zip(matrix, real, rows, strict=True))
        batch = Batch(matrix, tuple(map(visible, names)), labels, self.vocabulary, None if real.all() else real)
        record_decoder(trace, self.spec, self.weights.find, batch)
        return trace

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The rows' ids, filled up on the right to the longest, and which of them are real."""
        if not rows or not all(len(row) for row in rows):
            raise _empty()
        matrix = np.zeros((len(rows), max(map(len, rows))), np.int64)
        if self._tokenizer is not None:
            offices = (self._tokenizer.pad, self._tokenizer.eos)
            matrix[:] = next((filler for filler in offices if filler is not None), 0)
        real = np.zeros(matrix.shape, np.bool_)
        for number, row in enumerate(rows):
            matrix[number, : len(row)] = row
            real[number, : len(row)] = True
        return matrix, real

    def _given(self, ids: Ids | None, mask: ArrayLike | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Ids that came as such, checked to be a matrix of whole numbers or rows that can be made one."""
        if (
            mask is None
            and isinstance(ids, Sequence)
            and len({len(row) for row in ids if isinstance(row, Sequence)}) > 1
        ):
            return self._padded([_matrix(row)[0].tolist() for row in ids])
        matrix = _matrix(ids)
        if matrix.size == 0:
            raise _empty()
        real = np.ones(matrix.shape, np.bool_) if mask is None else _matrix(mask) != 0
        if real.shape != matrix.shape:
            raise InputError(
                "mask-shape",
                "attention_mask has shape {mask}, ids have {ids}; they must be the same",
                mask=real.shape,
                ids=matrix.shape,
            )
        self._check(matrix)
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
        wrong = ids[(ids < 0) | (ids >= self.spec.vocabulary)]
        if wrong.size:
            raise InputError(
                "unknown-id",
                "{id} is not a token id of {model}, which has ids 0 to {last}",
                id=wrong[0],
                model=self.name,
                last=self.spec.vocabulary - 1,
            )
        if ids.shape[1] > self.spec.positions:
            raise InputError(
                "text-too-long",
                "the text has {count} tokens; {model} has {limit} positions",
                count=ids.shape[1],
                model=self.name,
                limit=self.spec.positions,
            )


def _empty() -> InputError:
    return InputError("empty-text", "the text is empty: there is no token to look at")


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


def load(path: str | Path) -> Model:
    """Open a model: a folder with config.json, *.safetensors and tokenizer.json, or the name of a shipped sample.

    Nothing of the weights is read yet, but every tensor's presence and shape is checked against the config.

    Raises:
        FileError: the folder or one of its files cannot be used; the message says which and why.
    """
    folder = _folder(path)
    config = Config(read_config(folder), folder / "config.json")
    adapter = family(config)
    spec = adapter.describe(config)
    config.finish()
    tensors = open_tensors(folder)
    head = adapter.places[HEAD].tensor
    tied = {HEAD: EMBEDDING} if spec.tied or head not in tensors else {}
    weights = Weights(tensors, adapter.places, tied, folder)
    # A run over one token asks for every weight once, with the axes that it must have, and computes nothing.
    blank = Batch(np.zeros((1, 1), np.int64), ("",), (("",),), ())
    record_decoder(Trace([""], [[]], [0]), spec, weights.find, blank)
    weights.finish()
    tokenizer = Tokenizer.from_folder(folder) if (folder / "tokenizer.json").exists() else None
    if tokenizer is not None and tokenizer.size > spec.vocabulary:
        raise FileError(
            "vocabulary-size",
            "{file} has {tokens} entries, the embedding only {rows} rows",
            file=folder / "tokenizer.json",
            tokens=tokenizer.size,
            rows=spec.vocabulary,
        )
    return Model(folder, spec, weights, tokenizer)


def samples() -> Path:
    """The folder of what ships with the program: inside the package in a wheel, beside it in a checkout."""
    inside = Path(__file__).parent / "samples"
    return inside if inside.is_dir() else Path(__file__).parent.parent / "samples"


def shipped_models() -> dict[str, Path]:
    """The models that ship with the program, by name."""
    return {path.parent.name: path.parent for path in sorted((samples() / "models").glob("*/config.json"))}


def _folder(path: str | Path) -> Path:
    folder = Path(path).expanduser()
    if folder.exists():
        return folder
    shipped = shipped_models()
    if str(path) in shipped:
        return shipped[str(path)]
    raise FileError(
        "no-such-model",
        "{path} is neither a folder nor a model that ships with llm-explore ({shipped})",
        path=path,
        shipped=", ".join(shipped),
    )


def _matrix(values: Ids | None) -> NDArray[np.int64]:
    array = np.atleast_2d(np.asarray(values))
    if array.ndim != 2 or array.dtype.kind not in "biu":
        raise InputError("ids-shape", "ids must be whole numbers in N or B×N, not {shape}", shape=array.shape)
    return array.astype(np.int64)
