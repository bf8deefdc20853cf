"""What a model is made of, in the terms of the mathematics: no family is named here.

A family's adapter reads config.json into these; `engine.architectures.forward` records the forward pass from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from engine.axes import Axis
from engine.ops.curves import ActivationName


@dataclass(frozen=True)
class NormSpec:
    """A normalisation: its kind, its ε, and what is added to the stored γ."""

    kind: Literal["rms", "layer"]
    epsilon: float
    offset: float = 0.0


@dataclass(frozen=True)
class RopeSpec:
    """Rotary positions: the frequency of each pair of coordinates, in radians a position, float32.

    ``longer`` gives the frequencies of a text of more than ``limit`` tokens, where they depend on its length.
    ``magnitude`` multiplies the turned coordinates.
    """

    frequencies: tuple[float, ...]
    formula: str
    magnitude: float = 1.0
    limit: int | None = None
    longer: Callable[[int], tuple[float, ...]] | None = None

    def frequencies_of(self, length: int) -> tuple[float, ...]:
        """The frequencies for a text of so many tokens."""
        if self.longer is None or self.limit is None or length <= self.limit:
            return self.frequencies
        return self.longer(length)


@dataclass(frozen=True, kw_only=True)
class SublayerSpec:
    """Where a sublayer normalises: what goes in, what comes out before it is added, and the sum; None: it does not."""

    norm: NormSpec | None = None
    post_norm: NormSpec | None = None
    residual_norm: NormSpec | None = None


@dataclass(frozen=True, kw_only=True)
class AttentionSpec(SublayerSpec):
    """One attention: ``heads`` query heads of ``head_width`` coordinates sharing ``kv_heads`` key/value heads.

    Attributes:
        divisor: what scores are divided by; 1 where they are not.
        causal: whether later tokens are hidden.
        window: how many tokens back a query sees, itself included; None: all.
        head_norm: how each head's queries and keys are normalised, before they are turned.
        softcap: what scores are held within, before the mask.
    """

    heads: int
    kv_heads: int
    head_width: int
    divisor: float = 1.0
    divisor_text: str = "1"
    causal: bool = True
    window: int | None = None
    rope: RopeSpec | None = None
    head_norm: NormSpec | None = None
    softcap: float | None = None
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


@dataclass(frozen=True, kw_only=True)
class FeedForwardSpec(SublayerSpec):
    """A feed-forward network of inner width F.

    ``gated``: down(activation(gate(x)) ⊙ up(x)); else down(activation(up(x))).
    """

    width: int
    activation: ActivationName
    gated: bool = True
    bias: bool = False


@dataclass(frozen=True, kw_only=True)
class LayerSpec:
    """One layer: attention, attention to a source text where there is one, then feed-forward, each added to the stream.

    ``parallel``: attention and feed-forward both work on what went into the layer and are added together; a
    feed-forward network without a norm of its own then takes attention's.
    """

    attention: AttentionSpec
    feed_forward: FeedForwardSpec
    cross_attention: AttentionSpec | None = None
    parallel: bool = False


@dataclass(frozen=True, kw_only=True)
class StackSpec:
    """Layers over one text, from the V×D embedding of its tokens to the last vectors.

    Attributes:
        positions: how many tokens a text may have.
        embedding_factor: what embeddings are multiplied by; 1 where they are not.
        position_table: where the vectors that are added for positions come from; None where there are none.
        types: how many token types have a vector that is added; 0 where there are none.
        embedding_norm: how the sum of embedding, position and type is normalised.
        norm: how the last layer's result is normalised.
    """

    vocabulary: int
    width: int
    positions: int
    layers: tuple[LayerSpec, ...]
    embedding_factor: float = 1.0
    embedding_factor_text: str = "1"
    position_table: Literal["learned", "sinusoids"] | None = None
    types: int = 0
    embedding_norm: NormSpec | None = None
    norm: NormSpec | None = None


@dataclass(frozen=True, kw_only=True)
class HeadSpec:
    """From a last vector to a score for every entry of the vocabulary: h·W_out.

    Attributes:
        tied: W_out is the embedding, turned on its side.
        activation: of a linear layer before W_out, which ``norm`` follows; None where there is none.
        bias: W_out's own bias.
        added_bias: a bias kept apart from W_out, added to the logits.
        softcap: what logits are held within.
    """

    vocabulary: int
    tied: bool = False
    activation: ActivationName | None = None
    norm: NormSpec | None = None
    bias: bool = False
    added_bias: bool = False
    softcap: float | None = None


@dataclass(frozen=True, kw_only=True)
class SourceSpec:
    """The text that is read before another is written: the encoder, and what starts and ends the writing.

    Attributes:
        stack: the encoder.
        start: the token that a target text starts with.
        end: the token that ends source and target.
        never: the token that is never written: padding.
        shared_embedding: whether source and target have one embedding.
    """

    stack: StackSpec
    start: int
    end: int
    never: int
    shared_embedding: bool = True


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """A whole model.

    Attributes:
        family: the name that config.json gives it.
        stack: the layers over the text that is predicted.
        head: from vectors to probabilities; None where the model gives vectors only.
        source: the text that the layers' cross-attention looks at, and its encoder; None where there is none.
        pooler: whether the first token's vector is made into one for the whole text.
    """

    family: str
    stack: StackSpec
    head: HeadSpec | None
    source: SourceSpec | None = None
    pooler: bool = False

    @property
    def kind(self) -> Literal["decoder", "encoder", "encoder-decoder"]:
        """What it does: continue a text, read a text both ways, or write a text after reading another."""
        if self.source is not None:
            return "encoder-decoder"
        return "decoder" if self.layers[0].attention.causal else "encoder"

    @property
    def layers(self) -> tuple[LayerSpec, ...]:
        """The layers over the text that is predicted."""
        return self.stack.layers

    @property
    def width(self) -> int:
        """D."""
        return self.stack.width

    @property
    def positions(self) -> int:
        """How many tokens the text that is predicted may have."""
        return self.stack.positions

    @property
    def vocabulary(self) -> int:
        """V, of the text that is predicted."""
        return self.stack.vocabulary

    @property
    def tied(self) -> bool:
        """Whether the head uses the embedding, turned on its side."""
        return self.head is not None and self.head.tied
