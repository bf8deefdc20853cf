"""Long work: done in a thread, with its progress shown, every key heard meanwhile, given up when the reader goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from threading import Semaphore, current_thread, main_thread

import pytest
from textual.worker import get_current_worker

from engine.stages import Progress, Stage
from engine.trace import Trace
from tests.tui.exploring import Explore, Exploring, squeeze
from tui.explanations import explained
from tui.language import LANGUAGES
from tui.screens import background, stage_view
from tui.screens.help import Help
from tui.screens.predictions import Predictions

LAST = "probabilities"


@dataclass
class Holding:
    """Computes in threads only, and there a stage each time it is allowed to."""

    allowed: Semaphore = field(default_factory=lambda: Semaphore(0))
    threads: list[str] = field(default_factory=list)
    holds: bool = True

    def let_go(self) -> None:
        self.holds = False
        self.allowed.release(1000)


@pytest.fixture
def holding(monkeypatch: pytest.MonkeyPatch) -> Iterator[Holding]:
    """Nothing is computed at once, and what is computed in a thread waits to be allowed."""
    held = Holding()
    compute: Callable[..., None] = Trace.compute

    def compute_when_allowed(trace: Trace, stages: Iterable[Stage], progress: Progress | None = None) -> None:
        held.threads.append(current_thread().name)
        worker = get_current_worker()

        def allowed(done: int, count: int) -> None:
            if progress is not None:
                progress(done, count)
            while held.holds and not worker.is_cancelled and not held.allowed.acquire(timeout=0.01):
                pass

        compute(trace, stages, allowed)

    monkeypatch.setattr(stage_view, "AT_ONCE", 0)
    monkeypatch.setattr(background, "UNASKED", -1)
    monkeypatch.setattr(Trace, "compute", compute_when_allowed)
    yield held
    held.let_go()


async def opened(it: Exploring, holding: Holding) -> None:
    """Go to the probabilities, for which all that comes before is needed; nothing of it is there yet."""
    it.screen.action_visit(LAST)
    await it.until(lambda: it.say("top.computing", done=1, count=needed(it)) in it.text())


def needed(it: Exploring) -> int:
    """How many stages are computed: all after the tokens."""
    return it.session.trace[LAST].position


async def press(it: Exploring, *keys: str) -> None:
    """Press keys while something is computed."""
    for key in keys:
        it.app.simulate_key(key)
        await it.settle_screen()


@pytest.fixture
def first(holding: Holding) -> Holding:
    """The first screen's own stage may be computed."""
    holding.allowed.release(1)
    return holding


async def test_is_done_in_a_thread_and_then_shown(explore: Explore, first: Holding) -> None:
    async with explore("我爱你") as it:
        await opened(it, first)
        first.let_go()
        await it.settle()
        assert "probabilities[你, 。] = 0.702" in it.text(it.screen.number)
        assert set(it.session.trace.computed.values()) == {1}
        assert first.threads
        assert main_thread().name not in first.threads


async def test_shows_its_progress(explore: Explore, first: Holding) -> None:
    async with explore("我爱你") as it:
        await opened(it, first)
        count = needed(it)
        first.allowed.release(9)
        await it.until(lambda: it.say("top.computing", done=10, count=count) in it.text())
        assert it.say("top.computing", done=10, count=count) in it.text(it.screen.equation)
        assert it.say("top.computing", done=10, count=count) in it.lines(it.screen.top)[0]
        first.let_go()
        await it.settle()
        assert "正在计算" not in it.text()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("lang", LANGUAGES)
