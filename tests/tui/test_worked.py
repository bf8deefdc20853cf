"""Worked examples in the explorer and in the report."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from textual.widgets import Static

from engine.worked import load_worked, shipped_worked
from tests.tui.exploring import squeeze
from tui.actions import FOOTER
from tui.app import ExploreApp
from tui.arithmetic import plain
from tui.comparing import aligned
from tui.explanations import explained
from tui.language import LANGUAGES, language
from tui.places import section_of, sections
from tui.report.selection import select
from tui.report.worked import comparison_lines, listing, write
from tui.session import Session
from tui.widgets.keybar import KeyBar
from tui.widgets.stagetree import StageTree
from tui.widgets.terms import signs_of
from tui.widgets.way import Way
from tui.widgets.words import Explanation

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
    assert lines[4].split()[:4] == ["difference", "−0.0260", "+0.0090", "+0.0170"]


def test_figures_that_agree_take_one_line() -> None:
    (comparison,) = load_worked("sinusoidal-positions").comparisons
    assert len(list(comparison_lines(comparison, 100, language("zh")))) == 2


def test_a_compared_stage_is_looked_at_where_the_file_says_something() -> None:
    here = session("masked-softmax")
    assert list(here.cell) == [0, 4]
    weights = here.trace["attention.weights"]
    here.go(weights)
    # The file has figures for “like” alone.
    assert list(here.cell) == [0, 0, 2, 0]
    assert here.comparison is not None
    here.move(0, 1)
    here.move(1, 0)
    assert list(here.cell) == [0, 0, 3, 1]
    here.step(-1)
    assert here.comparison is None
    here.positions["N"] = 2
    here.go(weights)
    assert list(here.cell) == [0, 0, 2, 1]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_files_row_stands_beside_the_computed_one(size: tuple[int, int]) -> None:
    here = session("masked-softmax")
    here.go(here.trace["attention.weights"])
    app = ExploreApp(here, language("en"), "dark")
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        lines = [strip.text for strip in app.screen._compositor.render_strips()]
        rows = [line.replace("▸", " ").split() for line in lines]
        # All five rows of the matrix, in numbers.
        for token in ("【BOS】", "I", "like", "you", "【EOS】"):
            assert any(token in row and sum("0." in part or part == "0" for part in row) >= 4 for row in rows), token
        text = "\n".join(lines)
        assert " ".join(text.split()).count("0.08 0.21 0.71 0 0") == 1
        assert "0.0540 0.2190 0.7270 0.0000 0.0000" in " ".join(text.split())
        assert "−0.0260 +0.0090 +0.0170" in " ".join(text.split())


async def test_a_compared_stage_has_the_files_digits() -> None:
    here = session("sinusoidal-positions")
    here.go(here.trace["positions"])
    app = ExploreApp(here, language("en"), "dark")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.pause()
        text = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        for number in ("0.14112", "−0.98999", "0.99955"):
            assert number in text


@pytest.mark.parametrize(
    ("column", "room", "first", "line"), [(0, 40, 0, 6), (0, 30, 0, 6), (0, 20, 0, 4), (5, 20, 3, 4)]
)
def test_compared_columns_are_windowed_around_the_one_looked_at(column: int, room: int, first: int, line: int) -> None:
    texts = [(f"{number}.0", f"{number}.00", "0.0") for number in range(6)]
    start, lines = aligned(texts, column, room)
    assert start == first
    assert [len(cells) for cells in lines] == [line] * 3
    assert lines[0][column - start].strip() == f"{column}.0"
    assert all(sum(map(len, cells)) <= room for cells in lines)
    assert [cells[-1].strip() == "⋯" for cells in lines] == [line < 6] * 3


def test_the_list_has_a_line_each() -> None:
    assert [line.split()[0] for line in listing(language("zh")).split("\n")] == list(shipped_worked())


PARTS = {
    "masked-softmax": ["input", "attention"],
    "sinusoidal-positions": ["input", "positions"],
    "cat-dog-positions": ["input", "positions", "attention"],
    "question-and-report": ["input", "cross_attention"],
    "next-token-loss": ["input", "output", "loss"],
    "rope-pair": ["input", "attention"],
}


@pytest.mark.parametrize("name", PARTS)
def test_its_stages_are_put_in_parts(name: str) -> None:
    trace = load_worked(name).trace
    found = sections(trace)
    assert [section.name for section in found] == PARTS[name]
    assert sorted(stage.position for section in found for stage in section.stages) == list(range(len(trace)))
    for section in found:
        for stage in section.stages:
            assert found[section_of(stage, found)] is section


def test_the_parts_of_all_that_a_file_can_give(tmp_path: Path) -> None:
    path = tmp_path / "all.toml"
    path.write_text(
        """
        tokens = ["a", "b"]
        keys = ["c"]
        positions = "sinusoidal"
        embeddings = [[1, 2], [3, 4]]
        key_embeddings = [[5, 6]]
        W_Q = [[1, 0], [0, 1]]
        W_K = [[1, 0], [0, 1]]
        W_V = [[1, 0], [0, 1]]
        W_out = [[1, 0, 1], [0, 1, 1]]
        target = [0, 1]
        """,
        "utf-8",
    )
    names = {section.name: [stage.name for stage in section.stages] for section in sections(load_worked(path).trace)}
    assert list(names) == ["input", "positions", "cross_attention", "output", "loss"]
    assert names["input"] == ["tokens", "embedding", "encoder.embedding"]
    assert names["positions"] == ["positions", "embedded"]
    assert all(name.startswith("cross_attention.") for name in names["cross_attention"])
    assert names["output"] == ["logits", "probabilities"]
    assert names["loss"] == ["targets", "losses", "loss"]


@pytest.mark.parametrize("code", LANGUAGES)
async def test_tree_and_way_show_the_parts(code: str) -> None:
    say = language(code)
    here = session("cat-dog-positions")
    app = ExploreApp(here, say, "dark")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        tree, way = app.screen.query_one(StageTree), app.screen.query_one(Way)
        parts = [say.group("input"), say("tree.positions"), say("tree.attention")]
        assert [str(node.label) for node in tree.root.children] == parts
        places = []
        for key in ("right_curly_bracket", "right_curly_bracket", "right_curly_bracket", "left_curly_bracket"):
            await pilot.press(key)
            await pilot.pause()
            places.append(here.operand.name)
            node = tree.cursor_node
            assert node is not None
            assert node.data is here.operand
            assert node.parent is not None
            shown = str(way.content)
            for part in parts[1:]:
                assert part in shown
            assert f" {node.parent.label} ▸ {here.operand.name.split('.')[-1]} " in shown
        # From the last part one goes to its end, and from there back to the part before.
        assert places == ["positions", "attention.q", here.trace.stages[-1].name, "positions"]


def test_given_tokens_come_from_no_tokenizer() -> None:
    here = session("next-token-loss")
    for name in ("tokens", "targets"):
        here.go(here.trace[name])
        assert signs_of(here) == [""]


def test_a_given_number_says_where_it_stands() -> None:
    here = session("masked-softmax")
    scores = here.trace["attention.scores"]
    assert plain(scores.derivation((0, 0, 2, 1)), 0, 80, language("en")) == [
        "scores[head 0, like, I] = 5.200",
        "  masked-softmax.toml · scores[0,0,2,1]",
    ]


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


@pytest.mark.parametrize("lang", ["zh", "en"])
async def test_the_first_screen_says_what_the_example_is_about(lang: str) -> None:
    example = load_worked("cat-dog", 1 << 20)
    app = ExploreApp(Session(example, example.trace, 1 << 20), language(lang))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        words = squeeze(str(app.screen.query_one(Explanation).render()))
        assert squeeze(example.titled(lang)) in words
        assert squeeze(example.noted(lang)) in words
        await pilot.press("right", "question_mark")
        await pilot.pause()
        assert squeeze(example.noted(lang)) in squeeze(str(app.screen.query_one("#keys", Static).content))


async def test_keys_that_do_nothing_here_are_not_shown() -> None:
    say = language("en")
    shown = {}
    for name in ("shapes", "cat-dog"):
        example = load_worked(name, 1 << 20)
        app = ExploreApp(Session(example, example.trace, 1 << 20), say)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            keys = str(app.screen.query_one(KeyBar).render())
            # Where there are no layers, { and } go from part to part, and say so.
            assert f" {say('short.layer')}" not in keys
            said = {each: say(f"short.{'section' if each == 'layer' else each}") for each, _ in FOOTER}
            shown[name] = {each for each, word in said.items() if f" {word}" in keys}
    assert shown["shapes"] == {"step", "layer", "move", "predictions", "help"}
    assert shown["cat-dog"] == {"step", "layer", "move", "graph", "help"}
