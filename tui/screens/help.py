"""Every key, by what it is for."""

from __future__ import annotations

from itertools import groupby
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.actions import ACTIONS, Action
from tui.language import Language
from tui.widgets.numbers import align
from tui.wrapping import wrap

KEYS_WIDTH, NAME_WIDTH = 13, 24


class Help(ModalScreen[None]):
    """The list of keys and what the mouse does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "dismiss", "help", show=False, id="help_close", tooltip="help"),
    ]
    DEFAULT_CSS = """
    Help { background: $background; }
    Help > VerticalScroll { width: 100%; height: 1fr; padding: 1 2; scrollbar-size-vertical: 1; }
    Help > .close { height: 1; padding: 0 2; color: $quiet; }
    Help Static { width: 100%; text-wrap: nowrap; }
    """

    def __init__(self, say: Language) -> None:
        super().__init__()
        self._say = say

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(id="keys")
        yield Static(Content(self._say("help.close")), classes="close")

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def on_resize(self) -> None:
        self.query_one("#keys", Static).update(self._page(max(20, self.size.width - 5)))

    def _page(self, width: int) -> Content:
        say = self._say
        lines = [Content.styled(say("help.title"), "bold $accent"), Content("")]
        lines += [Content(line) for line in wrap(say("help.intro"), width)]
        columns = max(1, width // (KEYS_WIDTH + NAME_WIDTH))
        for group, actions in groupby(ACTIONS, key=lambda action: action.group):
            lines += [Content(""), Content.styled(say(f"help.{group}"), "bold $accent")]
            entries = [
                Content.assemble(
                    (align(action.shown, KEYS_WIDTH, "left"), "bold"),
                    (self._called(action, width if columns == 1 else None), ""),
                )
                for action in actions
            ]
            lines += [Content("").join(entries[at : at + columns]) for at in range(0, len(entries), columns)]
        lines += [Content(""), *(Content.styled(line, "$quiet") for line in wrap(say("help.mouse"), width))]
        return Content("\n").join(lines)

    def _called(self, action: Action, width: int | None) -> str:
        """What an action is called, in a column beside others; given the width of a page, in lines that fit it."""
        name = self._say(f"keys.{action.id}")
        if width is None:
            return align(name, NAME_WIDTH, "left")
        return f"\n{' ' * KEYS_WIDTH}".join(wrap(name, width - KEYS_WIDTH))
