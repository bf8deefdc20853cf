"""Layers over one text, from token ids to the last vectors, recorded as they read in the papers."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from engine.architectures.attention import cross_attention, self_attention
from engine.architectures.batch import Batch, attention_mask, rotation_angles, sinusoids
from engine.architectures.description import AttentionSpec, LayerSpec, NormSpec, RopeSpec, StackSpec, SublayerSpec
from engine.architectures.feed_forward import feed_forward
from engine.architectures.recorder import Recorder
from engine.axes import Axis
from engine.constants import Constant
from engine.operand import Operand
from engine.ops import Add, Embedding, Positions, Times, Tokenize, Types
from engine.stages import Stage


class Constants:
    """What follows from the texts alone, each made once: one mask serves all layers that see alike."""

    def __init__(self, sinusoid_tables: dict[Hashable, Constant]) -> None:
        self._tables = sinusoid_tables
        self._masks: dict[Hashable, tuple[Constant, str]] = {}
        self._angles: dict[RopeSpec, Constant] = {}

    def mask(self, spec: AttentionSpec, batch: Batch, seen: Batch, prefix: str) -> tuple[Constant, str]:
        """The mask of an attention, and its variety."""
        sight = (spec.causal, spec.window, seen is batch)
        if sight not in self._masks:
            self._masks[sight] = attention_mask(spec, batch, seen, prefix)
        return self._masks[sight]

    def angles(self, spec: RopeSpec | None, batch: Batch, prefix: str) -> Constant | None:
        """The angles of a rotation; ``angles``, ``angles.1`` … where layers turn differently."""
        if spec is not None and spec not in self._angles:
            number = f".{len(self._angles)}" if self._angles else ""
            self._angles[spec] = rotation_angles(spec, batch, f"{prefix}angles{number}")
        return None if spec is None else self._angles[spec]

    def sinusoids(self, positions: int, width: int) -> Constant:
        """The table of sinusoidal positions, one for all stacks of a model."""
        if (positions, width) not in self._tables:
            self._tables[positions, width] = sinusoids(positions, width)
        return self._tables[positions, width]


def record_stack(
    root: Recorder,
    spec: StackSpec,
    batch: Batch,
    *,
    result: str,
    tables: dict[Hashable, Constant],
    source: tuple[Stage, Batch] | None = None,
) -> Stage:
    """Record embedding and layers; gives the last stage, which formulas call ``result``."""
    constants = Constants(tables)
    x = embedded(root, spec, batch, constants)  # B×N×D
    for number, layer in enumerate(spec.layers):
        # What comes out of the last layer has its own symbol where no norm follows.
        symbol = result if spec.norm is None and number == len(spec.layers) - 1 else ""
        x = record_layer(root.under(f"layers.{number}"), x, layer, batch, constants, source, symbol)  # B×N×D
    return x if spec.norm is None else root.norm("norm", x, spec.norm, symbol=result)  # B×N×D


def embedded(root: Recorder, spec: StackSpec, batch: Batch, constants: Constants) -> Stage:
    """What goes into the first layer: the tokens' embeddings, and what is added for their places, B×N×D."""
    width, vocabulary = Axis("D", spec.width), Axis("V", spec.vocabulary, (batch.vocabulary,))
    # Only the last of the stages here is what the layers add to.
    is_scaled, is_summed = spec.embedding_factor != 1.0, spec.position_table is not None or spec.types > 0
    is_normed = spec.embedding_norm is not None

    # What a decoder beside an encoder has written so far is a text that nobody gave.
    origin = "written" if root.side == "decoder." else ""
    tokens = root.stage("tokens", Tokenize(batch.ids.astype(np.float32), batch.axes, origin))  # B×N
    table = root.weight("embedding.weight", "E", vocabulary, width)  # V×D
    x = root.stage("embedding", Embedding(), tokens, table, lasting=not (is_scaled or is_summed or is_normed))  # B×N×D
    if is_scaled:
        scaled = Times(spec.embedding_factor, spec.embedding_factor_text)
        x = root.stage("scaled_embedding", scaled, x, lasting=not (is_summed or is_normed))  # B×N×D
    added: list[Operand] = []
    if spec.position_table is not None:
        rows: Operand = constants.sinusoids(spec.positions, spec.width)  # P×D
        if spec.position_table == "learned":
            rows = root.weight("positions.weight", "P", Axis("P", spec.positions), width)  # P×D
        added.append(root.stage("positions", Positions(batch.axes), rows))  # B×N×D
    if spec.types:
        kinds = np.zeros(batch.ids.shape, np.float32) if batch.types is None else batch.types.astype(np.float32)
        rows = root.weight("types.weight", "T", Axis("T", spec.types), width)  # T×D
        added.append(root.stage("types", Types(kinds, batch.axes), rows))  # B×N×D
    if added:
        x = root.stage("embedded", Add(), x, *added, lasting=not is_normed)  # B×N×D
    if spec.embedding_norm is not None:
        x = root.norm("embedding_norm", x, spec.embedding_norm, lasting=True)  # B×N×D
    return x


def record_layer(
    here: Recorder,
    x: Stage,
    spec: LayerSpec,
    batch: Batch,
    constants: Constants,
    source: tuple[Stage, Batch] | None,
    symbol: str,
) -> Stage:
    """One layer, B×N×D → B×N×D."""
    part = here.under("attention")
    mask = constants.mask(spec.attention, batch, batch, part.side)
    angles = constants.angles(spec.attention.rope, batch, part.side)
    h = normed(part, x, spec.attention.norm)
    attention = self_attention(part, h, spec.attention, batch, mask, angles)
    if spec.parallel:
        part = here.under("mlp")
        h = normed(part, x, spec.feed_forward.norm) if spec.feed_forward.norm else h
        return part.add("residual", x, attention, feed_forward(part, h, spec.feed_forward), symbol=symbol)
    x = added_to(part, x, attention, spec.attention)
    if spec.cross_attention is not None and source is not None:
        part = here.under("cross_attention")
        encoded, seen = source
        mask = constants.mask(spec.cross_attention, batch, seen, part.side)
        h = normed(part, x, spec.cross_attention.norm)
        taken = cross_attention(part, h, encoded, spec.cross_attention, batch, seen, mask)
        x = added_to(part, x, taken, spec.cross_attention)
    part = here.under("mlp")
    h = normed(part, x, spec.feed_forward.norm)
    return added_to(part, x, feed_forward(part, h, spec.feed_forward), spec.feed_forward, symbol)


def normed(part: Recorder, x: Stage, spec: NormSpec | None) -> Stage:
    """What a sublayer works on."""
    return x if spec is None else part.norm("norm", x, spec)


def added_to(part: Recorder, x: Stage, result: Stage, spec: SublayerSpec, symbol: str = "") -> Stage:
    """A sublayer's result added to the stream, normalised before or after where the description says so."""
    if spec.post_norm is not None:
        result = part.norm("post_norm", result, spec.post_norm)
    if spec.residual_norm is None:
        return part.add("residual", x, result, symbol=symbol)
    x = part.add("residual", x, result)
    return part.norm("residual_norm", x, spec.residual_norm, symbol=symbol, lasting=True)
