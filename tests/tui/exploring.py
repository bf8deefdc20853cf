"""An explorer opened in a test: presses its keys, clicks on what it shows, and reads its screen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from rich.cells import cell_len
from rich.style import Style
from textual.events import MouseScrollDown, MouseScrollUp
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from engine.model import Model
from engine.trace import GIBIBYTE
from tui.app import ExploreApp
from tui.language import Language, language
from tui.screens.explorer import Explorer
from tui.session import Session


@dataclass
class Exploring:
    """An explorer that runs without a terminal. What is read of its screen is what stood there when it last settled."""

    app: ExploreApp
    session: Session
    say: Language
    pilot: Pilot[int]
    strips: list[Strip] = field(default_factory=list)

    @property
    def screen(self) -> Explorer:
        """The explorer's own screen, whatever lies over it."""
        return next(screen for screen in self.app.screen_stack if isinstance(screen, Explorer))

    @property
    def top(self) -> Screen[Any]:
        """The screen that is seen."""
        return self.app.screen

    # Doing

    async def press(self, *keys: str) -> None:
        """Press keys by Textual's names for them, one after the other."""
        for key in keys:
            self.app.simulate_key(key)
            await self.settle()

    async def type(self, text: str) -> None:
        """Type characters into what has the focus."""
        await self.pilot.press(*text)

    async def click(self, at: Offset, button: int = 1) -> None:
        """Click on a cell of the screen."""
        await self.pilot.click(offset=at, button=button)
        await self.settle()

    async def click_on(self, text: str, widget: Widget | None = None, nth: int = 0) -> None:
        """Click on the first place, or another, where a text stands."""
        await self.click(self.find(text, widget)[nth])

    async def scroll(self, at: Offset, *, up: bool) -> None:
        """Turn the wheel over a cell of the screen."""
        kind = MouseScrollUp if up else MouseScrollDown
        widget, _ = self.top.get_widget_at(*at)
        inside = at - widget.region.offset
        widget.post_message(kind(widget, *inside, 0, 0, 0, False, False, False, *at))
        await self.settle()

    async def settle(self) -> None:
        """Wait until nothing is computed any more and the screen stays as it is."""
        await self.settle_screen()
        while any(not worker.is_finished for worker in self.app.workers):
            await self.pilot.pause()
            await self.settle_screen()

    async def settle_screen(self) -> None:
        """Wait until the screen stays as it is, whatever is still computed."""
        unchanged = 0
        while unchanged < 2:
            await self.pilot.pause(0)
            shown = self.top._compositor.render_strips()
            unchanged = unchanged + 1 if shown == self.strips else 0
            self.strips = shown

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so, whatever is still computed."""
        for _ in range(500):
            await self.settle_screen()
            if condition():
                return
            await self.pilot.pause()
        raise AssertionError(f"it did not come to that:\n{self.text()}")

    async def resize(self, width: int, height: int) -> None:
        """Give the terminal another size."""
        await self.pilot.resize_terminal(width, height)
        await self.settle()

    # Reading

    def lines(self, widget: Widget | None = None) -> list[str]:
        """The text on the screen, or where a widget is, a line each."""
        strips = self.strips
        if widget is not None:
            x, y, width, height = widget.content_region.intersection(self.top.region)
            strips = [strip.crop(x, x + width) for strip in strips[y : y + height]]
        return [strip.text for strip in strips]

    def text(self, widget: Widget | None = None) -> str:
        """The text on the screen, or where a widget is."""
        return "\n".join(self.lines(widget))

    def squeezed(self, widget: Widget | None = None) -> str:
        """The text without any white space, so that it does not matter where lines break."""
        return squeeze(self.text(widget))

    def find(self, text: str, widget: Widget | None = None) -> list[Offset]:
        """The places on the screen where a text begins; at least one."""
        corner = Offset(0, 0) if widget is None else widget.content_region.offset
        found = [
            corner + Offset(cell_len(line[:at]), y)
            for y, line in enumerate(self.lines(widget))
            for at in _places(text, line)
        ]
        assert found, f"{text!r} is not on the screen:\n{self.text()}"
        return found

    def style(self, at: Offset) -> Style:
        """The style of a cell of the screen."""
        left = at.x
        for segment in self.strips[at.y]:
            if left < segment.cell_length:
                return segment.style or Style.null()
            left -= segment.cell_length
        raise AssertionError(f"{at} is outside the screen")


class Explore(Protocol):
    """Opens the explorer on texts, or on given ids."""

    def __call__(
        self,
        *texts: str,
        ids: list[list[int]] | None = None,
        model: Model | None = None,
        size: tuple[int, int] = (80, 24),
        lang: str = "zh",
        theme: str = "dark",
        at: str = "tokens",
    ) -> AbstractAsyncContextManager[Exploring]: ...


@asynccontextmanager
async def opened(
    model: Model,
    texts: tuple[str, ...],
    ids: list[list[int]] | None,
    size: tuple[int, int],
    lang: str,
    theme: str,
    at: str,
) -> AsyncIterator[Exploring]:
    """The explorer at a stage, its first screen drawn, what comes next worked out."""
    trace = model.trace(list(texts)) if ids is None else model.trace(ids=ids)
    session = Session(model, trace, GIBIBYTE)
    session.go(trace[at])
    app = ExploreApp(session, language(lang), theme)
    async with app.run_test(size=size, tooltips=True, notifications=True) as pilot:
        exploring = Exploring(app, session, language(lang), pilot)
        # What comes next is worked out after the first screen stands.
        await pilot.pause()
        await exploring.settle()
        yield exploring


def squeeze(text: str) -> str:
    """The text without white space."""
    return "".join(text.split())


def _places(text: str, line: str) -> Iterator[int]:
    at = line.find(text)
    while at >= 0:
        yield at
        at = line.find(text, at + 1)
