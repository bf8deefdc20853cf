"""Playing a demo: time, keys, leaving it and taking it up; and the explorer, which it drives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Static

from tests.tui.exploring import squeeze
from tui.demo.caption import Caption
from tui.demo.headless import settle
from tui.demo.play import play
from tui.demo.player import Player
from tui.demo.screen import DemoApp
from tui.language import LANGUAGES, language
from tui.screens.explorer import Explorer
from tui.screens.help import DEMO_KEYS

LESSON = """\
text = "我爱你"
title.zh = "课"
title.en = "Lesson"
summary.zh = "摘要"
summary.en = "Summary"

[[scenes]]
name = "first"
stage = "layers.0.attention.scores"
head = 1
cell = ["爱", "我"]
wait = "key"
say.zh = "第一幕：{query}、{key}"
say.en = "The first: {query}, {key}"

[[scenes]]
name = "graph"
stage = "layers.0.attention.weights"
view = "graph"
cell = ["你", "爱"]
wait = "key"
say.zh = "第二幕：{value}"
say.en = "The second: {value}"

[[scenes]]
name = "other"
text = "猫追狗"
view = "equation"
cell = ["追", "猫"]
wait = "key"
say.zh = "第三幕：{text}"
say.en = "The third: {text}"

[[scenes]]
name = "bars"
view = "predictions"
append = true
wait = "key"
say.zh = "第四幕：{text}、{top}"
say.en = "The fourth: {text}, {top}"

