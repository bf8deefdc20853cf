"""The eight keys one needs, along the bottom; a click does what the key does."""

from __future__ import annotations

from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from tui.actions import FOOTER
from tui.language import Language


class KeyBar(Static):
    """The footer."""

    DEFAULT_CSS = """
    KeyBar { height: 1; width: 100%; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, say: Language) -> None:
        super().__init__()
        self._say = say
        self._note = ""

    def on_mount(self) -> None:
        self.note("")

    def note(self, message: str) -> None:
        """Say something here instead of the keys, until the next call."""
        self._note = message
        if message:
            self.update(Content.styled(message, "$accent"))
            return
        parts = []
        for keys, name, call in FOOTER:
            click = Style.from_meta({"@click": f"screen.{call}"})
            parts.append(
                Content.assemble((keys, "bold $accent"), " ", (self._say(f"short.{name}"), "$text-muted")).stylize(click)
            )
        self.update(Content("   ").join(parts))
