"""Which stages, and which head of them, a report is about."""

from __future__ import annotations

from dataclasses import dataclass

from engine.axes import Axis
from engine.errors import InputError
from engine.operand import Array
from engine.stages import Stage
from engine.trace import Trace


@dataclass(frozen=True)
class Selection:
    """Stages in order, and the one head to show of those that have heads (None: all of them).

    ``heads`` is how many the model has; where query heads share key/value heads, of the queries.
    """

    stages: tuple[Stage, ...]
    head: int | None
    heads: int

    def part(self, stage: Stage) -> tuple[tuple[Axis, ...], Array]:
        """The stage's axes and numbers, with the head axis taken out where one head was chosen."""
        place = head_axis(stage)
        if self.head is None or place is None:
            return stage.axes, stage.value
        # Where query heads share a key/value head, the query head's number chooses the one that it uses.
        own = self.head * stage.axes[place].size // self.heads
        axes = stage.axes[:place] + stage.axes[place + 1 :]
        return axes, stage.value[(slice(None),) * place + (own,)]


def head_axis(stage: Stage) -> int | None:
    """Which of a stage's axes counts heads."""
    return next((i for i, axis in enumerate(stage.axes) if axis.symbol in ("H", "H_kv")), None)


def select(trace: Trace, name: str | None, layer: int | None, head: int | None) -> Selection:
    """The stages that a name, a layer and a head choose; all of them where nothing is given.

    A name may be a stage's whole name, or its end where that and the layer leave only one.

    Raises:
        InputError: there is no such stage, layer or head; the message says which there are.
    """
    layers = sorted({stage.layer for stage in trace if stage.layer is not None})
    if layer is not None and layer not in layers:
        raise trace.unknown_layer(layer)
    stages = tuple(stage for stage in trace if layer is None or stage.layer == layer)
    if name is not None:
        ends = [stage for stage in stages if stage.name == name or stage.name.endswith(f".{name}")]
        whole = [stage for stage in ends if stage.name == name]
        if len(ends) > 1 and not whole:
            raise InputError(
                "ambiguous-stage",
                "{name} could be {stages}; give the whole name",
                name=name,
                stages=", ".join(stage.name for stage in ends[:4]) + (", …" if len(ends) > 4 else ""),
            )
        stages = tuple(whole or ends) or (trace[name],)
        if layer not in (None, stages[0].layer):
            raise InputError(
                "stage-elsewhere",
                "{stage} is not in layer {layer}; leave out the stage or the layer",
                stage=stages[0].name,
                layer=layer,
            )
    heads = max((axis.size for stage in trace for axis in stage.axes if axis.symbol in ("H", "H_kv")), default=0)
    if head is not None:
        if not 0 <= head < heads:
            raise InputError(
                "unknown-head",
                "there is no head {head}; this model has heads 0 to {last}",
                head=head,
                last=heads - 1,
            )
        if name is not None and head_axis(stages[0]) is None:
            raise InputError(
                "no-heads",
                "{stage} has no heads: it is {shape}",
                stage=stages[0].name,
                shape=stages[0].shape_text,
            )
    return Selection(stages, head, heads)
