"""One picture of attention in an app of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.message import Message
from textual.pilot import Pilot

from engine.model import Model
from engine.trace import GIBIBYTE, Trace
from tui.app import DARK, LIGHT
from tui.language import Language
from tui.session import Session
from tui.views.graph import Graph
from tui.views.headsmap import HeadsMap

View = TypeVar("View", Graph, HeadsMap)


class Draft(Language):
    """Sentences that are not written yet are their own keys and values."""

    def __call__(self, key: str, **values: object) -> str:
        try:
            return super().__call__(key, **values)
        except KeyError:
            return " ".join([key.rpartition(".")[2], *map(str, values.values())])


class Hung(App[None], Generic[View]):
    """The picture alone on the screen; what it chooses is taken down."""

    CSS = "Screen { background: $background; } Graph, HeadsMap { width: 1fr; height: 1fr; }"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, view: View, theme: str) -> None:
        super().__init__()
        self.view: View = view
        self.chosen: list[Any] = []
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = f"explore-{theme}"

    def compose(self) -> ComposeResult:
        yield self.view

    def on_graph_cell_chosen(self, event: Message) -> None:
        self.chosen.append(event)

    on_graph_head_chosen = on_heads_map_head_chosen = on_graph_cell_chosen


@dataclass
class Picture(Generic[View]):
    """A picture on a screen that runs without a terminal."""

    app: Hung[View]
    view: View
    session: Session
    say: Language
    pilot: Pilot[None]
    chosen: list[Any] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """What stands on it."""
        return [self.view.render_line(y).text for y in range(self.view.size.height)]

    @property
    def text(self) -> str:
        """The same in one piece."""
        return "\n".join(self.lines)

    def find(self, text: str, below: int = 0) -> Offset:
        """Where a text begins first, from a line on."""
        for y, line in enumerate(self.lines):
            if y >= below and text in line:
                return Offset(cell_len(line[: line.index(text)]), y)
        raise AssertionError(f"{text!r} is not in\n{self.text}")

    def style(self, at: Offset) -> Any:
        """The style of a cell."""
        left = at.x
        for segment in self.view.render_line(at.y):
            if left < segment.cell_length:
                return segment.style
            left -= segment.cell_length
        raise AssertionError(at)

    async def click(self, at: Offset) -> None:
        """Click on a cell."""
        await self.pilot.click(Graph if isinstance(self.view, Graph) else HeadsMap, offset=at)
        await self.pilot.pause()

    def look(self, *, head: int | None = None, **positions: int) -> None:
        """Go to positions of the session, and show them."""
        self.session.positions.update(positions)
        if head is not None:
            self.session.positions["H"] = head
        self.view.update_cursor()


@asynccontextmanager
async def hung(
    view: type[View],
    model: Model,
    trace: Trace,
    at: str,
    size: tuple[int, int] = (76, 9),
    lang: str = "en",
    theme: str = "dark",
) -> AsyncIterator[Picture[View]]:
    """A picture of a trace, at a stage."""
    session, say = Session(model, trace, GIBIBYTE), Draft(lang)
    session.go(trace[at])
    widget = view(session, say)
    app = Hung(widget, theme)
    async with app.run_test(size=size) as pilot:
        trace.compute(widget.wanted())
        widget.update()
        await pilot.pause()
        yield Picture(app, widget, session, say, pilot, app.chosen)
