"""A model: its config, weights, tokenizer and description; what `load` gives and `trace` runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from engine.architectures.batch import Batch
from engine.architectures.config import Config
from engine.architectures.description import ModelSpec
from engine.architectures.forward import record_forward
from engine.architectures.registry import family
from engine.architectures.texts import Ids, Reader, Rows, empty_text
from engine.checkpoints.files import GGUF, is_gguf, names_in, read_config, shortened
from engine.checkpoints.hub import Progress, locate, name_of
from engine.checkpoints.hub_library import HubName
from engine.checkpoints.tensors import INDEX, SUFFIX, open_tensors
from engine.errors import FileError, InputError
from engine.text import visible
from engine.tokenizer import Token, Tokenizer
from engine.trace import GIBIBYTE, Trace
from engine.weights import Weights

HEAD, EMBEDDING, TOKENIZER = "logits.weight", "embedding.weight", "tokenizer.json"


class Model:
    """A checkpoint that has been opened: its weights are mapped, not read.

    Attributes:
        name: the folder's name, or the repository's where the folder is a snapshot of the Hub cache; a GGUF file's.
        folder: where it is.
        spec: what the model is made of.
        weights: its weights, by the names that traces give them.
        vocabulary: how every id is shown of the text that is predicted.
    """

    def __init__(
        self,
        folder: Path,
        spec: ModelSpec,
        weights: Weights,
        tokenizer: Tokenizer | None,
        target_tokenizer: Tokenizer | None = None,
        name: str | None = None,
    ) -> None:
        self.name = visible(name or name_of(folder) or folder.resolve().name)
        self.folder = folder
        self.spec = spec
        self.weights = weights
        self._tokenizer, self._target_tokenizer = tokenizer, target_tokenizer or tokenizer
        offices = () if tokenizer is None else (tokenizer.pad, tokenizer.eos)
        filler = next((office for office in offices if office is not None), 0)
        self._source: Reader | None = None
        if spec.source is not None:
            filler, stack = spec.source.never, spec.source.stack
            self._source = Reader(self.name, tokenizer, stack.vocabulary, stack.positions, filler)
        self._reader = Reader(self.name, self._target_tokenizer, spec.vocabulary, spec.positions, filler)
        self.vocabulary: Sequence[str] = self._reader.vocabulary

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer.

        Raises:
            FileError: the folder has none; such a model runs given ids only.
        """
        if self._tokenizer is not None:
            return self._tokenizer
        if self.spec.source is not None:
            raise FileError(
                "no-pieces",
                "{folder} has neither source.spm nor tokenizer.json; a translator's texts are cut up by source.spm, "
                "target.spm and vocab.json, and without them it can be given token ids only",
                folder=self.folder,
            )
        raise FileError(
            "no-tokenizer",
            "{folder} has no tokenizer.json; without one a model can be given token ids only",
            folder=self.folder,
        )

    @property
    def target_tokenizer(self) -> Tokenizer:
        """The tokenizer of the text that is predicted: the same, unless a translator has one for each language.

        Raises:
            FileError: as `tokenizer`.
        """
        return self._target_tokenizer or self.tokenizer

    @overload
    def trace(
        self,
        texts: str | Sequence[str],
        *,
        targets: str | Sequence[str] | None = None,
        decoder_ids: Ids | None = None,
        memory: int = GIBIBYTE,
    ) -> Trace: ...

    @overload
    def trace(
        self,
        *,
        ids: Ids,
        attention_mask: ArrayLike | None = None,
        token_types: Ids | None = None,
        targets: str | Sequence[str] | None = None,
        decoder_ids: Ids | None = None,
        memory: int = GIBIBYTE,
    ) -> Trace: ...

    def trace(
        self,
        texts: str | Sequence[str] | None = None,
        *,
        ids: Ids | None = None,
        attention_mask: ArrayLike | None = None,
        token_types: Ids | None = None,
        targets: str | Sequence[str] | None = None,
        decoder_ids: Ids | None = None,
        memory: int = GIBIBYTE,
    ) -> Trace:
        """Record a run over a text, several texts (a batch), or given token ids; nothing is computed yet.

        An encoder-decoder reads these as its source, and predicts what follows ``targets`` or ``decoder_ids``; without
        either, what a target text starts with.

        Args:
            texts: one text, or one for each row of the batch. An encoder-decoder's gets its end token.
            ids: token ids, N or B×N, instead of texts. Texts and rows of ids that are shorter than the longest are
                padded on the right, and padding is masked.
            attention_mask: beside ids of one length, 1 for each token and 0 for padding, in the same shape.
            token_types: beside ids of one length, the type of each token, in the same shape; without them, type 0.
            targets: of an encoder-decoder, how the text to be written begins; the start token comes before it.
            decoder_ids: the same as token ids, start token included.
            memory: how many bytes of computed values to keep.

        Raises:
            InputError: a text has no tokens or too many, an id is not in the vocabulary, or the model takes no such
                input.
        """
        if (texts is None) == (ids is None):
            raise TypeError("trace takes either texts or ids")
        if targets is not None and decoder_ids is not None:
            raise TypeError("trace takes either targets or decoder_ids")
        reader = self._source or self._reader
        if texts is not None:
            rows = reader.texts([texts] if isinstance(texts, str) else list(texts), self.tokenize)
        else:
            assert ids is not None
            rows = reader.given(ids, attention_mask)
        types = None if token_types is None else reader.types(token_types, rows, self.spec.stack.types)
        batch = reader.batch(rows, rows.names, types, "" if self._source is None else "source")
        if self._source is None:
            if targets is not None or decoder_ids is not None:
                raise InputError(
                    "target-refused", "{model} reads one text only; it has no target beside it", model=self.name
                )
            mask = self._tokenizer.mask if self._tokenizer is not None and self.spec.kind == "encoder" else None
            trace = Trace(rows.names, rows.tokens, rows.ends, memory, asked=rows.first(mask))
            record_forward(trace, self.spec, self.weights.find, batch)
            return trace
        written = self._written(targets, decoder_ids, len(rows.names))
        trace = Trace(
            written.names,
            written.tokens,
            written.ends,
            memory,
            source_texts=rows.names,
            source_tokens=rows.tokens,
        )
        record_forward(trace, self.spec, self.weights.find, self._reader.batch(written, rows.names), batch)
        return trace

    def tokenize(self, text: str) -> list[Token]:
        """The tokens of a text; of a source text, with the token that ends it, as MarianTokenizer has it."""
        tokens = self.tokenizer.tokenize(text)
        if self.spec.source is None:
            return tokens
        if not tokens or self._source is None:
            raise empty_text()
        end = self.spec.source.end
        return tokens if tokens[-1].id == end else [*tokens, self._source.token(end)]

    def _begun(self, text: str) -> list[Token]:
        """The tokens that a target text begins with, after the start token."""
        assert self.spec.source is not None
        own = [token for token in self.target_tokenizer.tokenize(text) if token.span is not None]
        return [self._reader.token(self.spec.source.start), *own]

    def _written(self, targets: str | Sequence[str] | None, ids: Ids | None, count: int) -> Rows:
        """The rows of the text that an encoder-decoder writes, so far."""
        assert self.spec.source is not None
        start = self.spec.source.start
        if targets is not None:
            rows = self._reader.texts([targets] if isinstance(targets, str) else list(targets), self._begun)
        else:
            rows = self._reader.given([[start]] * count if ids is None else ids, left_out=start)
        if len(rows.names) != count:
            raise InputError(
                "target-count",
                "there are {targets} target texts for {sources} source texts; there must be one for each",
                targets=len(rows.names),
                sources=count,
            )
        return rows


