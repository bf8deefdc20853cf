"""What a model is made of, in the terms of the mathematics: no family is named here.

A family's adapter reads config.json into these; `engine.architectures.decoder` records the forward pass from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.axes import Axis
from engine.ops.elementwise import ActivationName


@dataclass(frozen=True)
class NormSpec:
    """A normalisation: its kind, its ε, and what is added to the stored γ."""

    kind: Literal["rms", "layer"]
    epsilon: float
    offset: float = 0.0


@dataclass(frozen=True)
class RopeSpec:
    """Rotary positions: the frequency of each pair of coordinates, in radians a position, float32."""

    frequencies: tuple[float, ...]
    formula: str


@dataclass(frozen=True)
class AttentionSpec:
    """One self-attention: ``heads`` query heads of ``head_width`` coordinates sharing ``kv_heads`` key/value heads."""

    heads: int
    kv_heads: int
    head_width: int
    divisor: float
    divisor_text: str
    rope: RopeSpec | None
    qkv_bias: bool = False
    output_bias: bool = False

    def joined(self, width: int) -> Axis:
        """The axis of all query heads side by side: the model width D where it is one."""
        joined = self.heads * self.head_width
        return Axis("D" if joined == width else "H·d", joined)

    def joined_kv(self, width: int) -> Axis:
        """The axis of all key/value heads side by side."""
        joined = self.kv_heads * self.head_width
        return Axis("D" if joined == width else "H_kv·d", joined)


@dataclass(frozen=True)
class FeedForwardSpec:
    """A gated feed-forward network of inner width F: down(activation(gate(x)) ⊙ up(x))."""

    width: int
    activation: ActivationName
    bias: bool = False


@dataclass(frozen=True)
class LayerSpec:
    """One layer: attention, then feed-forward, each on the normalised residual stream and added to it."""

    attention: AttentionSpec
    attention_norm: NormSpec
    feed_forward: FeedForwardSpec
    feed_forward_norm: NormSpec


@dataclass(frozen=True)
class DecoderSpec:
    """A decoder: V×D embedding, layers, final norm, head. ``tied`` heads use the embedding, turned on its side."""

    family: str
    vocabulary: int
    width: int
    positions: int
    layers: tuple[LayerSpec, ...]
    norm: NormSpec
    tied: bool
