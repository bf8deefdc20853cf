"""The top of the screen: model, place in the model, and the text's tokens with their ids."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from engine.tokenizer import Token
from tui.language import Language
from tui.naming import name_of
from tui.places import blocks
from tui.session import Session
from tui.widgets.clickable import ClickableText, clickable
from tui.widgets.numbers import align

# Whether it is said in words that the model is verified, in words how far one is, and how many layers and heads there
# are; and the cells before the shape: from what is said where there is room, to the least.
SHORTER = (
    (True, True, True, 3),
    (True, True, False, 3),
    (False, False, False, 3),
    (False, False, False, 1),
)
# From how many cells on the first of them is tried, and the second: what is said is not to change from stage to stage.
ROOM_FOR_TOTALS, ROOM_FOR_WORDS = 138, 98
# The matrix's name stands here, in hundredths of the width, unless what is left of it is longer.
NAME_AT = 40

# Beside the tokens, where more are on that side than there is room for.
CUT = "… "


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
        """Model, layer and head; the matrix; how far one is: as much of each as there is room for.

        Where one begins, it is said in words that the model is verified and how many steps there are; from then on the
        width alone says how short it is said, so that nothing jumps while one steps, unless it fits no other way.
        """
        first = 0 if width >= ROOM_FOR_TOTALS or not self._session.position else 1 if width >= ROOM_FOR_WORDS else 2
        for verified, steps, totals, gap in SHORTER[first:]:
            left, middle, right = self._model(verified, totals), self._matrix(gap), self._progress_text(steps)
            free = width - left.cell_length - middle.cell_length - right.cell_length
            if free >= (6 if gap > 1 else 4):
                before = max(gap, min(free - gap, width * NAME_AT // 100 - left.cell_length))
                return Content.assemble(left, " " * before, middle, " " * (free - before), right)
        short = Content.assemble(middle, " ", right)
        room = width - short.cell_length - 2
        where = " · ".join(self._where(False))
        if left.cell_length > room and where:
            # The model stays the same; the layer, head and text do not.
            left = Content.styled(where, "$quiet")
        return Content.assemble(left.truncate(room), "  ", short) if room > 0 else short

    def _model(self, in_words: bool, totals: bool) -> Content:
        session = self._session
        mark = self._say("top.verified") if in_words else "✓"
        name = f"{session.name} {mark}" if self.verified and session.changeable else session.name
        where = self._where(totals)
        model = clickable(Content.styled(name, "bold"), "screen.go")
        return Content.assemble(model, ("  " + " · ".join(where) if where else "", "$quiet"))

    def _where(self, totals: bool) -> list[str]:
        """Side, layer, head and text; ``totals`` says how many of each there are."""
        session = self._session
        here = session.trace.stages[session.position]
        found = [self._say.group(here.side)] if here.side else []
        counted: list[tuple[str, int, int]] = []
        if here.layer is not None:
            last = max(layer for side, layer in blocks(session.trace) if side == here.side)
            counted.append(("layer", here.layer, last + 1))
        if len(session.operand.axes) == 4 and any(axis.symbol.startswith("H") for axis in session.operand.axes):
            counted.append(("head", session.head, session.heads))
        if len(session.texts) > 1:
            counted.append(("text", session.text, len(session.texts)))
        for what, place, count in counted:
            of = "_of" if totals else ""
            found.append(self._say(f"top.{what}{of}", place=place, count=count))
        return found

    def _matrix(self, gap: int) -> Content:
        operand = self._session.operand
        name = operand.name.split(".")[-1] if self._session.stage is not None else operand.name
        return Content.assemble((name, "bold $accent"), " " * gap, operand.shape_text)

    def _progress_text(self, in_words: bool) -> Content:
        position, count = self._session.position + 1, len(self._session.trace)
        steps = self._say("top.position", position=position, count=count) if in_words else f"{position}/{count}"
        return Content.styled(self._progress or steps, "$quiet")

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
        here = query if query is not None else key or 0
        numbers = _around(tokens, here, room)
        if len(numbers) < len(tokens):
            numbers = _around(tokens, here, room - 2 * cell_len(CUT))
        start = CUT if numbers.start > 0 else ""
        names, ids = [Content.styled(start, "$quiet")], [Content(" " * cell_len(start))]
        for number in numbers:
            cells = _cells(tokens[number])
            style = ""
            if number == query:
                style = "bold $background on $accent"
            elif number == key:
                style = "bold underline $accent"
            name = Content.styled(align(tokens[number].label, cells, "centre"), style)
            names.append(clickable(name, f"screen.{action}({number})") + " ")
            ids.append(Content.styled(align(str(tokens[number].id), cells, "centre"), "$quiet") + " ")
        if numbers.stop < len(tokens):
            names.append(Content.styled(CUT, "$quiet"))
        return Content("").join(names), Content("").join(ids)

    def _about(self) -> Content:
        session, say = self._session, self._say
        query, key = name_of(session.tokens, session.query), session.key
        if key is None:
            return Content.assemble((f"{say('top.token')} ", "$quiet"), (query, "$accent"))
        return Content.assemble(
            (f"{say('top.query')} ", "$quiet"),
            (query, "$accent"),
            (f" → {say('top.key')} ", "$quiet"),
            (name_of(session.keys, key), "$accent"),
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
