"""GPT-NeoX (Black et al. 2022, arXiv:2204.06745), the shape of Pythia (Biderman et al. 2023, arXiv:2304.01373)."""

from __future__ import annotations

import math

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
from engine.architectures.places import Places, block, interleaved, linear, plain
from engine.architectures.readers import ACTIVATIONS, divided
from engine.architectures.rope import RopeKeys, read_rope

LAYER = "gpt_neox.layers.{i}."


def places(spec: ModelSpec) -> Places:
    """Where GPT-NeoX keeps its weights: Q, K and V in one matrix, head by head."""
    width, heads = spec.width, spec.layers[0].attention.heads
    fused = {
        f"layers.{{i}}.attention.{stage}.{part}": interleaved(
            f"{LAYER}attention.query_key_value.{part}", which, heads, 3, whole
        )
        for which, stage in enumerate(("q", "k", "v"))
        for part, whole in {"weight": (3 * width, width), "bias": (3 * width,)}.items()
    }
    norms = {"attention.norm": "input_layernorm", "mlp.norm": "post_attention_layernorm"}
    matrices = {
        "attention.output": "attention.dense",
        "mlp.up": "mlp.dense_h_to_4h",
        "mlp.down": "mlp.dense_4h_to_h",
    }
    return {
        "embedding.weight": plain("gpt_neox.embed_in.weight"),
        **fused,
        **block("layers.{i}.", LAYER, norms, plain),
        **block("layers.{i}.", LAYER, matrices),
        **block("", "gpt_neox.", {"norm": "final_layer_norm"}, plain),
        "logits.weight": linear("embed_out.weight", "lm_head.weight"),
    }


def describe(config: Config) -> ModelSpec:
    """transformers, models/gpt_neox/modeling_gpt_neox.py: part of each head is turned; both sublayers add at once."""
    width, heads = config.integer("hidden_size"), config.integer("num_attention_heads")
    head_width = divided(config, "hidden_size", width, "num_attention_heads", heads)
    norm = NormSpec("layer", config.real("layer_norm_eps", 1e-5))
    keys = RopeKeys(theta_key="rotary_emb_base", share=0.25, share_key="rotary_pct")
    rope, limit = read_rope(config, head_width, config.integer("max_position_embeddings", 2048), keys)
    bias = config.flag("attention_bias", True)
    layer = LayerSpec(
        attention=AttentionSpec(
            heads=heads,
            kv_heads=heads,
            head_width=head_width,
            divisor=math.sqrt(head_width),
            divisor_text=f"√{head_width}",
            rope=rope,
            qkv_bias=bias,
            output_bias=bias,
            norm=norm,
        ),
        feed_forward=FeedForwardSpec(
            width=config.integer("intermediate_size"),
            activation=config.choice("hidden_act", ACTIVATIONS, "gelu"),
            gated=False,
            bias=True,
            norm=norm,
        ),
        parallel=config.flag("use_parallel_residual", True),
    )
    vocabulary = config.integer("vocab_size")
    return ModelSpec(
        family=str(config.get("model_type")),
        stack=StackSpec(
            vocabulary=vocabulary,
            width=width,
            positions=limit,
            layers=(layer,) * config.layers("num_hidden_layers"),
            norm=norm,
        ),
        head=HeadSpec(vocabulary=vocabulary, tied=config.flag("tie_word_embeddings", False)),
    )
