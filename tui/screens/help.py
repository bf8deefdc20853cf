"""Every key, by what it is for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.actions import ACTIONS
from tui.language import Language
from tui.widgets.numbers import align
from tui.wrapping import wrap

KEYS_WIDTH, NAME_WIDTH = 13, 24

# What keys do while a demo plays, as a person reads them; the explorer has them again when it has been left.
DEMO_KEYS = (("{space} d", "pause"), ("→", "on"), ("←", "back"), ("esc", "leave"), ("{space} d", "take_up"))


class Help(ModalScreen[None]):
    """The list of keys and what the mouse does; those of a demo come first where one is played, or has been left.

    What is said ``about`` the stage stands above them, if there was no room for it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "dismiss", "help", show=False, id="help_close", tooltip="help"),
    ]
    DEFAULT_CSS = """
    Help { background: $background; }
    Help > VerticalScroll { width: 100%; height: 1fr; padding: 1 2; scrollbar-size-vertical: 1; }
    Help > .close { height: 1; padding: 0 2; color: $quiet; }
    Help Static { width: 100%; text-wrap: nowrap; }
    """

    def __init__(self, say: Language, *, demo: bool = False, about: Sequence[str] = ()) -> None:
        super().__init__()
        self._say = say
        self._about = about
        self._demo = demo

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
        lines = [Content(line) for text in self._about for line in wrap(text, width)]
        if lines:
            lines = [Content.styled(say("help.about"), "bold $accent"), Content(""), *lines, Content("")]
        lines += [Content.styled(say("help.title"), "bold $accent"), Content("")]
        lines += [Content(line) for line in wrap(say("help.intro"), width)]
        if self._demo:
            lines += [Content(""), Content.styled(say("help.demo"), "bold $accent")]
            lines += [Content(line) for line in wrap(say("help.demo_intro"), width)]
            space = say("demo_keys.space")
            keys = [(keys.format(space=space), say(f"demo_keys.{name}")) for keys, name in DEMO_KEYS]
            lines += self._entries(keys, width)
        for group, actions in groupby(ACTIONS, key=lambda action: action.group):
            lines += [Content(""), Content.styled(say(f"help.{group}"), "bold $accent")]
            lines += self._entries([(action.shown, say(f"keys.{action.id}")) for action in actions], width)
        lines += [Content(""), *(Content.styled(line, "$quiet") for line in wrap(say("help.mouse"), width))]
        return Content("\n").join(lines)

    @staticmethod
    def _entries(entries: Sequence[tuple[str, str]], width: int) -> list[Content]:
        """Keys and what they do, in as many columns as there is room for; in a single one, names may take lines."""
        columns = max(1, width // (KEYS_WIDTH + NAME_WIDTH))
        shown = []
        for keys, name in entries:
            lines = [align(name, NAME_WIDTH, "left")] if columns > 1 else wrap(name, width - KEYS_WIDTH)
            called = f"\n{' ' * KEYS_WIDTH}".join(lines)
            shown.append(Content.assemble((align(keys, KEYS_WIDTH, "left"), "bold"), (called, "")))
        return [Content("").join(shown[at : at + columns]) for at in range(0, len(shown), columns)]
