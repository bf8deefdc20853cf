"""The app: its theme, its screen, its palette; no logic."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from signal import SIGTERM
from typing import ClassVar

from textual.app import App
from textual.binding import BindingType
from textual.command import CommandPalette, Provider
from textual.theme import Theme

from tui.commands import ExplorerCommands
from tui.language import Language
from tui.screens.explorer import Explorer
from tui.session import Session
from tui.widgets.palette import color_depth

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

MAGENTA = "#aa00aa"


class ExploreApp(App[int]):
    """Explores a session."""

    TITLE = "llm-explore"
    # A default screen's own stylesheet would not be read.
    CSS_PATH = "screens/explorer.tcss"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {ExplorerCommands}
    BINDINGS: ClassVar[list[BindingType]] = []
    ENABLE_COMMAND_PALETTE = True

    def __init__(self, session: Session, say: Language, theme: str = "dark") -> None:
        super().__init__()
        self._session = session
        self._say = say
        self.register_theme(DARK)
        # Of sixteen colours the one nearest to this brown is a yellow, which white paper swallows.
        self.register_theme(replace(LIGHT, accent=MAGENTA) if color_depth(self) == "16" else LIGHT)
        self.theme = f"explore-{theme}"
        self.animation_level = "none"

    def get_default_screen(self) -> Explorer:
        return Explorer(self._session, self._say)

    def on_load(self) -> None:
        """Asked to end by a signal, leave the terminal as it was found."""
        # Where signals cannot be handled, as on Windows, they end the program as they did.
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(SIGTERM, self.exit, None, 128 + SIGTERM)

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(CommandPalette(placeholder=self._say("palette.placeholder")))

    def action_help_quit(self) -> None:
        """Ctrl+C copies what is selected; with nothing selected, say how to leave."""
        if isinstance(self.screen, Explorer):
            self.screen.say_how_to_leave()

    def on_ready(self) -> None:
        """The first frame stands: what the command line has put off begins."""
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
