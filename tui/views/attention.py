"""Attention as a graph, without a screen: who looks at whom, how strongly, what the mask cut, which edges to show."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.axes import Axis
from engine.heads import Measure, Sight, measures
from engine.operand import Array
from engine.ops import ApplyMask
from engine.stages import Stage
from engine.text import visible
from engine.trace import Trace
from tui.language import Language
from tui.naming import token_names

SYMBOLS = ["B", "H", "N", "M"]


def attention_stages(trace: Trace) -> list[Stage]:
    """The stages that hold attention weights, in order: one for each attention of each layer."""
    return [stage for stage in trace if _holds_weights(stage)]


def _holds_weights(stage: Stage) -> bool:
    return stage.name.endswith("attention.weights") and [axis.symbol for axis in stage.axes] == SYMBOLS


def nearest_weights(trace: Trace, here: Stage) -> Stage | None:
    """The attention weights of a stage's own attention, else of its layer, else the nearest; None if there are none."""
    return min(
        attention_stages(trace),
        key=lambda stage: (
            stage.side != here.side,
            stage.layer != here.layer,
            stage.block != here.block,
            abs(stage.position - here.position),
        ),
        default=None,
    )


def shows_attention(operand: object) -> bool:
    """Whether a picture of attention goes with what is looked at: the weights alone, for it is their picture.

    Beside any other stage, be it the scores, its numbers would contradict the words and the arithmetic.
    """
    return isinstance(operand, Stage) and _holds_weights(operand)


def attention_name(stage: Stage, say: Language) -> str:
    """What the attention of a stage of weights is called in a list of all."""
    if stage.layer is None:
        return say(f"tree.{stage.name.split('.')[-2]}")
    if stage.block == "cross_attention":
        return say("heads.cross", layer=stage.layer)
    return say(f"heads.{stage.side or 'layer'}", layer=stage.layer)


def needed(stage: Stage) -> list[Stage]:
    """The stages that must have been computed before the `Attention` of a stage is looked at."""
    before = stage.inputs[0] if stage.inputs else None
    return [stage, before] if isinstance(before, Stage) and not isinstance(before.op, ApplyMask) else [stage]


@dataclass(frozen=True, eq=False)
class Attention:
    """The attention of one text at a stage of weights, padding left out."""

    trace: Trace
    stage: Stage
    text: int

    @property
    def heads(self) -> int:
        """How many heads."""
        return self.stage.axes[1].size

    @property
    def crosses(self) -> bool:
        """Whether the keys are another text's."""
        return self.stage.axes[2].side != self.stage.axes[3].side

    @cached_property
    def looks_ahead(self) -> bool:
        """Whether any token may see a later one."""
        return not self.crosses and bool(np.triu(self.sight, 1).any())

    @cached_property
    def query_labels(self) -> Sequence[str]:
        """The names of the tokens that look."""
        return self._labels(self.stage.axes[2])

    @cached_property
    def key_labels(self) -> Sequence[str]:
        """The names of the tokens that are looked at."""
        return self._labels(self.stage.axes[3])

    @cached_property
    def sight(self) -> Sight:
        """N×M: false where the mask has cut the edge."""
        part = self._part()
        before = self.stage.inputs[0] if self.stage.inputs else None
        if not isinstance(before, Stage):
            return np.ones((len(self.query_labels), len(self.key_labels)), np.bool_)
        if not isinstance(before.op, ApplyMask):
            return ~np.isneginf(before.part((self.text, 0, *part)))
        mask = before.inputs[1]
        return np.asarray(mask.part((self.text if mask.shape[0] > 1 else 0, *part)) != 0)

    def weights(self, head: int | None) -> Array:
        """The weights N×M of a head; None for the mean of all heads."""
        if head is not None:
            return self.stage.part((self.text, head, *self._part()))
        return np.asarray(self.all_weights().mean(axis=0))

    def all_weights(self) -> Array:
        """The weights of all heads, H×N×M."""
        return self.stage.part((self.text, slice(None), *self._part()))

    @cached_property
    def measures(self) -> list[tuple[Measure, ...]]:
        """What can be measured of each head."""
        tokens = self.trace.tokens_along(self.stage.axes[2])[self.text]
        ids = None if self.crosses else [token.id for token in tokens]
        return measures(self.all_weights(), self.sight, ids)

    def _part(self) -> tuple[slice, slice]:
        return slice(len(self.query_labels)), slice(len(self.key_labels))

    def _labels(self, axis: Axis) -> Sequence[str]:
        tokens = self.trace.tokens_along(axis)[self.text]
        count = min(axis.size, len(tokens))
        return token_names([visible(axis.label(position, self.text)) for position in range(count)])


