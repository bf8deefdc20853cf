"""What attention heads do, as far as it can be measured of their weights: descriptions, not meanings.

Every measure but one is a share of weight: a set of *targets*, one boolean for each query and key, says which keys are
meant (the token before, the token itself …), and the measure is the weight that lies on them, averaged over the queries
that have such a key. Queries that may see a single key are left out: the softmax gives that key 1 whatever the head
does. Beside each value stands what a head would measure that shares its weight evenly among the keys it may see.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from engine.operand import Array

Name = Literal["previous", "next", "itself", "first", "same", "evenly"]
"""What the weight may lie on: the token before, the token after, the token itself, the first token, the same token
earlier in the text; or evenly on all that can be seen."""

NAMES: tuple[Name, ...] = get_args(Name)

# An entropy this near to the largest possible is called even.
EVEN = 0.95

Sight = NDArray[np.bool_]


@dataclass(frozen=True)
class Measure:
    """One number about a head.

    Attributes:
        name: what is measured.
        value: from 0 to 1: the mean share of weight on the targets; for ``evenly`` the mean entropy of the rows divided
            by the logarithm of how many keys can be seen, which is the largest that it can be.
        even: the value of a head that shares its weight evenly.
        queries: how many queries the mean is taken over.
    """

    name: Name
    value: float
    even: float
    queries: int

    @property
    def fits(self) -> bool:
        """Whether it describes the head: the weight lies more than half of the way from *evenly* to *all of it*.

        Of two keys, one has half of an even head's weight already; three quarters are needed there.
        """
        return self.value >= (EVEN if self.name == "evenly" else (1 + self.even) / 2)


def measures(weights: Array, sight: Sight, ids: Sequence[int] | None = None) -> list[tuple[Measure, ...]]:
    """For each head what can be measured of its weights, in the order of `NAMES`; what no query has is left out.

    Args:
        weights: attention weights H×N×M; each row sums to 1.
        sight: N×M, true where a query may see a key.
        ids: the token ids of a text that looks at itself. Without them queries and keys are of two texts, where a
            position of the one is not before or after a position of the other.
    """
    seen = sight.sum(axis=1)  # N
    free = seen > 1  # N
    found: list[list[Measure]] = [[] for _ in weights]
    for name, targets in _targets(sight, ids).items():
        meant = (targets & sight).astype(np.float32)  # N×M
        rows = free & meant.any(axis=1)  # N
        if rows.any():
            shares = np.einsum("hnm,nm->hn", weights, meant)[:, rows].mean(axis=1)  # H
            even = float((meant[rows].sum(axis=1) / seen[rows]).mean())
            for head, share in zip(found, shares.tolist(), strict=True):
                head.append(Measure(name, share, even, int(rows.sum())))
    if free.any():
        for head, one in zip(found, weights, strict=True):
            ratio = float((_entropy(one[free]) / np.log(seen[free])).mean())
            head.append(Measure("evenly", ratio, 1.0, int(free.sum())))
    return [tuple(head) for head in found]


def description(found: Sequence[Measure]) -> Measure | None:
    """The measure that describes a head best: of those that fit the one with the most weight; *evenly* if none does."""
    fitting = [measure for measure in found if measure.fits]
    return max(fitting, key=lambda measure: (measure.name != "evenly", measure.value), default=None)


def _targets(sight: Sight, ids: Sequence[int] | None) -> dict[Name, Sight]:
    """Which keys each measure means, N×M."""
    queries, keys = (np.arange(size) for size in sight.shape)
    if ids is None:
        return {"first": np.broadcast_to(keys == 0, sight.shape)}
    distance = keys[None, :] - queries[:, None]  # N×M
    same = np.equal.outer(np.asarray(ids), np.asarray(ids))  # N×M
    return {
        "previous": distance == -1,
        "next": distance == 1,
        "itself": distance == 0,
        "first": (keys[None, :] == 0) & (distance < 0),
        "same": same & (distance < 0),
    }


def _entropy(shares: Array) -> Array:
    """−Σ p·ln p along the last axis, with 0·ln 0 = 0."""
    logarithms = np.log(shares, out=np.full_like(shares, -math.inf), where=shares > 0)
    terms = np.multiply(shares, logarithms, out=np.zeros_like(shares), where=shares > 0)
    entropies: Array = -terms.sum(axis=-1)
    return entropies
