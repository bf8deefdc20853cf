"""The bars of what comes next while a demo plays."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tui.actions import ACTIONS
from tui.demo.caption import Caption
from tui.language import Language
from tui.screens.predictions import Predictions
from tui.session import Session

if TYPE_CHECKING:
    from tui.demo.screen import DemoExplorer

BINDINGS: list[BindingType] = [
    Binding("space,d", "demo_pause", "pause or continue the demo", show=False, id="demo_pause", tooltip="pause"),
]


class DemoPredictions(Predictions):
    """What comes next, with the demo's caption below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *BINDINGS,
        *(each.binding() for each in ACTIONS if each.id == "help"),
        Binding("q", "leave_or_quit", "quit", show=False, id="demo_quit", tooltip="quit"),
    ]
    DEFAULT_CSS = """
    DemoPredictions > Caption { height: auto; padding: 0 1; }
    DemoPredictions > .hint { dock: bottom; }
    DemoPredictions > .playing { padding: 0 1; color: $accent; }
    """

    def __init__(self, session: Session, say: Language, explorer: DemoExplorer) -> None:
        super().__init__(session, say)
        self._explorer = explorer

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield self._explorer.new_caption()

    def on_mount(self) -> None:
        self.taken = 5
        self._write()
        self.action_tell()

    def action_tell(self) -> None:
        """Say what the explorer says."""
        self.query_one(Caption).say_now(self._explorer.said)
        self.show_keys()

    def show_keys(self) -> None:
        """Name the keys that do something: the demo's own while it plays, as long as it has not been left."""
        hint = self.query_one(".hint", Static)
        hint.set_class(not self._explorer.player.away, "playing")
        hint.update(self._hint())

    def _hint(self) -> Content:
        return super()._hint() if self._explorer.player.away else Content(self._say("demo.keys"))

    def action_demo_pause(self) -> None:
        self._explorer.action_demo_pause()

    def action_help(self) -> None:
        self._explorer.action_help()

    def action_demo_scene(self, count: int) -> None:
        self._explorer.action_demo_scene(count)

    def action_position(self, count: int) -> None:
        if self._explorer.player.away:
            super().action_position(count)
        else:
            self._explorer.action_demo_scene(count)

    def action_choose(self, count: int) -> None:
        self._explorer.leave()
        super().action_choose(count)

    def action_whole(self) -> None:
        self._explorer.leave()
        super().action_whole()

    def action_pick(self, number: int) -> None:
        self._explorer.leave()
        super().action_pick(number)

    def action_take(self) -> None:
        self._explorer.leave()
        super().action_take()

    def action_leave_or_quit(self) -> None:
        """As in the explorer while the demo plays; who explores the bars closes them."""
        if self._explorer.player.away:
            super().action_leave()
        else:
            self.app.exit()

    def action_leave(self) -> None:
        if self._explorer.player.away:
            super().action_leave()
        else:
            self._explorer.leave()
