"""The eight keys one needs, along the bottom, or as many as there is room for; a click does what the key does.

Keys that do nothing here are not shown: a worked example has no text to edit, and may have no heads.
"""

from __future__ import annotations

from textual.content import Content

from tui.actions import FOOTER
from tui.language import Language
from tui.places import blocks, sections
from tui.session import Session
from tui.widgets.clickable import ClickableText, clickable

# What goes first where there is no room for all; help, which lists every key, stays.
LEFT_OUT = ("layer", "graph", "head", "move", "edit", "predictions")


class KeyBar(ClickableText):
    """The footer."""

    DEFAULT_CSS = """
    KeyBar { height: 1; width: 100%; padding: 0 1; text-overflow: ellipsis; }
    """

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__()
        self._session = session
        self._say = say
        self._note = ""

    def _keys(self, width: int) -> Content:
        """As many keys as there is room for, from all of them to the least that one needs."""
        parts = {}
        for name, keys in FOOTER:
            if not self._does_something(name):
                continue
            shown = [clickable(Content.styled(key, "bold $accent"), f"screen.{call}") for key, call in keys]
            called = "section" if name == "layer" and not blocks(self._session.trace) else name
            word = clickable(Content.styled(f" {self._say(f'short.{called}')}", "$quiet"), f"screen.{keys[-1][1]}")
            parts[name] = Content.assemble(*shown, word)
        line = Content("   ").join(parts.values())
        for left_out in ("", *LEFT_OUT):
            if line.cell_length <= width:
                break
            parts.pop(left_out, None)
            line = Content("  ").join(parts.values())
        return line

    def _does_something(self, name: str) -> bool:
        session = self._session
        if name == "edit":
            return session.changeable
        if name == "predictions":
            return session.predicts
        if name == "layer":
            return len(sections(session.trace)) > 1
        if name == "head":
            return session.heads > 1
        return name != "graph" or any(stage.name.endswith("attention.weights") for stage in session.trace)

    def on_resize(self) -> None:
        self.note(self._note)

    def note(self, message: str) -> None:
        """Say something here instead of the keys, until the next call."""
        self._note = message
        if message:
            self.update(Content.styled(message, "$accent"))
            return
        self.update(self._keys(self.size.width - 2))