[[scenes]]
name = "map"
view = "heads"
wait = "key"
say.zh = "第五幕"
say.en = "The fifth"
"""


# Time


def test_scenes_follow_each_other() -> None:
    player = Player([2.0, 4.0])
    assert not player.tick(1)
    assert player.progress == 0.25
    assert player.tick(1.5)
    assert (player.index, player.elapsed) == (1, 0)
    assert not player.tick(10)
    assert player.ended
    assert player.progress == 1


def test_speed_and_loop() -> None:
    player = Player([2.0, 4.0], speed=2, loop=True)
    assert player.tick(1)
    assert player.tick(2)
    assert player.index == 0
    assert not player.ended


def test_a_pause_stops_time() -> None:
    player = Player([2.0, 4.0])
    assert not player.pause()
    assert not player.tick(5)
    assert player.index == 0
    assert not player.pause()
    assert player.tick(5)


def test_a_scene_may_wait_for_a_key() -> None:
    player = Player([None, 2.0])
    assert not player.tick(100)
    assert player.waits
    assert player.pause()
    assert player.index == 1


def test_on_and_back() -> None:
    player = Player([1.0, 1.0, 1.0], index=1)
    assert player.on()
    assert not player.on()
    assert player.index == 2
    assert player.back()
    assert player.back()
    assert player.back()
    assert player.index == 0
    player = Player([1.0, 1.0], loop=True, index=1)
    assert player.on()
    assert player.index == 0


def test_a_demo_that_was_left_is_taken_up_where_it_was() -> None:
    player = Player([2.0, 4.0], index=1)
    player.tick(1)
    player.leave()
    assert not player.tick(10)
    assert player.pause()
    assert (player.index, player.elapsed, player.away) == (1, 1, False)


def test_after_the_end_it_begins_again() -> None:
    player = Player([2.0, 1.0], index=1)
    player.tick(5)
    assert player.pause()
    assert player.index == 0


# The explorer


@dataclass
class Playing:
    """A demo that is played without a terminal."""

    app: DemoApp
    pilot: Pilot[int]

    @property
    def player(self) -> Player:
        return self.app.player

    @property
    def place(self) -> tuple[str, dict[str, int], str]:
        session = self.app.explorer.session
        return session.operand.name, dict(session.positions), session.texts[0]

    async def press(self, *keys: str) -> None:
        for key in keys:
            self.app.simulate_key(key)
            await self.pilot.pause()
            await settle(self.app, self.pilot)

    @property
    def over(self) -> str:
        """What lies over the explorer."""
        top = self.app.screen
        return "" if isinstance(top, Explorer) else type(top).__name__

    @property
    def text(self) -> str:
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    @property
    def view(self) -> str:
        return type(self.app.explorer.view).__name__


Opener = Callable[..., AbstractAsyncContextManager[Playing]]


@pytest.fixture
def playing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opener:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    path = tmp_path / "lesson.toml"

    @asynccontextmanager
    async def opened(
        lang: str = "zh", size: tuple[int, int] = (80, 24), start: str | None = None, lesson: str = LESSON
    ) -> AsyncIterator[Playing]:
        path.write_text(lesson, "utf-8")
        app = play(path, language(lang), start=start)
        async with app.run_test(size=size, tooltips=True, notifications=True) as pilot:
            await settle(app, pilot)
            yield Playing(app, pilot)

    return opened


async def test_a_demo_goes_through_its_scenes(playing: Opener) -> None:
    async with playing() as it:
        assert it.place[0] == "layers.0.attention.scores"
        assert it.place[1]["H"] == 1
        assert "第一幕：爱、我" in it.text
        assert "1/5" in it.text
        await it.press("right")
        weight = it.app.explorer.session.trace["layers.0.attention.weights"].value[0, 1, 2, 1]
        assert (it.view, f"第二幕：{weight:.3f}" in it.text) == ("Graph", True)
        await it.press("space")
        assert (it.view, it.place[2], "第三幕：猫追狗" in it.text) == ("Equation", "猫追狗", True)
        await it.press("right")
        assert it.over == "DemoPredictions"
        assert "第四幕：猫追狗。" in it.text
        await it.press("right")
        assert it.over == ""
        assert (it.view, "第五幕" in it.text, "5/5" in it.text) == ("HeadsMap", True, True)
        await it.press("right")
        assert it.player.index == 4
        await it.press("space")
        assert (it.player.index, it.view) == (0, "Equation")


async def test_going_back_restores_a_scene_exactly(playing: Opener) -> None:
    async with playing() as it:
        places, views = [], []
        for _ in range(5):
            places.append(it.place)
            views.append((it.view, it.over))
            await it.press("right")
        for place, view in list(zip(places, views, strict=True))[-2::-1]:
            await it.press("left")
            assert (it.place, (it.view, it.over)) == (place, view)


async def test_a_demo_can_be_left_and_taken_up(playing: Opener) -> None:
    async with playing() as it:
        await it.press("right")
        before = it.place
        await it.press("escape")
        assert it.player.away
        assert it.view == "Graph"
        assert "空格 接着放" in it.text
        assert "第二幕" not in it.text
        # The keys are the explorer's own again.
        await it.press("escape", "right", "right", "j", "right_square_bracket")
        assert it.player.index == 1
        assert it.place != before
        await it.press("space")
        assert not it.player.away
        assert (it.place, it.view) == (before, "Graph")
        assert "第二幕" in it.text


@pytest.mark.parametrize("key", ["j", "right_square_bracket", "greater_than_sign", "right_curly_bracket"])
async def test_who_explores_leaves_the_demo(playing: Opener, key: str) -> None:
    async with playing() as it:
        before = it.place
        await it.press(key)
        assert it.player.away
        assert it.place != before
        await it.press("d")
        assert (it.player.away, it.place) == (False, before)


async def test_an_edit_leaves_the_demo_and_is_undone_by_it(playing: Opener) -> None:
    async with playing() as it:
        before = it.place
        await it.press("e")
        it.app.explorer.editor.value = "狗追猫"
        await it.press("enter")
        assert (it.player.away, it.place[2]) == (True, "狗追猫")
        await it.press("space")
        assert it.place == before
        assert it.app.explorer.session.trace is it.app.rehearsal.states[0].trace


async def test_bars_can_be_explored(playing: Opener) -> None:
    async with playing(start="bars") as it:
        assert it.over == "DemoPredictions"
        await it.press("down")
        assert it.player.away
        await it.press("left")
        assert it.player.index == 3
        await it.press("down", "enter")
        assert it.over == ""
        assert it.place[2] != "猫追狗。"
        await it.press("space")
        assert it.over == "DemoPredictions"
        assert it.place[2] == "猫追狗。"
        await it.press("escape", "escape")
        assert it.over == ""
        await it.press("d", "left")
        assert it.player.index == 2
        assert it.over == ""


async def test_time_stands_still_under_another_screen(playing: Opener) -> None:
    timed = LESSON.replace('wait = "key"', "wait = 0.01", 1)
    async with playing(lesson=timed, start="first") as it:
        it.player.go(0)
        await it.press("question_mark")
        index = it.player.index
        for _ in range(5):
            await it.pilot.pause(0.1)
        assert it.player.index == index
        await it.press("escape")
        for _ in range(20):
            await it.pilot.pause(0.1)
        assert it.player.index == 1


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 12)])
async def test_the_caption_has_its_own_place(playing: Opener, size: tuple[int, int]) -> None:
    async with playing("en", size) as it:
        for _ in range(5):
            caption = it.app.screen.query_one(Caption)
            explorer = it.app.explorer
            assert caption.region.bottom <= size[1]
            if it.app.screen is explorer:
                assert not caption.region.overlaps(explorer.view.region)
                assert caption.region.bottom == explorer.way.region.y
            assert squeeze(explorer.said) in squeeze(it.text)
            assert all(cell_len(line) <= size[0] for line in it.text.splitlines())
            await it.press("right")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 12)])
@pytest.mark.parametrize("lang", LANGUAGES)
async def test_help_lists_the_demos_keys(playing: Opener, lang: str, size: tuple[int, int]) -> None:
    say = language(lang)
    async with playing(lang, size) as it:
        for before in ((), ("escape",), ("space", "right", "right", "right")):
            await it.press(*before, "question_mark")
            assert it.over == "Help"
            page = it.app.screen.query_one("#keys", Static)
            assert isinstance(page.content, Content)
            lines = page.content.plain.splitlines()
            assert all(cell_len(line.rstrip()) <= size[0] - 4 for line in lines)
            # The demo's keys stand before the explorer's.
            begin, end = lines.index(say("help.demo")), lines.index(say("help.step"))
            shown = squeeze("".join(lines[begin:end]))
            assert squeeze(say("help.demo_intro")) in shown
            for keys, name in DEMO_KEYS:
                keys = keys.format(space=say("demo_keys.space"))
                assert squeeze(keys + say(f"demo_keys.{name}")) in shown, name
            await it.press("escape")
            assert it.over in ("", "DemoPredictions")


async def test_the_keys_that_help_lists_are_those_there_are(playing: Opener) -> None:
    assert [name for _, name in DEMO_KEYS] == ["pause", "on", "back", "leave", "take_up"]
    async with playing(lesson=LESSON.replace('wait = "key"', "wait = 1000")) as it:
        for key in ("space", "d"):
            await it.press(key)
            assert it.player.paused
            await it.press(key)
            assert not it.player.paused
        await it.press("right", "right")
        assert it.player.index == 2
        await it.press("left")
        assert it.player.index == 1
        for key in ("space", "d"):
            await it.press("escape")
            assert it.player.away
            await it.press(key)
            assert (it.player.away, it.player.index) == (False, 1)


async def test_the_mouse_does_what_the_keys_do(playing: Opener) -> None:
    async with playing() as it:
        caption = it.app.explorer.caption
        bar = it.text.splitlines()[caption.region.y]
        for mark, index in (("›", 1), ("‹", 0), ("▶", 1)):
            await it.pilot.click(offset=(cell_len(bar[: bar.index(mark)]), caption.region.y))
            await settle(it.app, it.pilot)
            assert it.player.index == index
            bar = it.text.splitlines()[it.app.explorer.caption.region.y]


@pytest.mark.parametrize("lang", LANGUAGES)
async def test_under_the_bars_stand_the_keys_that_do_something(playing: Opener, lang: str) -> None:
    say = language(lang)
    async with playing(lang, start="bars") as it:
        explorer = say("predictions.hint")
        assert it.text.splitlines()[-1].strip() == say("demo.keys")
        assert explorer not in it.text
        for key in ("down", "tab", "escape"):
            await it.press(key)
            assert it.player.away
            assert (say("demo.keys") in it.text, say("demo.take_up") in it.text) == (False, True)
            assert (say("losses.hint") if key == "tab" else explorer) in it.text
            await it.press("space")
            assert it.text.splitlines()[-1].strip() == say("demo.keys")
        assert it.app.return_code is None
        it.app.simulate_key("q")
        await it.pilot.pause()
        assert it.app.return_code == 0


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 12)])
@pytest.mark.parametrize("lang", LANGUAGES)
async def test_who_has_left_sees_how_to_take_it_up(playing: Opener, lang: str, size: tuple[int, int]) -> None:
    long = LESSON.replace('"课"', f'"{"很长的题目，" * 9}"').replace('"Lesson"', f'"{"Lesson " * 9}"')
    async with playing(lang, size, lesson=long) as it:
        assert language(lang)("demo.take_up") not in it.text
        for key in ("escape", "j"):
            await it.press(key)
            bar = it.text.splitlines()[it.app.explorer.caption.region.y]
            assert bar.rstrip().endswith(f"▶   {language(lang)('demo.take_up')}")
            await it.press("space")


async def test_a_graph_gets_the_lines_of_the_arithmetic(playing: Opener) -> None:
    async with playing(start="graph", lesson=LESSON.replace('view = "graph"', 'view = "graph"\nthreshold = 0.5')) as it:
        weight = it.app.explorer.session.trace["layers.0.attention.weights"].value[0, 1, 2, 1]
        explorer = it.app.explorer
        assert f"= {weight:.4f}" in it.text
        assert "exp(" not in it.text.split("这个数")[1]
        lines = explorer.view.size.height
        assert "门槛 ≥ 0.5" in it.text
        await it.press("escape")
        assert "exp(" in it.text.split("这个数")[1]
        assert explorer.view.size.height < lines
        await it.press("space", "left")
        assert "Σ" in it.text.split("这个数")[1]
