"""Whether a demo works: all of it, played headless and fast."""

from __future__ import annotations

import asyncio

from textual.widget import Widget

from tui.demo.caption import MOST_LINES, Caption
from tui.demo.headless import scenes
from tui.demo.rehearsal import Rehearsal
from tui.demo.screen import DemoApp
from tui.language import language

# The terminals, in columns and lines, in which a demo must work.
SIZES = ((80, 24), (120, 40))
# Title, header and a row: less of a matrix shows nothing.
LEAST_LINES = 3


def check(rehearsal: Rehearsal, lang: str) -> list[str]:
    """Play a demo that has been rehearsed in terminals of two sizes, and say what is wrong with it, a line each."""
    return [fault for size in SIZES for fault in asyncio.run(faults(rehearsal, size, lang))]


async def faults(rehearsal: Rehearsal, size: tuple[int, int], lang: str) -> list[str]:
    """What is wrong in a terminal of one size."""
    say, found = language(lang), []
    async for number, app in scenes(rehearsal, say, size):
        scene = rehearsal.states[number].scene
        place = f"{rehearsal.demo.path}: line {rehearsal.demo.line(scene)}: "
        found += [place + fault for fault in _faults(rehearsal, number, app)]
    return found


def _faults(rehearsal: Rehearsal, number: int, app: DemoApp) -> list[str]:
    """What is wrong with the scene that the app shows."""
    explorer, state = app.explorer, rehearsal.states[number]
    session, caption = explorer.session, app.screen.query_one(Caption)
    found = []
    there = (explorer.player.index, session.trace, session.operand.name)
    if there != (number, state.trace, state.stage) or explorer.player.away:
        found.append(f"the explorer is at {session.operand.name}, not at {state.stage}")
    positions = {name: place for name, place in session.positions.items() if name in state.positions}
    if positions != state.positions:
        found.append(f"the explorer looks at {positions}, not at {state.positions}")
    if explorer.said != rehearsal.caption(number, explorer.say.code):
        found.append(f"the caption is {explorer.said!r}")
    if caption.lines > MOST_LINES:
        found.append(f"the caption takes {caption.lines} lines; {MOST_LINES} are read")
    if caption.size.height < caption.lines + 1 or caption.region.bottom > app.size.height:
        found.append("there is no room for the caption")
    if app.screen is explorer:
        wanted = "graph" if state.view.startswith("graph") else state.view
        shown: Widget = explorer.view
        looked = {"Equation": "equation", "Graph": "graph", "HeadsMap": "heads"}[type(shown).__name__]
        if looked != wanted:
            found.append(f"the view is {looked}, not {wanted}")
        if shown.size.height < LEAST_LINES or shown.region.overlaps(caption.region):
            found.append(f"there is no room for the {wanted}")
    elif state.view != "predictions":
        found.append("something lies over the explorer")
    return found
