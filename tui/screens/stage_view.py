"""Where a session is, on one screen: the equation or a picture, the words, the way; and the work behind it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import getters, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Rule
from textual.worker import get_current_worker

from engine.errors import EngineError
from engine.generation import MOST_WRITTEN, Prediction, greedy, predictions
from engine.stages import Stage
from engine.trace import Trace
from tui.language import Language
from tui.session import Session
from tui.widgets.editor import Editor
from tui.widgets.equation import Equation
from tui.widgets.keybar import KeyBar
from tui.widgets.stagetree import StageTree
from tui.widgets.topbar import TopBar
from tui.widgets.way import Way
from tui.widgets.words import Explanation, ThisNumber

# About this many multiplications are done before a frame is late; more are left to a thread.
AT_ONCE = 50_000_000
# The prediction needs every stage: it is worked out unasked only where that is quick.
UNASKED = 2_000_000_000
# Title, header and three rows: less of an equation shows nothing.
LEAST_EQUATION = 5
# Arcs that are lower than this cannot be told apart.
LEAST_PICTURE = 10

if TYPE_CHECKING:
    from tui.views.graph import Graph
    from tui.views.headsmap import HeadsMap


class StoppedError(Exception):
    """The reader has gone on to something else."""


class StageView(Screen[None]):
    """Shows where a session is; what takes long is computed in threads, which are told when nobody waits any more."""

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

    @dataclass
    class Computed(Message):
        """What was waited for has been computed."""

        then: Callable[[], object]

    @dataclass
    class Advanced(Message):
        """So many of the stages that are waited for have been computed."""

        then: Callable[[], object]
        done: int
        count: int

        def can_replace(self, message: Message) -> bool:
            """Only the latest matters."""
            return isinstance(message, StageView.Advanced)

    @dataclass
    class Predicted(Message):
        """The next token's distribution of a trace is known."""

        trace: Trace
        text: int
        guesses: list[Prediction]

    @dataclass
    class Verified(Message):
        """A reference beside the weights has agreed with what the model computes."""

    @dataclass
    class Grown(Message):
        """An encoder-decoder has written one more token of its translation."""

        source: list[int]
        text: int
        token: int

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__()
        self.session = session
        self.say = say
        self._waiting: Callable[[], object] | None = None
        self._graph: Graph | None = None
        self._heads_map: HeadsMap | None = None

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
        yield KeyBar(self.say)

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
        operand = self.session.operand
        wanted = [x for x in (operand, *getattr(operand, "inputs", ())) if isinstance(x, Stage)]
        if self.picture is not None:
            wanted += self.picture.wanted()
        self._when_computed(wanted, self._show_now)

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
        self._compute(self.session.trace, wanted, then)

    def _show_waiting(self, message: str) -> None:
        self.view.wait(message)
        self.number.clear()
        self.top.update_place(message)

    def _show_now(self) -> None:
        session = self.session
        self._settle()
        self.number.rows = 2 if self.has_class("-narrow") else 12 if self.has_class("-wide") else 4
        self.view.update()
        self.number.update_number()
        self._fit()
        self.top.update_place()
        self.way.update_way()
        self.tree_view.show(session.trace.stages[session.position])

    def _fit(self) -> None:
        """Share the lines: the words follow the equation where both fit; else the equation gets what they leave."""
        height = self.query_one("#middle").size.height
        beside = self.has_class("-wide")
        # The line between equation and words, and one before the arithmetic where there is room.
        between = 1 if self.has_class("-narrow") else 2
        view = self.view
        # The map of many heads is for finding one; what is said about the stage can wait.
        self.query_one("#words").display = beside or view is not self._heads_map or view.lines + 8 < height
        least = min(view.lines, LEAST_EQUATION if self.picture is None else LEAST_PICTURE)
        self.explanation.room = height - self.number.lines - between - (0 if beside else least)
        self.explanation.update_words()
        words = self.explanation.lines + self.number.lines + between
        self.query_one("#words").styles.max_height = height if beside else max(1, height - least)
        fits = view.lines + 1 + words <= height
        # A picture that has not been drawn yet does not know its lines.
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

    @work(thread=True, group="compute", exclusive=True, exit_on_error=True)
    def _compute(self, trace: Trace, wanted: list[Stage], then: Callable[[], object]) -> None:
        worker = get_current_worker()

        def progress(done: int, count: int) -> None:
            if worker.is_cancelled:
                raise StoppedError
            self.post_message(self.Advanced(then, done, count))

        try:
            trace.compute(wanted, progress)
        except StoppedError:
            return
        self.post_message(self.Computed(then))

    @work(thread=True, group="predict", exclusive=True)
    def _predict(self) -> None:
        worker = get_current_worker()
        trace, text = self.session.trace, self.session.text
        if not self.session.predicts:
            return
        wanted = trace.before_row(trace["probabilities"])
        if trace.cost(wanted) > UNASKED:
            return

        def progress(done: int, count: int) -> None:
            if worker.is_cancelled:
                raise StoppedError

        try:
            trace.compute(wanted, progress)
        except StoppedError:
            return
        self.post_message(self.Predicted(trace, text, predictions(trace, text, count=3)))

    @work(thread=True, group="grow", exclusive=True)
    def _grow(self) -> None:
        """Let the model write its translation of the text looked at, token by token, where it has not begun."""
        worker = get_current_worker()
        session = self.session
        trace, text = session.trace, session.text
        begun = [token.id for token in trace.tokens[text]]
        if len(begun) > 1:
            return
        source = [token.id for token in trace.source_tokens[text]]
        for token in greedy(session.model, source, MOST_WRITTEN, decoder_ids=begun):
            if worker.is_cancelled:
                return
            self.post_message(self.Grown(source, text, token))

    @work(thread=True, group="verify")
    def _verify(self) -> None:
        from engine.verify import verified_beside

        if self.session.changeable and verified_beside(self.session.model):
            self.post_message(self.Verified())

    @on(Verified)
    def _show_verified(self) -> None:
        self.top.verified = True
        self.top.update_place()

    @on(Grown)
    def _grow_on(self, event: Grown) -> None:
        session = self.session
        # The reader may have put another text in its place meanwhile.
        if [token.id for token in session.trace.source_tokens[event.text]] == event.source:
            with suppress(EngineError):
                session.append(event.token, event.text)
                self._new_trace(grow=False)

    @on(Advanced)
    def _show_progress(self, event: Advanced) -> None:
        if event.then is self._waiting:
            self._show_waiting(self.say("top.computing", done=event.done, count=event.count))

    @on(Computed)
    def _go_on(self, event: Computed) -> None:
        if event.then is self._waiting:
            self._waiting = None
            event.then()

    @on(Predicted)
    def _show_predicted(self, event: Predicted) -> None:
        if event.trace is self.session.trace and event.text == self.session.text:
            self.way.update_way(event.guesses)

    def _new_trace(self, *, grow: bool = True) -> None:
        self.tree_view.fill(self.session.trace)
        self.way.update_way([])
        self.show()
        self._predict()
        if grow and self.session.trace.source_tokens:
            self._grow()
