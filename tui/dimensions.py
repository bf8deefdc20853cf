"""How large things are around a stage, for sentences about it: read off the trace, whatever it was made from."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from engine.ops import Scale
from engine.stages import Stage
from engine.trace import Trace

UNKNOWN = "—"


def dimensions(trace: Trace, here: Stage) -> dict[str, object]:
    """``d``, ``D``, ``H``, ``Hkv``, ``F``, ``V``, ``layers`` and ``scale`` as they are nearest to a stage.

    What there is none of in the trace is `UNKNOWN`: a worked example may have no vocabulary and no layers.
    """
    if here not in _known:
        _known[here] = _found(trace, here)
    return _known[here]


# Asked for with every sentence about a stage, and the same each time.
_known: WeakKeyDictionary[Stage, dict[str, object]] = WeakKeyDictionary()


def _found(trace: Trace, here: Stage) -> dict[str, object]:
    sizes: dict[str, int] = {}
    scores: Stage | None = None
    for stage in _nearest(trace, here):
        scores = stage if scores is None and stage.name.endswith("scores") else scores
        for axis in (axis for operand in (stage, *stage.inputs) for axis in operand.axes):
            sizes.setdefault(axis.symbol, axis.size)
    found: dict[str, object] = {symbol: sizes.get(symbol, UNKNOWN) for symbol in ("d", "D", "H", "F", "V")}
    layers = {(stage.side, stage.layer) for stage in trace if stage.layer is not None}
    own = [side for side, _ in layers if side == here.side] or [side for side, _ in layers if side != "encoder"]
    return found | {
        "Hkv": sizes.get("H_kv", found["H"]),
        "layers": len(own) or UNKNOWN,
        "scale": _scale(trace, scores),
    }


def _nearest(trace: Trace, here: Stage) -> Iterator[Stage]:
    """The stage itself, its block's, its layer's, its side's, then all others."""
    yield here
    block = here.name.rpartition(".")[0]
    for near in (
        lambda stage: stage.name.rpartition(".")[0] == block,
        lambda stage: (stage.side, stage.layer) == (here.side, here.layer),
        lambda stage: stage.side == here.side,
        lambda stage: True,
    ):
        yield from (stage for stage in trace if near(stage))


def _scale(trace: Trace, scores: Stage | None) -> str:
    """What these scores are divided by; 1 where they are not."""
    for op in (stage.op for stage in trace if scores in stage.inputs):
        if isinstance(op, Scale):
            return f"{op.divisor_text} = {op.divisor:.4g}"
    return "1"
