"""Gemma (arXiv:2403.08295), Gemma 2 (arXiv:2408.00118) and the text model of Gemma 3 (arXiv:2503.19786)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine.architectures import llama
from engine.architectures.config import Config
from engine.architectures.description import (
    AttentionSpec,
    FeedForwardSpec,
    HeadSpec,
    LayerSpec,
    ModelSpec,
    NormSpec,
    RopeSpec,
    StackSpec,
)
from engine.architectures.places import Place, Places, plain
from engine.architectures.readers import ACTIVATIONS, FULL, WINDOWED, Heads, read_heads, read_windows, without_windows
from engine.architectures.rope import RopeKeys, read_rope, read_section
from engine.ops.curves import ActivationName

# Norms before and after each sublayer, by the names that Llama's files give to others.
NORMS = {
    "attention.post_norm": "post_attention_layernorm",
    "mlp.norm": "pre_feedforward_layernorm",
    "mlp.post_norm": "post_feedforward_layernorm",
}

SANDWICH: dict[str, Place] = llama.PLACES | {
    f"layers.{{i}}.{stage}.weight": plain(f"model.layers.{{i}}.{tensor}.weight") for stage, tensor in NORMS.items()
}


def sandwich_places(_: ModelSpec) -> Places:
    """Where Gemma 2 and 3 keep their weights."""
    return SANDWICH


@dataclass(frozen=True)
class Details:
    """What the three families have in one way or another."""

    heads: Heads
    activation: ActivationName
    divisor: float
    positions: int
    windows: Sequence[int | None]
    ropes: Sequence[RopeSpec]
    post_norm: bool = False
    head_norm: bool = False
    softcap: float | None = None
    final_softcap: float | None = None


def describe_gemma(config: Config) -> ModelSpec:
    """transformers, models/gemma/modeling_gemma.py."""
    heads, count = read_heads(config, shared=16, head_width=256), config.layers("num_hidden_layers")
    without_windows(config, count)
    rope, limit = read_rope(config, heads.head_width, config.integer("max_position_embeddings", 8192))
    # The first releases said "gelu" and meant its tanh form.
    curves = ACTIVATIONS | {"gelu": "gelu_tanh"}
    activation = config.choice("hidden_act", curves, "gelu_pytorch_tanh")
    if config.choice("hidden_activation", curves, config.get("hidden_act", "gelu_pytorch_tanh")) != activation:
        raise config.wrong("hidden_activation", config.get("hidden_activation"), "the same curve as hidden_act")
    return describe(config, Details(heads, activation, heads.head_width, limit, (None,) * count, (rope,) * count))


def describe_gemma2(config: Config) -> ModelSpec:
    """transformers, models/gemma2/modeling_gemma2.py: every other layer has a window, scores and logits a cap."""
    heads, count = read_heads(config, shared=4, head_width=256), config.layers("num_hidden_layers")
    rope, limit = read_rope(config, heads.head_width, config.integer("max_position_embeddings", 8192))
    window = config.optional_integer("sliding_window", 4096)
    return describe(
        config,
        Details(
            heads,
            sandwich_activation(config),
            config.real("query_pre_attn_scalar", 256.0),
            limit,
            read_windows(config, count, window, [layer % 2 == 0 for layer in range(count)]),
            (rope,) * count,
            post_norm=True,
            softcap=config.optional_real("attn_logit_softcapping", 50.0),
            final_softcap=config.optional_real("final_logit_softcapping", 30.0),
        ),
    )


def describe_gemma3(config: Config) -> ModelSpec:
    """transformers, models/gemma3/modeling_gemma3.py: five layers with a window to one without, turned otherwise."""
    heads, count = read_heads(config, shared=4, head_width=256), config.layers("num_hidden_layers")
    pattern = config.integer("sliding_window_pattern", 6)
    config.get("_sliding_window_pattern")  # transformers writes it beside layer_types and never reads it
    windows = read_windows(
        config,
        count,
        config.optional_integer("sliding_window", 4096),
        [(layer + 1) % pattern != 0 for layer in range(count)],
    )
    full, windowed, limit = two_ropes(config, heads.head_width)
    config.get("attn_logit_softcapping")  # transformers reads it and never applies it
    return describe(
        config,
        Details(
            heads,
            sandwich_activation(config),
            config.real("query_pre_attn_scalar", 256.0),
            limit,
            windows,
            tuple(full if window is None else windowed for window in windows),
            post_norm=True,
            head_norm=True,
            final_softcap=config.optional_real("final_logit_softcapping", None),
        ),
    )


def two_ropes(config: Config, head_width: int) -> tuple[RopeSpec, RopeSpec, int]:
    """How layers without and with a window turn, and how many tokens a text may have. Scalings are for the former."""
    positions = config.integer("max_position_embeddings", 131_072)
    theta, local = config.real("rope_theta", 1e6, least=1), config.real("rope_local_base_freq", 1e4, least=1)
    scaling, newer = config.section("rope_scaling"), config.section("rope_parameters")
    for_full = scaling if newer is None else newer.section(FULL)
    for_windowed = None if newer is None else newer.section(WINDOWED)
    if newer is not None:
        if scaling is not None:
            raise config.wrong("rope_scaling", config.get("rope_scaling"), "null beside rope_parameters")
        newer.finish()
    full, limit = read_section(config, for_full, head_width, positions, RopeKeys(theta))
    windowed, _ = read_section(config, for_windowed, head_width, positions, RopeKeys(local))
    return full, windowed, limit


def sandwich_activation(config: Config) -> ActivationName:
    """Gemma 2 and 3 read hidden_activation; some files carry hidden_act as well, which they do not read."""
    config.get("hidden_act")
    return config.choice("hidden_activation", ACTIVATIONS, "gelu_pytorch_tanh")


def describe(config: Config, details: Details) -> ModelSpec:
    """The description shared by the three families: RMSNorm with 1 + γ, embeddings times √D."""
    for key in ("use_bidirectional_attention", "mlp_bias"):
        config.only(key, False)
    heads, bias = details.heads, config.flag("attention_bias", False)
    norm = NormSpec("rms", config.real("rms_norm_eps", 1e-6), 1.0)
    post_norm = norm if details.post_norm else None
    feed_forward = FeedForwardSpec(
        width=config.integer("intermediate_size"), activation=details.activation, norm=norm, post_norm=post_norm
    )
    layers = tuple(
        LayerSpec(
            attention=AttentionSpec(
                heads=heads.count,
                kv_heads=heads.shared,
                head_width=heads.head_width,
                divisor=math.sqrt(details.divisor),
                divisor_text=f"√{details.divisor:g}",
                window=window,
                rope=rope,
                head_norm=norm if details.head_norm else None,
                softcap=details.softcap,
                qkv_bias=bias,
                output_bias=bias,
                norm=norm,
                post_norm=post_norm,
            ),
            feed_forward=feed_forward,
        )
        for window, rope in zip(details.windows, details.ropes, strict=True)
    )
    vocabulary = config.integer("vocab_size")
    return ModelSpec(
        family=str(config.get("model_type")),
        stack=StackSpec(
            vocabulary=vocabulary,
            width=heads.width,
            positions=details.positions,
            layers=layers,
            embedding_factor=math.sqrt(heads.width),
            embedding_factor_text=f"√{heads.width}",
            norm=norm,
        ),
        head=HeadSpec(
            vocabulary=vocabulary, tied=config.flag("tie_word_embeddings", True), softcap=details.final_softcap
        ),
    )
