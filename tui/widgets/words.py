"""What a stage means."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from engine.constants import Constant
from engine.stages import Stage
from tui.explanations import explained
from tui.language import Language
from tui.session import Session
from tui.widgets.clickable import clickable
from tui.wrapping import opening, sentences, wrap


class Explanation(Static):
    """The formula in textbook notation, what the stage does and why, and what to look at.

    ``room`` is how many lines there are; where they are too few, what to look at is left out first, then the last
    sentences are; it is said where to read on, and `unsaid` is then all of it. `least` lines are for the title, the
    formula and the first sentence. Where something else explains what is shown, it is ``brief``, and the program's own
    first sentence, ``welcome``, is left out.
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
        width = self._width()
        first, said = self._written(width)
        words = [] if self.brief else self._said(*said, width, self.room - len(first))
        lines = [*first, *words][: max(0, self.room)]
        if lines and self.unsaid and not self.brief:
            lines = self._marked(lines, width)
        self.lines = len(lines)
        self.display = bool(lines)
        self.update(Content("\n").join(lines))

    @property
    def least(self) -> int:
        """How many lines say what the stage is and does, if only in a sentence."""
        width = self._width()
        first, (does, _) = self._written(width)
        if self.brief:
            return len(first)
        return len(first) + len(wrap("".join(sentences(does)[:1]), width))

    def _width(self) -> int:
        # While it is hidden it has no size; when it is shown again, it will most likely be as wide as before.
        self.width = self.size.width or self.width
        return max(20, self.width)

    def _written(self, width: int) -> tuple[list[Content], tuple[str, str]]:
        """The lines that stand first, and what is said below them: what the stage does, and what to look at."""
        operand, say = self._session.operand, self._say
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
        return first, said

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
        """The lines, with a word on where to read on behind the last; where that is full, behind the one above."""
        more = clickable(Content.styled(self._say("number.more"), "$quiet"), "screen.help")
        room = width - 1 - more.cell_length
        at = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].cell_length <= room), len(lines) - 1)
        marked = Content.assemble(lines[at].truncate(room, ellipsis=True), " ", more)
        return [*lines[:at], marked, *lines[at + 1 :]]

    def on_resize(self) -> None:
        self.update_words()


def _accented(text: str, width: int) -> list[Content]:
    return [Content.styled(line, "bold $accent") for line in wrap(text, width)]
