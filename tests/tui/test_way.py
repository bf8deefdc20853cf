"""The way on one line, and the keys below it: where one stands is never cut, however little room there is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from engine.model import Model, load
from tests.tui.exploring import Explore
from tui.actions import FOOTER
from tui.language import language
from tui.places import section_of, sections
from tui.widgets.way import percent

LONG = "Once upon a time there was a little girl"
WIDTHS = (40, 50, 60, 80, 100, 120)


@pytest.fixture
def deep(checkpoint: Callable[..., Path]) -> Model:
    """A model of nine layers."""
    return load(checkpoint(num_hidden_layers=9, tokens=["<unk>", *"abcdefghij"]))


@pytest.mark.parametrize("lang", ["zh", "en"])
async def test_where_one_is_stands_there_in_full(explore: Explore, lang: str) -> None:
    async with explore(LONG, lang=lang) as it:
        for name in ("embedding", "layers.1.attention.q_rotated", "layers.0.attention.residual", "probabilities"):
            it.screen.action_visit(name)
            await it.settle()
            for width in WIDTHS:
                await it.resize(width, 24)
                (line,) = it.lines(it.screen.way)
                assert f"▸ {name.split('.')[-1]} " in line or f"▸ {'.'.join(name.split('.')[-2:])} " in line
                assert cell_len(line.rstrip()) <= width - 2
                # What there is no room for is left out, not cut; only the text is shortened.
                for stop in line.split("▸"):
                    assert "…" not in stop or stop.strip() in ("…", "Once␣upon␣a…"), line


@pytest.mark.parametrize("lang", ["zh", "en"])
async def test_at_80_columns_there_is_room_for_all_stops(explore: Explore, lang: str) -> None:
    async with explore(LONG, lang=lang, at="probabilities") as it:
        (line,) = it.lines(it.screen.way)
        assert [it.say("way.layer", layer=layer) in line for layer in (0, 1)] == [True, True]
        assert f"{it.say('way.output')} ▸ probabilities" in line
        assert line.count("%") >= 1


async def test_of_many_layers_those_around_are_shown(explore: Explore, deep: Model) -> None:
    async with explore(ids=[[1, 2, 3]], model=deep, lang="en", size=(100, 30)) as it:
        for layer, shown in ((0, [0, 1, 2]), (1, [0, 1, 2]), (4, [3, 4, 5]), (8, [6, 7, 8])):
            it.screen.action_visit(f"layers.{layer}.attention.norm")
            await it.settle()
            (line,) = it.lines(it.screen.way)
            assert [number for number in range(9) if f"layer {number}" in line] == shown
            assert line.count("▸ … ▸") == (shown[0] > 0) + (shown[-1] < 8)
        await it.resize(60, 24)
        (line,) = it.lines(it.screen.way)
        assert "layer 8 ▸ norm" in line


def test_parts_of_a_model(sample: Model) -> None:
    found = sections(sample.trace("我爱你"))
    assert [(section.name, section.layer) for section in found] == [
        ("input", None),
        ("layer", 0),
        ("layer", 1),
        ("output", None),
    ]
    assert [section.start.name for section in found] == [
        "tokens",
        "layers.0.attention.norm",
        "layers.1.attention.norm",
        "logits",
    ]


async def test_what_a_decoder_begins_with_is_a_place_too(explore: Explore) -> None:
    translator = load("tiny-translator")
    async with explore("我爱你。", model=translator, lang="en", size=(120, 40), at="encoder.tokens") as it:
        parts = sections(it.session.trace)
        assert [section.name for section in parts].count("between") == 1
        between = parts[section_of(it.session.trace["decoder.embedding"], parts)]
        assert (between.name, between.side) == ("between", "decoder")
        assert "decoder ▸" not in it.text(it.screen.way)
        it.screen.action_visit("decoder.embedding")
        await it.settle()
        assert " decoder ▸ embedding " in it.text(it.screen.way)


async def test_stages_of_one_name_are_told_apart_where_there_is_room(explore: Explore) -> None:
    async with explore("我爱你", lang="en", size=(120, 24)) as it:
        for name, shown in (
            ("attention.residual", "attention.residual"),
            ("mlp.residual", "mlp.residual"),
            ("mlp.norm", "mlp.norm"),
            ("attention.weights", "weights"),
        ):
            it.screen.action_visit(f"layers.1.{name}")
            await it.settle()
            assert f" layer 1 ▸ {shown} " in it.text(it.screen.way)
        await it.resize(40, 24)
        it.screen.action_visit("layers.1.mlp.residual")
        await it.settle()
        assert " layer 1 ▸ residual " in it.text(it.screen.way)


@pytest.mark.parametrize(("width", "lang"), [(80, "zh"), (80, "en"), (120, "zh"), (160, "en")])
async def test_the_top_line_does_not_jump_while_one_steps(explore: Explore, width: int, lang: str) -> None:
    """The matrix's name stands where it stood, and how far one is is said in one form."""
    async with explore("我爱你", lang=lang, size=(width, 40), at="embedding") as it:
        names, forms = set(), set()
        for stage in it.session.trace.stages[1:]:
            it.screen.action_visit(stage.name)
            await it.settle()
            line = it.lines(it.screen.top)[0].rstrip()
            last = stage.name.split(".")[-1]
            names.add(cell_len(line[: line.rindex(f" {last} ") + 1]))
            place, count = stage.position + 1, len(it.session.trace)
            long = it.say("top.position", position=place, count=count)
            assert line.endswith((f" {place}/{count}", long))
            forms.add(line.endswith(long))
        assert len(names) == 1
        assert forms == {width >= 100}


async def test_ends_of_the_text_that_are_cut_are_marked(explore: Explore) -> None:
    async with explore(LONG * 2, lang="en", at="embedding") as it:
        for query, before, after in ((0, False, True), (8, True, True), (len(it.session.tokens) - 1, True, False)):
            it.screen.action_query(query)
            await it.settle()
            line = it.lines(it.screen.top)[1].split("   token ")[0]
            assert (line.lstrip().startswith("…"), line.rstrip().endswith("…")) == (before, after)


@pytest.mark.parametrize("lang", ["zh", "en"])
async def test_keys_are_left_out_but_for_help(explore: Explore, lang: str) -> None:
    async with explore("我爱你", lang=lang) as it:
        shown = {}
        for width in (120, 80, 60, 40, 24):
            await it.resize(width, 24)
            (line,) = it.lines(it.screen.keys)
            assert "…" not in line
            shown[width] = [name for name, _ in FOOTER if language(lang)(f"short.{name}") in line]
            assert shown[width][-1] == "help"
        assert len(shown[120]) == len(shown[80]) == len(FOOTER)
        assert len(shown[60]) > len(shown[40]) > len(shown[24]) >= 2


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (1.0, "100%"),
        (0.99999, ">99.9%"),
        (0.9972, "99.7%"),
        (0.9949, "99%"),
        (0.7, "70%"),
        (0.0123, "1%"),
        (0.0099, "0.99%"),
        (0.0006, "0.06%"),
        (1 / 50_000, "0.002%"),
        (1e-9, "<0.0001%"),
        (0.0, "0%"),
    ],
)
def test_no_share_is_said_to_be_none_or_all_that_is_not(share: float, text: str) -> None:
    assert percent(share) == text
