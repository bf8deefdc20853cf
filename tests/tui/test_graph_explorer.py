"""The graph of attention in the explorer: where it stands, how its tokens are named, and what is said beside it."""

from __future__ import annotations

import pytest

from tests.tui.exploring import Explore, squeeze
from tui.arithmetic import number_text
from tui.explanations import explained
from tui.views.graph import Graph
from tui.widgets.equation import Equation


async def test_the_graph_gives_way_where_attention_is_not_looked_at(explore: Explore) -> None:
    async with explore("我爱你", at="layers.0.attention.weights") as it:
        await it.press("g")
        assert isinstance(it.screen.view, Graph)
        for name, shape in (("heads", "N×d 3×16"), ("concat", "N×D 3×64"), ("output", "N×D 3×64")):
            await it.press("right")
            assert it.session.operand.name == f"layers.0.attention.{name}"
            assert isinstance(it.screen.view, Equation)
            assert f"{name}  {shape}" in it.text(it.screen.equation)
            assert it.say("graph.title") not in it.text()
        await it.press("greater_than_sign")
        assert isinstance(it.screen.view, Equation)
        # It is back where attention is looked at again, with what was chosen in it …
        it.screen.action_visit("layers.1.attention.weights")
        await it.settle()
        assert isinstance(it.screen.view, Graph)
        assert it.say("graph.title") in it.text()
        # … until the reader wants the equation.
        await it.press("g")
        await it.press("right")
        assert isinstance(it.screen.view, Equation)


async def test_the_graph_opens_at_the_attention_nearby(explore: Explore) -> None:
    async with explore("我爱你", at="layers.1.mlp.norm") as it:
        await it.press("g")
        assert it.session.operand.name == "layers.1.attention.weights"
        await it.press("right", "right", "g")
        assert it.session.operand.name == "layers.1.attention.weights"
        assert isinstance(it.screen.view, Graph)


async def test_following_a_number_out_of_the_graph_and_coming_back(explore: Explore) -> None:
    async with explore("我爱你", at="layers.0.attention.weights") as it:
        await it.press("g", "enter")
        assert it.session.operand.name == "layers.0.attention.masked"
        assert isinstance(it.screen.view, Equation)
        await it.press("escape")
        assert it.session.operand.name == "layers.0.attention.weights"
        assert isinstance(it.screen.view, Graph)


@pytest.mark.parametrize("name", ["scores", "scaled", "masked", "heads"])
@pytest.mark.parametrize("key", ["g", "m"])
async def test_all_around_a_picture_is_of_the_weights_that_it_shows(explore: Explore, name: str, key: str) -> None:
    async with explore("我爱你", at=f"layers.1.attention.{name}", size=(120, 40)) as it:
        it.session.positions["H"] = 1
        await it.press(key)
        assert (it.session.operand.name, it.session.head) == ("layers.1.attention.weights", 1)
        assert it.screen.picture is not None
        weight = number_text(float(it.session.trace["layers.1.attention.weights"].value[it.session.cell]))
        assert f"weights[{it.say('pane.head', head=1)}, 你, 我] = {weight}" in it.text(it.screen.number)
        assert explained(it.session.operand, it.say, "title") in it.text(it.screen.explanation)
        # The way leads on from there, without the picture.
        await it.press("right")
        assert it.session.operand.name == "layers.1.attention.heads"
        assert it.screen.picture is None


@pytest.mark.parametrize("lang", ["zh", "en"])
async def test_tokens_that_read_alike_are_told_apart_all_over_the_screen(explore: Explore, lang: str) -> None:
    async with explore("猫猫猫", at="layers.0.attention.weights", lang=lang) as it:
        await it.press("g", "k", "l")
        assert it.session.cell == (0, 0, 1, 1)
        assert all(f"猫{place}" in it.text(it.screen.view) for place in "₀₁₂")
        assert "猫₁ → 猫₁" in it.text(it.screen.view)
        assert "猫₁, 猫₁]" in it.text(it.screen.number)
        assert "猫₀: " in it.text(it.screen.number)
        assert f"猫₁ → {it.say('top.key')} 猫₁" in it.text(it.screen.top)


async def test_what_is_said_beside_the_graph_ends_with_a_sentence_and_help_has_it_all(explore: Explore) -> None:
    for lang, mark in (("zh", "。"), ("en", ".")):
        async with explore("我爱你", at="layers.0.attention.weights", lang=lang) as it:
            await it.press("g")
            said = it.lines(it.screen.explanation)
            more = it.say("number.more")
            # Behind the last line with room for it.
            assert sum(line.rstrip().endswith(more) for line in said) == 1
            formula = it.session.stage.formula if it.session.stage else ""
            assert said[-1].rstrip().removesuffix(more).rstrip().endswith((mark, formula))
            await it.press("question_mark")
            assert squeeze(explained(it.session.operand, it.say, "explain", it.session)) in it.squeezed()
            await it.press("escape", "g")


async def test_words_that_were_hidden_know_how_wide_they_are(explore: Explore) -> None:
    """There is no room for them beside the map; the graph that it opens stands as one that is opened at once."""
    async with explore("我爱你", at="layers.0.attention.weights") as it:
        await it.press("g", "l", "h")
        before = it.text()
        await it.press("g", "m")
        assert not it.screen.query_one("#words").display
        await it.press("enter")
        assert it.text() == before


@pytest.mark.parametrize("text", ["我爱你", "我爱你，你爱我", "The cat sat on the mat and the dog ran."])
@pytest.mark.parametrize("lang", ["zh", "en"])
async def test_the_graph_takes_no_line_from_the_arithmetic(explore: Explore, text: str, lang: str) -> None:
    async with explore(text, at="layers.0.attention.weights", lang=lang) as it:
        await it.press("g", "h")
        arithmetic = it.screen.number
        assert "exp ÷ Σ exp" in it.lines(arithmetic)[-1]
        assert len(it.lines(arithmetic)) == arithmetic.lines
        # Where there is room for another line, the stage has its name.
        named = it.text().count(explained(it.session.operand, it.say, "title"))
        assert named == (arithmetic.lines < 8)
        assert it.screen.view.size.height >= 9
