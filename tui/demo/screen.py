"""The explorer while a demo drives it."""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import ClassVar

from rich.cells import cell_len
from textual import getters
from textual.app import ComposeResult
from textual.binding import BindingType

from tui.app import ExploreApp
from tui.demo.bars import BINDINGS, DemoPredictions
from tui.demo.caption import Caption
from tui.demo.player import Player
from tui.demo.rehearsal import Rehearsal
from tui.demo.script import View
from tui.demo.walk import State
from tui.language import Language
from tui.screens.explorer import Explorer
from tui.screens.help import Help
from tui.session import Session
from tui.views.attention import Limits
from tui.views.graph import Shown
from tui.widgets.way import Way

# How often the bar may move.
TICK = 0.1
# When what has just been mounted has been drawn.
SOON = 0.02
# From this height on there is room for the explorer's own words beside the caption.
TALL = 32

SHOWN: dict[View, Shown] = {"graph": "one", "graph-all": "all", "graph-mean": "mean"}


class DemoExplorer(Explorer):
    """The explorer, which a demo takes from scene to scene until the reader takes over.

    → and ← go a scene on and back, escape leaves the demo, and whatever else the reader does to what is shown leaves it
    too; space pauses it, goes on, and takes it up again.
    """

    BINDINGS: ClassVar[list[BindingType]] = BINDINGS

    caption = getters.query_one(Caption)

    def __init__(self, rehearsal: Rehearsal, player: Player, session: Session, say: Language) -> None:
        super().__init__(session, say)
        self.rehearsal = rehearsal
        self.player = player
        self.said = ""
        self._bars: DemoPredictions | None = None
        self._driving = True
        self._then = 0.0

    @property
    def moving(self) -> bool:
        """Whether the scene is still being put on the screen."""
        return self._driving or self._waiting is not None or self._undrawn

    @property
    def _undrawn(self) -> bool:
        """Whether a graph stands there that has not been drawn yet."""
        return self._graph is not None and self.picture is self._graph and not self._graph.lines

    def new_caption(self) -> Caption:
        """A place for captions, high enough for all of them."""
        says = [state.scene.say[self.say.code] for state in self.rehearsal.states]
        title = self.rehearsal.demo.title[self.say.code]
        return Caption(self.player, title, max(map(cell_len, says)), self.say)

    def compose(self) -> ComposeResult:
        for widget in super().compose():
            if isinstance(widget, Way):
                yield self.new_caption()
            yield widget

    def on_mount(self) -> None:
        self._then = monotonic()
        self.set_interval(TICK, self._tick)

    # Driving

    def _open(self) -> None:
        if not self.equation.size:
            self.call_after_refresh(self._open)
            return
        super()._open()
        self._show_scene()

    def _tick(self) -> None:
        now = monotonic()
        passed, self._then = now - self._then, now
        # While something lies over the demo, or is still computed, its time stands still.
        if self.app.screen not in (self, self._bars) or self._waiting is not None:
            return
        if self.player.tick(passed):
            self._show_scene()
        else:
            self._update_captions()

    def _show_scene(self) -> None:
        """Put the explorer where the player's scene is, whatever it showed."""
        state = self.rehearsal.states[self.player.index]
        self._driving = True
        anew = self.session.trace is not state.trace
        state.restore(self.session)
        self._end_reading()
        if anew:
            self._new_trace(grow=False)
        self._look_as(state)
        # Pictures are shown when they have been laid out.
        self.call_after_refresh(self._speak)

    def _end_reading(self) -> None:
        """Close what the reader may have opened."""
        if self.editor.display:
            self._end_edit()
        if self._bars is not None:
            bars, self._bars = self._bars, None
            if self.app.screen is bars:
                bars.dismiss(None)

    def _look_as(self, state: State) -> None:
        """Show the stage as an equation, as a graph, or the map of all heads."""
        view = state.view
        graph, heads = self._graph, self._heads_map
        if view.startswith("graph"):
            if graph is None or not graph.display:
                self.action_graph()
            if self._graph is not None:
                self._graph.limits, self._graph.shown = Limits(state.threshold), SHOWN[view]
        elif view == "heads":
            if heads is None or not heads.display:
                self.action_heads_map()
        elif self._wished is not None:
            self._look_through(None)

    def _speak(self) -> None:
        """Show the scene, and say its caption, when what it shows and names has been computed."""
        index, trace = self.player.index, self.session.trace
        wanted = [stage for stage in [self.session.stage] if stage is not None]
        wanted += self.picture.wanted() if self.picture is not None else []
        bars = self.rehearsal.states[index].view == "predictions"
        if bars or self.rehearsal.predicts(index, self.say.code):
            wanted.append(trace["probabilities"])
        self._when_computed(wanted, partial(self._speak_now, index, bars))
        self._driving = False

    def _speak_now(self, index: int, bars: bool) -> None:
        self.said = self.rehearsal.caption(index, self.say.code)
        self.caption.say_now(self.said)
        self._show_now()
        if bars:
            self._bars = DemoPredictions(self.session, self.say, self)
            self.app.push_screen(self._bars, self._bars_closed)
        self._end_note()

    def _bars_closed(self, choice: tuple[int, int] | None) -> None:
        if choice is not None:
            self._bars = None
            self._put(choice)

    def _update_captions(self) -> None:
        self.caption.update_caption()
        if self._bars is not None:
            # It may just be on its way there, or away.
            for caption in self._bars.query(Caption):
                caption.update_caption()

    def _fit(self) -> None:
        # The caption explains what is shown; where there is little room, the matrix gets it.
        self.explanation.welcome = False
        small = not self.player.away and self.size.height < TALL
        self.explanation.brief = small
        # A picture says more in these lines than the arithmetic of one of its numbers.
        self.number.brief = small and self.picture is not None
        super()._fit()
        if self._undrawn:
            # It does not know how high it is before it has been drawn once.
            self.view.styles.height = "1fr"
            self.set_timer(SOON, self._fit)

    # The reader takes over

    def leave(self) -> None:
        """Stay here, to explore."""
        if not self.player.away:
            self.player.leave()
            self._update_captions()
            self._end_note()
            if self._bars is not None:
                self._bars.show_keys()
            self.call_after_refresh(self._fit)

    def show(self) -> None:
        if not self._driving:
            self.leave()
        super().show()

    def _moved(self) -> None:
        if not self._driving:
            self.leave()
        super()._moved()

    def _end_note(self) -> None:
        self.keys.note("" if self.player.away else self.say("demo.keys"))

    # Keys

    def action_demo_pause(self) -> None:
        """Pause, go on, or take up the demo again."""
        if self.player.pause():
            self._show_scene()
        self._update_captions()

    def action_demo_scene(self, count: int) -> None:
        """Go a scene on or back."""
        moved = self.player.on() if count > 0 else self.player.back()
        if moved:
            self._show_scene()
        self._update_captions()

    def action_step(self, count: int) -> None:
        if self.player.away:
            super().action_step(count)
        else:
            self.action_demo_scene(count)

    def action_help(self) -> None:
        self.app.push_screen(Help(self.say, demo=True))

    def action_back(self) -> None:
        if self.player.away or self.editor.display:
            super().action_back()
        else:
            self.leave()


class DemoApp(ExploreApp):
    """Explores under a demo's direction."""

    # Textual looks for it beside the class that names it.
    CSS_PATH = "../screens/explorer.tcss"

    def __init__(self, rehearsal: Rehearsal, player: Player, say: Language, theme: str = "dark") -> None:
        session = rehearsal.states[player.index].session(rehearsal.memory)
        super().__init__(session, say, theme)
        self.rehearsal = rehearsal
        self.player = player

    @property
    def explorer(self) -> DemoExplorer:
        """The screen that the demo drives, whatever lies over it."""
        return next(screen for screen in self.screen_stack if isinstance(screen, DemoExplorer))

    def get_default_screen(self) -> DemoExplorer:
        return DemoExplorer(self.rehearsal, self.player, self._session, self._say)
