"""The explorer: one screen on which a stage is seen, explained and taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, Rule, Tree
from textual.worker import get_current_worker

from engine.errors import EngineError
from engine.generation import Prediction, predictions
from engine.operand import Operand
from engine.trace import Stage, Trace
from tui.actions import ACTIONS
from tui.language import Language
from tui.layout import ZOOMS
from tui.screens.help import Help
from tui.screens.predictions import Predictions
from tui.session import Session
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


class StoppedError(Exception):
    """The reader has gone on to something else."""


class Explorer(Screen[None]):
    """Shows a session and does what its keys ask for."""

    CSS_PATH = "explorer.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [action.binding() for action in ACTIONS]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (150, "-wide")]
    AUTO_FOCUS = ""

    top = getters.query_one(TopBar)
    tree_view = getters.query_one(StageTree)
    equation = getters.query_one(Equation)
    explanation = getters.query_one(Explanation)
    number = getters.query_one(ThisNumber)
    way = getters.query_one(Way)
    keys = getters.query_one(KeyBar)
    editor = getters.query_one("#editor", Input)

    @dataclass
    class Computed(Message):
        """What was waited for can be shown."""

        operand: Operand

    @dataclass
    class Advanced(Message):
        """So many of the stages that are waited for have been computed."""

        operand: Operand
        done: int
        count: int

        def can_replace(self, message: Message) -> bool:
            """Only the latest matters."""
            return isinstance(message, Explorer.Advanced)

    @dataclass
    class Predicted(Message):
        """The next token's distribution of a trace is known."""

        trace: Trace
        text: int
        guesses: list[Prediction]

    def __init__(self, session: Session, say: Language) -> None:
        super().__init__()
        self.session = session
        self.say = say
        self._waiting_for: Operand | None = None

    def compose(self) -> ComposeResult:
        yield TopBar(self.session, self.say)
        yield Input(placeholder=self.say("edit.placeholder"), id="editor", compact=True)
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
        self.call_after_refresh(self._open)

    def _open(self) -> None:
        self.tree_view.fill(self.session.trace)
        self.show()
        self._predict()

    # Showing

    def show(self) -> None:
        """Show what the session looks at, when its numbers are there."""
        session = self.session
        operand = session.operand
        wanted = [x for x in (operand, *getattr(operand, "inputs", ())) if isinstance(x, Stage)]
        self.workers.cancel_group(self, "compute")
        if session.trace.cost(wanted) > AT_ONCE:
            self._waiting_for = operand
            self.equation.wait(self.say("top.computing", done=0, count="…"))
            self._compute(operand, wanted)
            return
        self._waiting_for = None
        self._settle()
        self.number.rows = 2 if self.has_class("-narrow") else 12 if self.has_class("-wide") else 4
        self.equation.update()
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
        least = min(self.equation.lines, LEAST_EQUATION)
        self.explanation.room = height - self.number.lines - between - (0 if beside else least)
        self.explanation.update_words()
        words = self.explanation.lines + self.number.lines + between
        fits = self.equation.lines + 1 + words <= height
        self.equation.styles.height = self.equation.lines + 1 if fits and not beside else "1fr"

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _settle(self) -> None:
        """The first look at a vocabulary is at its most probable token, not at its first."""
        session = self.session
        if "V" not in session.positions and any(axis.symbol == "V" for axis in session.operand.axes[2:]):
            session.positions["V"] = int(session.operand.part(session.cell[:-1]).argmax())

    def _moved(self) -> None:
        """The cell looked at is another one of the same matrix."""
        if self._waiting_for is None:
            self.equation.update_cursor()
            self.number.update_number()
            self.top.update_place()
            if self.session.operand.axes[-1].symbol in ("M", "N") or self.session.query:
                self._fit()

    @work(thread=True, group="compute", exclusive=True, exit_on_error=True)
    def _compute(self, operand: Operand, wanted: list[Stage]) -> None:
        worker = get_current_worker()

        def progress(done: int, count: int) -> None:
            if worker.is_cancelled:
                raise StoppedError
            self.post_message(self.Advanced(operand, done, count))

        try:
            self.session.trace.compute(wanted, progress)
        except StoppedError:
            return
        self.post_message(self.Computed(operand))

    @work(thread=True, group="predict", exclusive=True)
    def _predict(self) -> None:
        worker = get_current_worker()
        trace, text = self.session.trace, self.session.text
        if trace.cost([trace["probabilities"]]) > UNASKED:
            return

        def progress(done: int, count: int) -> None:
            if worker.is_cancelled:
                raise StoppedError

        try:
            trace.compute([trace["probabilities"]], progress)
        except StoppedError:
            return
        self.post_message(self.Predicted(trace, text, predictions(trace, text, count=3)))

    @on(Advanced)
    def _show_progress(self, event: Advanced) -> None:
        if event.operand is self._waiting_for:
            message = self.say("top.computing", done=event.done, count=event.count)
            self.equation.wait(message)
            self.top.update_place(message)

    @on(Computed)
    def _show_computed(self, event: Computed) -> None:
        if event.operand is self._waiting_for:
            self.show()

    @on(Predicted)
    def _show_predicted(self, event: Predicted) -> None:
        if event.trace is self.session.trace and event.text == self.session.text:
            self.way.update_way(event.guesses)

    # Stepping

    def action_step(self, count: int) -> None:
        self.session.step(count)
        self.show()

    def action_step_layer(self, count: int) -> None:
        self.session.step_layer(count)
        self.show()

    def action_step_head(self, count: int) -> None:
        self.session.step_head(count)
        self.show()

    def action_step_text(self, count: int) -> None:
        if len(self.session.texts) > 1:
            self.session.step_text(count)
            self.way.update_way([])
            self.show()
            self._predict()

    def action_edge(self, which: int) -> None:
        self.session.go(self.session.trace.stages[which])
        self.show()

    def action_visit(self, name: str) -> None:
        """Go to a stage by its name."""
        self.session.go(self.session.trace[name])
        self.show()

    def action_go(self) -> None:
        self.app.action_command_palette()

    # Looking at a number

    def action_move(self, down: int, across: int) -> None:
        self.session.move(down, across)
        self._moved()

    def action_page(self, count: int) -> None:
        self.session.move(count * self.equation.page(), 0)
        self._moved()

    def action_edge_cell(self, down: int, across: int) -> None:
        grid = self.session.grid
        row, column = grid.place(self.session.cell)
        self.session.move_to(
            row if not down else (0 if down < 0 else grid.rows - 1),
            column if not across else (0 if across < 0 else grid.columns - 1),
        )
        self._moved()

    def action_query(self, number: int) -> None:
        """Make a token the query."""
        self.session.positions["N"] = number
        self.show()

    def action_choose(self, count: int) -> None:
        self.number.choose(count)

    def action_follow(self, number: int | None = None) -> None:
        target = self.number.reference(number)
        if target is None or self._waiting_for is not None:
            self.keys.note(self.say("number.nothing"))
            self.set_timer(2, self._end_note)
            return
        self.session.follow(target)
        self.show()

    def action_back(self) -> None:
        if self.editor.display:
            self._end_edit()
        elif self.session.back():
            self.show()

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self.number.plain())
        self.keys.note(self.say("number.copied"))
        self.set_timer(2, self._end_note)

    @on(Equation.CellChosen)
    def _choose_cell(self, event: Equation.CellChosen) -> None:
        self.session.move_to(event.row, event.column)
        self._moved()

    @on(Equation.OperandChosen)
    def _choose_operand(self, event: Equation.OperandChosen) -> None:
        self.session.visit(event.operand, event.cell)
        self.show()

    @on(Tree.NodeSelected)
    def _choose_stage(self, event: Tree.NodeSelected[Stage]) -> None:
        if event.node.data is not None and event.node.data is not self.session.operand:
            self.session.go(event.node.data)
            self.show()

    # The view

    def action_zoom(self) -> None:
        self.equation.zoom = ZOOMS[(ZOOMS.index(self.equation.zoom) + 1) % len(ZOOMS)]
        self.keys.note(self.say(f"pane.zoom_{self.equation.zoom}"))
        self.set_timer(1.5, self._end_note)

    def action_tree(self) -> None:
        shown = self.tree_view.display and self.tree_view.size.width > 0
        self.set_class(shown, "-no-tree")
        self.set_class(not shown, "-tree")

    def action_theme(self) -> None:
        self.app.theme = "explore-light" if self.app.current_theme.dark else "explore-dark"

    def _end_note(self) -> None:
        self.keys.note("")

    # The text

    def action_predictions(self) -> None:
        self.app.push_screen(Predictions(self.session, self.say), self._append)

    def action_append(self) -> None:
        session = self.session
        best = predictions(session.trace, session.text, count=1)[0]
        self._append(best.id)

    def _append(self, token: int | None) -> None:
        if token is None:
            self.show()
            return
        session = self.session
        try:
            session.append(token)
        except EngineError as error:
            self._complain(error)
            return
        self._new_trace()

    def action_edit(self) -> None:
        self.editor.value = self.session.texts[self.session.text]
        self.top.display = False
        self.editor.display = True
        self.editor.focus()
        self.keys.note(self.say("edit.hint"))

    @on(Input.Submitted, "#editor")
    def _edited(self, event: Input.Submitted) -> None:
        if not event.value.strip():
            self.keys.note(self.say("edit.blank"))
            return
        try:
            self.session.edit(event.value)
        except EngineError as error:
            self._complain(error)
            return
        self._end_edit()
        self._new_trace()

    def _end_edit(self) -> None:
        self.editor.display = False
        self.top.display = True
        self.set_focus(None)
        self._end_note()

    def _new_trace(self) -> None:
        self.tree_view.fill(self.session.trace)
        self.way.update_way([])
        self.show()
        self._predict()

    def _complain(self, error: EngineError) -> None:
        self.keys.note(self.say.error(error.key, error.english, error.values))

    # The program

    def action_help(self) -> None:
        self.app.push_screen(Help(self.say))
