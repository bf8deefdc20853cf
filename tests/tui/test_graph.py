"""Attention as a graph: which edges are shown, where they are drawn, and what a click or a key chooses."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len
from textual.geometry import Offset, Region

from engine.model import Model, load
from engine.trace import Trace
from tests.tui.pictures import Draft, hung
from tui.views.attention import Attention, Limits, Picture, attention_stages, nearest_weights, needed
from tui.views.graph import Graph
from tui.views.panels import arranged
from tui.views.strokes import Strokes, arc, dotted, line
from tui.views.tokenrow import token_row, whole_row

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


# Which stage, which weights


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("decoder.layers.1.cross_attention.scores", "decoder.layers.1.cross_attention.weights"),
        ("decoder.layers.1.attention.q", "decoder.layers.1.attention.weights"),
        ("decoder.layers.0.mlp.residual", "decoder.layers.0.cross_attention.weights"),
        ("encoder.layers.1.mlp.down", "encoder.layers.1.attention.weights"),
        ("encoder.tokens", "encoder.layers.0.attention.weights"),
        ("logits", "decoder.layers.1.cross_attention.weights"),
    ],
)
def test_the_weights_of_a_stages_own_attention_or_the_nearest(translation: Trace, at: str, expected: str) -> None:
    assert nearest_weights(translation, translation[at]) is translation[expected]


def test_only_the_weights_must_have_been_computed(sample: Model) -> None:
    trace = sample.trace("我爱你")
    assert needed(trace[WEIGHTS]) == [trace[WEIGHTS]]
    attention = Attention(trace, trace[WEIGHTS], 0)
    assert attention.sight.tolist() == np.tri(3, dtype=bool).tolist()
    assert trace.computed[WEIGHTS] == 0


def test_padding_is_left_out(sample: Model) -> None:
    trace = sample.trace(["我爱你", "我"])
    attention = Attention(trace, trace[WEIGHTS], 1)
    assert list(attention.query_labels) == ["我"]
    assert attention.weights(0).tolist() == [[1.0]]
    assert Attention(trace, trace[WEIGHTS], 0).sight.all() == np.tri(3, dtype=bool).all()


def test_keys_of_another_text(translation: Trace) -> None:
    attention = Attention(translation, translation["decoder.layers.0.cross_attention.weights"], 0)
    assert attention.crosses
    assert list(attention.key_labels)[:3] == ["我", "爱", "你"]
    assert "love" in "".join(attention.query_labels)
    assert not Attention(translation, translation["decoder.layers.0.attention.weights"], 0).crosses
    assert Attention(translation, translation["encoder.layers.0.attention.weights"], 0).looks_ahead


def test_the_mean_of_all_heads(sample: Model) -> None:
    trace = sample.trace("我爱你")
    attention = Attention(trace, trace[WEIGHTS], 0)
    assert attention.weights(None) == pytest.approx(attention.stage.value[0].mean(axis=0))


# Which edges


def test_edges_over_a_threshold_and_the_strongest_of_them() -> None:
    weights = np.array([[0.5, 0.3, 0.15, 0.05], [0.0, 1.0, 0.0, 0.0]], np.float32)
    sight = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], bool)
    assert Limits(0.1, None).keep(weights, sight).tolist() == [[True, True, True, False], [False, True, False, False]]
    assert Limits(0.0, 2).keep(weights, sight).tolist() == [[True, True, False, False], [True, True, False, False]]


def test_a_cut_edge_is_no_edge_of_weight_nothing() -> None:
    weights, sight = np.zeros((1, 2), np.float32), np.array([[True, False]])
    assert Limits(0.0, None).keep(weights, sight).tolist() == [[True, False]]


def test_the_edges_of_the_query_come_last_and_the_strongest_of_each_last(sample: Model) -> None:
    trace = sample.trace("我爱你")
    picture = Picture(Attention(trace, trace[WEIGHTS], 0), 3, Limits(0.0, None), 1, 0)
    edges = picture.edges(range(3))
    assert [edge.query for edge in edges][-2:] == [1, 1]
    assert [edge.weight for edge in edges[:4]] == sorted(edge.weight for edge in edges[:4])
    assert picture.cut == [2]
    assert picture.edges(range(3), Limits(2.0, None)) == picture.own


# Tokens in a row


def test_all_tokens_stand_apart_where_they_fit() -> None:
    row = token_row(["我", "爱", "你"], 1, 76, [2])
    lefts = [place.left for place in row.places.values()]
    assert not row.gaps
    assert np.diff(lefts).tolist() == [18, 18]
    assert all(place.before < place.label_left and place.after > place.label_left + 1 for place in row.places.values())


@pytest.mark.parametrize("count", [20, 100, 700])
def test_where_not_all_fit_the_rest_is_counted(count: int) -> None:
    row = token_row(["词"] * count, 1, 74, [60 % count, 3])
    assert {60 % count, 3} <= set(row.places)
    assert len(row.places) + sum(gap.count for gap in row.gaps) == count
    cells = [*((p.left, p.left + p.width) for p in row.places.values())]
    cells += [(gap.left, gap.left + cell_len(gap.text)) for gap in row.gaps]
    cells.sort()
    assert all(stop < start for (_, stop), (start, _) in itertools.pairwise(cells))
    assert cells[0][0] == 1
    assert cells[-1][1] <= 75


def test_a_row_without_numbers_has_room_for_all_or_is_none() -> None:
    assert whole_row(["a", "b", "c", "d"], 0, 8) is not None
    assert whole_row(["a"] * 40, 0, 8) is None


# Strokes


def test_an_arc_ends_where_it_should_and_is_as_high() -> None:
    x, y = arc(10, 50, 19, 16)
    assert (round(max(x)), round(min(x))) == (50, 10)
    assert (round(max(y)), round(min(y))) == (19, 3)
    assert (round(y[0]), round(y[-1])) == (19, 19)
    x, y = line((3, 0), (9, 8))
    assert (x[0], y[0], x[-1], y[-1]) == (3, 0, 9, 8)


def test_dots_stand_apart() -> None:
    x, _ = dotted(line((0, 0), (30, 0)))
    assert np.diff(x) == pytest.approx(3, abs=0.6)


def test_strokes_of_one_group_join_and_a_higher_group_hides_a_lower() -> None:
    strokes = Strokes(2, 1, (("grey", "white"), ("gold",)))
    strokes.add(0, 0, (np.array([0.0, 2.0]), np.array([0.0, 0.0])))
    strokes.add(0, 1, (np.array([1.0]), np.array([3.0])))
    strokes.add(1, 0, (np.array([3.0]), np.array([3.0])), owner=7)
    inks = {ink.style: ink.points for ink in strokes.inks()}
    assert inks == {"white": [(0.0, 0.0), (0.5, 0.75)], "gold": [(1.5, 0.75)]}
    assert (strokes.owner(1, 0), strokes.owner(0, 0), strokes.owner(5, 5)) == (7, None, None)


# On the screen


async def test_tokens_weights_and_arcs(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS) as it:
        row = it.find("爱").y
        weights = it.session.trace[WEIGHTS].value[0, 0, 2]
        assert [f"{weight:.2f}" in it.lines[row + 1] for weight in weights] == [True] * 3
        assert strokes_in("".join(it.lines[1:row])) > 20
        assert "▾" in it.lines[row - 1]
        assert all(cell_len(line) == 76 for line in it.lines)
        # The token that looks stands on the accent; its edge to 爱 is drawn in it.
        assert it.style(it.find("你", below=1)).bgcolor.get_truecolor().hex == "#f1b368"
        arrow = it.find("▾")
        assert it.style(Offset(it.lines[row - 1].rindex("▾"), arrow.y)).color.get_truecolor().hex == "#f1b368"


async def test_the_number_stands_under_its_token(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS) as it:
        number = f"{it.session.trace[WEIGHTS].value[0, 0, 2, 1]:.2f}"
        assert abs(it.find(number).x + 2 - (it.find("爱").x + 1)) <= 1
        assert it.find(number).y == it.find("爱").y + 1


async def test_what_the_mask_cut_is_shown_as_cut(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS) as it:
        row = it.find("爱").y
        assert "✕" not in it.lines[row + 1]
        assert not strokes_in("".join(it.lines[row + 2 : -1]))
        it.look(N=0, M=2)
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


async def test_two_texts_are_two_rows(translator: Model, translation: Trace) -> None:
    async with hung(Graph, translator, translation, "decoder.layers.1.cross_attention.scores") as it:
        above, below = it.find("␣love").y, it.find("爱").y
        assert below - above > 2
        assert strokes_in("".join(it.lines[above + 1 : below])) > 10
        weights = translation["decoder.layers.1.cross_attention.weights"].value[0, 0, it.session.query]
        assert all(f"{weight:.2f}" in it.lines[below + 1] for weight in weights)


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
        assert f"{mean[1]:.2f}" in it.text
        it.view.cycle()
        assert it.view.shown == "one"


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
        assert len(set(colors)) == 2


async def test_a_change_of_theme_draws_anew(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS) as it:
        before = it.style(it.find("我"))
        it.app.theme = "explore-light"
        await it.pilot.pause()
        assert it.style(it.find("我")) != before


async def test_how_many_lines_it_takes(sample: Model) -> None:
    async with hung(Graph, sample, sample.trace("我爱你"), WEIGHTS, size=(76, 40)) as it:
        assert 12 <= it.view.lines <= 24
        assert not "".join(it.lines[it.view.lines :]).strip()


def test_of_many_heads_those_around_the_one_looked_at(checkpoint: Callable[..., Path]) -> None:
    trace = load(checkpoint(hidden_size=64, num_attention_heads=32, tokens=["<unk>", *"abcd"])).trace("a b c d")
    picture = Picture(Attention(trace, attention_stages(trace)[0], 0), 30, Limits(), 3, 0)
    panels = arranged(picture, Region(1, 1, 74, 8))
    assert 30 in [panel.head for panel in panels]
    assert len(panels) < 32
    areas = [panel.area for panel in panels]
    assert all(area.right <= 75 and area.bottom <= 9 for area in areas)
    assert not any(one.overlaps(other) for one in areas for other in areas if one is not other)


def test_the_draft_language_says_something() -> None:
    assert Draft("en")("graph.no such sentence", count=3) == "no such sentence 3"
