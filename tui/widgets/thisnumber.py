"""How the number looked at was computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import var

from engine.derivation import Derivation, Reference
from engine.operand import Weight
from engine.ops import GivenWeight
from tui import arithmetic
from tui.language import Language
from tui.session import Session
from tui.widgets.clickable import ClickableText, clickable
from tui.widgets.numbers import align, cut
from tui.wrapping import wrap

# More numbers than this on each side of the one looked at have no room.
AROUND = 40

ROLES = {"plain": "", "name": "$quiet", "reference": "", "value": "bold $accent", "quiet": "$quiet"}


@dataclass(frozen=True)
class Form:
    """How long the arithmetic is: lines a sum, whether the hint may have a line to itself, and whether it is packed."""

    rows: int
    hint: bool = True
    packed: bool = False


class ThisNumber(ClickableText):
    """The arithmetic of the cell looked at. One number in it is chosen; enter follows it to where it stands.

    A sum has up to ``rows`` lines; where all of it would take more lines than there is ``room`` for, terms of sums are
    left out, and steps stand side by side. Only where not even that fits into ``most`` lines are the first steps left
    out: the last one, which comes to the number, never is.
    """

    DEFAULT_CSS = """
    ThisNumber { height: auto; width: 100%; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    brief: var[bool] = var(False, init=False)
    """Whether only the number itself is said."""

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__()
        self._session = session
        self._say = say
        self._derivation: Derivation | None = None
        self._lines: list[arithmetic.Line] = []
        self._chosen: int | None = None
        self.rows = 4
        self.room = self.most = 99
        self.width = 0
        self.lines = 0
        # Whether it is shown in full.
        self.whole = True
        self._known = False

    def update_number(self) -> None:
        """Work out the session's cell anew; no number is chosen yet."""
        self._derivation = self._session.derivation()
        self._chosen, self._known = None, True
        self._write()

    def fit(self, room: int, most: int) -> None:
        """Take at most ``room`` lines, if that is possible, and never more than ``most``."""
        changed = (room, most) != (self.room, self.most)
        self.room, self.most = room, most
        if changed and self._known:
            self._write()

    def clear(self) -> None:
        """Show nothing: the number is still being computed."""
        self._derivation, self._lines, self._chosen, self._known = None, [], None, False
        self.update("")

    def choose(self, count: int) -> None:
        """Choose another number of the arithmetic, round and round."""
        shown = self._references()
        if shown:
            self._chosen = ((self._default() if self._chosen is None else self._chosen) + count) % len(shown)
            self._write()

    def reference(self, number: int | None = None) -> Reference | None:
        """A number of the arithmetic by its place on screen; without one the chosen one, or the last step's first."""
        shown = self._references()
        if not shown:
            return None
        if number is None:
            number = self._default() if self._chosen is None else self._chosen
        return shown[number] if number < len(shown) else None

    def plain(self) -> str:
        """The arithmetic as text, for the clipboard."""
        if self._derivation is None:
            operand = self._session.operand
            place = arithmetic.place_text(operand, self._session.cell, self._session.text, self._say)
            return f"{place} = {arithmetic.number_text(operand.number(self._session.cell))}"
        return "\n".join(arithmetic.plain(self._derivation, self._session.text, 160, self._say))

    def on_resize(self) -> None:
        if self._derivation is not None:
            self._write()

    def watch_brief(self) -> None:
        self.on_resize()

    def _references(self) -> list[Reference]:
        return [part.reference for line in self._lines for part in line if part.reference is not None]

    def _default(self) -> int:
        """Where enter goes at first: to the same cell one stage earlier, else to the last step's first number."""
        shown = self._references()
        symbols = [axis.symbol for axis in self._session.operand.axes]
        for number, found in enumerate(shown):
            if found.cell == self._session.cell and [axis.symbol for axis in found.operand.axes] == symbols:
                return number
        first = next(self._derivation.references(), None) if self._derivation is not None else None
        places = [(known.operand.name, known.cell) for known in shown]
        wanted = None if first is None else (first.operand.name, first.cell)
        return places.index(wanted) if wanted in places else 0

    def _write(self) -> None:
        # While it is hidden it has no size; when it is shown again, it will most likely be as wide as before.
        self.width = self.size.width or self.width
        width = max(20, self.width)
        for form in self._forms():
            self.whole = form == Form(self.rows)
            lines = self._written(width, form)
            if self.brief:
                lines = lines[:1]
            if len(lines) <= self.room:
                break
        self.lines = len(lines)
        self.update(Content("\n").join(lines))

    def _forms(self) -> Iterator[Form]:
        """From the longest form to the shortest: terms go first, then the hint on what enter does, then lines."""
        yield Form(self.rows)
        yield from (Form(rows, hint=False) for rows in range(self.rows, 0, -1))
        yield from (Form(rows, hint=False, packed=True) for rows in (1, 0))

    def _written(self, width: int, form: Form) -> list[Content]:
        """The lines, in a form; the first steps give way to dots where not even the shortest form fits."""
        session, say, found = self._session, self._say, self._derivation
        place = arithmetic.place_text(session.operand, session.cell, session.text, say)
        value = session.operand.number(session.cell)
        head = Content.assemble(
            (say("number.title"), "$quiet"),
            f"  {place} = ",
            (arithmetic.number_text(value), "bold $accent"),
        )
        self._lines = []
        if found is not None:
            self._lines = arithmetic.lines(found, session.text, width - 2, form.rows, say, packed=form.packed)
        printed = [line.pad_left(2) for line in self._printed(width - 2, labelled=not form.packed)]
        left = max(2, self.most - 1 - len(printed))
        if len(self._lines) > left and form == Form(0, hint=False, packed=True):
            self._lines = [[arithmetic.Part("⋯", "quiet")], *self._lines[1 - left :]]
        follow = self._hint(width - head.cell_length - 3)
        lines = [head]
        if follow:
            lines = [head + " " * max(1, width - head.cell_length - follow.cell_length) + follow]
        elif form.hint and self.reference() is not None:
            lines.append(self._hint(width - 2).pad_left(2))
        number = 0
        chosen = self._default() if self._chosen is None else self._chosen
        for line in self._lines:
            parts: list[tuple[str, str] | Content] = [("  ", "")]
            for part in line:
                if part.reference is None:
                    parts.append((part.text, ROLES[part.role]))
                    continue
                style = "underline $accent" if number == chosen else "underline $quiet"
                parts.append(clickable(Content.styled(part.text, style), f"screen.follow({number})"))
                number += 1
            lines.append(Content.assemble(*parts))
        lines += printed
        if found is None:
            lines += [Content.styled(f"  {line}", "") for line in self._origin(width - 2)]
        return lines

    def _hint(self, room: int) -> Content:
        target = self.reference()
        if target is None:
            return Content("")
        place = arithmetic.place_text(target.operand, target.cell, self._session.text, self._say)
        text = self._say("number.follow", place=place)
        more = f"   {self._say('number.choose')}" if len(self._references()) > 1 else ""
        shown = text + more if cell_len(text + more) <= room else text
        return Content.styled(shown, "$quiet") if cell_len(shown) <= room else Content("")

    def _printed(self, width: int, *, labelled: bool) -> list[Content]:
        """What the file of a worked example says of the row looked at, what comes out, and the difference.

        Where there is room, ``labelled``: what stands in each column is above it.
        """
        comparison, cell, say = self._session.comparison, self._session.cell, self._say
        if comparison is None:
            return []
        from tui.comparing import aligned, columns, names

        start = max(0, cell[-1] - AROUND)
        texts = columns(comparison, cell, slice(start, cell[-1] + AROUND))
        if not any(given for given, _, _ in texts):
            return []
        titles = [f"{name} " for name in names(say)]
        room = max(map(cell_len, titles))
        first, lines = aligned(texts, cell[-1] - start, width - room)
        here = cell[-1] - start - first
        axis = self._session.operand.axes[-1]
        places = range(start + first, min(axis.size, start + first + len(lines[0])))
        cells = [cell_len(text) for text in lines[0]]
        labels = [
            align(cut(axis.label(place, self._session.text), wide - 1), wide, "right")
            for place, wide in zip(places, cells, strict=False)
        ]
        above = [Content.styled(" " * room + "".join(labels), "$quiet")] if labelled else []
        return above + [
            Content.assemble(
                (align(title, room, "left"), "$quiet"),
                ("".join(cells[:here]), "$quiet"),
                (cells[here], "$accent"),
                ("".join(cells[here + 1 :]), "$quiet"),
            )
            for title, cells in zip(titles, lines, strict=True)
        ]

    def _origin(self, width: int) -> list[str]:
        operand = self._session.operand
        if isinstance(operand, Weight):
            return [
                *wrap(self._say("number.given" if isinstance(operand, GivenWeight) else "number.learned"), width),
                *wrap(self._say("number.stored", source=operand.source), width),
            ]
        return wrap(self._say("number.follows"), width)
