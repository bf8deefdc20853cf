"""Where a session is, on one screen: the equation or a picture, the words, the way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Rule

from engine.errors import EngineError
from engine.stages import Stage
from tui.language import Language
from tui.screens.background import Background
from tui.session import Session
from tui.widgets.editor import Editor
from tui.widgets.equation import LEGEND, TITLE_AND_HEADER, Equation
from tui.widgets.keybar import KeyBar
from tui.widgets.stagetree import StageTree
from tui.widgets.thisnumber import ThisNumber
from tui.widgets.topbar import TopBar
from tui.widgets.way import Way
from tui.widgets.words import Explanation

# About this many multiplications are done before a frame is late; more are left to a thread.
AT_ONCE = 50_000_000
# A picture in which arcs can be told apart well, and one in which they just can.
LEAST_PICTURE, LEAST_ARCS = 10, 7

if TYPE_CHECKING:
    from tui.views.graph import Graph
    from tui.views.headsmap import HeadsMap


class StageView(Background):
    """Shows where a session is, as soon as it is computed."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-normal"), (160, "-wide")]
    AUTO_FOCUS = ""

    top = getters.query_one(TopBar)
    tree_view = getters.query_one(StageTree)
    equation = getters.query_one(Equation)
    explanation = getters.query_one(Explanation)
    number = getters.query_one(ThisNumber)
    way = getters.query_one(Way)
    keys = getters.query_one(KeyBar)
    editor = getters.query_one("#editor", Editor)

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__(session, say)
        self._waiting: Callable[[], object] | None = None
        self._graph: Graph | None = None
        self._heads_map: HeadsMap | None = None
        # What the reader wants in the equation's place, wherever attention is looked at.
        self._wished: Graph | HeadsMap | None = None

    @property
    def picture(self) -> Graph | HeadsMap | None:
        """The picture of attention that stands in the place of the equation; None where the equation itself does."""
        return next((view for view in (self._graph, self._heads_map) if view is not None and view.display), None)

    @property
    def view(self) -> Equation | Graph | HeadsMap:
        """What stands in the middle."""
        return self.picture or self.equation

    def compose(self) -> ComposeResult:
        # Textual sets this when it has laid out everything for no width in particular.
        self.add_class(max(point for point in self.HORIZONTAL_BREAKPOINTS if point[0] <= self.app.size.width)[1])
        yield TopBar(self.session, self.say)
        yield Editor(placeholder=self.say("edit.placeholder"), id="editor", compact=True, select_on_focus=False)
        yield Rule(line_style="solid")
        with Horizontal(id="body"):
            yield StageTree(self.say)
            with Vertical(id="middle"):
                yield Equation(self.session, self.say)
                with Vertical(id="words"):
                    yield Explanation(self.session, self.say)
                    yield ThisNumber(self.session, self.say)
        yield Way(self.session, self.say)
        yield KeyBar(self.session, self.say)

    def on_mount(self) -> None:
        self.editor.display = False
        self.call_later(self._open)

    def _open(self) -> None:
        if not self.equation.size:
            # Not laid out yet. Waiting for a frame costs one, so that is not the rule.
            self.call_after_refresh(self._open)
            return
        self.tree_view.fill(self.session.trace)
        self.show()
        self.call_after_refresh(self._predict)
        if self.session.trace.source_tokens:
            self.call_after_refresh(self._grow)
        self.call_after_refresh(self._verify)

    # Showing

    def show(self) -> None:
        """Show what the session looks at, when its numbers are there."""
        if self._put_view():
            # What has not been laid out has no size yet.
            self.call_after_refresh(self.show)
            return
        operand = self.session.operand
        wanted = [x for x in (operand, *getattr(operand, "inputs", ())) if isinstance(x, Stage)]
        if self.picture is not None:
            wanted += self.picture.wanted()
        self._when_computed(wanted, self._show_now)

    def _put_view(self) -> bool:
        """Put the picture that is wished for where it fits the stage, else the equation; whether that changes anything.

        A picture of attention beside the words of another stage would be taken for that stage's own.
        """
        fitting: Equation | Graph | HeadsMap = self.equation
        if self._wished is not None:
            from tui.views.attention import shows_attention

            fitting = self._wished if shows_attention(self.session.operand) else self.equation
        views = [view for view in (self.equation, self._graph, self._heads_map) if view is not None]
        changed = [view for view in views if view.display != (view is fitting)]
        for view in changed:
            view.display = view is fitting
        return bool(changed)

    def _when_computed(self, wanted: list[Stage], then: Callable[[], object]) -> None:
        """Go on when these stages have been computed: at once where that is quick, else leave it to a thread.

        Whatever was waited for before is given up: the reader has gone on to something else.
        """
        self.workers.cancel_group(self, "compute")
        self._waiting = None
        if self.session.trace.cost(wanted) <= AT_ONCE:
            then()
            return
        self._waiting = then
        self._show_waiting(self.say("top.computing", done=0, count="…"))
        # What is said of the stage needs none of its numbers.
        self.explanation.update_words()
        self._show_way()
        self._compute(self.session.trace, wanted, then)

    def _show_waiting(self, message: str) -> None:
        self.view.wait(message)
        self.number.clear()
        self.top.update_place(message)

    def _show_way(self) -> None:
        """Show where in the model the session is."""
        self.way.update_way()
        self.tree_view.show(self.session.trace.stages[self.session.position])

    def _show_now(self) -> None:
        self._settle()
        self.number.rows = 2 if self.has_class("-narrow") else 12 if self.has_class("-wide") else 4
        self.equation.row_room = self._row_room()
        self.view.update()
        self.number.update_number()
        self._fit()
        self.top.update_place()
        self._show_way()

    def _row_room(self) -> int:
        """How many lines rows may take to look like more than a strip: what the words leave whatever they say."""
        height = self.query_one("#middle").size.height
        return 0 if self.has_class("-narrow") else height * 2 // 3 if self.has_class("-wide") else height // 3

    def _fit(self) -> None:
        """Share the lines, with a blank one before the arithmetic only where nothing is left out for it."""
        blank = not self.has_class("-narrow")
        self._share(1 + blank)
        if blank and (self.explanation.unsaid or not self.number.whole):
            blank = False
            self._share(1)
        self.number.styles.margin = (int(blank), 0, 0, 0)

    def _share(self, between: int) -> None:
        """Share the lines: the words follow the equation where both fit; else the equation gets what they leave.

        What the stage is and does, in a sentence at least, comes before terms of sums; then the number's last step, and
        then rows of a matrix of which some remain.
        """
        height = self.query_one("#middle").size.height
        beside = self.has_class("-wide")
        view = self.view
        whole = 0 if beside else LEAST_PICTURE if self.picture is not None else self.equation.least_lines
        if self.picture is not None and view.lines:
            whole = min(whole, view.lines)
        fewest = min(whole, LEAST_ARCS)
        said = self.explanation.least
        self.number.fit(max(0, height - between - whole - said), max(2, height - between - fewest))
        # The map of many heads is for finding one; what is said about the stage can wait.
        column = self.query_one("#words")
        column.display = beside or view is not self._heads_map or view.lines + 8 < height
        least = self.equation.least_lines
        if self.picture is not None:
            # One that has not been drawn yet does not know its lines. Arithmetic and a title are worth some of them.
            left = height - self.number.lines - between
            most = max(LEAST_ARCS, left - (left >= LEAST_PICTURE))
            least = min(view.lines or LEAST_PICTURE, LEAST_PICTURE, most)
        least = max(fewest, min(least, height - between - self.number.lines - said))
        self.explanation.room = height - self.number.lines - between - (0 if beside else least)
        self.explanation.update_words()
        words = self.explanation.lines + self.number.lines + between
        around = TITLE_AND_HEADER + LEGEND + 1
        self.equation.row_room = min(self._row_room(), height - around - (0 if beside else words))
        column.styles.max_height = height if beside else max(1, height - least)
        fits = view.lines + 1 + words <= height
        view.styles.height = view.lines + 1 if fits and view.lines and not beside else "1fr"

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _settle(self) -> None:
        """The first look at a vocabulary is at its most probable token, not at its first."""
        session = self.session
        if "V" not in session.positions and any(axis.symbol == "V" for axis in session.operand.axes[2:]):
            session.positions["V"] = int(session.operand.part(session.cell[:-1]).argmax())

    def _moved(self) -> None:
        """The cell looked at is another one of the same matrix."""
        if self._waiting is None:
            self.view.update_cursor()
            self.number.update_number()
            self.top.update_place()
            if self.session.operand.axes[-1].symbol in ("M", "N") or self.session.query:
                self._fit()
            if self.session.asks_here:
                self._predict()

    @on(Background.Verified)
    def _show_verified(self) -> None:
        self.top.verified = True
        self.top.update_place()

    @on(Background.Grown)
    def _grow_on(self, event: Background.Grown) -> None:
        session = self.session
        # The reader may have put another text in its place meanwhile.
        if [token.id for token in session.trace.source_tokens[event.text]] == event.source:
            with suppress(EngineError):
                session.append(event.token, event.text)
                self._new_trace(grow=False)

    @on(Background.Advanced)
    def _show_progress(self, event: Background.Advanced) -> None:
        if event.then is self._waiting:
            self._show_waiting(self.say("top.computing", done=event.done, count=event.count))

    @on(Background.Computed)
    def _go_on(self, event: Background.Computed) -> None:
        if event.then is self._waiting:
            self._waiting = None
            event.then()

    @on(Background.Predicted)
    def _show_predicted(self, event: Background.Predicted) -> None:
        if event.trace is self.session.trace and event.text == self.session.text:
            self.way.update_way(event.guesses)

    def _new_trace(self, *, grow: bool = True) -> None:
        self.tree_view.fill(self.session.trace)
        self.way.update_way([])
        self.show()
        self._predict()
        if grow and self.session.trace.source_tokens:
            self._grow()
