"""Help and the command palette: every action and every stage can be found."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.command import CommandPalette
from textual.content import Content
from textual.geometry import Offset
from textual.widgets import Input, Static

from tests.tui.exploring import Explore, Exploring, squeeze
from tui.actions import ACTIONS
from tui.screens.explorer import Explorer
from tui.screens.help import Help
from tui.screens.predictions import Predictions


class TestHelp:
    @pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40)])
    @pytest.mark.parametrize("lang", ["zh", "en"])
    async def test_lists_every_action(self, explore: Explore, lang: str, size: tuple[int, int]) -> None:
        async with explore("我爱你", lang=lang, size=size) as it:
            await it.press("question_mark")
            assert isinstance(it.top, Help)
            page = it.top.query_one("#keys", Static)
            assert isinstance(page.content, Content)
            lines = page.content.plain.splitlines()
            assert all(cell_len(line.rstrip()) <= size[0] - 4 for line in lines)
            shown = squeeze("".join(lines))
            for action in ACTIONS:
                assert squeeze(action.shown + it.say(f"keys.{action.id}")) in shown, action.id
            for group in {action.group for action in ACTIONS}:
                assert it.say(f"help.{group}") in lines
            # There is no demo, whose keys would be listed.
            assert it.say("help.demo") not in lines
            # Its end can be reached.
            await it.press("end")
            await it.until(lambda: squeeze(lines[-1]) in it.squeezed())

    async def test_closes(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            before = it.text()
            for key in ("escape", "q", "question_mark", "f1", "enter"):
                await it.press("f1")
                assert isinstance(it.top, Help)
                await it.press(key)
                assert isinstance(it.top, Explorer)
                assert it.text() == before


class TestPalette:
    async def test_goes_to_a_stage_by_its_name(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            for key, stage in (("colon", "layers.1.attention.scores"), ("slash", "logits"), ("ctrl+p", "embedding")):
                await it.press(key)
                assert isinstance(it.top, CommandPalette)
                await self.choose(it, stage)
                assert it.session.operand.name == stage
                assert isinstance(it.top, Explorer)

    @pytest.mark.parametrize(
        ("typed", "stage"),
        [("loss", "loss"), ("logits", "logits"), ("norm", "layers.0.attention.norm"), ("los", "losses")],
    )
    async def test_what_is_named_so_comes_first(self, explore: Explore, typed: str, stage: str) -> None:
        async with explore("我爱你") as it:
            await it.press("colon")
            it.top.query_one(Input).value = typed
            await it.until(lambda: it.text().count(typed) > 1)
            await it.press("enter")
            await it.until(lambda: isinstance(it.top, Explorer))
            assert it.session.operand.name == stage

    async def test_runs_an_action(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            for action, opens in (("help", Help), ("predictions", Predictions)):
                await it.press("colon")
                (shown,) = (each.shown for each in ACTIONS if each.id == action)
                await self.choose(it, f"{it.say(f'keys.{action}')}  ({shown})")
                assert isinstance(it.top, opens)
                await it.press("escape")

    @pytest.mark.parametrize("key", ["colon", "ctrl+p"])
    async def test_lists_stages_without_being_asked(self, explore: Explore, key: str) -> None:
        async with explore("我爱你", size=(120, 40), lang="en") as it:
            await it.press(key)
            await it.until(lambda: "layers.0.attention.q_heads" in it.text())
            assert it.say("palette.placeholder") in it.text()

    async def test_is_left_by_escape(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            before = it.text()
            await it.press("colon", "escape")
            assert it.text() == before

    async def test_opens_from_the_models_name(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            await it.click(it.find("tiny-gpt")[0] + Offset(2, 0))
            assert isinstance(it.top, CommandPalette)

    @staticmethod
    async def choose(it: Exploring, text: str) -> None:
        """Type a text and take the first thing that is found."""
        it.top.query_one(Input).value = text
        await it.until(lambda: it.text().count(text) > 1)
        await it.press("enter")
        await it.until(lambda: not isinstance(it.top, CommandPalette))
        await it.settle()


async def test_ctrl_c_says_how_to_leave(explore: Explore) -> None:
    async with explore("我爱你", size=(120, 40), lang="en") as it:
        await it.press("ctrl+c")
        assert it.say("quit.hint") in "".join(it.lines(it.screen.keys))
        # Over another screen there is no place to say it.
        await it.press("question_mark", "ctrl+c")
        assert isinstance(it.top, Help)
