"""Llama and the families that are Llama but for a detail."""

from __future__ import annotations

import math

from engine.architectures.config import Config
from engine.architectures.description import AttentionSpec, DecoderSpec, FeedForwardSpec, LayerSpec, NormSpec
from engine.architectures.places import Places, linear, plain
from engine.architectures.rope import read_rope

PLACES: Places = {
    "embedding.weight": plain("model.embed_tokens.weight"),
    "layers.{i}.attention.norm.weight": plain("model.layers.{i}.input_layernorm.weight"),
    **{
        f"layers.{{i}}.attention.{stage}.{part}": place(f"model.layers.{{i}}.self_attn.{tensor}.{part}")
        for stage, tensor in {"q": "q_proj", "k": "k_proj", "v": "v_proj", "output": "o_proj"}.items()
        for part, place in {"weight": linear, "bias": plain}.items()
    },
    "layers.{i}.mlp.norm.weight": plain("model.layers.{i}.post_attention_layernorm.weight"),
    **{
        f"layers.{{i}}.mlp.{stage}.{part}": place(f"model.layers.{{i}}.mlp.{stage}_proj.{part}")
        for stage in ("gate", "up", "down")
        for part, place in {"weight": linear, "bias": plain}.items()
    },
    "norm.weight": plain("model.norm.weight"),
    "logits.weight": linear("lm_head.weight"),
}


def describe_llama(config: Config) -> DecoderSpec:
    """transformers, models/llama/modeling_llama.py: one attention bias for q, k, v and o."""
    bias = config.flag("attention_bias", False)
    return describe(config, qkv_bias=bias, output_bias=bias, mlp_bias=config.flag("mlp_bias", False))


def describe_qwen2(config: Config) -> DecoderSpec:
    """transformers, models/qwen2/modeling_qwen2.py: biases on q, k and v always, on o never."""
    if config.flag("use_sliding_window", False):
        raise config.wrong("use_sliding_window", True, "false")
    for key in ("sliding_window", "max_window_layers", "layer_types"):  # without use_sliding_window they do nothing
        config.get(key)
    return describe(config, qkv_bias=True, output_bias=False, mlp_bias=False)


def describe(config: Config, *, qkv_bias: bool, output_bias: bool, mlp_bias: bool) -> DecoderSpec:
    """The description shared by the families of this shape."""
    width, heads = config.integer("hidden_size"), config.integer("num_attention_heads")
    kv_heads = config.integer("num_key_value_heads", heads)
    if heads % kv_heads:
        raise config.wrong("num_key_value_heads", kv_heads, f"a divisor of num_attention_heads = {heads}")
    head_width = config.integer("head_dim", width // heads or 1)
    if head_width % 2:
        raise config.wrong("head_dim", head_width, "an even number, for rotary positions turn pairs")
    activation = config.get("hidden_act", "silu")
    if activation not in ("silu", "swish"):
        raise config.wrong("hidden_act", activation, "silu")
    norm = NormSpec("rms", config.real("rms_norm_eps", 1e-6))
    attention = AttentionSpec(
        heads,
        kv_heads,
        head_width,
        math.sqrt(head_width),
        f"√{head_width}",
        read_rope(config, head_width),
        qkv_bias,
        output_bias,
    )
    layer = LayerSpec(attention, norm, FeedForwardSpec(config.integer("intermediate_size"), "silu", mlp_bias), norm)
    return DecoderSpec(
        str(config.get("model_type")),
        config.integer("vocab_size"),
        width,
        config.integer("max_position_embeddings", 2048),
        (layer,) * config.layers("num_hidden_layers"),
        norm,
        config.flag("tie_word_embeddings", False),
    )
