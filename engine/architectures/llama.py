"""Llama and the families that are Llama but for a detail: Mistral, Qwen 2 and Qwen 3."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.architectures.config import Config
from engine.architectures.description import (
    AttentionSpec,
    FeedForwardSpec,
    HeadSpec,
    LayerSpec,
    ModelSpec,
    NormSpec,
    StackSpec,
)
from engine.architectures.places import Place, Places, block, linear, plain
from engine.architectures.readers import ACTIVATIONS, Heads, read_heads, read_windows, without_windows
from engine.architectures.rope import LLAMA_KEYS, RopeKeys, read_rope

ATTENTION, MLP = "model.layers.{i}.self_attn.", "model.layers.{i}.mlp."

PLACES: dict[str, Place] = {
    "embedding.weight": plain("model.embed_tokens.weight"),
    "layers.{i}.attention.norm.weight": plain("model.layers.{i}.input_layernorm.weight"),
    **block("layers.{i}.attention.", ATTENTION, {"q": "q_proj", "k": "k_proj", "v": "v_proj", "output": "o_proj"}),
    **block("layers.{i}.attention.", ATTENTION, {"q_norm": "q_norm", "k_norm": "k_norm"}, plain),
    "layers.{i}.mlp.norm.weight": plain("model.layers.{i}.post_attention_layernorm.weight"),
    **block("layers.{i}.mlp.", MLP, {"gate": "gate_proj", "up": "up_proj", "down": "down_proj"}),
    "norm.weight": plain("model.norm.weight"),
    "logits.weight": linear("lm_head.weight"),
}


def places(_: ModelSpec) -> Places:
    """Where these families keep their weights."""
    return PLACES


def describe_llama(config: Config) -> ModelSpec:
    """transformers, models/llama/modeling_llama.py: one attention bias for q, k, v and o."""
    without_windows(config, config.layers("num_hidden_layers"))
    bias = config.flag("attention_bias", False)
    mlp_bias = config.flag("mlp_bias", False)
    return describe(config, read_heads(config), positions=2048, qkv_bias=bias, output_bias=bias, mlp_bias=mlp_bias)


def describe_mistral(config: Config) -> ModelSpec:
    """transformers, models/mistral/modeling_mistral.py: a window in every layer, unless the config says null."""
    for key in ("attention_bias", "mlp_bias", "use_sliding_window"):
        config.only(key, False)
    config.get("max_window_layers")  # Qwen's; transformers reads neither this nor use_sliding_window here
    count, window = config.layers("num_hidden_layers"), config.optional_integer("sliding_window", 4096)
    windows = read_windows(config, count, window, [window is not None] * count)
    if window is not None and None in windows:
        raise config.wrong("layer_types", config.get("layer_types"), "a window in every layer")
    return describe(config, read_heads(config, shared=8), positions=131_072, windows=windows)


def describe_qwen2(config: Config) -> ModelSpec:
    """transformers, models/qwen2/modeling_qwen2.py: biases on q, k and v always, on o never."""
    for key in ("use_mrope", "attention_bias", "mlp_bias"):
        config.only(key, False)
    return describe(
        config, read_heads(config, shared=32), positions=32_768, windows=qwen_windows(config), qkv_bias=True
    )


def describe_qwen3(config: Config) -> ModelSpec:
    """transformers, models/qwen3/modeling_qwen3.py: each head's queries and keys are normalised."""
    config.only("mlp_bias", False)
    bias = config.flag("attention_bias", False)
    return describe(
        config,
        read_heads(config, shared=32, head_width=128),
        positions=32_768,
        windows=qwen_windows(config),
        qkv_bias=bias,
        output_bias=bias,
        head_norm=True,
    )


def qwen_windows(config: Config) -> tuple[int | None, ...]:
    """A window counts only with ``use_sliding_window``, and then only from layer ``max_window_layers`` on."""
    count = config.layers("num_hidden_layers")
    window, first = config.optional_integer("sliding_window", 4096), config.get("max_window_layers", 28)
    if isinstance(first, bool) or not isinstance(first, int) or first < 0:
        raise config.wrong("max_window_layers", first, "a whole number")
    if not config.flag("use_sliding_window", False):
        window = None
    return read_windows(config, count, window, [window is not None and layer >= first for layer in range(count)])


def describe(
    config: Config,
    heads: Heads,
    *,
    positions: int,
    epsilon: float = 1e-6,
    windows: Sequence[int | None] | None = None,
    qkv_bias: bool = False,
    output_bias: bool = False,
    mlp_bias: bool = False,
    head_norm: bool = False,
    rope_keys: RopeKeys = LLAMA_KEYS,
) -> ModelSpec:
    """The description shared by the families of this shape; ``positions`` is their own limit."""
    norm = NormSpec("rms", config.real("rms_norm_eps", epsilon))
    rope, limit = read_rope(config, heads.head_width, config.integer("max_position_embeddings", positions), rope_keys)
    count = config.layers("num_hidden_layers")
    feed_forward = FeedForwardSpec(
        width=config.integer("intermediate_size"),
        activation=config.choice("hidden_act", ACTIVATIONS, "silu"),
        bias=mlp_bias,
        norm=norm,
    )
    layers = tuple(
        LayerSpec(
            attention=AttentionSpec(
                heads=heads.count,
                kv_heads=heads.shared,
                head_width=heads.head_width,
                divisor=math.sqrt(heads.head_width),
                divisor_text=f"√{heads.head_width}",
                window=window,
                rope=rope,
                head_norm=norm if head_norm else None,
                qkv_bias=qkv_bias,
                output_bias=output_bias,
                norm=norm,
            ),
            feed_forward=feed_forward,
        )
        for window in windows or (None,) * count
    )
    vocabulary = config.integer("vocab_size")
    return ModelSpec(
        family=str(config.get("model_type")),
        stack=StackSpec(vocabulary=vocabulary, width=heads.width, positions=limit, layers=layers, norm=norm),
        head=HeadSpec(vocabulary=vocabulary, tied=config.flag("tie_word_embeddings", False)),
    )
