"""The texts that a forward pass runs over, and what follows from them alone: masks, angles, tables of positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.architectures.description import AttentionSpec, RopeSpec
from engine.architectures.waves import angles, wave_steps
from engine.axes import Axis
from engine.constants import Constant
from engine.derivation import Number, Step
from engine.operand import Array, Cell


@dataclass(frozen=True, eq=False)
class Batch:
    """Token ids B×N of one side of the model.

    Attributes:
        ids: the ids, padded to one length.
        texts: what the rows are called.
        labels: the tokens' labels, padding's too.
        vocabulary: the labels of the vocabulary that the ids come from.
        real: which of the tokens are not padding; None where all are.
        types: the type of each token; None where all are of type 0.
        side: ``source`` for the text that is read before another is written.
    """

    ids: NDArray[np.int64]
    texts: tuple[str, ...]
    labels: tuple[Sequence[str], ...]
    vocabulary: Sequence[str]
    real: NDArray[np.bool_] | None = None
    types: NDArray[np.int64] | None = None
    side: str = ""

    @property
    def length(self) -> int:
        """The number of tokens, padding included."""
        return int(self.ids.shape[1])

    @cached_property
    def axes(self) -> tuple[Axis, Axis]:
        """B, labelled with the texts, and N, labelled with their tokens."""
        return Axis("B", len(self.ids), (self.texts,)), Axis("N", self.length, self.labels, self.side)

    @cached_property
    def keys(self) -> Axis:
        """The tokens as what is looked at: M."""
        return Axis("M", self.length, self.labels, self.side)

    @property
    def succeeded(self) -> NDArray[np.bool_] | None:
        """Which tokens are followed by another, both no padding, B×(N−1); None where all are."""
        return None if self.real is None else self.real[:, :-1] & self.real[:, 1:]


def attention_mask(spec: AttentionSpec, batch: Batch, seen: Batch, prefix: str) -> tuple[Constant, str]:
    """Which keys of ``seen`` a query of ``batch`` may see, 1×N×M (B×N×M where texts are padded), and what that hides.

    Later tokens and what lies outside the window are hidden where the description says so, padding always.
    """
    length, keys, real = batch.length, seen.length, seen.real

    def make() -> Array:
        sight = np.ones((length, keys), np.float32)
        if spec.causal:
            sight = np.tri(length, keys, dtype=np.float32)
            if spec.window is not None:
                sight -= np.tri(length, keys, -spec.window, dtype=np.float32)
        return sight[None] if real is None else sight[None] * real[:, None].astype(np.float32)

    def derive(cell: Cell) -> tuple[Step, ...]:
        text, query, key = cell
        if real is not None and not real[text, key]:
            return (Step("", 0.0, ("<pad> → 0",)),)
        if not spec.causal:
            return (Step("", 1.0, ("1",)),)
        if key > query:
            return (Step("", 0.0, (f"m = {key} > n = {query} → 0",)),)
        first = -1 if spec.window is None else query - spec.window
        if key <= first:
            return (Step("", 0.0, (f"m = {key} ≤ n − {spec.window} = {first} → 0",)),)
        inside = "" if spec.window is None else f", m > n − {spec.window} = {first}"
        return (Step("", 1.0, (f"m = {key} ≤ n = {query}{inside} → 1",)),)

    bounds = ("m ≤ n" if spec.window is None else f"n − {spec.window} < m ≤ n") if spec.causal else ""
    padded = "" if real is None else "m ∉ padding"
    condition = ", ".join(part for part in (bounds, padded) if part)
    formula = f"mask[n, m] = 1  ({condition}),  0  (¬)" if condition else "mask[n, m] = 1"
    variety = _variety(spec, seen is batch)
    name = f"{prefix}{'' if seen is batch else 'cross_'}mask" + (f".{variety}" if variety else "")
    texts = batch.axes[0] if real is not None else Axis("1", 1)
    return Constant(name, "mask", (texts, batch.axes[1], seen.keys), make, formula, "mask", derive), variety


def _variety(spec: AttentionSpec, itself: bool) -> str:
    """What a mask is called beside the plain one, which hides later tokens, or of another text padding."""
    if spec.causal:
        return "" if spec.window is None else "window"
    return "padding" if itself else ""


def rotation_angles(spec: RopeSpec, batch: Batch, name: str) -> Constant:
    """The angle of every position and pair, N×(d/2): position × frequency, in float32 as the references have it."""
    frequencies = spec.frequencies_of(batch.length)

    def make() -> Array:
        return np.outer(np.arange(batch.length, dtype=np.float32), np.array(frequencies, np.float32))

    def derive(cell: Cell) -> tuple[Step, ...]:
        position, frequency = cell[0], float(np.float32(frequencies[cell[1]]))
        return (Step("n·ω", position * frequency, (Number(position), " × ", Number(frequency))),)

    axes = (batch.axes[1], Axis("d/2", len(frequencies)))
    return Constant(name, "θ", axes, make, spec.formula, "angles", derive)


def sinusoids(positions: int, width: int) -> Constant:
    """Positions as sines and cosines, P×D: all sines, then all cosines (Vaswani et al. 2017, arXiv:1706.03762, 3.5).

    The paper alternates them; in halves, as here, Marian keeps them (transformers, models/marian/modeling_marian.py).
    """

    half = (width + 1) // 2

    def make() -> Array:
        turned = angles(positions, np.arange(half), width)
        return np.concatenate([np.sin(turned), np.cos(turned[:, : width // 2])], axis=1).astype(np.float32)

    def derive(cell: Cell) -> tuple[Step, ...]:
        return wave_steps(cell[0], cell[1] % half, width, cosine=cell[1] >= half)

    formula = (
        f"P[n, j] = sin(n ÷ 10000^(2j/{width}))  (j < {half}),  cos(n ÷ 10000^(2(j−{half})/{width}))  (j ≥ {half})"
    )
    return Constant(
        "positions.table", "P", (Axis("P", positions), Axis("D", width)), make, formula, "positions", derive
    )
