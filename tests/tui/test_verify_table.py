"""The table that --verify prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from engine.model import Model
from engine.verify import Check, Comparison, verify
from tui.language import LANGUAGES, language
from tui.report.verify import table


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_line_a_family(sample: Model, code: str) -> None:
    expected = sample.folder / "expected.npz"
    lines = table(sample, expected, verify(sample, expected), language(code)).splitlines()
    assert lines[0] == "llm-explore · tiny-gpt · expected.npz"
    assert len(lines) == 8
    rows = lines[2:6]
    # The last column begins at one place, whatever is wide in the others.
    places = {
        cell_len(row[: row.rindex(stage)]) for row, stage in zip(rows[1:], ("norm", "layers.", "logits"), strict=True)
    }
    assert len(places) == 1
    assert "6" in lines[-1]


@pytest.mark.parametrize("code", LANGUAGES)
def test_what_differs_is_said(sample: Model, code: str) -> None:
    say = language(code)
    near, far = (
        Comparison("layers.0.attention.weights", 1e-6, 2e-5),
        Comparison("layers.1.attention.weights", 1.0, 2e-5),
    )
    checks = [Check("attention", (near, far)), Check("logits", (near,))]
    lines = table(sample, Path("other\n.npz"), checks, say).splitlines()
    assert say("verify.differs") in lines[3]
    assert "layers.1.attention.weights" in lines[3]
    assert "1.0e+00" in lines[3]
    assert say("verify.agrees") in lines[4]
    assert lines[-1] == say("verify.some_differ", count=3, apart=1)


def test_every_family_has_a_name() -> None:
    from engine.verify import FAMILIES

    for code in LANGUAGES:
        for family in FAMILIES:
            assert language(code)(f"verify.{family}")
