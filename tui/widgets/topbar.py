"""The top of the screen: model, place in the model, and the text's tokens with their ids."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from engine.tokenizer import Token
from tui.language import Language
from tui.session import Session
from tui.widgets.clickable import ClickableText, clickable
from tui.widgets.numbers import align


class TopBar(ClickableText):
    """Three lines: where one is; the tokens, the query and key marked; their ids."""

    DEFAULT_CSS = """
    TopBar { height: 3; width: 100%; padding: 0 1; }
    """

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__()
        self._session = session
        self._say = say
        self._progress = ""

    def update_place(self, progress: str = "") -> None:
        """Show the session's place; ``progress`` is said instead of the position while something is computed."""
        self._progress = progress
        width = max(20, self.size.width)
        self.update(Content("\n").join([self._place(width), *self._tokens(width)]))

    def on_resize(self) -> None:
        self.update_place(self._progress)

    def _place(self, width: int) -> Content:
        session, say = self._session, self._say
        spec = session.model.spec
        parts = [session.model.name]
        if session.layer is not None:
            parts.append(say("top.layer", layer=session.layer, last=len(spec.layers) - 1))
        if any(axis.symbol.startswith("H") and len(session.operand.axes) == 4 for axis in session.operand.axes):
            parts.append(say("top.head", head=session.head, last=session.heads - 1))
        if len(session.texts) > 1:
            parts.append(say("top.text", text=session.text, last=len(session.texts) - 1))
        position = self._progress or say("top.position", position=session.position + 1, count=len(session.trace))
        shape = session.operand.shape_text
        name = session.operand.name.split(".")[-1] if session.stage is not None else session.operand.name
        left = Content.assemble((parts[0], "bold"), ("  " + " · ".join(parts[1:]) if parts[1:] else "", "$quiet"))
        middle = Content.assemble((name, "bold $accent"), (f"   {shape}", ""))
        right = Content.styled(position, "$quiet")
        free = width - left.cell_length - middle.cell_length - right.cell_length
        if free >= 6:
            gap = max(3, min(free - 3, width // 2 - left.cell_length - middle.cell_length // 2))
            return Content.assemble(left, " " * gap, middle, " " * (free - gap), right)
        short = Content.assemble(middle, " " * 2, right)
        return (
            left.truncate(max(0, width - short.cell_length - 2)) + "  " + short if free > -20 else short.truncate(width)
        )

    def _tokens(self, width: int) -> list[Content]:
        session = self._session
        tokens = session.trace.tokens[session.text]
        query, key = session.query, session.key
        about = self._about(query, key)
        room = width - about.cell_length - 3 if about.cell_length < width // 2 else width
        names, ids = [], []
        for number in _around(tokens, query, room):
            token = tokens[number]
            cells = _cells(token)
            # One accent: the query stands on it, the key is written in it.
            style = (
                "bold $background on $accent" if number == query else "bold underline $accent" if number == key else ""
            )
            name = Content.styled(align(token.label, cells, "centre"), style)
            names.append(clickable(name, f"screen.query({number})") + " ")
            ids.append(Content.styled(align(str(token.id), cells, "centre"), "$quiet") + " ")
        first = Content("").join(names)
        if about.cell_length < width // 2:
            first = first + " " * max(2, width - first.cell_length - about.cell_length) + about
        return [first, Content("").join(ids)]

    def _about(self, query: int, key: int | None) -> Content:
        session, say = self._session, self._say
        tokens = session.trace.tokens[session.text]
        if key is None:
            return Content.assemble((f"{say('top.token')} ", "$quiet"), (tokens[query].label, "$accent"))
        return Content.assemble(
            (f"{say('top.query')} ", "$quiet"),
            (tokens[query].label, "$accent"),
            (f" → {say('top.key')} ", "$quiet"),
            (tokens[key].label, "$accent"),
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
