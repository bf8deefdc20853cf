"""How large things are around a stage, read off the trace."""

from __future__ import annotations

from typing import Any

import pytest

from engine.model import load
from engine.trace import Trace
from engine.worked import load_worked, shipped_worked
from tui.dimensions import UNKNOWN, dimensions

GIVEN: dict[str, dict[str, Any]] = {"tiny-gpt": {}, "tiny-bert": {}, "tiny-translator": {"targets": "I love"}}


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_they_are_those_of_the_model(name: str) -> None:
    model = load(name)
    trace: Trace = model.trace("我爱你", **GIVEN[name])
    for stage in trace:
        source = model.spec.source
        stack = source.stack if source is not None and stage.side == "encoder" else model.spec.stack
        layer = stack.layers[stage.layer or 0]
        attention = layer.cross_attention if stage.block == "cross_attention" else layer.attention
        assert attention is not None
        assert dimensions(trace, stage) == {
            "d": attention.head_width,
            "D": stack.width,
            "H": attention.heads,
            "Hkv": attention.kv_heads,
            "F": layer.feed_forward.width,
            "V": stack.vocabulary,
            "layers": len(stack.layers),
            "scale": f"{attention.divisor_text} = {attention.divisor:.4g}",
        }


@pytest.mark.parametrize("name", sorted(shipped_worked()))
def test_a_worked_example_has_those_that_it_has(name: str) -> None:
    trace = load_worked(name).trace
    for stage in trace:
        assert dimensions(trace, stage)["layers"] == UNKNOWN


def test_what_a_worked_example_has() -> None:
    trace = load_worked("cat-dog").trace
    found = dimensions(trace, trace["attention.scores"])
    assert (found["d"], found["D"], found["H"], found["Hkv"], found["V"]) == (2, 2, 1, 1, 3)
    assert found["F"] == UNKNOWN
    assert found["scale"] == "√2 = 1.414"
    masked = load_worked("masked-softmax").trace
    assert dimensions(masked, masked["attention.weights"])["scale"] == "1"
