"""What a stage means, and how the number looked at was computed."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from engine.derivation import Derivation, Reference
from engine.operand import Constant, Weight
from engine.ops import GivenWeight
from engine.stages import Stage
from tui import arithmetic
from tui.explanations import explained
from tui.language import Language
from tui.session import Session
from tui.widgets.clickable import ClickableText, clickable
from tui.widgets.numbers import align
from tui.wrapping import opening, wrap

# More numbers than this on each side of the one looked at have no room.
AROUND = 40

ROLES = {"plain": "", "name": "$quiet", "reference": "", "value": "bold $accent", "quiet": "$quiet"}


class Explanation(Static):
    """The formula in textbook notation, what the stage does and why, and what to look at.

    ``room`` is how many lines there are; where they are too few, what to look at is left out first, then the last
    sentences are; it is said where to read on, and `unsaid` is then all of it. Where something else explains what is
    shown, it is ``brief``, and the program's own first sentence, ``welcome``, is left out.
    """

    DEFAULT_CSS = """
    Explanation { height: auto; width: 100%; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__()
        self._session = session
        self._say = say
        self.room = 99
        self.brief = False
        self.welcome = True
        self.width = 0
        self.lines = 0
        self.unsaid: tuple[str, ...] = ()

    def update_words(self) -> None:
        """Say what the session looks at."""
        operand, say = self._session.operand, self._say
        # While it is hidden it has no size; when it is shown again, it will most likely be as wide as before.
        self.width = self.size.width or self.width
        width = max(20, self.width)
        title, said = explained(operand, say, "title"), self._stage_words()
        formula = operand.formula if isinstance(operand, Stage | Constant) else ""
        first = [Content.styled(title, "bold")]
        if formula and cell_len(title) + cell_len(formula) + 3 <= width:
            first = [Content.assemble((title, "bold"), "   ", (formula, "$accent"))]
        elif formula:
            first += [Content.styled(line, "$accent") for line in wrap(formula, width)]
        if self.welcome and self._session.position == 0 and isinstance(operand, Stage):
            example = self._session.notes(say.code)
            if example is None:
                first = [*_accented(say("welcome.start"), width), *first]
            else:
                # What is given comes first; what the example is about matters more than that it is given.
                first, said = _accented(example[0], width), (example[1], say("welcome.worked"))
        words = [] if self.brief else self._said(*said, width, self.room - len(first))
        lines = [*first, *words][: max(0, self.room)]
        if lines and self.unsaid and not self.brief:
            lines = self._marked(lines, width)
        self.lines = len(lines)
        self.display = bool(lines)
        self.update(Content("\n").join(lines))

    def _stage_words(self) -> tuple[str, str]:
        """What the stage does, and what to look at."""
        operand, session, say = self._session.operand, self._session, self._say
        return explained(operand, say, "explain", session), explained(operand, say, "look", session)

    def _said(self, does: str, look: str, width: int, room: int) -> list[Content]:
        """What it does and what to look at, as far as there is room."""
        say = self._say
        lines = [*map(Content, wrap(does, width)), *(Content.styled(line, "$quiet") for line in wrap(look, width))]
        self.unsaid = () if len(lines) <= room else (does, look)
        if self.unsaid:
            lines = [*map(Content, opening(does, width, room, 1 + cell_len(say("number.more"))))]
        return lines

    def _marked(self, lines: list[Content], width: int) -> list[Content]:
        """The lines, with a word on where to read on at their end, or on a line of its own if there is one."""
        more = clickable(Content.styled(self._say("number.more"), "$quiet"), "screen.help")
        if lines[-1].cell_length + 1 + more.cell_length > width:
            return [*lines, more][: self.room]
        return [*lines[:-1], Content.assemble(lines[-1], " ", more)]

    def on_resize(self) -> None:
        self.update_words()


def _accented(text: str, width: int) -> list[Content]:
    return [Content.styled(line, "bold $accent") for line in wrap(text, width)]


class ThisNumber(ClickableText):
    """The arithmetic of the cell looked at. One number in it is chosen; enter follows it to where it stands.

    A sum has up to ``rows`` lines; where all of it would take more lines than there is ``room`` for, it is shorter.
    """

    DEFAULT_CSS = """
    ThisNumber { height: auto; width: 100%; padding: 0 1; }
    """

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__()
        self._session = session
        self._say = say
        self._derivation: Derivation | None = None
        self._lines: list[arithmetic.Line] = []
        self._chosen: int | None = None
        self.rows = 4
        self.room = 99
        self.width = 0
        self.lines = 0

    def update_number(self) -> None:
        """Work out the session's cell anew; no number is chosen yet."""
        self._derivation = self._session.derivation()
        self._chosen = None
        self._write()

    def clear(self) -> None:
        """Show nothing: the number is still being computed."""
        self._derivation, self._lines, self._chosen = None, [], None
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
        width = max(20, self.width - 2)
        lines = self._written(width, self.rows)
        if len(lines) > self.room:
            lines = self._written(width, 1, hint=False)
        self.lines = len(lines)
        self.update(Content("\n").join(lines))

    def _written(self, width: int, rows: int, *, hint: bool = True) -> list[Content]:
        """The lines, with sums in so many; the hint on what enter does goes where a line of its own is too many."""
        session, say, found = self._session, self._say, self._derivation
        place = arithmetic.place_text(session.operand, session.cell, session.text, say)
        value = session.operand.number(session.cell)
        head = Content.assemble(
            (say("number.title"), "$quiet"),
            f"  {place} = ",
            (arithmetic.number_text(value), "bold $accent"),
        )
        self._lines = [] if found is None else arithmetic.lines(found, session.text, width - 2, rows, say)
        follow = self._hint(width - head.cell_length - 3)
        lines = [head]
        if follow:
            lines = [head + " " * max(1, width - head.cell_length - follow.cell_length) + follow]
        elif hint and self.reference() is not None:
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
        lines += [line.pad_left(2) for line in self._printed(width - 2)]
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

    def _printed(self, width: int) -> list[Content]:
        """What the file of a worked example says of the row looked at, what comes out, and the difference."""
        comparison, cell, say = self._session.comparison, self._session.cell, self._say
        if comparison is None:
            return []
        from tui.comparing import aligned, columns, names

        start = max(0, cell[-1] - AROUND)
        texts = columns(comparison, cell, slice(start, cell[-1] + AROUND))
        if not any(given for given, _, _ in texts):
            return []
        titles = [f"{name}  " for name in names(say)]
        room = max(map(cell_len, titles))
        first, lines = aligned(texts, cell[-1] - start, width - room)
        here = cell[-1] - start - first
        return [
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
