"""What follows from positions alone says how: the numbers are worked out again by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.constants import Constant
from engine.derivation import Derivation
from engine.errors import InputError
from engine.model import Model, load
from engine.operand import Operand
from engine.trace import Trace
from engine.worked import load_worked


def constant(trace: Trace, kind: str, number: int = 0) -> Constant:
    found = {x.name: x for stage in trace for x in stage.inputs if isinstance(x, Constant) and x.kind == kind}
    return list(found.values())[number]


def derived(operand: Operand, *cell: int) -> Derivation:
    assert isinstance(operand, Constant)
    found = operand.derivation(cell)
    assert found is not None
    return found


def written(derivation: Derivation) -> list[str]:
    """The steps, their numbers to five digits."""
    return [
        f"{step.name}: {''.join(piece if isinstance(piece, str) else f'{piece.value:.5g}' for piece in step.pieces)}"
        for step in derivation.steps
    ]


def test_sines_by_turns() -> None:
    table = constant(load_worked("sinusoidal-positions").trace, "positions")
    sine, cosine = derived(table, 3, 0), derived(table, 3, 3)
    assert written(sine) == ["10000^(0/4): 10000^0", "θ: 3 ÷ 1", "sin θ: sin(3)"]
    assert sine.total == pytest.approx(0.14112, abs=5e-6)
    assert written(cosine) == ["10000^(2/4): 10000^0.5", "θ: 3 ÷ 100", "cos θ: cos(0.03)"]
    assert cosine.total == pytest.approx(0.99955, abs=5e-6)


def test_sines_in_halves() -> None:
    trace = load("tiny-translator").trace("我爱你。")
    table = constant(trace, "positions")
    half = table.shape[1] // 2
    last = derived(table, 5, half + 1)
    assert last.total == pytest.approx(math.cos(5 / 10000 ** (2 / (2 * half))), abs=1e-12)
    for cell in [(0, 0), (3, half - 1), (4, half), (7, 2 * half - 1)]:
        assert derived(table, *cell).gap == pytest.approx(0, abs=1e-7)


def test_angles(sample: Model) -> None:
    angles = constant(sample.trace("我爱你"), "angles")
    for cell in itertools.product(range(3), range(angles.shape[1])):
        assert derived(angles, *cell).gap == pytest.approx(0, abs=1e-6)
    assert written(derived(angles, 2, 0)) == ["n·ω: 2 × 1"]


@pytest.mark.parametrize(("cell", "text"), [((0, 2, 1), "m = 1 ≤ n = 2 → 1"), ((0, 1, 2), "m = 2 > n = 1 → 0")])
def test_the_causal_mask(sample: Model, cell: tuple[int, ...], text: str) -> None:
    assert written(derived(constant(sample.trace("我爱你"), "mask"), *cell)) == [f": {text}"]


def test_a_mask_says_of_every_cell_what_it_is(sample: Model, checkpoint: Callable[..., Path]) -> None:
    config = {"model_type": "mistral", "sliding_window": 2}
    windowed = load(checkpoint(config=config, tokens=["<unk>", *"abcdef"])).trace("a b c d e f")
    padded = sample.trace(["我爱你吗", "猫"])
    encoder = load("tiny-bert").trace(["我爱你吗", "猫"])
    seen = set()
    for trace in (windowed, padded, encoder):
        mask = constant(trace, "mask")
        for cell in np.ndindex(mask.shape):
            found = derived(mask, *cell)
            assert found.gap == 0.0
            assert found.total == float(mask.value[cell])
            seen.add(written(found)[0])
    assert {": <pad> → 0", ": 1", ": m = 1 ≤ n − 2 = 1 → 0", ": m = 2 ≤ n = 3, m > n − 2 = 1 → 1"} <= seen


def test_a_cell_that_is_not_there(sample: Model) -> None:
    with pytest.raises(InputError):
        constant(sample.trace("我爱你"), "mask").derivation((0, 3, 0))
