"""What decides over the sizes of a file's matrices, as messages name it: the key and its shape."""

from __future__ import annotations

from dataclasses import dataclass

from engine.architectures.batch import Batch
from engine.axes import Axis, shape_text
from engine.worked.paper import Paper


@dataclass(frozen=True)
class Deciding:
    """What tokens decide, of the text and of what is looked at, which may be the same ``Batch``."""

    paper: Paper
    batch: Batch
    seen: Batch

    @property
    def tokens(self) -> str:
        """The text's tokens: ``tokens B×N = 1×3``."""
        return f"tokens {shape_text(self.batch.axes)}"

    @property
    def keys(self) -> str:
        """The tokens that are looked at: those of the text itself, or the file's keys."""
        if self.seen is self.batch:
            return self.tokens
        return f"keys {shape_text((self.seen.axes[0], self.seen.keys))}"

    @property
    def rows(self) -> tuple[str, str, str]:
        """For a row of any length for each token, B×N×D."""
        return self.tokens, self.tokens, ""

    def attention(self, heads: Axis) -> tuple[str, str, str, str]:
        """For scores and weights, B×H×N×M."""
        return self.tokens, f"heads {shape_text([heads])}", self.tokens, self.keys

    def looked_at(self, letter: str) -> str:
        """For the rows of K and V: of V the weights or scores that the file itself gives, where they fit the tokens."""
        for key in ("weights", "scores") if letter == "V" else ():
            shape = self.paper.shape(key) if key in self.paper and self.paper.rows(key) is None else ()
            if len(shape) > 1 and shape[-1] == self.seen.length:
                return f"{key} {shape_text([Axis('N', shape[-2]), self.seen.keys])}"
        return self.keys
