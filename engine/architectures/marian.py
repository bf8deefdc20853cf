"""Marian (Junczys-Dowmunt et al. 2018, arXiv:1804.00344), the shape of the opus-mt translators."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from engine.architectures.config import Config
from engine.architectures.description import (
    AttentionSpec,
    FeedForwardSpec,
    HeadSpec,
    LayerSpec,
    ModelSpec,
    NormSpec,
    SourceSpec,
    StackSpec,
)
from engine.architectures.places import Place, Places, block, linear, plain
from engine.architectures.readers import ACTIVATIONS, divided

NORM = NormSpec("layer", 1e-5)

SHARED = "model.shared.weight"
EMBEDDINGS = {side: f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder")}


def places(spec: ModelSpec) -> Places:
    """Where Marian keeps its weights: one embedding for both sides and the head, or one each.

    Where all have one embedding, a file may hold it under any of their names; one that holds several of them may have
    other numbers under each, and then each side and the head have their own.
    """
    is_shared = spec.source is not None and spec.source.shared_embedding
    every = (SHARED, EMBEDDINGS["decoder"], EMBEDDINGS["encoder"]) if is_shared else ()
    found: dict[str, Place] = {
        "logits.weight": linear("lm_head.weight", instead=every),
        "logits_biased.bias": Place("final_logits_bias", lambda stored: stored[0], whole=(1, spec.vocabulary)),
    }
    attention = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "output": "out_proj"}
    for side, own in EMBEDDINGS.items():
        layer, kept = f"{side}.layers.{{i}}.", f"model.{side}.layers.{{i}}."
        found[f"{side}.embedding.weight"] = plain(own, instead=tuple(name for name in every if name != own))
        found[f"{side}.positions.weight"] = plain(f"model.{side}.embed_positions.weight")
        found |= block(f"{layer}attention.", f"{kept}self_attn.", attention)
        found |= block(f"{layer}cross_attention.", f"{kept}encoder_attn.", attention)
        norms = {
            "attention.residual_norm": "self_attn_layer_norm",
            "cross_attention.residual_norm": "encoder_attn_layer_norm",
            "mlp.residual_norm": "final_layer_norm",
        }
        found |= block(layer, kept, norms, plain)
        found |= block(f"{layer}mlp.", kept, {"up": "fc1", "down": "fc2"})
    return found


def describe(config: Config) -> ModelSpec:
    """transformers, models/marian/modeling_marian.py: normalised after each sum, with no norm at the end."""
    for key in ("normalize_before", "normalize_embedding", "add_final_layer_norm", "add_bias_logits", "is_decoder"):
        config.only(key, False)
    for key in ("static_position_embeddings", "is_encoder_decoder"):
        config.only(key, True)
    config.get("extra_pos_embeddings")  # what older files say of positions that are learned
    config.only("num_hidden_layers", config.get("encoder_layers"))
    is_shared = config.flag("share_encoder_decoder_embeddings", True)
    vocabulary = config.integer("vocab_size")
    target_vocabulary = config.integer("decoder_vocab_size", vocabulary)
    if is_shared and target_vocabulary != vocabulary:
        raise config.wrong("decoder_vocab_size", target_vocabulary, f"vocab_size = {vocabulary}, for one embedding")
    pad = config.token("pad_token_id", 58100)
    start, end = config.token("decoder_start_token_id", pad), config.token("eos_token_id", 0)
    for key, token in {"pad_token_id": pad, "decoder_start_token_id": start, "eos_token_id": end}.items():
        if token >= min(vocabulary, target_vocabulary):
            raise config.wrong(key, token, f"a token id below {min(vocabulary, target_vocabulary)}")
    return ModelSpec(
        family=str(config.get("model_type")),
        stack=stack(config, "decoder", target_vocabulary),
        head=HeadSpec(vocabulary=target_vocabulary, tied=config.flag("tie_word_embeddings", True), added_bias=True),
        source=SourceSpec(
            stack=stack(config, "encoder", vocabulary), start=start, end=end, never=pad, shared_embedding=is_shared
        ),
    )


def stack(config: Config, side: str, vocabulary: int) -> StackSpec:
    """The encoder or the decoder."""
    width, heads = config.integer("d_model"), config.integer(f"{side}_attention_heads")
    head_width = divided(config, "d_model", width, f"{side}_attention_heads", heads)
    is_scaled = config.flag("scale_embedding", False)
    attention = AttentionSpec(
        heads=heads,
        kv_heads=heads,
        head_width=head_width,
        divisor=math.sqrt(head_width),
        divisor_text=f"√{head_width}",
        causal=side == "decoder",
        qkv_bias=True,
        output_bias=True,
        residual_norm=NORM,
    )
    layer = LayerSpec(
        attention=attention,
        cross_attention=replace(attention, causal=False) if side == "decoder" else None,
        feed_forward=FeedForwardSpec(
            width=config.integer(f"{side}_ffn_dim"),
            activation=config.choice("activation_function", ACTIVATIONS, "gelu"),
            gated=False,
            bias=True,
            residual_norm=NORM,
        ),
    )
    return StackSpec(
        vocabulary=vocabulary,
        width=width,
        positions=config.integer("max_position_embeddings", 1024),
        layers=(layer,) * config.layers(f"{side}_layers"),
        embedding_factor=math.sqrt(width) if is_scaled else 1.0,
        embedding_factor_text=f"√{width}" if is_scaled else "1",
        position_table="sinusoids",
    )


def fit(spec: ModelSpec, has: Callable[[str], bool]) -> ModelSpec:
    """Without the bias that a checkpoint leaves out where all of it is 0, and with the positions that it holds.

    Few do: positions are sines and cosines. Those that are stored count, be they rounded or others.
    """
    head = spec.head and replace(spec.head, added_bias=has("logits_biased.bias"))
    source = spec.source and replace(spec.source, stack=positioned(spec.source.stack, has("encoder.positions.weight")))
    return replace(spec, head=head, source=source, stack=positioned(spec.stack, has("decoder.positions.weight")))


def positioned(stack: StackSpec, is_stored: bool) -> StackSpec:
    """The encoder or the decoder with the positions that are stored, if any."""
    return replace(stack, position_table="learned") if is_stored else stack
