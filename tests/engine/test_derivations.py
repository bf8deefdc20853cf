"""Every number can say how it was computed: the arithmetic as it is written comes to the number that is shown."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.derivation import Derivation, Piece, Reference, Sum, Term
from engine.errors import InputError
from engine.model import Model, load
from engine.operand import Cell, Index
from engine.ops import ApplyMask, Tokenize
from engine.stages import Stage
from engine.trace import Trace

ROUNDING = 3e-6
CELLS = 12


@pytest.fixture(scope="module", params=["tied", "grouped", "biased"])
def trace(request: pytest.FixtureRequest, sample: Model, oracles: Path) -> Trace:
    """Runs that have every op of the Llama kind, one padded on the right, one on the left, where nothing is seen."""
    if request.param == "tied":
        return sample.trace(["我爱你", "I like to code"])
    if request.param == "grouped":
        ids, mask = [[4, 9, 33, 60], [7, 8, 9, 10]], [[0, 0, 1, 1], [1, 1, 1, 1]]
        return load(oracles / "llama").trace(ids=ids, attention_mask=mask)
    return load(oracles / "qwen2-bf16-shards").trace(ids=[4, 9, 33, 60, 90, 4])


def cells(stage: Stage) -> Iterator[Cell]:
    """The first cell, the last, and some at random."""
    random = np.random.default_rng(stage.position)
    yield (0,) * len(stage.shape)
    yield tuple(size - 1 for size in stage.shape)
    for _ in range(CELLS):
        yield tuple(int(random.integers(size)) for size in stage.shape)


def derivations(trace: Trace) -> Iterator[tuple[Stage, Derivation]]:
    return ((stage, stage.derivation(cell)) for stage in trace for cell in cells(stage))


def worth(*pieces: Piece) -> float:
    """What arithmetic comes to when it is worked out as it is written."""
    text = "".join(piece if isinstance(piece, str) else f"({piece.value!r})" for piece in pieces)
    for sign, python in {"×": "*", "÷": "/", "−": "-", "²": "**2", "√": "sqrt"}.items():
        text = text.replace(sign, python)
    names = {"exp": math.exp, "sqrt": math.sqrt, "ln": math.log, "cos": math.cos, "sin": math.sin, "inf": math.inf}
    return float(eval(text, {"__builtins__": {}}, names))


def summand(total: Sum, term: Term) -> float:
    """What one summand comes to, worked out from the numbers that it is made of."""
    if total.before or total.after:
        return worth(*total.before, *term.factors, *total.after)
    return math.prod(factor.value for factor in term.factors)


def lies_in(cell: Cell, part: Index) -> bool:
    """Whether a cell is within a part given by ints and slices."""
    return len(cell) == len(part) and all(
        position in range(10**6)[place] if isinstance(place, slice) else position == place
        for position, place in zip(cell, part, strict=True)
    )


def test_the_steps_come_to_the_number_that_is_shown(trace: Trace) -> None:
    for stage, derivation in derivations(trace):
        value = float(stage.value[derivation.cell])
        assert derivation.value == value
        if math.isinf(value):
            assert (derivation.total, derivation.gap) == (value, 0.0)
        else:
            assert derivation.gap == value - derivation.steps[-1].value
            assert abs(derivation.gap) <= ROUNDING * max(1.0, abs(value)), derivation


def test_each_step_is_worth_what_is_written(trace: Trace) -> None:
    worked = 0
    for stage, derivation in derivations(trace):
        for step in derivation.steps:
            if isinstance(stage.op, Tokenize) or not step.name:
                continue  # said in words
            before = () if step.sum is None else (f"({step.sum.total!r})",)
            assert worth(*before, *step.pieces) == pytest.approx(step.value, rel=1e-12, abs=1e-12), (derivation, step)
            worked += 1
    assert worked > len(trace) * CELLS


def test_each_summand_is_worth_what_is_written(trace: Trace) -> None:
    for stage, derivation in derivations(trace):
        for step in derivation.steps:
            if step.sum is None:
                continue
            assert step.sum.total == pytest.approx(math.fsum(step.sum.values), rel=1e-12, abs=1e-12)
            for term in step.sum.largest(3):
                if step.sum.shown == "value":
                    # Exponentials, which the step's name speaks of; their largest is that of the row's largest number.
                    assert stage.op.name == "softmax"
                    peak = float(stage.inputs[0].value[derivation.cell[:-1]].max())
                    assert term.value == pytest.approx(math.exp(term.factors[0].value - peak), rel=1e-12)
                else:
                    assert term.value == pytest.approx(summand(step.sum, term), rel=1e-12)


def test_sums_run_over_a_whole_axis(trace: Trace) -> None:
    sizes = {"D": {64, 32}, "d": {16, 8}, "F": {168, 56}, "M": {len(trace.stages[0].value[0])}, "V": {4096, 96}}
    sizes["N"] = {len(trace.stages[0].value[0]) - 1}
    met = set()
    for _, derivation in derivations(trace):
        for total in (step.sum for step in derivation.steps if step.sum is not None):
            assert len(total.values) in sizes[total.axis]
            met.add(total.axis)
    assert met == set(sizes)


def test_references_are_the_numbers_that_stand_in_the_operands(trace: Trace) -> None:
    for stage, derivation in derivations(trace):
        references = list(derivation.references())
        assert references or isinstance(stage.op, Tokenize) or derivation.value == 0.0
        for reference in references[:300]:
            assert reference.operand in stage.inputs
            assert reference.value == float(reference.operand.value[reference.cell])
            assert reference.value == reference.operand.number(reference.cell)


def test_references_lie_in_what_the_op_says_it_reads(trace: Trace) -> None:
    for stage, derivation in derivations(trace):
        parts = stage.reads(derivation.cell)
        assert len(parts) == len(stage.inputs)
        used = set()
        for reference in list(derivation.references())[:300]:
            places = [i for i, operand in enumerate(stage.inputs) if operand is reference.operand]
            assert any(lies_in(reference.cell, parts[i]) for i in places), (derivation, reference)
            used.update(places)
        masked = isinstance(stage.op, ApplyMask) or derivation.value == 0.0
        assert masked or len(used) == len(stage.inputs)


def test_a_part_read_is_all_that_a_cell_depends_on(trace: Trace) -> None:
    """Numbers outside what an op reads may be anything: with NaN there, the cell stays what it is."""
    for stage in (stage for stage in trace if stage.inputs):
        for cell in list(cells(stage))[:4]:
            spoiled = []
            for operand, part in zip(stage.inputs, stage.reads(cell), strict=True):
                whole = operand.value.copy()
                kept = whole[part].copy()
                # Ids and a mask have no NaN: other ids, and the opposite of the mask.
                ids = operand.name in ("tokens", "targets")
                whole[...] = 0 if ids else 1 - whole if operand.name == "mask" else np.nan
                whole[part] = kept
                spoiled.append(whole)
            with np.errstate(invalid="ignore"):
                found = float(stage.op.forward(*spoiled)[cell])
            assert found == pytest.approx(float(stage.value[cell]), rel=ROUNDING, abs=ROUNDING), (stage, cell)


def test_positions_may_count_from_the_end(sample: Model) -> None:
    stage = sample.trace("我爱你")["layers.0.attention.scores"]
    assert stage.derivation((0, -1, -1, -3)).cell == (0, 3, 2, 0)
    assert stage.derivation([0, 3, 2, 0]).total == stage.derivation((0, -1, -1, -3)).total


@pytest.mark.parametrize(
    ("cell", "key"),
    [((0, 0, 0), "cell-positions"), ((0, 0, 0, 3), "cell-range"), ((0, -5, 0, 0), "cell-range")],
)
def test_a_cell_that_is_not_there(sample: Model, cell: Cell, key: str) -> None:
    stage = sample.trace("我爱你")["layers.0.attention.scores"]
    with pytest.raises(InputError) as caught:
        stage.derivation(cell)
    assert caught.value.key == key
    assert stage.name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_any_number_can_be_followed_down_to_the_text_and_the_weights(sample: Model) -> None:
    trace = sample.trace("我爱你")
    seen, ends = {"logits"}, set()
    waiting: list[tuple[Stage, Cell]] = [(trace["logits"], (0, 2, 507))]
    while waiting:
        stage, cell = waiting.pop()
        for reference in stage.derivation(cell).references():
            operand = reference.operand
            if not isinstance(operand, Stage):
                ends.add(operand.name)
            elif operand.name not in seen:
                seen.add(operand.name)
                waiting.append((operand, reference.cell))
    assert seen == {stage.name for stage in trace} - {"probabilities", "targets", "losses", "loss"}
    assert ends >= {"logits.weight", "embedding.weight", "mask", "angles", "layers.0.attention.v.weight"}


def test_a_reference_is_made_with_its_number(sample: Model) -> None:
    stage = sample.trace("我爱你")["embedding"]
    assert Reference.to(stage, 0, 1, 2) == Reference(stage, (0, 1, 2), float(stage.value[0, 1, 2]))
