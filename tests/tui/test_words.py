"""What is said of a stage and of a number, where there is little room: what matters most stays."""

from __future__ import annotations

import pytest

from engine.model import load
from engine.trace import GIBIBYTE
from engine.worked import load_worked
from tests.tui.exploring import Explore, Exploring, squeeze
from tui import arithmetic
from tui.explanations import explained
from tui.language import language
from tui.session import Session
from tui.wrapping import sentences

SENTENCE = "The cat sat on the mat."


def last_step(it: Exploring) -> str:
    """The last step of the arithmetic, as it is written with no shortage of room."""
    found = it.session.derivation()
    assert found is not None
    if found.steps[-1].sum is not None:
        return f"Σ = {arithmetic.number_text(found.value)}"
    return "".join(part.text for part in arithmetic.lines(found, 0, 1000, 1, it.say)[-1] if part.role != "quiet")


def assert_said(it: Exploring) -> None:
    """Formula, one sentence, and the arithmetic to its end; and where something is left out, that it is."""
    stage = it.session.stage
    assert stage is not None
    said, words = it.squeezed(it.screen.explanation), explained(stage, it.say, "explain", it.session)
    assert squeeze(stage.formula) in said
    assert squeeze(sentences(words)[0]) in said
    assert it.squeezed(it.screen.number).count(squeeze(last_step(it))) == 1
    more = it.say("number.more")
    assert (squeeze(more) in said) == bool(it.screen.explanation.unsaid)
    assert all(line.strip() != more for line in it.lines(it.screen.explanation))


@pytest.mark.parametrize("lang", ["zh", "en"])
async def test_formula_a_sentence_and_the_last_step_stay(explore: Explore, lang: str) -> None:
    async with explore(SENTENCE, lang=lang) as it:
        for name in ("attention.norm", "attention.q_rotated", "attention.scores", "attention.weights", "mlp.activated"):
            it.screen.action_visit(f"layers.0.{name}")
            await it.settle()
            for width, height in ((80, 24), (100, 24), (120, 24), (120, 40), (200, 60)):
                await it.resize(width, height)
                assert_said(it)
                if it.screen.explanation.unsaid and width < 160:
                    number = [line.strip() for line in it.lines(it.screen.number)]
                    above = it.screen.number.region.y - it.screen.explanation.region.bottom
                    assert "" not in number, it.text()
                    assert above == 0, it.text()


@pytest.mark.parametrize("lang", ["zh", "en"])
async def test_of_a_layer_norm_too(explore: Explore, lang: str) -> None:
    async with explore("我<mask>你。", lang=lang, model=load("tiny-bert"), at="embedding_norm") as it:
        assert_said(it)


async def test_beside_a_graph_the_last_step_stays(explore: Explore) -> None:
    async with explore("我爱你", size=(60, 20), at="layers.0.attention.weights") as it:
        await it.press("g")
        assert squeeze(last_step(it)) in it.squeezed(it.screen.number)


async def test_terms_give_way_before_a_line_does(explore: Explore) -> None:
    async with explore(SENTENCE, at="layers.0.attention.weights", lang="en") as it:
        derivation = it.session.derivation()
        assert derivation is not None
        full = arithmetic.lines(derivation, 0, 76, 2, it.say)
        packed = [arithmetic.lines(derivation, 0, 76, rows, it.say, packed=True) for rows in (1, 0)]
        assert len(full) > len(packed[0]) >= len(packed[1])
        text = ["".join(part.text for line in lines for part in line) for lines in (full, *packed)]
        total = f"Σ = {arithmetic.number_text(derivation.steps[2].value)}"
        assert all(total in found for found in text)
        assert it.say("number.terms", count=8) in text[2]
        assert max(sum(len(part.text) for part in line) for lines in packed for line in lines) <= 76


async def test_only_where_nothing_else_can_are_first_steps_left_out(explore: Explore) -> None:
    async with explore(SENTENCE, at="layers.0.attention.norm") as it:
        number = it.screen.number
        number.fit(1, 3)
        await it.settle()
        head, dots, last = [line.strip() for line in it.lines(number)][:3]
        assert dots == "⋯"
        assert number.lines == 3
        assert head.startswith(it.say("number.title"))
        assert arithmetic.number_text(it.session.operand.number(it.session.cell)) in last


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_what_is_said_of_given_matrices_speaks_of_no_training(lang: str) -> None:
    """Nobody has trained the tables of a worked example, and it belongs to no family of models."""
    say = language(lang)
    foreign = {"zh": ("训练", "学得", "有的模型", "Llama"), "en": ("learned", "trained", "some models", "Llama")}[lang]
    trace = load_worked("cat-dog").trace
    session = Session(load_worked("cat-dog"), trace, GIBIBYTE)
    for name in ("embedding", "q", "k", "v"):
        stage = next(stage for stage in trace if stage.name.split(".")[-1] == name)
        session.go(stage)
        said = [explained(stage, say, field, session) for field in ("title", "explain", "look")]
        assert not [word for word in foreign if word in " ".join(said)], said
        of_model = say.about(stage.kind, "title", {})
        assert said[0] == of_model
