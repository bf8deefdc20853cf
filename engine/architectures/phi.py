"""Phi (arXiv:2309.05463), which adds attention and feed-forward at once, and Phi 3 (arXiv:2404.14219), a Llama."""

from __future__ import annotations

import math

from engine.architectures import llama
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
from engine.architectures.places import Place, Places, block, linear, plain, rows
from engine.architectures.readers import ACTIVATIONS, read_heads
from engine.architectures.rope import RopeKeys, read_rope

ATTENTION, MLP = "model.layers.{i}.self_attn.", "model.layers.{i}.mlp."

PLACES: dict[str, Place] = {
    "embedding.weight": plain("model.embed_tokens.weight"),
    **block("layers.{i}.attention.", "model.layers.{i}.", {"norm": "input_layernorm"}, plain),
    **block("layers.{i}.attention.", ATTENTION, {"q": "q_proj", "k": "k_proj", "v": "v_proj", "output": "dense"}),
    **block("layers.{i}.attention.", ATTENTION, {"q_norm": "q_layernorm", "k_norm": "k_layernorm"}, plain),
    **block("layers.{i}.mlp.", MLP, {"up": "fc1", "down": "fc2"}),
    **block("", "model.", {"norm": "final_layernorm"}, plain),
    "logits.weight": linear("lm_head.weight"),
    "logits.bias": plain("lm_head.bias"),
}


def places(_: ModelSpec) -> Places:
    """Where Phi keeps its weights."""
    return PLACES


def describe_phi(config: Config) -> ModelSpec:
    """transformers, models/phi/modeling_phi.py: biases everywhere, one LayerNorm for both sublayers."""
    heads = read_heads(config)
    norm = NormSpec("layer", config.real("layer_norm_eps", 1e-5))
    positions = config.integer("max_position_embeddings", 2048)
    rope, limit = read_rope(config, heads.head_width, positions, RopeKeys(share=0.5, share_key="partial_rotary_factor"))
    layer = LayerSpec(
        attention=AttentionSpec(
            heads=heads.count,
            kv_heads=heads.shared,
            head_width=heads.head_width,
            divisor=math.sqrt(heads.head_width),
            divisor_text=f"√{heads.head_width}",
            rope=rope,
            head_norm=norm if config.flag("qk_layernorm", False) else None,
            qkv_bias=True,
            output_bias=True,
            norm=norm,
        ),
        feed_forward=FeedForwardSpec(
            width=config.integer("intermediate_size"),
            activation=config.choice("hidden_act", ACTIVATIONS, "gelu_new"),
            gated=False,
            bias=True,
        ),
        parallel=True,
    )
    vocabulary = config.integer("vocab_size")
    return ModelSpec(
        family=str(config.get("model_type")),
        stack=StackSpec(
            vocabulary=vocabulary,
            width=heads.width,
            positions=limit,
            layers=(layer,) * config.layers("num_hidden_layers"),
            norm=norm,
        ),
        head=HeadSpec(vocabulary=vocabulary, tied=config.flag("tie_word_embeddings", False), bias=True),
    )


def describe_phi3(config: Config) -> ModelSpec:
    """transformers, models/phi3/modeling_phi3.py: a Llama with q, k and v stored as one, and gate and up."""
    for key in ("attention_bias", "mlp_bias", "lm_head_bias", "use_sliding_window"):
        config.only(key, False)
    config.get("max_window_layers")  # Qwen's; transformers reads neither this nor use_sliding_window here
    for key in ("full_attn_mod", "interpolate_factor"):
        config.only(key, 1)
    window, count = config.optional_integer("sliding_window", None), config.layers("num_hidden_layers")
    return llama.describe(
        config,
        read_heads(config),
        positions=4096,
        epsilon=1e-5,
        windows=(window,) * count,
        rope_keys=RopeKeys(
            share_key="partial_rotary_factor", original=4096, renamed={"su": "longrope", "yarn": "longrope"}
        ),
    )


def phi3_places(spec: ModelSpec) -> Places:
    """Where Phi 3 keeps its weights: rows of all query heads, all key heads, all value heads; the gate's rows first."""
    attention, inner = spec.layers[0].attention, spec.layers[0].feed_forward.width
    own, shared = attention.heads * attention.head_width, attention.kv_heads * attention.head_width
    qkv, gate_up = (own + 2 * shared, spec.width), (2 * inner, spec.width)
    cuts = {"q": (0, own), "k": (own, own + shared), "v": (own + shared, own + 2 * shared)}
    fused = {
        f"layers.{{i}}.attention.{stage}.weight": rows(f"{ATTENTION}qkv_proj.weight", start, stop, qkv)
        for stage, (start, stop) in cuts.items()
    } | {
        "layers.{i}.mlp.gate.weight": rows(f"{MLP}gate_up_proj.weight", 0, inner, gate_up),
        "layers.{i}.mlp.up.weight": rows(f"{MLP}gate_up_proj.weight", inner, 2 * inner, gate_up),
    }
    return llama.PLACES | fused
