"""The forward pass of a decoder, recorded as it reads in the papers. Shapes stand at the end of the lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.architectures.description import AttentionSpec, DecoderSpec, FeedForwardSpec, NormSpec, RopeSpec
from engine.axes import Axis
from engine.operand import Array, Constant, Operand, Weight
from engine.ops import (
    Activation,
    Add,
    ApplyMask,
    AttentionScores,
    Embedding,
    LayerNorm,
    Linear,
    MergeHeads,
    Multiply,
    RMSNorm,
    Rope,
    Scale,
    Softmax,
    SplitHeads,
    Tokenize,
    WeightedSum,
)
from engine.trace import Stage, Trace

# Finds the weight of a name (``layers.0.attention.q.weight``), called so in formulas, with the axes that it must have.
FindWeight = Callable[[str, str, tuple[Axis, ...]], Weight]


@dataclass(frozen=True)
class Batch:
    """Token ids B×N with the texts' labels on their axes, and which of them are not padding (None: all of them)."""

    ids: NDArray[np.int64]
    texts: tuple[str, ...]
    labels: tuple[Sequence[str], ...]
    vocabulary: Sequence[str]
    real: NDArray[np.bool_] | None = None

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """B, labelled with the texts, and N, labelled with their tokens."""
        return Axis("B", len(self.ids), (self.texts,)), Axis("N", self.ids.shape[1], self.labels)

    @property
    def keys(self) -> Axis:
        """The tokens as what is looked at: M."""
        return Axis("M", self.ids.shape[1], self.labels)


class Recorder:
    """Records stages under a prefix, with the weights that belong to them: a weight is called after its stage."""

    def __init__(self, trace: Trace, weight: FindWeight, prefix: str = "") -> None:
        self.trace, self.weight, self.prefix = trace, weight, prefix

    def under(self, prefix: str) -> Recorder:
        """A recorder for the stages of a part: ``layers.0.attention``."""
        return Recorder(self.trace, self.weight, f"{self.prefix}{prefix}.")

    def linear(self, name: str, x: Operand, out: Axis, letter: str, *, bias: bool = False, symbol: str = "") -> Stage:
        """x·W (+ b), with W of in×out."""
        slot = self.prefix + name
        width = Axis(x.axes[-1].symbol, x.axes[-1].size)
        operands = [x, self.weight(f"{slot}.weight", f"W_{letter}", (width, out))]
        if bias:
            operands.append(self.weight(f"{slot}.bias", f"b_{letter}", (out.resized(out.size),)))
        return self.trace.record(slot, Linear(), *operands, symbol=symbol)

    def norm(self, name: str, x: Operand, spec: NormSpec, symbol: str = "") -> Stage:
        """The normalisation of x with its γ (and, for LayerNorm, its β)."""
        slot, width = self.prefix + name, x.axes[-1].resized(x.axes[-1].size)
        gain = self.weight(f"{slot}.weight", "γ", (width,))
        if spec.kind == "rms":
            return self.trace.record(slot, RMSNorm(spec.epsilon, spec.offset), x, gain, symbol=symbol)
        shift = self.weight(f"{slot}.bias", "β", (width,))
        return self.trace.record(slot, LayerNorm(spec.epsilon), x, gain, shift, symbol=symbol)

    def add(self, name: str, x: Operand, *others: Operand) -> Stage:
        """The residual connection."""
        return self.trace.record(self.prefix + name, Add(), x, *others, lasting=True)


def record_decoder(trace: Trace, spec: DecoderSpec, weight: FindWeight, batch: Batch) -> None:
    """Record every stage of a decoder's forward pass over a batch."""
    root = Recorder(trace, weight)
    width, vocabulary = Axis("D", spec.width), Axis("V", spec.vocabulary, (batch.vocabulary,))
    mask = causal_mask(batch)
    turns: dict[RopeSpec, Constant] = {}

    tokens = trace.record("tokens", Tokenize(batch.ids.astype(np.float32), batch.axes))  # B×N
    table = weight("embedding.weight", "E", (vocabulary, width))  # V×D
    x = trace.record("embedding", Embedding(), tokens, table, lasting=True)  # B×N×D
    for number, layer in enumerate(spec.layers):
        here = root.under(f"layers.{number}.attention")
        rope = layer.attention.rope
        if rope is not None and rope not in turns:
            turns[rope] = rotation_angles(rope, batch)
        attended = attention(
            here, x, layer.attention, layer.attention_norm, mask, turns.get(rope) if rope else None, batch
        )
        x = here.add("residual", x, attended)  # B×N×D
        here = root.under(f"layers.{number}.mlp")
        x = here.add("residual", x, feed_forward(here, x, layer.feed_forward, layer.feed_forward_norm))  # B×N×D
    h = root.norm("norm", x, spec.norm, symbol="h")  # B×N×D
    logits = root.linear("logits", h, vocabulary, "out")  # B×N×V
    trace.record("probabilities", Softmax(), logits)  # B×N×V


