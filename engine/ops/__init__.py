"""The mathematics: each op with its axes, its forward, the cells it reads, and its derivation side by side."""

from __future__ import annotations

from engine.ops.attention import ApplyMask, AttentionScores, MergeHeads, Softmax, SplitHeads, WeightedSum
from engine.ops.base import Op
from engine.ops.elementwise import Activation, Add, Multiply, Scale, SoftCap, Times
from engine.ops.given import Given, GivenMask, GivenTokens, GivenWeight
from engine.ops.linear import Linear
from engine.ops.lookup import Embedding, Tokenize
from engine.ops.loss import Losses, MeanLoss, Successors
from engine.ops.norm import LayerNorm, RMSNorm
from engine.ops.pool import Pool
from engine.ops.positions import Positions, Types
from engine.ops.rope import Rope

__all__ = [
    "Activation",
    "Add",
    "ApplyMask",
    "AttentionScores",
    "Embedding",
    "Given",
    "GivenMask",
    "GivenTokens",
    "GivenWeight",
    "LayerNorm",
    "Linear",
    "Losses",
    "MeanLoss",
    "MergeHeads",
    "Multiply",
    "Op",
    "Pool",
    "Positions",
    "RMSNorm",
    "Rope",
    "Scale",
    "SoftCap",
    "Softmax",
    "SplitHeads",
    "Successors",
    "Times",
    "Tokenize",
    "Types",
    "WeightedSum",
]
