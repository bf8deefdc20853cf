"""A demo made ready to be played."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.model import Model, load
from engine.trace import GIBIBYTE
from tui.demo.player import Player
from tui.demo.rehearsal import OWN, Instead, Rehearsal, rehearse
from tui.demo.screen import DemoApp
from tui.demo.script import read
from tui.language import Language


def rehearsed(
    path: Path,
    say: Language,
    *,
    instead: Instead = OWN,
    memory: int = GIBIBYTE,
    load: Callable[[str], Model] = load,
) -> Rehearsal:
    """Read a demo, open its model, and make sure of all of it.

    Raises:
        FileError: something about the demo, or its model, is wrong.
    """
    demo = read(path)
    return rehearse(demo, load(instead.model or demo.model), say, instead=instead, memory=memory)


def play(
    path: Path,
    say: Language,
    *,
    theme: str = "dark",
    speed: float = 1.0,
    start: str | None = None,
    loop: bool = False,
    instead: Instead = OWN,
    memory: int = GIBIBYTE,
    load: Callable[[str], Model] = load,
) -> DemoApp:
    """The app that plays a demo, not yet running.

    Args:
        path: the demo's file, as `find_demo` gives it.
        speed: how much faster than written.
        start: the scene to begin with, by its name or its number from 1.
        instead: other texts to show it on, or another model.
        load: what opens the model of a name.

    Raises:
        FileError: something about the demo, or its model, is wrong; nothing has been drawn.
    """
    rehearsal = rehearsed(path, say, instead=instead, memory=memory, load=load)
    seconds = [rehearsal.seconds(number, say.code, alone=loop) for number in range(len(rehearsal.states))]
    return DemoApp(rehearsal, Player(seconds, speed, loop, rehearsal.number(start)), say, theme)
