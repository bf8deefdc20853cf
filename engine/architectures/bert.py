"""BERT (Devlin et al. 2018, arXiv:1810.04805)."""

from __future__ import annotations

import math
import re
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
    StackSpec,
)
from engine.architectures.places import Place, Places, block, linear, plain
from engine.architectures.readers import ACTIVATIONS, divided

LAYER = "bert.encoder.layer.{i}."


def layer_norm(stage: str, tensor: str) -> dict[str, Place]:
    """γ and β, which the first checkpoints, made from TensorFlow's, call by these names."""
    return {
        f"{stage}.weight": plain(f"{tensor}.weight", f"{tensor}.gamma"),
        f"{stage}.bias": plain(f"{tensor}.bias", f"{tensor}.beta"),
    }


PLACES: dict[str, Place] = {
    "embedding.weight": plain("bert.embeddings.word_embeddings.weight"),
    "positions.weight": plain("bert.embeddings.position_embeddings.weight"),
    "types.weight": plain("bert.embeddings.token_type_embeddings.weight"),
    **layer_norm("embedding_norm", "bert.embeddings.LayerNorm"),
    **block(
        "layers.{i}.attention.",
        f"{LAYER}attention.",
        {"q": "self.query", "k": "self.key", "v": "self.value", "output": "output.dense"},
    ),
    **layer_norm("layers.{i}.attention.residual_norm", f"{LAYER}attention.output.LayerNorm"),
    **block("layers.{i}.mlp.", LAYER, {"up": "intermediate.dense", "down": "output.dense"}),
    **layer_norm("layers.{i}.mlp.residual_norm", f"{LAYER}output.LayerNorm"),
    **block("", "bert.", {"pooler": "pooler.dense"}),
    **block("head.", "cls.predictions.transform.", {"dense": "dense"}),
    **layer_norm("head.norm", "cls.predictions.transform.LayerNorm"),
    "logits.weight": linear("cls.predictions.decoder.weight"),
    # The older files keep it beside the decoder. Where both are stored, the decoder's own counts.
    "logits.bias": plain("cls.predictions.decoder.bias", instead=("cls.predictions.bias",)),
}

# Heads that no trace shows: whether a second sentence follows a first one, which published checkpoints carry beside the
# others, the class of a text or of each token, and where in a text an answer starts and ends.
OTHER_HEADS = re.compile(r"^(cls\.seq_relationship|classifier|qa_outputs)\.(weight|bias)$")


def places(_: ModelSpec) -> Places:
    """Where BERT keeps its weights."""
    return PLACES


def describe(config: Config) -> ModelSpec:
    """transformers, models/bert/modeling_bert.py: read both ways, normalised after each sum."""
    for key in ("is_decoder", "add_cross_attention", "is_encoder_decoder"):
        config.only(key, False)
    config.only("position_embedding_type", "absolute")
    width, heads = config.integer("hidden_size"), config.integer("num_attention_heads")
    config.only("embedding_size", width)
    head_width = divided(config, "hidden_size", width, "num_attention_heads", heads)
    norm = NormSpec("layer", config.real("layer_norm_eps", 1e-12))
    activation = config.choice("hidden_act", ACTIVATIONS, "gelu")
    layer = LayerSpec(
        attention=AttentionSpec(
            heads=heads,
            kv_heads=heads,
            head_width=head_width,
            divisor=math.sqrt(head_width),
            divisor_text=f"√{head_width}",
            causal=False,
            qkv_bias=True,
            output_bias=True,
            residual_norm=norm,
        ),
        feed_forward=FeedForwardSpec(
            width=config.integer("intermediate_size"),
            activation=activation,
            gated=False,
            bias=True,
            residual_norm=norm,
        ),
    )
    vocabulary = config.integer("vocab_size")
    return ModelSpec(
        family=str(config.get("model_type")),
        stack=StackSpec(
            vocabulary=vocabulary,
            width=width,
            positions=config.integer("max_position_embeddings", 512),
            layers=(layer,) * config.layers("num_hidden_layers"),
            position_table="learned",
            types=config.integer("type_vocab_size", 2),
            embedding_norm=norm,
        ),
        head=HeadSpec(
            vocabulary=vocabulary,
            tied=config.flag("tie_word_embeddings", True),
            activation=activation,
            norm=norm,
            bias=True,
        ),
        pooler=True,
    )


def fit(spec: ModelSpec, has: Callable[[str], bool]) -> ModelSpec:
    """Without the parts that a checkpoint leaves out: the pooler, or the head that fills in words."""
    return replace(spec, pooler=has("pooler.weight"), head=spec.head if has("head.dense.weight") else None)
