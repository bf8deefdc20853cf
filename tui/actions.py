"""Every action of the explorer: its keys, and where help lists it. What it is called stands in the language files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from textual.binding import Binding

from tui.language import language

Group = Literal["step", "look", "attention", "view", "text", "program"]


@dataclass(frozen=True)
class Action:
    """Something the reader can do. ``id`` names it in the language files, ``call`` is Textual's action."""

    id: str
    keys: str
    call: str
    group: Group
    shown: str
    """The keys as a person reads them."""

    def binding(self) -> Binding:
        """Textual's binding, in English: bindings belong to a class, which has no reader yet."""
        name = language("en")(f"keys.{self.id}")
        return Binding(self.keys, self.call, name, show=False, id=self.id, tooltip=name)


ACTIONS = (
    Action("step_on", "right,n", "step(1)", "step", "→ n"),
    Action("step_back", "left,N", "step(-1)", "step", "← N"),
    Action("layer_on", "right_curly_bracket", "step_layer(1)", "step", "}"),
    Action("layer_back", "left_curly_bracket", "step_layer(-1)", "step", "{"),
    Action("head_on", "right_square_bracket", "step_head(1)", "step", "]"),
    Action("head_back", "left_square_bracket", "step_head(-1)", "step", "["),
    Action("first_stage", "less_than_sign", "edge(0)", "step", "<"),
    Action("last_stage", "greater_than_sign", "edge(-1)", "step", ">"),
    Action("go", "colon,slash", "go", "step", ": /"),
    Action("move_left", "h,shift+left", "move(0,-1)", "look", "h ⇧←"),
    Action("move_down", "j,down,shift+down", "move(1,0)", "look", "j ↓"),
    Action("move_up", "k,up,shift+up", "move(-1,0)", "look", "k ↑"),
    Action("move_right", "l,shift+right", "move(0,1)", "look", "l ⇧→"),
    Action("page_down", "pagedown,ctrl+d", "page(1)", "look", "PgDn ctrl+d"),
    Action("page_up", "pageup,ctrl+u", "page(-1)", "look", "PgUp ctrl+u"),
    Action("row_start", "home,0,circumflex_accent", "edge_cell(0,-1)", "look", "Home 0"),
    Action("row_end", "end,dollar_sign", "edge_cell(0,1)", "look", "End $"),
    Action("column_start", "ctrl+home", "edge_cell(-1,0)", "look", "ctrl+Home"),
    Action("column_end", "ctrl+end,G", "edge_cell(1,0)", "look", "ctrl+End G"),
    Action("follow", "enter", "follow", "look", "⏎"),
    Action("next_operand", "tab", "choose(1)", "look", "Tab"),
    Action("previous_operand", "shift+tab", "choose(-1)", "look", "⇧Tab"),
    Action("back", "escape,backspace", "back", "look", "esc ⌫"),
    Action("copy", "y", "copy", "look", "y"),
    Action("graph", "g", "graph", "attention", "g"),
    Action("heads_map", "m", "heads_map", "attention", "m"),
    Action("threshold_up", "plus,equals_sign", "threshold(1)", "attention", "+"),
    Action("threshold_down", "minus", "threshold(-1)", "attention", "−"),
    Action("top_up", "right_parenthesis", "top(1)", "attention", ")"),
    Action("top_down", "left_parenthesis", "top(-1)", "attention", "("),
    Action("graph_cycle", "v", "graph_cycle", "attention", "v"),
    Action("zoom", "z", "zoom", "view", "z"),
    Action("tree", "s", "tree", "view", "s"),
    Action("theme", "T", "theme", "view", "T"),
    Action("predictions", "p", "predictions", "text", "p"),
    Action("append", "a", "append", "text", "a"),
    Action("edit", "e,i", "edit", "text", "e"),
    Action("text_on", "t", "step_text(1)", "text", "t"),
    Action("save_scene", "S", "save_scene", "program", "S"),
    Action("help", "question_mark,f1", "help", "program", "? F1"),
    Action("quit", "q,ctrl+q", "app.quit", "program", "q"),
)

# The bar at the bottom: what a group of keys does, and each key with the action that a click on it calls.
FOOTER: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("step", (("← ", "step(-1)"), ("→", "step(1)"))),
    ("head", (("[ ", "step_head(-1)"), ("]", "step_head(1)"))),
    ("layer", (("{ ", "step_layer(-1)"), ("}", "step_layer(1)"))),
    ("move", (("h", "move(0,-1)"), ("j", "move(1,0)"), ("k", "move(-1,0)"), ("l", "move(0,1)"))),
    ("graph", (("g", "graph"),)),
    ("predictions", (("p", "predictions"),)),
    ("edit", (("e", "edit"),)),
    ("help", (("?", "help"),)),
)