@dataclass(frozen=True)
class Limits:
    """Which edges are shown: those of at least this weight, and of each query no more than its ``top`` strongest."""

    threshold: float = 0.05
    top: int | None = 5

    def keep(self, weights: Array, sight: Sight) -> NDArray[np.bool_]:
        """Which edges of some queries are shown, in the shape of their weights."""
        kept: NDArray[np.bool_] = sight & (weights >= self.threshold)
        if self.top is not None and self.top < weights.shape[-1]:
            order = np.argsort(-weights, axis=-1, kind="stable")
            strongest = np.zeros_like(kept)
            np.put_along_axis(strongest, order[..., : self.top], True, axis=-1)
            kept &= strongest
        return kept


@dataclass(frozen=True)
class Edge:
    """A query that looks at a key."""

    query: int
    key: int
    weight: float


@dataclass(frozen=True, eq=False)
class Picture:
    """What a picture of one head (or, with None, of the mean of all) is to show, and the query and key looked at."""

    attention: Attention
    head: int | None
    limits: Limits
    query: int
    key: int

    @cached_property
    def weights(self) -> Array:
        """N×M."""
        return self.attention.weights(self.head)

    @property
    def sight(self) -> Sight:
        """N×M: false where the mask has cut the edge."""
        return self.attention.sight

    @cached_property
    def own(self) -> list[Edge]:
        """The edges from the query looked at that are shown, the weakest first.

        Where all are weaker than the threshold, as in a long text, these are the strongest of them.
        """
        strongest = replace(self.limits, threshold=0.0, top=self.limits.top or Limits.top)
        return self._edges([self.query], self.limits) or self._edges([self.query], strongest)

    @property
    def is_below(self) -> bool:
        """Whether no edge from the query looked at reaches the threshold."""
        return all(edge.weight < self.limits.threshold for edge in self.own)

    def edges(self, queries: Iterable[int], others: Limits | None = None) -> list[Edge]:
        """The edges from these tokens that are shown, the weakest first, and last those from the query looked at.

        For other queries than that, ``others`` takes the place of `limits`.
        """
        among = [query for query in queries if query != self.query]
        return self._edges(among, others or self.limits) + self.own

    def _edges(self, queries: list[int], limits: Limits) -> list[Edge]:
        rows, keys = np.nonzero(limits.keep(self.weights[queries], self.sight[queries]))
        pairs = [(queries[row], key) for row, key in zip(rows.tolist(), keys.tolist(), strict=True)]
        found = [Edge(query, key, float(self.weights[query, key])) for query, key in pairs]
        return sorted(found, key=lambda edge: edge.weight)

    def left_out(self, shown: Container[int]) -> list[float]:
        """The weights of the keys that the query looked at sees, without those ``shown``."""
        weights: list[float] = self.weights[self.query].tolist()
        return [weight for key, weight in enumerate(weights) if self.sight[self.query, key] and key not in shown]

    @property
    def cut(self) -> list[int]:
        """The keys that the mask hides from the query looked at."""
        keys: list[int] = np.flatnonzero(~self.sight[self.query]).tolist()
        return keys

    @cached_property
    def wanted(self) -> list[int]:
        """Of a text that looks at itself, the tokens to show where not all fit, the most important first: those looked
        at, what the query sees most, and what sees it most.
        """
        seeing = np.argsort(-self.weights[:, self.query], kind="stable")[:3].tolist()
        return [self.query, self.key, *self.keys_wanted, *seeing]

    @property
    def keys_wanted(self) -> list[int]:
        """The keys to show where not all fit, the most important first."""
        return [self.key, *(edge.key for edge in reversed(self.own))]
