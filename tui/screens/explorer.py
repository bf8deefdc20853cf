"""The explorer: one screen on which a stage is seen, explained and taken apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import on
from textual.binding import BindingType
from textual.events import Click
from textual.widgets import Input, Tree

from engine.errors import EngineError
from engine.generation import predictions
from engine.stages import Stage
from tui.actions import ACTIONS
from tui.screens.stage_view import StageView
from tui.widgets.equation import Equation

RIGHT = 3
SCENES = Path("scenes.toml")

if TYPE_CHECKING:
    from tui.views.graph import Graph
    from tui.views.headsmap import HeadsMap

    Picture = TypeVar("Picture", Graph, HeadsMap)


class Explorer(StageView):
    """Does with the stage in view what the reader's keys and clicks ask for."""

    BINDINGS: ClassVar[list[BindingType]] = [action.binding() for action in ACTIONS]

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
        if self.picture is not None:
            self.picture.move(down, across)
            return
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
        self.session.look_at_query(number)
        self.show()

    def action_key(self, number: int) -> None:
        """Make a token the key."""
        self.session.look_at_key(number)
        self.show()

    def action_choose(self, count: int) -> None:
        self.number.choose(count)

    def action_follow(self, number: int | None = None) -> None:
        if self._heads_map is not None and self._heads_map.display and number is None:
            self._heads_map.open()
            return
        target = self.number.reference(number)
        if target is None or self._waiting is not None:
            self._say_briefly(self.say("number.nothing"))
            return
        self.session.follow(target)
        self.show()

    def action_back(self) -> None:
        if self.editor.display:
            self._end_edit()
        elif self.picture is not None:
            self._look_through(None)
        elif self.session.back():
            self.show()

    def action_copy(self) -> None:
        if self._waiting is not None:
            return
        self.app.copy_to_clipboard(self.number.plain())
        self._say_briefly(self.say("number.copied"))

    def on_click(self, event: Click) -> None:
        if event.button == RIGHT:
            self.action_back()

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

    def action_graph(self) -> None:
        if self._graph is not None and self._graph.display:
            self._look_through(None)
        elif self._look_at_weights():
            self._open_graph()

    def action_heads_map(self) -> None:
        if self._heads_map is not None and self._heads_map.display:
            self._look_through(None)
        elif self._look_at_weights():
            # Pictures are imported when they are first wanted: the first frame shows none.
            from tui.views.headsmap import HeadsMap

            self._heads_map = self._heads_map or self._mounted(HeadsMap(self.session, self.say))
            self._look_through(self._heads_map)

    def _look_at_weights(self) -> bool:
        """Go to the nearest stage that a picture of attention fits, if there is one."""
        from tui.views.attention import nearest_weights, shows_attention

        trace = self.session.trace
        weights = nearest_weights(trace, trace.stages[self.session.position])
        if weights is None:
            self._say_briefly(self.say("graph.none"))
            return False
        if not shows_attention(self.session.operand):
            self.session.go(weights)
        return True

    def _open_graph(self) -> None:
        from tui.views.graph import Graph

        self._graph = self._graph or self._mounted(Graph(self.session, self.say))
        self._look_through(self._graph)

    def _mounted(self, picture: Picture) -> Picture:
        self.query_one("#middle").mount(picture, before="#words")
        return picture

    def _look_through(self, picture: Graph | HeadsMap | None) -> None:
        """Show a picture in the place of the equation wherever it fits the stage, or the equation again."""
        self._wished = picture
        self._put_view()
        self.call_after_refresh(self.show)

    def on_graph_cell_chosen(self, event: Graph.CellChosen) -> None:
        self.session.positions.update(event.positions)
        self._moved()

    def on_graph_head_chosen(self, event: Graph.HeadChosen) -> None:
        self._choose_head(event.stage, event.head)

    def on_heads_map_head_chosen(self, event: HeadsMap.HeadChosen) -> None:
        self._choose_head(event.stage, event.head)
        if self._graph is not None:
            # This head was asked for, whatever the graph showed before.
            self._graph.shown = "one"

    def on_heads_map_head_framed(self, event: HeadsMap.HeadFramed) -> None:
        """Layer and head are looked at as soon as they are framed, so that all that names them agrees."""
        if event.layer_changed:
            self.session.go(self.session.trace[event.stage])
        self.session.positions["H"] = event.head
        self.show()

    def _choose_head(self, stage: str, head: int) -> None:
        self.session.go(self.session.trace[stage])
        self.session.positions["H"] = head
        self._open_graph()

    def action_threshold(self, step: int) -> None:
        if self._graph is not None and self._graph.display:
            self._graph.threshold(step)

    def action_top(self, step: int) -> None:
        if self._graph is not None and self._graph.display:
            self._graph.top(step)

    def action_graph_cycle(self) -> None:
        if self._graph is not None and self._graph.display:
            self._graph.cycle()

    def action_zoom(self) -> None:
        if self.picture is not None:
            self._say_briefly(self.say("pane.zoom_picture"))
        elif self.equation.zoom_on():
            self._say_briefly(self.say(f"pane.zoom_{self.equation.zoom}"))
        else:
            self._say_briefly(self.say("pane.zoom_same"))

    def action_tree(self) -> None:
        shown = self.tree_view.display and self.tree_view.size.width > 0
        self.set_class(shown, "-no-tree")
        self.set_class(not shown, "-tree")

    def action_theme(self) -> None:
        self.app.theme = "explore-light" if self.app.current_theme.dark else "explore-dark"

    def _say_briefly(self, message: str) -> None:
        self.keys.note(message)
        self.set_timer(2, self._end_note)

    def say_how_to_leave(self) -> None:
        """Say for a moment which key ends the program."""
        self._say_briefly(self.say("quit.hint"))

    def _end_note(self) -> None:
        self.keys.note("")

    # The text

    def action_predictions(self) -> None:
        self._when_predicted(self._choose_next)

    def action_append(self) -> None:
        self._when_predicted(self._put_best)

    def _when_predicted(self, then: Callable[[], object]) -> None:
        if self.session.predicts:
            trace = self.session.trace
            self._when_computed(trace.before_row(trace["probabilities"]), then)
        else:
            worked = self.session.notes(self.say.code) is not None
            self._say_briefly(self.say("predictions.none_worked" if worked else "predictions.none"))

    def _choose_next(self) -> None:
        from tui.screens.predictions import Predictions

        self.app.push_screen(Predictions(self.session, self.say), self._put)

    def _put_best(self) -> None:
        session = self.session
        best = predictions(session.trace, session.text, session.asked, count=1)[0]
        self._put((best.id, session.asked))

    def _put(self, choice: tuple[int, int] | None) -> None:
        """Put a chosen token at (or after) its position."""
        if choice is None:
            self.show()
            return
        if not self.session.changeable:
            self._say_briefly(self.say("worked.fixed"))
            return
        if self.session.ended_before(choice[1]):
            self._say_briefly(self.say("predictions.ended"))
            self.show()
            return
        try:
            self.session.put(*choice)
        except EngineError as error:
            self._complain(error)
            return
        self._new_trace()

    def action_edit(self) -> None:
        if not self.session.changeable:
            self._say_briefly(self.say("worked.fixed"))
            return
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

    def _complain(self, error: EngineError) -> None:
        self.keys.note(self.say.error(error.key, error.english, error.values))

    # The program

    def action_save_scene(self) -> None:
        """Append where the reader is, as a scene, to a demo in the folder that the program was started in."""
        from tui.demo.script import View
        from tui.demo.template import save_scene

        view: View = "equation"
        if self.picture is not None:
            view = "graph" if self.picture is self._graph else "heads"
        try:
            save_scene(SCENES, self.session, view)
        except EngineError as error:
            self._complain(error)
            return
        self._say_briefly(self.say("demo.saved", file=SCENES))

    def action_help(self) -> None:
        from tui.screens.help import Help

        about = [*(self.session.notes(self.say.code) or ()), *self.explanation.unsaid]
        if self._heads_map is not None and self._heads_map.display:
            # What hides the stage's own words explains itself.
            about = self._heads_map.about
        self.app.push_screen(Help(self.say, about=list(dict.fromkeys(about))))
