"""How every token of a text was foreseen, on the screen of predictions; and what a worked example's file says."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from engine.model import Model
from engine.worked import load_worked
from tests.tui.exploring import Explore
from tui.app import ExploreApp
from tui.demo.check import faults
from tui.demo.play import rehearsed
from tui.language import language
from tui.session import Session
from tui.widgets.thisnumber import ThisNumber


async def test_every_position_on_the_screen_of_predictions(explore: Explore, sample: Model) -> None:
    async with explore("我爱你", lang="en") as it:
        await it.press("p", "tab")
        shown = it.lines(it.app.screen.query_one("#bars"))
        # Worked out again from the logits: P of the true next token, its −ln, and the mean.
        logits = sample.trace("我爱你")["logits"].value[0].astype(np.float64)
        shares = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
        foreseen = [shares[0, 1983], shares[1, 507]]
        for label, share in zip(("爱", "你"), foreseen, strict=True):
            row = next(line for line in shown if f"{share:.4f}" in line)
            assert label in row
            assert f"{-np.log(share):.3f}" in row
        assert any(f"{-np.mean(np.log(foreseen)):.4f}" in line for line in shown)


async def test_a_position_of_the_list_opens_its_own_distribution(explore: Explore, sample: Model) -> None:
    async with explore("我爱你", lang="en") as it:
        await it.press("p", "tab")

        def marked() -> list[str]:
            return [line for line in it.lines(it.app.screen.query_one("#bars")) if "▸" in line]

        # It begins at the last position that foresees a token of the text.
        assert [line.split()[:3] for line in marked()] == [["▸", "1", "爱"]]
        assert it.say("losses.hint") in "".join(it.lines(it.app.screen.query_one(".hint")))
        await it.press("up", "up")
        assert [line.split()[:3] for line in marked()] == [["▸", "0", "我"]]
        await it.press("enter")
        best = int(sample.trace("我爱你")["probabilities"].value[0, 0].argmax())
        assert sample.vocabulary[best] in marked()[0]
        assert it.say("predictions.hint") in "".join(it.lines(it.app.screen.query_one(".hint")))
        assert it.session.texts == ("我爱你",)


async def test_the_mouse_chooses_a_position_and_opens_it(explore: Explore) -> None:
    async with explore("我爱你", lang="en") as it:
        await it.press("p", "tab")
        for _ in range(2):
            await it.click_on("我", it.app.screen.query_one("#bars"))
        assert it.say("predictions.title") in it.lines(it.app.screen.query_one("#bars"))[0]


async def test_what_is_hardly_probable_is_not_shown_as_0(explore: Explore, sample: Model) -> None:
    assert 0 < sample.trace("我爱你 like")["probabilities"].value[0, 2, 3281] < 0.00005
    async with explore("我爱你 like", lang="en") as it:
        await it.press("p", "tab")
        rows = [line for line in it.lines(it.app.screen.query_one("#bars")) if "␣like" in line]
        assert ["<0.0001" in row for row in rows] == [True]
    # After a whole sentence nearly all goes to a few tokens, and the list goes on for long.
    async with explore("我爱你。", lang="en") as it:
        await it.press("p")
        shown = it.lines(it.app.screen.query_one("#bars"))
        assert sum("<0.0001" in line for line in shown) > 5
        assert not any("0.0000" in line for line in shown)


async def test_one_token_foresees_none(explore: Explore) -> None:
    async with explore("我", lang="en") as it:
        await it.press("p", "tab")
        assert it.say("predictions.title") in it.lines(it.app.screen.query_one("#bars"))[0]


async def test_what_the_file_says_stands_beside_what_is_computed(tmp_path: Path) -> None:
    example = load_worked("masked-softmax", 1 << 20)
    session = Session(example, example.trace, 1 << 20)
    session.go(example.trace["attention.weights"])
    session.positions |= {"N": 2, "M": 0}
    app = ExploreApp(session, language("en"))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        shown = str(app.screen.query_one(ThisNumber).render())
        # The chapter prints 0.08; exp(3.8) ÷ (exp(3.8) + exp(5.2) + exp(6.4)) is 0.0540.
        assert "0.08 " in shown
        assert "0.0260" in shown


async def test_a_place_saved_as_a_scene_plays(
    explore: Explore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with explore("我爱你", at="layers.1.attention.weights") as it:
        await it.press("g", "S")
        assert "scenes.toml" in "".join(it.lines(it.screen.keys))
    scene = tomllib.loads((tmp_path / "scenes.toml").read_text("utf-8"))["scenes"][0]
    assert (scene["stage"], scene["view"], scene["text"]) == ("layers.1.attention.weights", "graph", "我爱你")
    rehearsal = rehearsed(tmp_path / "scenes.toml", language("en"))
    assert await faults(rehearsal, (80, 24), "en") == []
