"""The top of the screen: model, place in the model, and the text's tokens with their ids."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from engine.tokenizer import Token
from tui.language import Language
from tui.places import blocks
from tui.session import Session
from tui.widgets.clickable import ClickableText, clickable
from tui.widgets.numbers import align

# From this width on there is room for words.
ROOMY = 110


class TopBar(ClickableText):
    """Three lines: where one is; the tokens, the query and key marked; their ids.

    ``verified`` says that a reference beside the model's weights has agreed with what it computes.
    """

    DEFAULT_CSS = """
    TopBar { height: 3; width: 100%; padding: 0 1; }
    """

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__()
        self._session = session
        self._say = say
        self._progress = ""
        self.verified = False

    def update_place(self, progress: str = "") -> None:
        """Show the session's place; ``progress`` is said instead of the position while something is computed."""
        self._progress = progress
        width = max(20, self.size.width)
        self.update(Content("\n").join([self._place(width), *self._tokens(width)]))

    def on_resize(self) -> None:
        self.update_place(self._progress)

    def _place(self, width: int) -> Content:
        session, say = self._session, self._say
        mark = say("top.verified") if width >= ROOMY else "✓"
        parts = [f"{session.name} {mark}" if self.verified else session.name]
        here = session.trace.stages[session.position]
        if here.side:
            parts.append(say.group(here.side))
        if here.layer is not None:
            last = max(layer for side, layer in blocks(session.trace) if side == here.side)
            parts.append(say("top.layer", layer=here.layer, last=last))
        if any(axis.symbol.startswith("H") and len(session.operand.axes) == 4 for axis in session.operand.axes):
            parts.append(say("top.head", head=session.head, last=session.heads - 1))
        if len(session.texts) > 1:
            parts.append(say("top.text", text=session.text, last=len(session.texts) - 1))
        position = self._progress or say("top.position", position=session.position + 1, count=len(session.trace))
        shape = session.operand.shape_text
        name = session.operand.name.split(".")[-1] if session.stage is not None else session.operand.name
        model = clickable(Content.styled(parts[0], "bold"), "screen.go")
        left = Content.assemble(model, ("  " + " · ".join(parts[1:]) if parts[1:] else "", "$quiet"))
        gap = 3
        if cell_len(name) + gap + cell_len(shape) + 2 + cell_len(position) > width and not self._progress:
            # Where there is room for nothing else, one still sees how far one is.
            gap, position = 1, f"{session.position + 1}/{len(session.trace)}"
        middle = Content.assemble((name, "bold $accent"), (" " * gap + shape, ""))
        right = Content.styled(position, "$quiet")
        free = width - left.cell_length - middle.cell_length - right.cell_length
        if free >= 6:
            before = max(3, min(free - 3, width // 2 - left.cell_length - middle.cell_length // 2))
            return Content.assemble(left, " " * before, middle, " " * (free - before), right)
        short = Content.assemble(middle, " " * min(2, gap), right)
        room = width - short.cell_length - 2
        if left.cell_length > room and parts[1:]:
            # The model stays the same; the layer, head and text do not.
            left = Content.styled(" · ".join(parts[1:]), "$quiet")
        return Content.assemble(left.truncate(room), "  ", short) if room > 0 else short

    def _tokens(self, width: int) -> list[Content]:
        """The tokens over their ids; where queries and keys are of two texts, the queries over the keys."""
        session = self._session
        query, key = session.query, session.key
        same = session.key_axis is None or session.key_axis.side == session.row_axis.side
        about = self._about()
        room = width - about.cell_length - 3 if about.cell_length < width // 2 else width
        first, ids = self._row(session.tokens, query, key if same else None, room, "query")
        if about.cell_length < width // 2:
            first = first + " " * max(2, width - first.cell_length - about.cell_length) + about
        if same or key is None:
            return [first, ids]
        return [first, self._row(session.keys, None, key, width, "key")[0]]

    @staticmethod
    def _row(
        tokens: Sequence[Token], query: int | None, key: int | None, room: int, action: str
    ) -> tuple[Content, Content]:
        """Tokens, and their ids below them. One accent: the query stands on it, the key is written in it."""
        names, ids = [], []
        for number in _around(tokens, query if query is not None else key or 0, room):
            cells = _cells(tokens[number])
            style = ""
            if number == query:
                style = "bold $background on $accent"
            elif number == key:
                style = "bold underline $accent"
            name = Content.styled(align(tokens[number].label, cells, "centre"), style)
            names.append(clickable(name, f"screen.{action}({number})") + " ")
            ids.append(Content.styled(align(str(tokens[number].id), cells, "centre"), "$quiet") + " ")
        return Content("").join(names), Content("").join(ids)

    def _about(self) -> Content:
        session, say = self._session, self._say
        query, key = session.tokens[session.query].label, session.key
        if key is None:
            return Content.assemble((f"{say('top.token')} ", "$quiet"), (query, "$accent"))
        return Content.assemble(
            (f"{say('top.query')} ", "$quiet"),
            (query, "$accent"),
            (f" → {say('top.key')} ", "$quiet"),
            (session.keys[key].label, "$accent"),
        )


def _cells(token: Token) -> int:
    return min(16, max(cell_len(token.label) + 2, len(str(token.id))))


def _around(tokens: Sequence[Token], here: int, room: int) -> range:
    """As many tokens around one as there is room for."""
    first, last = here, here + 1
    used = _cells(tokens[here]) + 1
    while True:
        before = _cells(tokens[first - 1]) + 1 if first > 0 else None
        after = _cells(tokens[last]) + 1 if last < len(tokens) else None
        if before is not None and used + before <= room and (after is None or here - first <= last - here - 1):
            first, used = first - 1, used + before
        elif after is not None and used + after <= room:
            last, used = last + 1, used + after
        elif before is not None and used + before <= room:
            first, used = first - 1, used + before
        else:
            return range(first, last)
