"""A worked example that has been opened: its words, its stages, and what its file gives beside what comes out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from engine.architectures.batch import Batch
from engine.axes import Axis, shape_text
from engine.checkpoints.files import shortened
from engine.errors import FileError
from engine.model import samples
from engine.text import label, visible
from engine.tokenizer import Token
from engine.trace import GIBIBYTE, Trace
from engine.worked.comparison import Comparison
from engine.worked.fitting import misfit
from engine.worked.forward import Example
from engine.worked.paper import Paper


@dataclass(frozen=True)
class Worked:
    """A worked example.

    Attributes:
        name: the file's name without its ending.
        path: the file.
        title: its title by language; under the empty text one that is for all.
        notes: what it says about itself, in the same way; lines end with ``\\n``.
        vocabulary: how every entry that is predicted is called; empty where they are only numbered.
        trace: everything that follows, as stages.
        comparisons: what the file gives for stages that are computed as well, in the order of the computation.
    """

    name: str
    path: Path
    title: Mapping[str, str]
    notes: Mapping[str, str]
    vocabulary: Sequence[str]
    trace: Trace
    comparisons: tuple[Comparison, ...]

    def titled(self, language: str) -> str:
        """The title in a language, or in the one there is; the name where there is none."""
        return _said(self.title, language) or self.name

    def noted(self, language: str) -> str:
        """The notes in a language, or in the one there is; the empty text where there are none."""
        return _said(self.notes, language)


def load_worked(path: str | Path, memory: int = GIBIBYTE) -> Worked:
    """Open a worked example: a TOML file, or the name of a shipped one.

    Everything is checked, and nothing computed before it is looked at.

    Args:
        path: the file or the name.
        memory: how many bytes of computed values to keep.

    Raises:
        FileError: the file cannot be used; the message says which line is wrong and what would be right.
    """
    paper = Paper(_file(path))
    title, notes = paper.words("title"), paper.words("notes")
    texts = paper.texts("tokens")
    keys = paper.texts("keys") if "keys" in paper else None
    if keys is not None and len(keys) != len(texts):
        axes, tokens = (Axis("B", len(texts)), Axis("M", 0)), (Axis("B", len(texts)), Axis("N", len(texts[0])))
        decides = f"tokens {shape_text(tokens)}"
        raise misfit(paper.at("keys"), "keys", (len(keys), len(keys[0])), axes, (decides, ""))
    entries = paper.entries("vocabulary")
    batch = _batch(texts, _known(paper, texts, entries))
    seen = (
        batch if keys is None else _batch(keys, list(dict.fromkeys(token for row in keys for token in row)), "source")
    )
    trace = Trace(
        batch.texts,
        _tokens(texts, batch),
        [batch.length - 1] * len(texts),
        memory,
        source_texts=() if keys is None else seen.texts,
        source_tokens=() if keys is None else _tokens(keys, seen),
    )
    example = Example(paper, trace, batch, seen, [label(entry) for entry in entries])
    example.record()
    order = sorted(example.comparisons, key=lambda comparison: comparison.stage.position)
    return Worked(visible(paper.path.stem), paper.path, title, notes, example.vocabulary, trace, tuple(order))


def shipped_worked() -> dict[str, Path]:
    """The worked examples that ship with the program, by name."""
    return {path.stem: path for path in sorted((samples() / "worked").glob("*.toml"))}


def _file(path: str | Path) -> Path:
    # Unlike Path's own, these two take any text: a name that no file can have, or a ~user that is not there.
    file = Path(os.path.expanduser(path))
    if os.path.lexists(file):
        return file
    shipped = shipped_worked()
    if str(path) in shipped:
        return shipped[str(path)]
    text = "{path} is neither a file nor a worked example that ships with llm-explore ({shipped})"
    raise FileError("no-such-worked", text, path=shortened(str(path)), shipped=", ".join(shipped))


def _known(paper: Paper, texts: Sequence[Sequence[str]], entries: Sequence[str]) -> list[str]:
    """What tokens are numbered by: the rows of the embeddings, else the vocabulary, else their own order."""
    tokens = list(dict.fromkeys(token for row in texts for token in row))
    rows = paper.rows("embeddings")
    if rows is None:
        return list(entries) if set(tokens) <= set(entries) else tokens
    for token in tokens:
        if token not in rows:
            raise paper.unknown_token("embeddings", token, list(rows))
    return list(rows)


def _batch(texts: Sequence[Sequence[str]], known: Sequence[str], side: str = "") -> Batch:
    numbers = {token: number for number, token in enumerate(known)}
    ids = np.array([[numbers[token] for token in row] for row in texts], np.int64)
    labels = tuple([label(token) for token in row] for row in texts)
    return Batch(ids, tuple(map(_joined, texts)), labels, [label(token) for token in known], None, None, side)


def _joined(tokens: Sequence[str]) -> str:
    """The text that tokens make: Chinese side by side, words with spaces."""
    text = tokens[0]
    for before, token in pairwise(tokens):
        text += (" " if before[-1].isascii() and token[0].isascii() and not token[0].isspace() else "") + token
    return visible(text)


def _tokens(texts: Sequence[Sequence[str]], batch: Batch) -> list[list[Token]]:
    return [
        [Token(int(id), token, shown, None, False) for id, token, shown in zip(ids, row, labels, strict=True)]
        for ids, row, labels in zip(batch.ids, texts, batch.labels, strict=True)
    ]


def _said(words: Mapping[str, str], language: str) -> str:
    return words.get(language) or words.get("") or words.get("en") or next(iter(words.values()), "")
