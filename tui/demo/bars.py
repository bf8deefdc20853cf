"""The bars of what comes next while a demo plays."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

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

    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS, *(each.binding() for each in ACTIONS if each.id == "help")]
    DEFAULT_CSS = """
    DemoPredictions > Caption { height: auto; padding: 0 1; }
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

    def action_leave(self) -> None:
        if self._explorer.player.away:
            super().action_leave()
        else:
            self._explorer.leave()
