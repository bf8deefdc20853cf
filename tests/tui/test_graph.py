"""Attention as a graph on the screen: what is drawn and said, and what a click or a key chooses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from rich.cells import cell_len
from rich.style import Style
from textual.geometry import Offset

from engine.model import Model, load
from engine.trace import Trace
from tests.tui.pictures import Draft, hung
from tui.arithmetic import number_text
from tui.views.attention import Attention, Limits, Picture
from tui.views.graph import Graph
from tui.views.links import CLEAR
from tui.views.pens import pens
from tui.views.shares import listed_text, share_text
from tui.views.tokenrow import token_row

WEIGHTS = "layers.0.attention.weights"
BRAILLE = range(0x2801, 0x2900)


@pytest.fixture(scope="module")
def translator() -> Model:
    return load("tiny-translator")


@pytest.fixture(scope="module")
def translation(translator: Model) -> Trace:
    return translator.trace("我爱你。", targets="I love you")


@pytest.fixture(scope="module")
def bert() -> Model:
    return load("tiny-bert")


@pytest.fixture(autouse=True)
def true_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


def strokes_in(line: str) -> int:
    """How many cells of a line have dots."""
    return sum(ord(character) in BRAILLE for character in line)


# On the screen


async def test_tokens_weights_and_arcs(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS) as it:
        row = it.find("爱").y
        weights = it.session.trace[WEIGHTS].value[0, 0, 2]
        assert [share_text(weight, 6) in it.lines[row + 1] for weight in weights.tolist()] == [True] * 3
        assert strokes_in("".join(it.lines[1:row])) > 20
        assert "▾" in it.lines[row - 1]
        assert all(cell_len(line) == 76 for line in it.lines)
        # The token that looks stands on the accent; its edge to 爱 is drawn in it.
        assert it.style(it.find("你", below=1)).bgcolor.get_truecolor().hex == "#f1b368"
        arrow = it.find("▾")
        assert it.style(Offset(it.lines[row - 1].rindex("▾"), arrow.y)).color.get_truecolor().hex == "#f1b368"


async def test_the_number_stands_under_its_token(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS) as it:
        number = f"{it.session.trace[WEIGHTS].value[0, 0, 2, 1]:.3f}"
        assert abs(it.find(number).x + 2 - (it.find("爱").x + 1)) <= 1
        assert it.find(number).y == it.find("爱").y + 1


async def test_what_the_mask_cut_is_shown_as_cut(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS) as it:
        row = it.find("爱").y
        assert "✕" not in it.lines[row + 1]
        # Nothing is cut: the arcs have all the lines.
        assert row + 2 == len(it.lines) - 1
        it.look(N=0, M=2)
        row = it.find("爱").y
        assert it.lines[row + 1].count("✕") == 2
        assert strokes_in("".join(it.lines[row + 2 : -1])) > 5
        assert it.say("graph.cut") in it.lines[-1]
        assert "0.000" not in it.lines[-1]


async def test_an_encoder_looks_ahead_below_the_tokens(bert: Model) -> None:
    async with hung(Graph, bert, bert.trace("I like to code"), WEIGHTS, size=(100, 20)) as it:
        it.look(N=1, head=1)
        row = it.find("␣like").y
        assert "▴" in it.lines[row + 2]
        assert "✕" not in it.text


@pytest.mark.parametrize("height", [6, 7, 9])
async def test_on_few_lines_only_what_the_token_looked_at_sees(sample: Model, height: int) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS, size=(76, height)) as it:
        it.look(head=3)
        weights = it.session.trace[WEIGHTS].value[0, 3]
        clear = height == 9
        drawn = {edge.query for layer in it.view._layers for edge in layer.edges}
        assert drawn == ({0, 1, 2} if clear else {2})
        # Of the arrows too.
        arrows = "".join(it.lines[: it.find("爱").y]).count("▾")
        assert (arrows == (weights[2] >= Limits().threshold).sum()) is not clear


async def test_on_few_lines_an_encoders_token_has_them_all(bert: Model) -> None:
    async with hung(Graph, bert, bert.trace("I like to code"), WEIGHTS, size=(76, 9)) as it:
        last = len(it.session.trace.tokens[0]) - 1
        for query in range(last + 1):
            it.look(N=query)
            edges = [edge for layer in it.view._layers for edge in layer.edges]
            assert {edge.query for edge in edges} == {query}
            row = it.find("␣like", below=1).y
            assert (strokes_in("".join(it.lines[1:row])) > 0) is any(edge.key <= query for edge in edges)
            assert (strokes_in("".join(it.lines[row + 2 : -1])) > 0) is any(edge.key > query for edge in edges)
            assert it.say("graph.others") not in it.text
            if query == last:
                # Nothing is below: the arcs have all the lines.
                assert row + 2 == len(it.lines) - 1


@pytest.mark.parametrize("lang", ["zh", "en"])
async def test_the_legend_names_all_that_is_drawn_whatever_is_shown(sample: Model, lang: str) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS, size=(80, 12), lang=lang) as it:
        for _ in range(3):
            for query in (1, 2):
                it.look(N=query)
                assert it.say("graph.others") in it.lines[0]
                assert it.say("graph.from_here", token="我爱你"[query]) in it.lines[0]
                assert (it.say("graph.masked") in it.lines[0]) is (query == 1)
            it.view.cycle()


async def test_two_texts_are_two_rows(translator: Model, translation: Trace) -> None:
    async with hung(Graph, translator, translation, "decoder.layers.1.cross_attention.scores") as it:
        above, below = it.find("␣love").y, it.find("爱").y
        assert below - above > 2
        assert strokes_in("".join(it.lines[above + 1 : below])) > 10
        weights = translation["decoder.layers.1.cross_attention.weights"].value[0, 0, it.session.query]
        assert all(share_text(weight, 6) in it.lines[below + 1] for weight in weights.tolist())


@pytest.mark.parametrize("height", [9, CLEAR + 8])
async def test_on_few_lines_two_texts_are_joined_by_what_the_token_looked_at_sees(
    translator: Model, translation: Trace, height: int
) -> None:
    at = "decoder.layers.1.cross_attention.weights"
    async with hung(Graph, translator, translation, at, size=(76, height)) as it:
        drawn = {edge.query for layer in it.view._layers for edge in layer.edges}
        clear = height > 9
        assert (drawn == {it.session.query}) is not clear
        assert (it.say("graph.others") in it.text) is clear


async def test_positions_are_kept_for_each_text(translator: Model, translation: Trace) -> None:
    async with hung(Graph, translator, translation, "decoder.layers.1.cross_attention.weights") as it:
        it.view.move(-1, 2)
        await it.pilot.pause()
        assert it.chosen[-1].positions == {"N": it.session.query - 1, "M source": 2}


async def test_threshold_and_count(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("I like to code"), WEIGHTS, size=(76, 20)) as it:

        def dots() -> int:
            return strokes_in(it.text)

        for _ in range(9):
            it.view.threshold(-1)
        every = dots()
        it.view.top(-1)
        it.view.top(-1)
        it.view.top(-1)
        assert it.view.limits == Limits(0.0, 1)
        assert dots() < every
        for _ in range(9):
            it.view.top(1)
        assert it.view.limits == Limits(0.0, None)
        assert dots() == every
        for _ in range(9):
            it.view.threshold(1)
        assert it.view.limits.threshold == 0.5
        assert dots() < every


async def test_one_head_all_heads_and_their_mean(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS) as it:
        it.view.cycle()
        assert [it.say("graph.head", head=head) in it.text for head in range(4)] == [True] * 4
        assert sum(line.count("爱") for line in it.lines) >= 4
        await it.click(it.find(it.say("graph.head", head=2)) + Offset(1, 2))
        assert [(event.stage, event.head) for event in it.chosen] == [(WEIGHTS, 2)]
        it.view.cycle()
        mean = it.session.trace[WEIGHTS].value[0, :, 2].mean(axis=0)
        assert f"{mean[1]:.3f}" in it.text
        it.session.positions["H"] = 2
        it.view.update_cursor()
        # The arithmetic below the picture is a head's, and which head's is said.
        assert it.say("graph.mean_below", head=2) in it.lines[it.find(" → ").y]
        it.view.cycle()
        assert it.view.shown == "one"


async def test_each_head_says_how_strong_its_edge_is_and_which_way_edges_go(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS, size=(76, 10)) as it:
        it.look(N=1, M=0)
        it.view.cycle()
        names = it.lines[it.find(it.say("graph.head", head=0), below=1).y]
        weights = it.session.trace[WEIGHTS].value[0, :, 1, 0].tolist()
        assert all(listed_text(weight) in names for weight in weights)
        # An arrow for each edge of 爱 that is drawn, in each of the heads; below the tokens what is cut.
        row = it.find("爱", below=2).y
        kept = Limits().keep(it.session.trace[WEIGHTS].value[0, :, 1], np.array([[True, True, False]] * 4))
        assert it.lines[row - 1].count("▾") == kept.sum()
        assert strokes_in("".join(it.lines[row + 1 : -1])) >= 8
        assert it.say("graph.masked") in it.lines[0]
        it.look(N=2)
        assert it.say("graph.masked") not in it.lines[0]


@pytest.mark.parametrize("text", ["我爱你", "The cat sat on the mat and the dog ran to it.", "从前有一个国王。" * 9])
@pytest.mark.parametrize("size", [(76, 9), (116, 24)])
@pytest.mark.parametrize("stage", [WEIGHTS, "layers.1.attention.weights"])
async def test_under_the_tokens_numbers_have_one_form(
    sample: Model, size: tuple[int, int], text: str, stage: str
) -> None:
    async with hung(Graph, sample, sample.trace(text), stage, size=size) as it:
        for query, key in ((2, 1), (it.session.query, 0), (it.session.query, 2)):
            it.look(head=1, N=query, M=key)
            told = it.find(" → ").y
            numbers = [line for line in it.lines[:told] if re.search(r"\d\.?\d|✕", line)][-1].split()
            decimals = [len(number.partition(".")[2]) for number in numbers if "." in number]
            assert len(set(decimals)) == 1
            assert decimals[0] >= (2 if len(text) < 60 else 3)
            assert not any("e" in number for number in numbers)
            assert len({number.lstrip("<")[0] == "." for number in numbers if "." in number and number[0] != "1"}) == 1
            # The weight looked at is said as the arithmetic says it, and rounded it is what stands under its token.
            weight = float(it.session.trace[stage].value[0, 1, query, key])
            assert number_text(weight) in it.lines[told].split()
            assert any(number.startswith("<") or abs(float(number) - weight) < 0.005001 for number in numbers)


async def test_what_is_drawn_and_under_which_limits_is_said(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS, size=(90, 20)) as it:
        weights = it.session.trace[WEIGHTS].value[0, 0, 2].tolist()
        for _ in range(9):
            it.view.threshold(-1)
        it.view.threshold(1)
        shown = [weight for weight in weights if weight >= 0.01]
        told, limits = it.find(" → ").y, it.find("+ −").y
        assert it.say("graph.drawn", count=len(shown), sum=number_text(sum(shown))) in it.lines[told]
        left = sum(weights) - sum(shown)
        assert it.say("graph.not_drawn", count=1, sum=number_text(left)) in it.lines[told]
        assert it.say("graph.threshold", threshold="0.01") in it.lines[limits]
        assert it.say("graph.top", count=5) in it.lines[limits]


async def test_edges_under_the_threshold_are_said_to_be(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("从前有一个国王，他有三个儿子。" * 12), WEIGHTS, size=(100, 20)) as it:
        it.view.limits = Limits(0.5, 3)
        it.view.update_cursor()
        row = np.sort(it.session.trace[WEIGHTS].value[0, 0, -1])
        assert row[-1] < 0.5
        said = it.say("graph.drawn_below", threshold="0.5", count=3, sum=number_text(float(row[-3:].sum())))
        assert said in it.text
        here = [Style.parse(style).color for style in pens(it.view.palette()).here]
        arrows = [Offset(x, y) for y, line in enumerate(it.lines) for x, each in enumerate(line) if each == "▾"]
        assert sum(it.style(arrow).color in here for arrow in arrows) == 3


async def test_clicks_choose_query_key_and_edge(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS) as it:
        await it.click(it.find("爱"))
        await it.click(it.find("爱") + Offset(0, 1))
        top = next(y for y, line in enumerate(it.lines) if y and strokes_in(line) > 5)
        last = max(x for x, character in enumerate(it.lines[top]) if ord(character) in BRAILLE)
        await it.click(Offset(last, top))
        assert [(event.row, event.column) for event in it.chosen] == [(1, 0), (2, 1), (2, 1)]


async def test_moving_stays_inside(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS) as it:
        it.view.move(5, -5)
        await it.pilot.pause()
        assert it.chosen[-1].positions == {"N": 2, "M": 0}


async def test_keys_on_the_screen_can_be_clicked(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS) as it:
        await it.click(it.find("+ −"))
        assert it.view.limits.threshold == 0.1
        await it.click(it.find("+ −") + Offset(2, 0))
        assert it.view.limits.threshold == 0.05
        await it.click(it.find(" v ") + Offset(1, 0))
        assert it.view.shown == "all"


async def test_of_hundreds_of_tokens_the_neighbourhood(sample: Model) -> None:
    text = "从前有一个国王，他有三个儿子。" * 12
    async with hung(Graph, sample, sample.trace(text), WEIGHTS) as it:
        it.look(N=90, M=4)
        count = len(it.session.trace.tokens[0])
        left_out = [int("".join(filter(str.isdigit, part.split()[0]))) for part in it.text.split("⋯")[1:]]
        picture = Picture(Attention(it.session.trace, it.session.trace[WEIGHTS], 0), 0, it.view.limits, 90, 4)
        shown = token_row(picture.attention.query_labels, 1, 74, picture.wanted)
        assert {90, 4, *(edge.key for edge in picture.own)} <= set(shown.places)
        assert sum(left_out) + len(shown.places) == count


async def test_a_message_instead_until_it_is_computed(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS) as it:
        it.view.wait("computing 3/9 [red]")
        assert "computing 3/9 [red]" in it.text
        assert "爱" not in it.text
        it.view.move(1, 1)
        it.view.update()
        assert "爱" in it.text
        assert not it.chosen


async def test_tokens_that_look_like_markup_or_are_wide(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("[/INST] 爱🙂é"), WEIGHTS, size=(100, 20)) as it:
        assert all(cell_len(line) == 100 for line in it.lines)
        assert "爱" in it.text


@pytest.mark.parametrize("size", [(1, 1), (12, 3), (20, 5), (40, 7), (76, 9), (116, 26), (160, 50)])
@pytest.mark.parametrize("text", ["我", "我爱你", "从前有一个国王，他有三个儿子。" * 3])
async def test_every_size_keeps_its_columns(sample: Model, size: tuple[int, int], text: str) -> None:
    async with hung(Graph, sample, sample.trace(text), WEIGHTS, size=size) as it:
        for _ in range(3):
            assert [cell_len(line) for line in it.lines] == [size[0]] * size[1]
            it.view.cycle()


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize(
    "environment",
    [{"COLORTERM": ""}, {"COLORTERM": "", "TERM": "xterm-16color"}, {"NO_COLOR": "1"}],
    ids=["256", "16", "no colour"],
)
async def test_what_is_here_differs_from_the_rest_everywhere(
    sample: Model, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], theme: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS, theme=theme) as it:
        arrows = it.lines[it.find("▾").y]
        colors = [it.style(Offset(x, it.find("▾").y)).color for x, c in enumerate(arrows) if c == "▾"]
        # One is the accent; the others are greys.
        accent = it.style(it.find("你", below=1)).bgcolor
        assert colors.count(accent) == 1
        assert len(colors) > 2


async def test_lines_that_are_not_drawn_yet_have_a_style(sample: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual cannot take the colours from a segment that has no style."""
    monkeypatch.setenv("NO_COLOR", "1")
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS) as it:
        line = it.view.render_line(it.view.size.height)
        assert line.cell_length == it.view.size.width
        assert all(segment.style is not None for segment in line)


async def test_a_change_of_theme_draws_anew(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS) as it:
        before = it.style(it.find("我"))
        it.app.theme = "explore-light"
        await it.pilot.pause()
        assert it.style(it.find("我")) != before


async def test_how_many_lines_it_takes(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS, size=(76, 40)) as it:
        assert 12 <= it.view.lines <= 30
        assert not "".join(it.lines[it.view.lines :]).strip()


def test_the_draft_language_says_something() -> None:
    assert Draft("en")("graph.no such sentence", count=3) == "no such sentence 3"
