"""Multi-head attention, recorded as it reads in the paper. Shapes stand at the end of the lines."""

from __future__ import annotations

from engine.architectures.batch import Batch
from engine.architectures.description import AttentionSpec
from engine.architectures.recorder import Recorder
from engine.axes import Axis
from engine.constants import Constant
from engine.ops import ApplyMask, AttentionScores, MergeHeads, Rope, Scale, SoftCap, Softmax, SplitHeads, WeightedSum
from engine.stages import Stage


def self_attention(
    here: Recorder,
    x: Stage,
    spec: AttentionSpec,
    batch: Batch,
    mask: tuple[Constant, str],
    angles: Constant | None,
) -> Stage:
    """Multi-head self-attention over x, B×N×D → B×N×D (Vaswani et al. 2017, arXiv:1706.03762)."""
    heads, kv_heads = head_axes(spec)
    width = x.axes[-1]
    joined, joined_kv = spec.joined(width.size), spec.joined_kv(width.size)
    queries, keys = batch.axes[1], batch.keys

    q = here.linear("q", x, joined, "Q", bias=spec.qkv_bias, symbol="Q")  # B×N×(H·d)
    k = here.linear("k", x, joined_kv, "K", bias=spec.qkv_bias, symbol="K")  # B×N×(H_kv·d)
    v = here.linear("v", x, joined_kv, "V", bias=spec.qkv_bias, symbol="V")  # B×N×(H_kv·d)
    q = here.stage("q_heads", SplitHeads(heads, queries), q, symbol="Q")  # B×H×N×d
    k = here.stage("k_heads", SplitHeads(kv_heads, keys), k, symbol="K")  # B×H_kv×M×d
    v = here.stage("v_heads", SplitHeads(kv_heads, keys), v, symbol="V")  # B×H_kv×M×d
    if spec.head_norm is not None:
        q = here.norm("q_normed", q, spec.head_norm, symbol="Q̂", slot="q_norm")  # B×H×N×d
        k = here.norm("k_normed", k, spec.head_norm, symbol="K̂", slot="k_norm")  # B×H_kv×M×d
    if spec.rope is not None and angles is not None:
        q = here.stage("q_rotated", Rope(spec.rope.magnitude), q, angles, symbol="Q′")  # B×H×N×d
        k = here.stage("k_rotated", Rope(spec.rope.magnitude), k, angles, symbol="K′")  # B×H_kv×M×d
    return attended(here, q, k, v, spec, width, mask)  # B×N×D


def cross_attention(
    here: Recorder,
    x: Stage,
    source: Stage,
    spec: AttentionSpec,
    batch: Batch,
    seen: Batch,
    mask: tuple[Constant, str],
) -> Stage:
    """Attention of x, B×N×D, to the encoder's output for another text, B×M×D: queries come from x, keys and values
    from the source (Vaswani et al. 2017, arXiv:1706.03762, section 3.2.3).
    """
    heads, kv_heads = head_axes(spec)
    width = x.axes[-1]
    joined, joined_kv = spec.joined(width.size), spec.joined_kv(width.size)
    keys = seen.keys

    q = here.linear("q", x, joined, "Q", bias=spec.qkv_bias, symbol="Q")  # B×N×(H·d)
    k = here.linear("k", source, joined_kv, "K", bias=spec.qkv_bias, symbol="K", rows=keys)  # B×M×(H_kv·d)
    v = here.linear("v", source, joined_kv, "V", bias=spec.qkv_bias, symbol="V", rows=keys)  # B×M×(H_kv·d)
    q = here.stage("q_heads", SplitHeads(heads, batch.axes[1]), q, symbol="Q")  # B×H×N×d
    k = here.stage("k_heads", SplitHeads(kv_heads, keys), k, symbol="K")  # B×H_kv×M×d
    v = here.stage("v_heads", SplitHeads(kv_heads, keys), v, symbol="V")  # B×H_kv×M×d
    return attended(here, q, k, v, spec, width, mask)  # B×N×D


def attended(
    here: Recorder,
    q: Stage,
    k: Stage,
    v: Stage,
    spec: AttentionSpec,
    width: Axis,
    mask: tuple[Constant, str],
) -> Stage:
    """From queries B×H×N×d, keys and values B×H_kv×M×d to what attention adds to the stream, B×N×D."""
    constant, variety = mask
    scores = here.stage("scores", AttentionScores(), q, k)  # B×H×N×M
    if spec.divisor != 1.0:
        scores = here.stage("scaled", Scale(spec.divisor, spec.divisor_text), scores)  # B×H×N×M
    if spec.softcap is not None:
        scores = here.stage("softcapped", SoftCap(spec.softcap), scores)  # B×H×N×M
    masked = here.stage("masked", ApplyMask(variety), scores, constant)  # B×H×N×M
    weights = here.stage("weights", Softmax(), masked)  # B×H×N×M
    mixed = here.stage("heads", WeightedSum(), weights, v)  # B×H×N×d
    together = here.stage("concat", MergeHeads(spec.joined(width.size)), mixed)  # B×N×(H·d)
    return here.linear("output", together, width, "O", bias=spec.output_bias)  # B×N×D


def head_axes(spec: AttentionSpec) -> tuple[Axis, Axis]:
    """H, and H_kv where key/value heads are fewer."""
    heads = Axis("H", spec.heads)
    return heads, heads if spec.kv_heads == spec.heads else Axis("H_kv", spec.kv_heads)
