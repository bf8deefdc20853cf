"""Named axes: what each dimension of an array is, how long it is, and what stands along it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One dimension of an operand.

    ``symbol`` is the textbook's letter: B batch, N tokens (queries), M tokens (keys), D model width, H heads, H_kv
    key/value heads where fewer, d head width, F feed-forward width, V vocabulary. ``by_text`` holds what stands along
    the axis: one sequence for every text of the batch (tokens), or a single one that all texts share (the vocabulary).
    ``side`` is ``source`` where tokens are those of the text that an encoder-decoder reads before it writes another.
    """

    symbol: str
    size: int
    by_text: tuple[Sequence[str], ...] = ()
    side: str = ""

    @property
    def labels(self) -> Sequence[str] | None:
        """What stands along the axis in the first text; None where positions are only numbered."""
        return self.by_text[0] if self.by_text else None

    def labels_of(self, text: int) -> Sequence[str] | None:
        """What stands along the axis in text number ``text``."""
        if not self.by_text:
            return None
        return self.by_text[text] if len(self.by_text) > 1 else self.by_text[0]

    def label(self, position: int, text: int = 0) -> str:
        """What stands at ``position``: a token, or the position's number."""
        labels = self.labels_of(text)
        return str(position) if labels is None else labels[position]

    def resized(self, size: int) -> Axis:
        """The same kind of axis with another length and no labels."""
        return Axis(self.symbol, size)


def shape_text(axes: Sequence[Axis]) -> str:
    """The shape as textbooks write it: ``B×N×D = 1×3×64``; ``1`` for a single number."""
    if not axes:
        return "1"
    return f"{'×'.join(axis.symbol for axis in axes)} = {'×'.join(str(axis.size) for axis in axes)}"