async def test_what_is_said_needs_no_numbers(
    explore: Explore, first: Holding, lang: str, size: tuple[int, int]
) -> None:
    async with explore("我爱你", lang=lang, size=size) as it:
        before = squeeze(it.say.about("tokens", "title", {}))
        assert before in it.squeezed(it.screen.explanation)
        await opened(it, first)
        session, stage = it.session, it.session.trace[LAST]
        said = it.squeezed(it.screen.explanation)
        assert before not in said
        assert squeeze(explained(stage, it.say, "title")) in said
        assert squeeze(stage.formula) in said
        assert squeeze(explained(stage, it.say, "explain", session))[:40] in said
        # Where one is stands on the way, in the tree and at the top; the numbers' place says that they are computed.
        assert f"{it.say('way.output')} ▸ {LAST}" in it.text(it.screen.way)
        assert LAST in it.lines(it.screen.top)[0]
        if size[0] > 110:
            node = it.screen.tree_view.cursor_node
            assert node is not None
            assert node.data is stage
        assert it.say("top.computing", done=1, count=needed(it)) in it.text(it.screen.equation)
        assert it.text(it.screen.number).strip() == ""
        assert session.trace.computed[LAST] == 0


async def test_every_key_is_heard_meanwhile(explore: Explore, first: Holding) -> None:
    async with explore("我爱你") as it:
        await opened(it, first)
        await press(it, "question_mark")
        assert isinstance(it.top, Help)
        await press(it, "escape", "T")
        assert not it.app.current_theme.dark
        await press(it, "T", "s")
        assert it.screen.tree_view.display
        await press(it, "s", "k", "z", "y", "tab", "enter", "e")
        assert it.screen.editor.has_focus
        await press(it, "escape")
        assert "正在计算" in it.text(it.screen.equation)
        assert it.session.operand.name == LAST
        first.let_go()
        await it.settle()
        assert "probabilities[爱, " in it.text(it.screen.number)


async def test_is_given_up_when_the_reader_goes_on(explore: Explore, first: Holding) -> None:
    async with explore("我爱你") as it:
        await opened(it, first)
        computed = dict(it.session.trace.computed)
        await press(it, "less_than_sign")
        # The tokens are there already: they are shown at once.
        assert "tokens[你] = 507" in it.text(it.screen.number)
        assert "正在计算" not in it.text()
        first.let_go()
        await it.settle()
        assert "tokens[你] = 507" in it.text(it.screen.number)
        assert sum(it.session.trace.computed.values()) <= sum(computed.values()) + 1
        assert it.session.trace.computed[LAST] == 0


async def test_a_new_text_gives_up_the_old_one(explore: Explore, first: Holding) -> None:
    async with explore("我爱你") as it:
        await opened(it, first)
        old = it.session.trace
        await press(it, "e")
        it.screen.editor.value = "猫"
        await press(it, "enter")
        assert it.session.texts == ("猫",)
        first.let_go()
        await it.settle()
        assert "probabilities[猫, " in it.text(it.screen.number)
        assert old.computed[LAST] == 0
        assert it.session.trace.computed[LAST] == 1


@pytest.mark.parametrize("key", ["p", "a"])
async def test_what_comes_next_is_waited_for(explore: Explore, first: Holding, key: str) -> None:
    async with explore("我爱你") as it:
        it.app.simulate_key(key)
        await it.until(lambda: "正在计算 1/" in it.text())
        assert it.session.texts == ("我爱你",)
        first.let_go()
        await it.until(lambda: isinstance(it.top, Predictions) or it.session.texts == ("我爱你。",))
        await it.settle()
        assert isinstance(it.top, Predictions) == (key == "p")


async def test_quitting_meanwhile(explore: Explore, first: Holding) -> None:
    async with explore("我爱你") as it:
        await opened(it, first)
        it.app.simulate_key("q")
        first.let_go()
        await it.pilot.pause()
        assert it.app.return_code == 0


async def test_the_prediction_is_not_worked_out_unasked_where_that_is_long(
    explore: Explore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "UNASKED", 1000)
    async with explore("我爱你") as it:
        assert it.say("way.pending") in it.text(it.screen.way)
        assert it.session.trace.computed[LAST] == 0


async def test_only_what_is_looked_at_is_computed(explore: Explore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "UNASKED", -1)
    async with explore("我爱你", at="layers.0.attention.q") as it:
        await it.press("right", "k", "l", "z", "T", "right")
        assert sorted(it.session.trace.computed) == sorted(
            ["tokens", "embedding", *(f"layers.0.attention.{name}" for name in ("norm", "q", "k", "v"))]
        )
        assert set(it.session.trace.computed.values()) == {1}
