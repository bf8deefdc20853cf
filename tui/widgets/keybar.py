"""The eight keys one needs, along the bottom; a click does what the key does."""

from __future__ import annotations

from textual.content import Content

from tui.actions import FOOTER
from tui.language import Language
from tui.widgets.clickable import ClickableText, clickable


class KeyBar(ClickableText):
    """The footer."""

    DEFAULT_CSS = """
    KeyBar { height: 1; width: 100%; padding: 0 1; text-overflow: ellipsis; }
    """

    def __init__(self, say: Language) -> None:
        super().__init__()
        self._say = say
        self._note = ""

    def on_resize(self) -> None:
        self.note(self._note)

    def note(self, message: str) -> None:
        """Say something here instead of the keys, until the next call."""
        self._note = message
        if message:
            self.update(Content.styled(message, "$accent"))
            return
        parts = []
        for name, keys in FOOTER:
            shown = [clickable(Content.styled(key, "bold $accent"), f"screen.{call}") for key, call in keys]
            word = clickable(Content.styled(f" {self._say(f'short.{name}')}", "$quiet"), f"screen.{keys[-1][1]}")
            parts.append(Content.assemble(*shown, word))
        wide = Content("   ").join(parts)
        self.update(wide if wide.cell_length <= self.size.width - 2 else Content("  ").join(parts))
