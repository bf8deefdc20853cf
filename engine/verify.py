"""Whether a model computes what another program computed on the same weights, stage by stage."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.checkpoints.files import shortened
from engine.checkpoints.references import Reference
from engine.errors import EngineError, FileError
from engine.model import Model
from engine.stages import Stage
from engine.trace import Trace

# Two float32 programs that do the same in another order differ by so much of the largest number.
ROUNDING = 2e-5
EXPECTED = "expected.npz"
# A reference beside the weights is looked at unasked only where it takes no more multiplications than this.
CHEAP = 10**11
TOKEN_LIMIT = 1 << 14

# What the reference was given, and what `Model.trace` calls it.
INPUTS = {
    "input_ids": "ids",
    "attention_mask": "attention_mask",
    "token_type_ids": "token_types",
    "decoder_input_ids": "decoder_ids",
}
# Of which stack the hidden states are, and of which stack and block the attentions: ``hidden_0``, ``attention_0`` …
STREAMS = {"hidden": "encoder", "decoder_hidden": "decoder"}
ATTENTIONS = {
    "attention": ("encoder", "attention"),
    "decoder_attention": ("decoder", "attention"),
    "cross_attention": ("decoder", "cross_attention"),
}
FAMILIES = (*STREAMS, *ATTENTIONS, "logits", "pooler")


@dataclass(frozen=True)
class Comparison:
    """How far one stage is from the reference: the largest difference, and the largest that rounding explains."""

    stage: str
    gap: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        return self.gap <= self.tolerance


@dataclass(frozen=True)
class Check:
    """How far a family of stages is from the reference: all hidden states, all attentions, the logits …"""

    family: str
    comparisons: tuple[Comparison, ...]

    @property
    def worst(self) -> Comparison:
        """The stage that is furthest from the reference, for its tolerance."""
        return max(self.comparisons, key=lambda comparison: comparison.gap / comparison.tolerance)

    @property
    def agrees(self) -> bool:
        return all(comparison.agrees for comparison in self.comparisons)


def verify(model: Model, expected: Path) -> list[Check]:
    """Run a reference's inputs and compare what it holds of every stage; rows of padding are left out.

    Args:
        model: the model.
        expected: an npz file with ``input_ids`` (B×N); ``attention_mask``, ``token_type_ids`` and ``decoder_input_ids``
            where they were given; ``logits`` and ``pooler``; and, counted from 0, ``hidden_0`` …, ``attention_0`` …,
            of an encoder-decoder also ``decoder_hidden_0`` …, ``decoder_attention_0`` …, ``cross_attention_0`` …, as
            transformers gives them.

    Raises:
        FileError: the file is not sound, or is not of this model.
        InputError: its ids are not of this model.
    """
    with Reference(expected) as reference:
        return _compared(reference, _traced(model, reference))


def verified_beside(model: Model) -> bool | None:
    """Whether the model agrees with the expected.npz beside its weights; None where there is none that can be used, or
    where it would take long to tell.
    """
    file = model.folder / EXPECTED
    try:
        if not file.exists():
            return None
        with Reference(file) as reference:
            trace = _traced(model, reference)
            wanted = [stage for stage, _ in _pairs(reference, trace)]
            if trace.cost(wanted) > CHEAP:
                return None
            return all(check.agrees for check in _compared(reference, trace))
    except (EngineError, OSError):
        return None


def streams(trace: Trace, side: str) -> list[Stage]:
    """What transformers calls the hidden states of a stack: what each layer reads, and what comes out of the last."""
    layered = [stage for stage in trace if stage.layer is not None and stage.side == side]
    firsts = [stage for number, stage in enumerate(layered) if not number or stage.layer != layered[number - 1].layer]
    entering = [next(operand for operand in stage.inputs if isinstance(operand, Stage)) for stage in firsts]
    norm = f"{side}.norm" if side else "norm"
    return [*entering, trace[norm] if norm in trace else layered[-1]]


def _traced(model: Model, reference: Reference) -> Trace:
    """A trace of the inputs that the reference was given."""
    inputs: dict[str, Any] = {}
    for name, argument in INPUTS.items():
        entry = reference.entries.get(name)
        if entry is None:
            continue
        if entry.dtype.kind == "f" or math.prod(entry.shape) > TOKEN_LIMIT:
            text = "{file}: {entry} has {dtype} numbers in the shape {shape}; at most {limit} whole numbers are read"
            values = {"dtype": entry.dtype, "shape": _written(entry.shape), "limit": TOKEN_LIMIT}
            raise FileError("reference-inputs", text, file=reference.file, entry=name, **values)
        inputs[argument] = reference.read(name).astype(np.int64)
    if "ids" not in inputs:
        raise FileError("reference-no-ids", "{file}: holds no input_ids, B×N; see README", file=reference.file)
    return model.trace(**inputs)


def _pairs(reference: Reference, trace: Trace) -> list[tuple[Stage, str]]:
    """The stages that the reference holds, in the order of the computation, with the names it has for them."""
    stages = _stages(trace)
    pairs = []
    for name, entry in reference.entries.items():
        if name in INPUTS:
            continue
        stage = stages.get(name)
        if stage is None:
            text = "{file}: holds {entry}, which this model has nothing for; it has {names}"
            names = ", ".join(f"{stem}_…" if f"{stem}_0" in stages else stem for stem in _stems(stages))
            raise FileError("reference-unknown", text, file=reference.file, entry=shortened(name, 80), names=names)
        if entry.shape != stage.shape:
            text = "{file}: {entry} has the shape {shape}; {stage} has {wanted}"
            values = {"shape": _written(entry.shape), "stage": stage.name, "wanted": stage.shape_text}
            raise FileError("reference-shape", text, file=reference.file, entry=name, **values)
        pairs.append((stage, name))
    if not pairs:
        raise FileError("reference-empty", "{file}: holds nothing to compare with; see README", file=reference.file)
    return sorted(pairs, key=lambda pair: pair[0].position)


def _stages(trace: Trace) -> dict[str, Stage]:
    """The stage that each name in a reference is of."""
    has_sides = any(stage.side for stage in trace)
    found: dict[str, Stage] = {}
    for stem, side in STREAMS.items():
        if has_sides or side == "encoder":
            stack = streams(trace, side if has_sides else "")
            found |= {f"{stem}_{number}": stage for number, stage in enumerate(stack)}
    for stem, (side, block) in ATTENTIONS.items():
        prefix = f"{side}." if has_sides else ""
        weights = [x for x in trace if x.name.startswith(prefix + "layers.") and x.name.endswith(f".{block}.weights")]
        if has_sides or side == "encoder":
            found |= {f"{stem}_{number}": stage for number, stage in enumerate(weights)}
    if "probabilities" in trace:
        logits = trace["probabilities"].inputs[0]
        assert isinstance(logits, Stage)
        found["logits"] = logits
    if "pooler" in trace:
        found["pooler"] = trace["pooler"]
    return found


def _stems(names: Iterable[str]) -> list[str]:
    return [stem for stem in FAMILIES if any(_stem(name) == stem for name in names)]


def _stem(name: str) -> str:
    return re.sub(r"_\d+$", "", name)


def _compared(reference: Reference, trace: Trace) -> list[Check]:
    real = np.ones((), np.bool_)
    if "attention_mask" in reference.entries:
        real = np.atleast_2d(reference.read("attention_mask")) != 0
    found: dict[str, list[Comparison]] = {}
    for stage, name in _pairs(reference, trace):
        rows = np.ones((), np.bool_) if trace.source_texts and stage.side != "encoder" else real
        found.setdefault(_stem(name), []).append(_comparison(stage, reference.read(name), rows))
    return [Check(family, tuple(found[family])) for family in FAMILIES if family in found]


def _comparison(stage: Stage, expected: NDArray[Any], real: NDArray[np.bool_]) -> Comparison:
    """Of ``real`` rows alone, B×N: where a row sees nothing, the reference may have anything."""
    shape = {3: (*real.shape, 1), 4: (*real.shape[:1], 1, *real.shape[1:], 1)}.get(expected.ndim, ())
    kept = real.reshape(shape) if real.ndim and shape else np.ones((), np.bool_)
    shown = stage.value
    with np.errstate(all="ignore"):
        apart = np.where(kept & (shown != expected), np.abs(shown - expected), 0)
        gap = float(apart.max(initial=0))
        largest = float(np.abs(expected).max(initial=0, where=kept & np.isfinite(expected)))
    return Comparison(stage.name, gap if math.isfinite(gap) else math.inf, ROUNDING * max(1.0, largest))


def _written(shape: Sequence[int]) -> str:
    return shortened("×".join(map(str, shape)), 80) or "1"
