"""Where a trace's layers begin, and which stages of theirs belong together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from engine.stages import Stage
from engine.trace import Trace

# A layer: of which side of an encoder-decoder (else the empty text), and its number.
Block = tuple[str, int]

# Of a trace without layers, as worked examples are: what stages outside attention belong to, if not to the input.
PARTS = {
    **dict.fromkeys(("positions", "embedded"), "positions"),
    **dict.fromkeys(("h", "logits", "probabilities"), "output"),
    **dict.fromkeys(("targets", "losses", "loss"), "loss"),
}


@dataclass(frozen=True)
class Section:
    """A part of the whole way: the input, a layer, what lies between two stacks, the output.

    A trace without layers has instead the parts that it is made of: the input, positions, attention, the output, the
    loss, as far as they are there.
    """

    name: str
    stages: tuple[Stage, ...]

    @property
    def layer(self) -> int | None:
        """The number of its layer; None for what is no layer."""
        return self.stages[0].layer

    @property
    def side(self) -> str:
        """Of which stack of an encoder-decoder it is; else the empty text."""
        return self.stages[-1].side

    @property
    def start(self) -> Stage:
        """Where to go to see it: its first stage; of the output its scores."""
        return next((stage for stage in self.stages if stage.name == "logits"), self.stages[0])


def sections(trace: Trace) -> list[Section]:
    """The whole way in parts, in the order of the computation."""
    if not blocks(trace):
        parts: dict[str, list[Stage]] = {}
        for stage in trace:
            parts.setdefault(part(stage), []).append(stage)
        return [Section(name, tuple(stages)) for name, stages in parts.items()]
    runs = groupby(trace, lambda stage: None if stage.layer is None else (stage.side, stage.layer))
    found = [Section("between" if block is None else "layer", tuple(stages)) for block, stages in runs]
    ends = {0: "input", len(found) - 1: "output"}
    return [
        Section(ends.get(number, each.name), each.stages) if each.layer is None else each
        for number, each in enumerate(found)
    ]


def section_of(stage: Stage, all_sections: list[Section]) -> int:
    """The number of the part that a stage belongs to."""
    return next(number for number, section in enumerate(all_sections) if stage in section.stages)


def part(stage: Stage) -> str:
    """What a stage of a trace without layers belongs to."""
    first, *rest = stage.name.split(".")
    return first if first in ("attention", "cross_attention") else PARTS.get((rest or [first])[-1], "input")


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
