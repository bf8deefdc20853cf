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

HEAD, EMBEDDING = "logits.weight", "embedding.weight"


class Model:
    """A checkpoint that has been opened: its weights are mapped, not read.

    Attributes:
        name: the folder's name.
        folder: where it is.
        spec: what the model is made of.
        weights: its weights, by the names that traces give them.
    """

    def __init__(self, folder: Path, spec: DecoderSpec, weights: Weights, tokenizer: Tokenizer | None) -> None:
        self.name = visible(folder.resolve().name)
        self.folder = folder
        self.spec = spec
        self.weights = weights
        self._tokenizer = tokenizer
        self._vocabulary = Vocabulary(spec.vocabulary, tokenizer)

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

    @property
    def vocabulary(self) -> Sequence[str]:
        """How every id of the embedding is shown."""
        return self._vocabulary

    @overload
    def trace(self, texts: str | Sequence[str], *, memory: int = GIBIBYTE) -> Trace: ...

    @overload
    def trace(
        self, *, ids: ArrayLike, attention_mask: ArrayLike | None = None, memory: int = GIBIBYTE
    ) -> Trace: ...

    def trace(
        self,
        texts: str | Sequence[str] | None = None,
        *,
        ids: ArrayLike | None = None,
        attention_mask: ArrayLike | None = None,
        memory: int = GIBIBYTE,
    ) -> Trace:
        """Record a run over a text, several texts (a batch), or given token ids; nothing is computed yet.

        Args:
            texts: one text, or one for each row of the batch; shorter ones are padded on the right.
            ids: token ids, N or B×N, instead of texts.
            attention_mask: beside ids, 1 for each token and 0 for padding, in the same shape.
            memory: how many bytes of computed values to keep.

        Raises:
            InputError: a text has no tokens or too many, or an id is not in the vocabulary.
        """
        if (texts is None) == (ids is None):
            raise TypeError("trace takes either texts or ids")
        if texts is not None:
            rows = [self.tokenizer.tokenize(text) for text in ([texts] if isinstance(texts, str) else texts)]
            names = [texts] if isinstance(texts, str) else list(texts)
            matrix, real = self._padded(rows)
        else:
            matrix = _matrix(ids)
            real = None if attention_mask is None else _matrix(attention_mask).astype(np.bool_)
            if real is not None and real.shape != matrix.shape:
                raise InputError(
                    "mask-shape",
                    "attention_mask has shape {mask}, ids have {ids}; they must be the same",
                    mask=real.shape,
                    ids=matrix.shape,
                )
            self._check_ids(matrix)
            shown = [[True] * matrix.shape[1]] * len(matrix) if real is None else real.tolist()
            rows = [
                [self._token(token) for token, keep in zip(row, kept, strict=True) if keep]
                for row, kept in zip(matrix.tolist(), shown, strict=True)
            ]
            names = ["".join(token.label for token in row) for row in rows]
            if real is not None and real.all():
                real = None
        self._check_length(matrix)
        trace = Trace(names, rows, memory)
        labels = tuple(self._labels(row, kept) for row, kept in zip(matrix.tolist(), rows, strict=True))
        if ids is not None:
            labels = tuple([self._vocabulary[token] for token in row] for row in matrix.tolist())
        batch = Batch(matrix, tuple(map(visible, names)), labels, self._vocabulary, real)
        record_decoder(trace, self.spec, self.weights.find, batch)
        return trace

    def _padded(self, rows: Sequence[Sequence[Token]]) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
        """The rows' ids, filled up on the right to the longest, and which of them are real (None: all)."""
        if not rows or not all(rows):
            raise InputError("empty-text", "the text is empty: there is no token to look at")
        longest = max(map(len, rows))
        filler = next((x for x in (self.tokenizer.pad, self.tokenizer.eos) if x is not None), 0)
        matrix = np.full((len(rows), longest), filler, np.int64)
        real = np.zeros(matrix.shape, np.bool_)
        for number, row in enumerate(rows):
            matrix[number, : len(row)] = [token.id for token in row]
            real[number, : len(row)] = True
        self._check_ids(matrix)
        return matrix, None if real.all() else real

    def _labels(self, row: Sequence[int], tokens: Sequence[Token]) -> list[str]:
        return [token.label for token in tokens] + [self._vocabulary[filler] for filler in row[len(tokens) :]]

    def _token(self, identity: int) -> Token:
        if self._tokenizer is not None and identity < self._tokenizer.size:
            return self._tokenizer.token(identity)
        return Token(identity, f"#{identity}", f"#{identity}", None, False)

    def _check_ids(self, ids: NDArray[np.int64]) -> None:
        wrong = ids[(ids < 0) | (ids >= self.spec.vocabulary)]
        if wrong.size:
            raise InputError(
                "unknown-id",
                "{id} is not a token id of {model}, which has ids 0 to {last}",
                id=wrong[0],
                model=self.name,
                last=self.spec.vocabulary - 1,
            )

    def _check_length(self, ids: NDArray[np.int64]) -> None:
        if ids.size == 0:
            raise InputError("empty-text", "the text is empty: there is no token to look at")
        if ids.shape[1] > self.spec.positions:
            raise InputError(
                "text-too-long",
                "the text has {count} tokens; {model} has {limit} positions",
                count=ids.shape[1],
                model=self.name,
                limit=self.spec.positions,
            )


class Vocabulary(Sequence[str]):
    """How every id of an embedding is shown: as the tokenizer has it, ``#id`` beyond the tokenizer's entries."""

    def __init__(self, size: int, tokenizer: Tokenizer | None) -> None:
        self._size = size
        self._labels: Sequence[str] = tokenizer.labels if tokenizer is not None else ()

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(self._size))]
        position = index + self._size if index < 0 else index
        if not 0 <= position < self._size:
            raise IndexError(index)
        return self._labels[position] if position < len(self._labels) else f"#{position}"


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
    record_decoder(Trace([""], [[]]), spec, weights.find, blank)
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


def _matrix(values: ArrayLike | None) -> NDArray[np.int64]:
    array = np.atleast_2d(np.asarray(values))
    if array.ndim != 2 or array.dtype.kind not in "biu":
        raise InputError("ids-shape", "ids must be whole numbers in N or B×N, not {shape}", shape=array.shape)
    return array.astype(np.int64)
