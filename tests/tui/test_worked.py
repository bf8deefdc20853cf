"""Worked examples in the explorer and in the report."""

from __future__ import annotations

import io

import pytest

from engine.worked import load_worked, shipped_worked
from tui.app import ExploreApp
from tui.explanations import explained
from tui.language import LANGUAGES, language
from tui.report.selection import select
from tui.report.worked import comparison_lines, listing, write
from tui.session import Session

NAMES = sorted(shipped_worked())


def session(name: str) -> Session:
    worked = load_worked(name)
    return Session(worked, worked.trace, 1 << 30)


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_every_stage_and_weight_is_explained(name: str, code: str) -> None:
    here = session(name)
    for stage in here.trace:
        here.go(stage)
        for operand in (stage, *stage.inputs):
            for field in ("name", "title", "explain", "look"):
                assert "{" not in explained(operand, language(code), field, here)
        assert here.derivation() is not None


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_the_report_has_every_stage(name: str, code: str) -> None:
    worked = load_worked(name)
    out = io.StringIO()
    write(out, worked, select(worked.trace, None, None, None), language(code), 100)
    text = out.getvalue()
    assert worked.titled(code) in text
    for stage in worked.trace:
        assert f"\n{stage.name}   {stage.shape_text}   " in text


def test_the_printed_and_the_exact_figures_stand_under_each_other() -> None:
    (comparison,) = load_worked("masked-softmax").comparisons
    lines = list(comparison_lines(comparison, 100, language("en")))
    assert "3 of 5" in lines[1]
    assert lines[2].split() == ["like", "file", "0.08", "0.21", "0.71", "0", "0"]
    assert lines[3].split()[:4] == ["computed", "0.0540", "0.2190", "0.7270"]
    assert lines[4].split()[:4] == ["|Δ|", "0.0260", "0.0090", "0.0170"]


def test_figures_that_agree_take_one_line() -> None:
    (comparison,) = load_worked("sinusoidal-positions").comparisons
    assert len(list(comparison_lines(comparison, 100, language("zh")))) == 2


def test_the_list_has_a_line_each() -> None:
    assert [line.split()[0] for line in listing(language("zh")).split("\n")] == list(shipped_worked())


@pytest.mark.parametrize("name", NAMES)
async def test_the_explorer_steps_through_it(name: str) -> None:
    here = session(name)
    worked_trace = here.trace
    app = ExploreApp(here, language("zh"), "dark")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for _ in here.trace:
            await pilot.press("right", "j", "l", "tab")
        assert here.position == len(here.trace) - 1
        for key in ("enter", "e", "a", "p", "enter", "escape", "m", "escape", "g", "escape", "t"):
            await pilot.press(key)
            await pilot.pause()
        assert here.trace is worked_trace