def attention(
    here: Recorder,
    x: Stage,
    spec: AttentionSpec,
    norm: NormSpec,
    mask: Constant,
    angles: Constant | None,
    batch: Batch,
) -> Stage:
    """Multi-head self-attention over the normalised x, B×N×D → B×N×D (Vaswani et al. 2017, arXiv:1706.03762)."""
    record, width = here.trace.record, x.axes[-1]
    joined, joined_kv = spec.joined(width.size), spec.joined_kv(width.size)
    heads = Axis("H", spec.heads)
    kv_heads = heads if spec.kv_heads == spec.heads else Axis("H_kv", spec.kv_heads)
    queries, keys = batch.axes[1], batch.keys

    h = here.norm("norm", x, norm)  # B×N×D
    q = here.linear("q", h, joined, "Q", bias=spec.qkv_bias, symbol="Q")  # B×N×(H·d)
    k = here.linear("k", h, joined_kv, "K", bias=spec.qkv_bias, symbol="K")  # B×N×(H_kv·d)
    v = here.linear("v", h, joined_kv, "V", bias=spec.qkv_bias, symbol="V")  # B×N×(H_kv·d)
    q = record(f"{here.prefix}q_heads", SplitHeads(heads, queries), q, symbol="Q")  # B×H×N×d
    k = record(f"{here.prefix}k_heads", SplitHeads(kv_heads, keys), k, symbol="K")  # B×H_kv×M×d
    v = record(f"{here.prefix}v_heads", SplitHeads(kv_heads, keys), v, symbol="V")  # B×H_kv×M×d
    if angles is not None:
        q = record(f"{here.prefix}q_rotated", Rope(), q, angles, symbol="Q′")  # B×H×N×d
        k = record(f"{here.prefix}k_rotated", Rope(), k, angles, symbol="K′")  # B×H_kv×M×d
    scores = record(f"{here.prefix}scores", AttentionScores(), q, k)  # B×H×N×M
    scaled = record(f"{here.prefix}scaled", Scale(spec.divisor, spec.divisor_text), scores)  # B×H×N×M
    masked = record(f"{here.prefix}masked", ApplyMask(), scaled, mask)  # B×H×N×M
    weights = record(f"{here.prefix}weights", Softmax(), masked)  # B×H×N×M
    attended = record(f"{here.prefix}heads", WeightedSum(), weights, v)  # B×H×N×d
    together = record(f"{here.prefix}concat", MergeHeads(joined), attended)  # B×N×(H·d)
    return here.linear("output", together, width, "O", bias=spec.output_bias)  # B×N×D


def feed_forward(here: Recorder, x: Stage, spec: FeedForwardSpec, norm: NormSpec) -> Stage:
    """The gated feed-forward network over the normalised x, B×N×D → B×N×D (Shazeer 2020, arXiv:2002.05202)."""
    record, width, inner = here.trace.record, x.axes[-1], Axis("F", spec.width)
    h = here.norm("norm", x, norm)  # B×N×D
    gate = here.linear("gate", h, inner, "gate", bias=spec.bias)  # B×N×F
    up = here.linear("up", h, inner, "up", bias=spec.bias)  # B×N×F
    activated = record(f"{here.prefix}activated", Activation(spec.activation), gate)  # B×N×F
    product = record(f"{here.prefix}product", Multiply(), activated, up)  # B×N×F
    return here.linear("down", product, width, "down", bias=spec.bias)  # B×N×D


def causal_mask(batch: Batch) -> Constant:
    """Which keys a query may see: itself and what came before, padding never. 1×N×M; B×N×M where texts are padded."""
    length = batch.ids.shape[1]

    def make() -> Array:
        seen = np.tri(length, dtype=np.float32)[None]  # 1×N×M
        return seen if batch.real is None else seen * batch.real[:, None].astype(np.float32)  # B×N×M

    texts = batch.axes[0] if batch.real is not None else Axis("1", 1)
    padded = "" if batch.real is None else ", m ∉ padding"
    return Constant(
        "mask", "mask", (texts, batch.axes[1], batch.keys), make, f"mask[n, m] = 1  (m ≤ n{padded}),  0  (¬)"
    )


def rotation_angles(spec: RopeSpec, batch: Batch) -> Constant:
    """The angle of every position and pair, N×(d/2): position × frequency, in float32 as the references have it."""
    length, pairs = batch.ids.shape[1], len(spec.frequencies)

    def make() -> Array:
        return np.outer(np.arange(length, dtype=np.float32), np.array(spec.frequencies, np.float32))

    return Constant("angles", "θ", (batch.axes[1], Axis("d/2", pairs)), make, spec.formula)
