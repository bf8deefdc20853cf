"""The text, edited in place."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Input

from engine.text import NEWLINE, TAB, visible

UNSEEN = "▯"


class Editor(Input):
    """One line, in which what would act on the terminal, or not be seen, stands as a sign; the text stays as it is."""

    @property
    def _value(self) -> Text:
        return Text("".join(map(_sign, self.value)), no_wrap=True, overflow="ignore", end="")


def _sign(character: str) -> str:
    """One character for one, so that the cursor stands where it seems to."""
    marks = {"\n": NEWLINE, "\t": TAB}
    shown = marks.get(character) or visible(character)
    return shown if len(shown) == 1 else UNSEEN
