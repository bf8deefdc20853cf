"""Where a trace's layers begin, and which stages of theirs belong together."""

from __future__ import annotations

from engine.stages import Stage
from engine.trace import Trace

# A layer: of which side of an encoder-decoder (else the empty text), and its number.
Block = tuple[str, int]


def blocks(trace: Trace) -> list[Block]:
    """The layers in the order of the computation: all of the encoder's before the decoder's."""
    return list(dict.fromkeys((stage.side, stage.layer) for stage in trace if stage.layer is not None))


def block_start(trace: Trace, block: Block) -> Stage:
    """The first stage of a layer."""
    return next(stage for stage in trace if (stage.side, stage.layer) == block)


def same_stage(trace: Trace, stage: Stage, block: Block) -> Stage:
    """What a stage is called in another layer; that layer's first stage where it has none of the name."""
    side, layer = block
    ending = stage.name.split(f"layers.{stage.layer}.")[-1]
    name = ".".join(part for part in (side, "layers", str(layer), ending) if part)
    return trace[name] if name in trace else block_start(trace, block)
