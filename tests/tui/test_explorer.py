"""The explorer's screens: the first one, and every stage of a sentence, in each language at each size."""

from __future__ import annotations

import pytest

from engine.stages import Stage
from tests.tui.exploring import Explore, Exploring, squeeze
from tui.arithmetic import number_text, place_text
from tui.explanations import explained

SIZES = [(80, 24), (120, 40), (40, 12)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
async def test_every_stage(explore: Explore, size: tuple[int, int]) -> None:
    async with explore("我爱你", size=size) as it:
        is_first_screen(it, size)
        trace = it.session.trace
        for stage in trace:
            assert it.session.operand is stage
            shows(it, stage, size)
            await it.press("right")
        # The last is the last.
        assert it.session.operand is trace.stages[-1]


async def test_every_stage_in_english(explore: Explore) -> None:
    """The layers say the same of themselves: one of them is enough."""
    async with explore("我爱你", lang="en") as it:
        is_first_screen(it, (80, 24))
        seen: list[str] = []
        while not seen or it.session.operand.name != seen[-1]:
            seen.append(it.session.operand.name)
            assert it.session.stage is not None
            shows(it, it.session.stage, (80, 24))
            if seen[-1] == "embedding":
                await it.press("right_curly_bracket", "right_curly_bracket")
            else:
                await it.press("right")
        assert len(seen) == len(it.session.trace) - 24


@pytest.mark.parametrize("size", [(40, 12), (120, 40)])
async def test_english_at_other_sizes(explore: Explore, size: tuple[int, int]) -> None:
    async with explore("我爱你", lang="en", size=size) as it:
        is_first_screen(it, size)
        for name in ("layers.0.attention.masked", "layers.1.mlp.norm"):
            it.screen.action_visit(name)
            await it.settle()
            shows(it, it.session.trace[name], size)


def is_first_screen(it: Exploring, size: tuple[int, int]) -> None:
    """It says how to go on, and shows where one is, the tokens over their ids, and what comes next."""
    # The smallest screen shows the numbers, and says nothing of them.
    if size != (40, 12):
        assert squeeze(it.say("welcome.start")) in it.squeezed(it.screen.explanation)
    place, tokens, ids = it.lines(it.screen.top)
    assert "tokens   B×N = 1×3" in place
    count = len(it.session.trace)
    # Where there is little room, the model's name comes before the words around how far one is.
    assert (f"1/{count}" if size[0] < 60 else it.say("top.position", position=1, count=count)) in place
    assert tokens.split()[:3] == ["我", "爱", "你"]
    assert ids.split() == ["1381", "1983", "507"]
    for label, id in zip("我爱你", ("1381", "1983", "507"), strict=True):
        # The middle of one stands over the middle of the other.
        token, number = it.find(label, it.screen.top)[0], it.find(id, it.screen.top)[0]
        assert abs((token.x + 1) - (number.x + len(id) / 2)) <= 1
    assert "。 70%" in it.text(it.screen.way)


def shows(it: Exploring, stage: Stage, size: tuple[int, int]) -> None:
    shows_stage(it, stage)
    if size != (40, 12):
        shows_words(it, stage)
        shows_number(it, stage)


def shows_stage(it: Exploring, stage: Stage) -> None:
    """The stage's name and shape and how far one is; the result under its own name and shape."""
    first = it.lines(it.screen.top)[0]
    assert f"{stage.name.split('.')[-1]} {stage.shape_text}" in " ".join(first.split())
    count = len(it.session.trace)
    position = it.say("top.position", position=stage.position + 1, count=count)
    assert position in first or first.rstrip().endswith(f" {stage.position + 1}/{count}")
    assert stage.symbol in it.lines(it.screen.query_one("#result"))[0]


def shows_words(it: Exploring, stage: Stage) -> None:
    """What the stage is called, its formula and what is said of it; where it is on the way."""
    words = it.squeezed(it.screen.explanation)
    assert squeeze(stage.formula) in words
    assert squeeze(explained(stage, it.say, "title")) in words
    assert squeeze(explained(stage, it.say, "explain", it.session)) in words
    *group, name = stage.name.split(".")
    way = it.text(it.screen.way)
    # Where two stages of a layer have one name, what they belong to stands before it if there is room.
    assert f"▸ {name[:8]}" in way or f"▸ {group[-1]}.{name}" in way


def shows_number(it: Exploring, stage: Stage) -> None:
    """The number looked at is the trace's."""
    cell = it.session.cell
    place, value = place_text(stage, cell, 0, it.say), number_text(float(stage.value[cell]))
    assert it.lines(it.screen.number)[0].startswith(f"{it.say('number.title')}  {place} = {value}")


class TestEquation:
    """Left of the equals sign what a stage takes, right of it what it makes."""

    async def test_names_shapes_and_signs(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.attention.scores", size=(120, 40)) as it:
            titles = it.lines(it.screen.equation)[0]
            assert [titles.index(title) for title in ("Q′  N×d 3×16", "K′ᵀ  d×M 16×3", "scores  N×M 3×3")] == sorted(
                titles.index(title) for title in ("Q′  N×d 3×16", "K′ᵀ  d×M 16×3", "scores  N×M 3×3")
            )
            # The signs stand beside the first row.
            signs = next(line for line in it.lines(it.screen.equation) if "我" in line[1:] and " · " in line)
            assert signs.index("·") < signs.index("=")

    async def test_numbers_stand_under_their_tokens(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.attention.weights") as it:
            _, header, *rows = it.lines(it.screen.equation)
            weights = it.session.operand.value[0, 0]
            shown = [f"{weights[2, column]:.4f}" for column in range(3)]
            assert [rows[2].split("▸你")[-1].strip("▌ ").replace("▐", " ").split()] == [shown]
            assert header.split() == ["我", "爱", "你"] * 2

    async def test_masked_cells_are_hatched(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.attention.weights", size=(120, 40)) as it:
            rows = [line for line in it.lines(it.screen.equation) if any(token in line for token in "我爱你")][1:]
            assert [row.count("╱−∞") for row in rows] == [2, 1, 0]
        async with explore("我爱你", at="layers.0.attention.masked", size=(120, 40)) as it:
            # Without the tree there is room for a word on them.
            await it.press("s")
            assert it.say("pane.masked") in it.text(it.screen.equation)

    async def test_the_row_and_column_that_make_a_cell_are_marked(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.attention.scores", size=(120, 40)) as it:
            await it.press("k", "l")
            query, key = (it.screen.query_one(f"#operand-{number}") for number in (0, 1))
            accent = it.style(it.find("爱", query)[0]).color
            assert it.style(it.find("▸爱", query)[0]).color == accent
            assert it.style(it.find("我", query)[0]).color != accent
            assert it.style(it.find("爱", key)[0]).color == accent
            assert it.style(it.find("你", key)[0]).color != accent
            # The tokens on top of the screen: the query stands on the accent, the key is written in it.
            top = it.find("爱", it.screen.top)[0]
            assert it.style(top).bgcolor == accent

    async def test_a_matrix_larger_than_the_screen_follows_the_cursor(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.mlp.gate") as it:
            await it.press("end")
            assert it.session.cell == (0, 2, 167)
            assert "167" in it.text(it.screen.equation)
            assert "⋯" in it.lines(it.screen.equation)[1]
            await it.press("home")
            assert it.session.cell == (0, 2, 0)

    async def test_the_most_probable_token_is_looked_at_first(self, explore: Explore) -> None:
        async with explore("我爱你", at="logits") as it:
            assert it.lines(it.screen.number)[0].startswith("这个数  logits[你, 。] = ")
            assert it.session.cell[2] == int(it.session.operand.value[0, 2].argmax())
