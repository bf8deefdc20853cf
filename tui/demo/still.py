"""The explorer under a demo's direction as pictures show it: without what only keys could do anything with."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content

from tui.demo.caption import Caption
from tui.demo.screen import DemoApp, DemoExplorer
from tui.widgets.numbers import cut

# The title gets no more of the line.
LONGEST_TITLE = 60


class StillCaption(Caption):
    """A caption below a bar that says which scene of how many this is."""

    def _bar(self, width: int) -> Content:
        player = self._player
        title = cut(self._title, LONGEST_TITLE)
        number = f"{player.index + 1}/{player.count}"
        free = max(0, width - cell_len(title) - cell_len(number) - 4)
        done = round((player.index + 1) / player.count * free)
        return Content.assemble(
            (f"{title}  ", "$quiet"), ("━" * done, "$accent"), ("─" * (free - done), "$panel"), (f"  {number}", "bold")
        )


class StillExplorer(DemoExplorer):
    """The explorer for a picture."""

    def new_caption(self) -> StillCaption:
        says = [state.scene.say[self.say.code] for state in self.rehearsal.states]
        return StillCaption(self.player, self.rehearsal.demo.title[self.say.code], max(map(cell_len, says)), self.say)


class StillApp(DemoApp):
    """Shows a demo's scenes to whoever takes pictures of them."""

    CSS = """
    KeyBar, DemoPredictions > .hint { display: none; }
    StillExplorer > Caption { margin-top: 1; }
    """

    def get_default_screen(self) -> StillExplorer:
        return StillExplorer(self.rehearsal, self.player, self._session, self._say)