def load(path: str | Path, progress: Progress | None = None) -> Model:
    """Open a model: a folder with config.json, *.safetensors and tokenizer.json, a GGUF file or a folder with one, or
    the name of a shipped sample or of a model on the Hub.

    Nothing of the weights is read yet, but every tensor's presence and shape is checked against the config.

    Args:
        path: the folder, the file or the name. A name on the Hub, ``owner/name`` or ``owner/name@revision``, is looked
            up in the local cache, and downloaded where it is not there.
        progress: told what a download does.

    Raises:
        FileError: the folder or one of its files cannot be used; the message says which and why.
    """
    folder = _folder(path, progress)
    packed = _packed(folder)
    if packed is not None:
        return _load_gguf(packed)
    config = Config(read_config(folder), folder / "config.json")
    adapter = family(config)
    spec = adapter.describe(config)
    config.finish()
    weights = Weights(open_tensors(folder), adapter.places(spec), folder, adapter.apart)
    spec = checked(adapter.fit(spec, weights.has), weights)
    return Model(folder, spec, weights, *tokenizers_of(folder, spec))


def _packed(path: Path) -> Path | None:
    """The GGUF file that a path is of, or that a folder holds in place of ``*.safetensors``; None where there is none.

    Raises:
        FileError: the folder cannot be read, or holds several.
    """
    if not os.path.isdir(path):
        return path if is_gguf(path) else None
    names = names_in(path)
    packed = [name for name in names if name.lower().endswith(GGUF) and not name.startswith(".")]
    if not packed or any(name.endswith((SUFFIX, INDEX)) for name in names):
        return None
    from engine.checkpoints.gguf_parts import only_model

    return only_model(path, packed)


