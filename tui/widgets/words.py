"""What a stage means, and how the number looked at was computed."""

from __future__ import annotations

import math

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
from tui.wrapping import wrap

ROLES = {"plain": "", "name": "$quiet", "reference": "", "value": "bold $accent", "quiet": "$quiet"}


class Explanation(Static):
    """The formula in textbook notation, what the stage does and why, and what to look at.

    ``room`` is how many lines there are; where they are too few, what to look at is left out first. Where something
    else explains what is shown, it is ``brief``, and the program's own first sentence, ``welcome``, is left out.
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
        self.lines = 0

    def update_words(self) -> None:
        """Say what the session looks at."""
        operand, session, say = self._session.operand, self._session, self._say
        width = max(20, self.size.width - 2)
        title = explained(operand, say, "title")
        formula = operand.formula if isinstance(operand, Stage | Constant) else ""
        first = [Content.styled(title, "bold")]
        if formula and cell_len(title) + cell_len(formula) + 3 <= width:
            first = [Content.assemble((title, "bold"), "   ", (formula, "$accent"))]
        elif formula:
            first += [Content.styled(line, "$accent") for line in wrap(formula, width)]
        said = wrap(explained(operand, say, "explain", session), width)
        look = wrap(explained(operand, say, "look", session), width)
        room = self.room - len(first)
        if self.brief:
            said = look = []
        if len(said) + len(look) > room:
            look = []
        said = said[: max(0, room)]
        if self.welcome and self._session.position == 0 and isinstance(operand, Stage):
            first = [*(Content.styled(line, "bold $accent") for line in wrap(say("welcome.start"), width)), *first]
        lines = [*first, *map(Content, said), *(Content.styled(line, "$quiet") for line in look)]
        lines = lines[: max(0, self.room)]
        self.lines = len(lines)
        self.display = bool(lines)
        self.update(Content("\n").join(lines))

    def on_resize(self) -> None:
        self.update_words()


class ThisNumber(ClickableText):
    """The arithmetic of the cell looked at. One number in it is chosen; enter follows it to where it stands."""

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
        width = max(20, self.size.width - 2)
        session, say, found = self._session, self._say, self._derivation
        place = arithmetic.place_text(session.operand, session.cell, session.text, say)
        value = session.operand.number(session.cell)
        head = Content.assemble(
            (say("number.title"), "$quiet"),
            f"  {place} = ",
            (arithmetic.number_text(value), "bold $accent"),
        )
        self._lines = [] if found is None else arithmetic.lines(found, session.text, width - 2, self.rows, say)
        follow = self._hint(width - head.cell_length - 3)
        lines = [head]
        if follow:
            lines = [head + " " * max(1, width - head.cell_length - follow.cell_length) + follow]
        elif self.reference() is not None:
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
        lines += [Content.styled(f"  {line}", "$quiet") for line in self._printed(width - 2)]
        if found is None:
            lines += [Content.styled(f"  {line}", "") for line in self._origin(width - 2)]
        self.lines = len(lines)
        self.update(Content("\n").join(lines))

    def _hint(self, room: int) -> Content:
        target = self.reference()
        if target is None:
            return Content("")
        place = arithmetic.place_text(target.operand, target.cell, self._session.text, self._say)
        text = self._say("number.follow", place=place)
        more = f"   {self._say('number.choose')}" if len(self._references()) > 1 else ""
        shown = text + more if cell_len(text + more) <= room else text
        return Content.styled(shown, "$quiet") if cell_len(shown) <= room else Content("")

    def _printed(self, width: int) -> list[str]:
        """What the file of a worked example says of the number, where it says something."""
        session = self._session
        for comparison in getattr(session.opened, "comparisons", ()):
            printed = float(comparison.given[session.cell]) if comparison.stage is session.operand else math.nan
            if not math.isnan(printed):
                gap = float(comparison.differences[session.cell])
                values = {"printed": arithmetic.number_text(printed), "gap": arithmetic.number_text(gap)}
                return wrap(self._say("worked.beside", **values), width)
        return []

    def _origin(self, width: int) -> list[str]:
        operand = self._session.operand
        if isinstance(operand, Weight):
            return [
                *wrap(self._say("number.given" if isinstance(operand, GivenWeight) else "number.learned"), width),
                *wrap(self._say("number.stored", source=operand.source), width),
            ]
        return wrap(self._say("number.follows"), width)
