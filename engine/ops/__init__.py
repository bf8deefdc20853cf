"""The mathematics: each op with its axes, its forward, the cells it reads, and its derivation side by side."""

from __future__ import annotations

from engine.ops.attention import ApplyMask, AttentionScores, MergeHeads, Softmax, SplitHeads, WeightedSum
from engine.ops.base import Op
from engine.ops.elementwise import Activation, Add, Multiply, Scale
from engine.ops.linear import Linear
from engine.ops.lookup import Embedding, Tokenize
from engine.ops.norm import LayerNorm, RMSNorm
from engine.ops.rope import Rope

__all__ = [
    "Activation",
    "Add",
    "ApplyMask",
    "AttentionScores",
    "Embedding",
    "LayerNorm",
    "Linear",
    "MergeHeads",
    "Multiply",
    "Op",
    "RMSNorm",
    "Rope",
    "Scale",
    "Softmax",
    "SplitHeads",
    "Tokenize",
    "WeightedSum",
]
