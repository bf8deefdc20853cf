"""What the demo says, in a place of its own, under a bar that shows how far it is."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content

from tui.demo.player import Player
from tui.language import Language
from tui.widgets.clickable import ClickableText, clickable
from tui.widgets.numbers import cut
from tui.wrapping import wrap

# More is not read while one looks at something else.
MOST_LINES = 3
# The title, and words that explain the buttons, stand only where they leave the bar at least so much.
LEAST_BAR = 10


class Caption(ClickableText):
    """A thin bar with the scene's number, and the caption below it; of a demo that was left, the bar alone."""

    DEFAULT_CSS = """
    Caption { height: auto; width: 100%; padding: 0 1; color: $foreground; }
    """

    def __init__(self, player: Player, title: str, longest: int, say: Language) -> None:
        super().__init__()
        self._player, self._title, self._say = player, title, say
        self._longest = longest
        self._said = ""
        self._shown: tuple[object, ...] = ()
        self.lines = 0

    def say_now(self, said: str) -> None:
        """Show a caption."""
        self._said = said
        self.update_caption(anew=True)

    def update_caption(self, *, anew: bool = False) -> None:
        """Show the player's state, where it looks any different than before."""
        width = max(20, self.size.width or self.app.size.width) - 2
        player = self._player
        filled = round(player.progress * width)
        state = (player.index, filled, player.paused, player.away, player.ended, width)
        if state == self._shown and not anew:
            return
        self._shown = state
        lines = [self._bar(width)]
        if not player.away:
            said = wrap(self._said, width)
            self.lines = len(said)
            # The place stays as high as the longest caption needs it, so that nothing above it jumps.
            least = min(MOST_LINES, -(-self._longest // max(1, width - 4)))
            lines += [Content(line) for line in said] + [Content("")] * (least - len(said))
        self.update(Content("\n").join(lines))

    def on_resize(self) -> None:
        self.update_caption(anew=True)

    def _bar(self, width: int) -> Content:
        player = self._player
        number = f"{player.index + 1}/{player.count}"
        buttons = [
            clickable(Content.styled(" ‹ ", "bold $accent"), "screen.demo_scene(-1)"),
            Content.styled(number, "bold" if player.playing else "$quiet"),
            clickable(Content.styled(" › ", "bold $accent"), "screen.demo_scene(1)"),
            clickable(Content.styled(self._state(), "bold $accent"), "screen.demo_pause"),
        ]
        right = Content.assemble(*buttons)
        hint = Content.styled(f"  {self._hint()}", "$quiet")
        free = width - right.cell_length
        if player.away:
            # Nothing else says how the demo goes on.
            right, free = right + hint, free - hint.cell_length
        title = Content.styled(f"{cut(self._title, max(0, free - LEAST_BAR - 2))}  ", "$quiet")
        free -= title.cell_length
        if not player.away and free - hint.cell_length >= LEAST_BAR:
            right, free = right + hint, free - hint.cell_length
        done = round(player.progress * free)
        bar = Content.assemble(("━" * done, "$accent"), ("─" * (free - done), "$panel"))
        return title + bar + right

    def _state(self) -> str:
        player = self._player
        mark = "▶" if player.away or player.paused or player.ended or player.waits else "❚❚"
        return mark + " " * (2 - cell_len(mark))

    def _hint(self) -> str:
        player, say = self._player, self._say
        if player.away:
            return say("demo.take_up")
        if player.ended:
            return say("demo.again")
        if player.waits:
            return say("demo.next")
        return say("demo.go_on" if player.paused else "demo.pause")
