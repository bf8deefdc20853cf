"""The app: its theme, its screen, its palette; no logic."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import App
from textual.binding import BindingType
from textual.command import Provider
from textual.theme import Theme

from tui.commands import ExplorerCommands
from tui.language import Language
from tui.screens.explorer import Explorer
from tui.session import Session

# One accent, which always means *here*; everything else is the page, the text, and the scales of the numbers.
DARK = Theme(
    "explore-dark",
    primary="#f2b368",
    accent="#f2b368",
    secondary="#8a6a3f",
    background="#0f1418",
    surface="#0f1418",
    panel="#2a333b",
    foreground="#d6dbe0",
    dark=True,
    variables={"quiet": "#828d97"},
)
LIGHT = Theme(
    "explore-light",
    primary="#9a5b00",
    accent="#9a5b00",
    secondary="#d9a655",
    background="#fbfaf7",
    surface="#fbfaf7",
    panel="#dcd8cf",
    foreground="#22272b",
    dark=False,
    variables={"quiet": "#6b6f73"},
)


class ExploreApp(App[int]):
    """Explores a session."""

    TITLE = "llm-explore"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {ExplorerCommands}
    BINDINGS: ClassVar[list[BindingType]] = []
    ENABLE_COMMAND_PALETTE = True

    def __init__(self, session: Session, say: Language, theme: str = "dark") -> None:
        super().__init__()
        self._session = session
        self._say = say
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = f"explore-{theme}"
        self.animation_level = "none"

    def on_mount(self) -> None:
        self.push_screen(Explorer(self._session, self._say))
