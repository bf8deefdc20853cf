"""The map of all heads: what its pixels are, how it fits, and what a key or a click chooses."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len
from textual.geometry import Offset

from engine.heads import description
from engine.model import Model, load
from engine.worked import load_worked
from tests.tui.exploring import Explore, squeeze
from tests.tui.pictures import hung
from tui.explanations import explained
from tui.language import language
from tui.views.attention import Attention, attention_name, attention_stages
from tui.views.graph import Graph
from tui.views.headsgrid import plan
from tui.views.headsmap import HeadsMap
from tui.views.thumbnails import Raster, levels, pixels

AT = "layers.0.attention.weights"


@pytest.fixture(autouse=True)
def true_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def many(checkpoint: Callable[..., Path]) -> Model:
    """A model of 32 layers with 32 heads each."""
    return load(
        checkpoint(
            hidden_size=64,
            num_hidden_layers=32,
            num_attention_heads=32,
            num_key_value_heads=32,
            tokens=["<unk>", *"abcdefgh"],
        )
    )


# Pixels


def test_a_pixel_is_the_largest_weight_that_it_stands_for() -> None:
    weights = np.array([[[0.1, 0.9, 0, 0], [0.2, 0.2, 0.6, 0], [0, 0.3, 0, 0.7], [0.4, 0, 0.6, 0]]], np.float32)
    found = pixels(weights, np.ones((4, 4), dtype=bool), Raster(2, 2))
    assert found[0] == pytest.approx(np.array([[0.9, 0.6], [0.4, 0.7]]))


def test_every_weight_lies_in_one_pixel() -> None:
    sight = np.ones((7, 7), dtype=bool)
    for query in range(7):
        for key in range(7):
            weights = np.zeros((1, 7, 7), np.float32)
            weights[0, query, key] = 1
            assert pixels(weights, sight, Raster(3, 3)).sum() == 1


def test_small_matrices_are_drawn_larger() -> None:
    raster = Raster.fitting(3, 3, 7)
    assert raster == Raster(6, 6)
    found = pixels(np.eye(3, dtype=np.float32)[None], np.ones((3, 3), dtype=bool), raster)
    assert found[0].tolist() == np.kron(np.eye(3), np.ones((2, 2))).tolist()
    assert Raster.fitting(4, 40, 8) == Raster(8, 4)


def test_what_is_cut_is_no_weight() -> None:
    found = pixels(np.eye(2, dtype=np.float32)[None], np.tri(2, dtype=bool), Raster(2, 2))
    assert np.isnan(found[0]).tolist() == [[False, True], [False, False]]
    assert levels(found, 16)[0].tolist() == [[15, -1], [0, 15]]


def test_levels_go_with_the_square_root_and_any_weight_is_seen() -> None:
    shares = np.array([0, 1e-6, 0.0625, 0.25, 1], np.float32)
    assert levels(shares, 9).tolist() == [0, 1, 2, 4, 8]


# How it fits


@pytest.mark.parametrize(("rows", "columns", "tokens"), [(2, 4, 3), (4, 4, 6), (6, 4, 5), (12, 12, 40), (32, 32, 8)])
@pytest.mark.parametrize(("width", "height"), [(68, 6), (68, 17), (110, 30), (190, 50)])
@pytest.mark.parametrize("wide", [False, True])
def test_what_is_shown_fits(rows: int, columns: int, tokens: int, width: int, height: int, wide: bool) -> None:
    found = plan(rows, columns, tokens, width, height, label=8, wide=wide)
    assert found.columns * found.across <= width
    assert (found.rows - 1) * found.down + found.lines <= height
    assert found.width + 2 <= found.across
    assert found.lines <= found.down
    assert 1 <= found.rows <= rows
    assert 1 <= found.columns <= columns


def test_all_heads_are_shown_where_they_can_be() -> None:
    found = plan(2, 4, 3, 68, 7, label=8, wide=False)
    assert (found.rows, found.columns, found.labels, found.pixels) == (2, 4, "side", 6)
    found = plan(12, 12, 40, 180, 60, label=8, wide=False)
    assert (found.rows, found.columns) == (12, 12)
    assert found.labels == "below"
    assert plan(12, 12, 40, 180, 60, label=0, wide=False).labels == "none"


# On the screen


async def test_every_head_of_every_layer_with_its_label(sample: Model) -> None:
    async with hung(HeadsMap, sample, sample.trace("我爱你"), AT) as it:
        said = 0
        for stage in attention_stages(it.session.trace):
            for found in Attention(it.session.trace, stage, 0).measures:
                best = description(found)
                said += best is not None
                assert best is None or f"{best.value:.2f}" in it.text
        assert said > 3
        assert it.text.count(it.say("heads.layer", layer=1)) == 1
        assert all(it.say("graph.head", head=head) in it.lines[0] for head in range(4))


async def test_the_frame_moves_and_opens(sample: Model) -> None:
    async with hung(HeadsMap, sample, sample.trace("我爱你"), AT) as it:
        assert it.view.chosen == (AT, 0)
        frame = it.find("▐")
        it.view.move(1, 2)
        assert it.find("▐").x > frame.x
        assert it.find("▐").y > frame.y
        it.view.open()
        await it.pilot.pause()
        assert [(event.stage, event.head) for event in it.chosen] == [("layers.1.attention.weights", 2)]
        it.view.move(-9, 9)
        assert it.view.chosen == (AT, 3)


async def test_it_begins_where_the_session_is(sample: Model) -> None:
    async with hung(HeadsMap, sample, sample.trace("我爱你"), "layers.1.mlp.residual") as it:
        it.look(head=3)
        assert it.view.chosen == ("layers.1.attention.weights", 3)


async def test_a_click_opens_a_head(sample: Model) -> None:
    async with hung(HeadsMap, sample, sample.trace("我爱你"), AT) as it:
        await it.click(it.find(it.say("graph.head", head=2)) + Offset(2, 5))
        assert [(event.stage, event.head) for event in it.chosen] == [("layers.1.attention.weights", 2)]
        assert it.view.chosen == ("layers.1.attention.weights", 2)


async def test_the_colours_are_the_weights(sample: Model) -> None:
    async with hung(HeadsMap, sample, sample.trace("我爱你"), AT) as it:
        x, y = it.find("▐") + Offset(1, 0)
        # The first row gives all its weight to the only key that it sees; the others are cut.
        full, cut = it.style(Offset(x, y)).color, it.style(Offset(x + 4, y)).color
        assert cut.get_truecolor().hex == "#0f1418"
        assert sum(full.get_truecolor()) > 400


async def test_the_attentions_of_an_encoder_decoder() -> None:
    model = load("tiny-translator")
    trace = model.trace("我爱你。", targets="I love you")
    at = "decoder.layers.1.cross_attention.weights"
    async with hung(HeadsMap, model, trace, at, size=(100, 40)) as it:
        for key in ("encoder", "decoder", "cross"):
            assert it.say(f"heads.{key}", layer=1) in it.text
        assert it.view.chosen == (at, 0)


@pytest.mark.parametrize(
    ("example", "key"), [("masked-softmax", "attention"), ("question-and-report", "cross_attention")]
)
def test_an_attention_that_is_in_no_layer_has_a_name(example: str, key: str) -> None:
    (stage,) = attention_stages(load_worked(example).trace)
    for lang in ("zh", "en"):
        assert attention_name(stage, language(lang)) == language(lang)(f"tree.{key}")


async def test_more_than_fit_are_scrolled_to(many: Model) -> None:
    async with hung(HeadsMap, many, many.trace("a b c d e f g h"), AT, size=(76, 18)) as it:
        assert "▸" in it.text
        assert "▾" in it.text
        assert "▴" not in it.text
        it.view.move(31, 31)
        assert it.view.chosen == ("layers.31.attention.weights", 31)
        assert it.say("heads.layer", layer=31) in it.text
        assert "▐" in it.text
        assert "◂" in it.text
        assert "▴" in it.text
        assert "▾" not in it.text


@pytest.mark.parametrize("environment", [{"COLORTERM": "", "TERM": "xterm-16color"}, {"NO_COLOR": "1"}])
async def test_without_colours_shades_tell_the_weights(
    sample: Model, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    async with hung(HeadsMap, sample, sample.trace("我爱你"), AT, size=(76, 20)) as it:
        assert "██" in it.text
        assert "▀" not in it.text


@pytest.mark.parametrize("size", [(1, 1), (12, 3), (30, 5), (76, 9), (116, 26), (160, 50)])
async def test_every_size_keeps_its_columns(sample: Model, size: tuple[int, int]) -> None:
    async with hung(HeadsMap, sample, sample.trace("从前有一个国王。"), AT, size=size, lang="zh") as it:
        assert [cell_len(line) for line in it.lines] == [size[0]] * size[1]


async def test_a_message_instead_until_it_is_computed(sample: Model) -> None:
    async with hung(HeadsMap, sample, sample.trace("我爱你"), AT) as it:
        it.view.wait("computing")
        assert "computing" in it.text
        it.view.open()
        await it.pilot.pause()
        assert not it.chosen
        it.view.update()
        assert "computing" not in it.text


async def test_another_text_is_another_map(sample: Model) -> None:
    async with hung(HeadsMap, sample, sample.trace(["我爱你", "我"]), AT) as it:
        before = it.text
        it.session.step_text(1)
        it.view.update()
        assert it.text != before


@pytest.mark.parametrize(("size", "lang"), [((76, 18), "en"), ((84, 30), "en"), ((150, 40), "en"), ((76, 18), "zh")])
async def test_what_is_said_of_the_numbers_is_not_cut(sample: Model, size: tuple[int, int], lang: str) -> None:
    async with hung(HeadsMap, sample, sample.trace("我爱你"), AT, size=size, lang=lang) as it:
        notes = it.lines[it.find(it.say("heads.even_value")).y].split("  ")
        first, *_, last = (note.strip() for note in notes if note.strip())
        whole = [it.say("heads.even_value")]
        assert first in (*whole, *(f"{whole[0]} · {it.say(f'heads.{name}')}" for name in ("note", "note_short")))
        assert last == it.say("heads.open")
        # All measures are shown, and whole, however many lines they take.
        found = [line for line in it.lines if re.search(r" \d\.\d\d( \(|$)", line.rstrip())]
        measured = Attention(it.session.trace, it.session.trace[AT], 0).measures[0]
        said = "\n".join(found[-2:])
        for measure in measured:
            even = "" if measure.name == "evenly" else f" ({measure.even:.2f})"
            assert f"{it.say(f'heads.{measure.name}')} {measure.value:.2f}{even}" in said


@pytest.mark.parametrize("height", [12, 13, 17])
async def test_where_there_is_no_line_for_more_measures_it_is_said_that_there_are(sample: Model, height: int) -> None:
    async with hung(HeadsMap, sample, sample.trace("我爱你"), AT, size=(76, height), lang="zh") as it:
        found = it.lines[it.find(f"{it.say('heads.layer', layer=0)} · ").y].rstrip()
        assert found.endswith("…") is (height < 14)
        # What describes the head is there in any case.
        assert it.say("heads.previous") in found


@pytest.mark.parametrize(
    ("width", "labels"), [(78, ["看前一个 0.94", "看自己 0.93"]), (60, ["前 0.94", "看自己 0.93"])]
)
async def test_labels_are_whole_where_they_fit(sample: Model, width: int, labels: list[str]) -> None:
    async with hung(HeadsMap, sample, sample.trace("我爱你"), AT, size=(width, 18), lang="zh") as it:
        named = next(line for line in it.lines[2:] if "0.94" in line)
        assert re.findall(r"\S+ \d\.\d\d", named) == labels


@pytest.mark.parametrize(("tokens", "key"), [(9, ""), (20, "dot"), (21, "dot_most")])
async def test_what_a_dot_stands_for_is_said(sample: Model, tokens: int, key: str) -> None:
    text = "从前有一个国王他有三个儿子一个大一个小三月"[:tokens]
    trace = sample.trace(text)
    assert len(trace.tokens[0]) == tokens
    async with hung(HeadsMap, sample, trace, AT, size=(78, 18), lang="zh") as it:
        named = {name: it.say(f"heads.{name}", down=r"(\d+)", across=r"(\d+)") for name in ("dot", "dot_most")}
        found = {name: match for name, said in named.items() if (match := re.search(said, it.lines[0]))}
        assert list(found) == ([key] if key else [])
        frame = it.find("▐")
        half = "▝" in it.text
        # A line holds two dots, one above the other.
        dots = 2 * sum("▐" in line for line in it.lines) + half
        assert it.find("▌").x - frame.x - 1 == dots
        if key:
            assert found[key].groups() == (str(-(-tokens // dots)),) * 2


async def test_the_frame_is_as_high_as_its_picture(sample: Model) -> None:
    async with hung(HeadsMap, sample, sample.trace("我爱你"), AT, size=(78, 18)) as it:
        across = it.find("▌").x - it.find("▐").x - 1
        assert 2 * sum("▐" in line for line in it.lines) + ("▝" in it.text) == across
        assert across % 3 == 0


async def test_help_is_about_the_map_while_it_is_open(explore: Explore) -> None:
    for lang in ("zh", "en"):
        async with explore("我爱你", at=AT, lang=lang, size=(100, 50)) as it:
            await it.press("m", "question_mark")
            for name in ("about_map", "about_measures", "about_names"):
                assert squeeze(it.say(f"heads.{name}")) in it.squeezed()
            assert squeeze(explained(it.session.operand, it.say, "explain", it.session)) not in it.squeezed()


# In the explorer


async def test_all_that_names_layer_and_head_follows_the_frame(explore: Explore) -> None:
    async with explore("我爱你", at=AT) as it:
        await it.press("m", "l", "j")
        assert isinstance(it.screen.view, HeadsMap)
        assert it.screen.view.chosen == ("layers.1.attention.weights", 1)
        assert (it.session.operand.name, it.session.head) == ("layers.1.attention.weights", 1)
        assert it.say("top.layer", place=1) in it.lines(it.screen.top)[0]
        assert it.say("top.head", place=1) in it.lines(it.screen.top)[0]
        assert f"{it.say('way.layer', layer=1)} ▸ weights" in it.text(it.screen.way)
        await it.press("k", "h")
        assert (it.session.operand.name, it.session.head) == (AT, 0)
        assert f"{it.say('way.layer', layer=0)} ▸ weights" in it.text(it.screen.way)


async def test_another_head_of_the_layer_keeps_the_layer(explore: Explore) -> None:
    async with explore("我爱你", at="layers.1.attention.scores") as it:
        await it.press("m", "l")
        assert (it.session.operand.name, it.session.head) == ("layers.1.attention.weights", 1)


@pytest.mark.parametrize("before", [("v",), ("v", "v")], ids=["all", "mean"])
async def test_enter_opens_that_head_alone_whatever_the_graph_showed(explore: Explore, before: tuple[str, ...]) -> None:
    async with explore("我爱你", at=AT) as it:
        await it.press("g", *before, "m", "j", "l", "l", "enter")
        assert isinstance(it.screen.view, Graph)
        assert (it.session.operand.name, it.session.head) == ("layers.1.attention.weights", 2)
        heading = it.lines(it.screen.view)[0]
        assert f"{it.say('graph.title')}  {it.say('graph.head', head=2)}" in heading