def _load_gguf(file: Path) -> Model:
    # Most models are folders: what reads these files is imported for them alone.
    from engine.architectures.gguf import describe_gguf
    from engine.checkpoints.gguf_parts import open_gguf

    opened = open_gguf(file)
    spec, places, tensors = describe_gguf(opened)
    weights = Weights(tensors, places, file, config="its metadata")
    spec = checked(spec, weights)
    tokenizer = Tokenizer.from_gguf(file, opened.metadata)
    check_size(tokenizer, spec.vocabulary)
    return Model(file.parent, spec, weights, tokenizer, name=file.name)


def checked(spec: ModelSpec, weights: Weights) -> ModelSpec:
    """The description as the weights fit it, once every one has been found, in its shape, and none is left over.

    Raises:
        FileError: a tensor is missing, has another shape, or is not part of the model.
    """
    spec = fitted(spec, weights)
    # A run over one token asks for every weight once, with the axes that it must have, and computes nothing.
    blank = Batch(np.zeros((1, 1), np.int64), ("",), (("",),), ())
    record_forward(Trace([""], [[]], [0]), spec, weights.find, blank, blank if spec.source else None)
    weights.finish()
    return spec


def tokenizers_of(folder: Path, spec: ModelSpec) -> tuple[Tokenizer | None, Tokenizer | None]:
    """The tokenizer, and that of the text that a translator writes; None where the folder has none.

    Raises:
        FileError: one has more tokens than its embedding has rows.
    """
    read = spec.stack if spec.source is None else spec.source.stack
    if os.path.lexists(folder / TOKENIZER):
        source = target = Tokenizer.from_folder(folder, min(read.vocabulary, spec.vocabulary))
    elif spec.source is not None and os.path.lexists(folder / "source.spm"):
        source, target = Tokenizer.from_pieces(folder, "source"), Tokenizer.from_pieces(folder, "target")
    else:
        return None, None
    check_size(source, read.vocabulary)
    check_size(target, spec.vocabulary)
    return source, target


def check_size(tokenizer: Tokenizer | None, rows: int) -> None:
    """Refuse a tokenizer with more tokens than its embedding has rows.

    Raises:
        FileError: it has more.
    """
    if tokenizer is not None and tokenizer.size > rows:
        raise FileError(
            "vocabulary-size",
            "{file} has {tokens} entries, the embedding only {rows} rows",
            file=tokenizer.file,
            tokens=tokenizer.size,
            rows=rows,
        )


def fitted(spec: ModelSpec, weights: Weights) -> ModelSpec:
    """The description with the head that the files have, or, where they have none, with the embedding as the head.

    As in transformers 5, a head in the files counts even where the config says that it is the embedding: where both are
    stored with the same numbers nothing depends on it, and where they differ the config is what is wrong.
    """
    if spec.head is None:
        return spec
    embedding = EMBEDDING if spec.source is None else f"decoder.{EMBEDDING}"
    if weights.has(HEAD) and not weights.same(HEAD, embedding):
        return replace(spec, head=replace(spec.head, tied=False))
    weights.tie(HEAD, embedding)
    bias = spec.head.bias and (spec.head.tied or weights.has("logits.bias"))
    return replace(spec, head=replace(spec.head, tied=True, bias=bias))


def samples() -> Path:
    """The folder of what ships with the program: inside the package in a wheel, beside it in a checkout."""
    inside = Path(__file__).parent / "samples"
    return inside if inside.is_dir() else Path(__file__).parent.parent / "samples"


def shipped_models() -> dict[str, Path]:
    """The models that ship with the program, by name."""
    return {path.parent.name: path.parent for path in sorted((samples() / "models").glob("*/config.json"))}


def _folder(path: str | Path, progress: Progress | None) -> Path:
    # Unlike Path's own, these two take any text: a name that no file can have, or a ~user that is not there.
    folder = Path(os.path.expanduser(path))
    if os.path.exists(folder) or folder.suffix.lower() == GGUF:
        return folder
    shipped = shipped_models()
    if str(path) in shipped:
        return shipped[str(path)]
    if HubName.read(str(path)) is not None:
        return locate(str(path), progress)
    raise FileError(
        "no-such-model",
        "{path} is neither a folder nor a model that ships with llm-explore ({shipped}); "
        "a model on the Hub is named owner/name",
        path=shortened(str(path)),
        shipped=", ".join(shipped),
    )
