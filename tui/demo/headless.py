"""A demo played without a terminal and without waiting, from scene to scene."""

from __future__ import annotations

from collections.abc import AsyncIterator

from rich.console import Console
from textual.pilot import Pilot

from tui.demo.player import Player
from tui.demo.rehearsal import Rehearsal
from tui.demo.screen import DemoApp
from tui.language import Language

# So often a screen is seen unchanged before it is believed.
CALM = 2


async def scenes(
    rehearsal: Rehearsal, say: Language, size: tuple[int, int], theme: str = "dark"
) -> AsyncIterator[tuple[int, DemoApp]]:
    """Every scene by its number, when the app shows it and the screen has come to rest."""
    player = Player([None] * len(rehearsal.states))
    app = DemoApp(rehearsal, player, say, theme)
    # A picture has all colours, wherever it is made.
    app.console = Console(color_system="truecolor", file=app.console.file, force_terminal=True, legacy_windows=False)
    async with app.run_test(size=size, tooltips=True, notifications=True) as pilot:
        for number in range(player.count):
            if number:
                app.explorer.action_demo_scene(1)
            await settle(app, pilot)
            yield number, app


async def settle(app: DemoApp, pilot: Pilot[int]) -> None:
    """Wait until the scene is shown and nothing moves on the screen any more."""
    before, calm = None, 0
    while calm < CALM:
        await pilot.pause(0)
        shown = app.screen, [(widget, widget.region) for widget in app.screen.query("*")]
        busy = app.explorer.moving or any(not worker.is_finished for worker in app.workers)
        calm = calm + 1 if shown == before and not busy else 0
        before = shown
