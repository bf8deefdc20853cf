"""GPT-2 (Radford et al. 2019) and GPT-Neo (EleutherAI 2021), which is GPT-2 with windows and without the √d."""

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
from engine.architectures.places import Place, Places, block, columns, linear, plain
from engine.architectures.readers import ACTIVATIONS, divided

LAYER = "transformer.h.{i}."

SHARED: dict[str, Place] = {
    "embedding.weight": plain("transformer.wte.weight"),
    "positions.weight": plain("transformer.wpe.weight"),
    **block("layers.{i}.", LAYER, {"attention.norm": "ln_1", "mlp.norm": "ln_2"}, plain),
    **block("", "transformer.", {"norm": "ln_f"}, plain),
    "logits.weight": linear("lm_head.weight"),
}


def gpt2_places(spec: ModelSpec) -> Places:
    """Where GPT-2 keeps its weights: matrices in×out, and Q, K and V as the thirds of one."""
    width = spec.width
    thirds = {
        f"layers.{{i}}.attention.{stage}.{part}": columns(
            f"{LAYER}attn.c_attn.{part}", third * width, (third + 1) * width, whole
        )
        for third, stage in enumerate(("q", "k", "v"))
        for part, whole in {"weight": (width, 3 * width), "bias": (3 * width,)}.items()
    }
    stages = {"attention.output": "attn.c_proj", "mlp.up": "mlp.c_fc", "mlp.down": "mlp.c_proj"}
    return SHARED | thirds | block("layers.{i}.", LAYER, stages, plain)


def neo_places(_: ModelSpec) -> Places:
    """Where GPT-Neo keeps its weights: matrices out×in."""
    attention = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "output": "out_proj"}
    return (
        SHARED
        | block("layers.{i}.attention.", f"{LAYER}attn.attention.", attention)
        | block("layers.{i}.mlp.", f"{LAYER}mlp.", {"up": "c_fc", "down": "c_proj"})
    )


def describe_gpt2(config: Config) -> ModelSpec:
    """transformers, models/gpt2/modeling_gpt2.py."""
    config.only("add_cross_attention", False)
    width, heads, count = config.integer("n_embd"), config.integer("n_head"), config.layers("n_layer")
    head_width = divided(config, "n_embd", width, "n_head", heads)
    norm = NormSpec("layer", config.real("layer_norm_epsilon", 1e-5))
    is_scaled, by_layer = config.flag("scale_attn_weights", True), config.flag("scale_attn_by_inverse_layer_idx", False)
    feed_forward = FeedForwardSpec(
        width=config.integer("n_inner", 4 * width),
        activation=config.choice("activation_function", ACTIVATIONS, "gelu_new"),
        gated=False,
        bias=True,
        norm=norm,
    )

    def layer(number: int) -> LayerSpec:
        root = (math.sqrt(head_width), f"√{head_width}") if is_scaled else (1.0, "1")
        divisor, text = (root[0] * (number + 1), f"({root[1]}·{number + 1})") if by_layer else root
        attention = AttentionSpec(
            heads=heads,
            kv_heads=heads,
            head_width=head_width,
            divisor=divisor,
            divisor_text=text,
            qkv_bias=True,
            output_bias=True,
            norm=norm,
        )
        return LayerSpec(attention=attention, feed_forward=feed_forward)

    positions = config.integer("n_positions", 1024)
    return _decoder(config, width, positions, tuple(map(layer, range(count))), norm)


def describe_gpt_neo(config: Config) -> ModelSpec:
    """transformers, models/gpt_neo/modeling_gpt_neo.py: scores are not divided; "local" layers have a window."""
    width, heads, count = config.integer("hidden_size"), config.integer("num_heads"), config.layers("num_layers")
    head_width = divided(config, "hidden_size", width, "num_heads", heads)
    norm = NormSpec("layer", config.real("layer_norm_epsilon", 1e-5))
    window = config.integer("window_size", 256)
    feed_forward = FeedForwardSpec(
        width=config.integer("intermediate_size", 4 * width),
        activation=config.choice("activation_function", ACTIVATIONS, "gelu_new"),
        gated=False,
        bias=True,
        norm=norm,
    )
    layers = tuple(
        LayerSpec(
            attention=AttentionSpec(
                heads=heads,
                kv_heads=heads,
                head_width=head_width,
                window=window if kind == "local" else None,
                output_bias=True,
                norm=norm,
            ),
            feed_forward=feed_forward,
        )
        for kind in attention_kinds(config, count)
    )
    return _decoder(config, width, config.integer("max_position_embeddings", 2048), layers, norm)


def attention_kinds(config: Config, count: int) -> list[str]:
    """``global`` or ``local`` for each layer, from ``attention_types``: [[["global", "local"], 12]]."""
    types = config.get("attention_types", [[["global", "local"], 12]])
    wanted = f'[[["global", "local"], n], …] for {count} layers'
    kinds: list[str] = []
    for entry in types if isinstance(types, list) else [types]:
        match entry:
            case [list(pattern), int(times)] if 0 <= times <= count and set(map(str, pattern)) <= {"global", "local"}:
                kinds += [str(kind) for kind in pattern] * times
            case _:
                raise config.wrong("attention_types", types, wanted)
        if len(kinds) > count:
            raise config.wrong("attention_types", types, wanted)
    if len(kinds) != count:
        raise config.wrong("attention_types", types, wanted)
    config.only("attention_layers", kinds)
    return kinds


def _decoder(config: Config, width: int, positions: int, layers: tuple[LayerSpec, ...], norm: NormSpec) -> ModelSpec:
    vocabulary = config.integer("vocab_size")
    return ModelSpec(
        family=str(config.get("model_type")),
        stack=StackSpec(
            vocabulary=vocabulary,
            width=width,
            positions=positions,
            layers=layers,
            position_table="learned",
            norm=norm,
        ),
        head=HeadSpec(vocabulary=vocabulary, tied=config.flag("tie_word_embeddings", True)),
    )
