"""A demo played without a terminal and without waiting, from scene to scene."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from rich.console import Console
from textual.pilot import Pilot

from tui.app import LIGHT
from tui.demo.player import Player
from tui.demo.rehearsal import Rehearsal
from tui.demo.screen import DemoApp
from tui.language import Language
from tui.widgets.matrix import MatrixView

# So often a screen is seen unchanged before it is believed.
CALM = 2
# A screen takes some ten looks to come to rest, and hundreds where it waits for a timer.
MOST_LOOKS = 5_000


async def scenes(
    rehearsal: Rehearsal,
    say: Language,
    size: tuple[int, int],
    theme: str = "dark",
    *,
    numbers: Sequence[int] | None = None,
    kind: type[DemoApp] = DemoApp,
) -> AsyncIterator[tuple[int, DemoApp]]:
    """Every scene by its number, when the app shows it and the screen has come to rest.

    Args:
        size: columns and lines.
        numbers: the scenes to show, in ascending order; None for all.
        kind: the app that shows them.
    """
    player = Player([None] * len(rehearsal.states))
    wanted = range(player.count) if numbers is None else numbers
    player.go(wanted[0])
    app = kind(rehearsal, player, say, theme)
    # A picture has all colours, wherever it is made.
    app.console = Console(color_system="truecolor", file=app.console.file, force_terminal=True, legacy_windows=False)
    app.register_theme(LIGHT)
    async with app.run_test(size=size, tooltips=True, notifications=True) as pilot:
        for number in wanted:
            if number != player.index:
                player.go(number - 1)
                app.explorer.action_demo_scene(1)
            await settle(app, pilot)
            await scroll_anew(app, pilot)
            yield number, app


async def scroll_anew(app: DemoApp, pilot: Pilot[int]) -> None:
    """Bring the cell looked at in sight from the start of each matrix.

    How far one had been scrolled depends on what it showed before, and on the sizes that it had until all was laid out.
    """
    scrolled = [view for view in app.explorer.query(MatrixView) if view.scroll_offset != (0, 0)]
    if scrolled and app.screen is app.explorer and app.explorer.picture is None:
        for view in scrolled:
            view.scroll_to(0, 0, animate=False, force=True, immediate=True)
        app.explorer.equation.update_cursor()
        await settle(app, pilot)


async def settle(app: DemoApp, pilot: Pilot[int]) -> None:
    """Wait until the scene is shown and nothing moves on the screen any more.

    Raises:
        RuntimeError: the app has come to an end, or the screen is laid out anew for ever.
    """
    before, calm, looks = None, 0, 0
    while calm < CALM:
        await pilot.pause(0)
        if app.return_code is not None:
            # What it ended of is raised in the place of this.
            raise RuntimeError("the app has come to an end")
        working = any(not worker.is_finished for worker in app.workers)
        shown = app.screen, [(widget, widget.region) for widget in app.screen.query("*")]
        calm = calm + 1 if shown == before and not working and not app.explorer.moving else 0
        before = shown
        # Who waits for a computation has nothing to wonder about.
        looks += not working
        if looks > MOST_LOOKS:
            raise RuntimeError(f"scene {app.player.index + 1} does not come to rest")
