"""A demo as pictures: one of each scene, one that moves through all of them, and a page to go through them oneself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import FileError
from engine.model import Model, load
from engine.trace import GIBIBYTE
from tui.demo.film import film
from tui.demo.headless import scenes
from tui.demo.marks import Drawing, drawing
from tui.demo.page import page
from tui.demo.pictures import picture
from tui.demo.play import rehearsed
from tui.demo.rehearsal import OWN, Instead, Rehearsal
from tui.demo.still import StillApp
from tui.language import Language

# About as wide as the column of a web page, at a size at which its text can be read.
SIZE = (92, 29)
# A film needs no time in which to press keys.
FASTER = 1.5


@dataclass(frozen=True)
class Shot:
    """A scene as it was seen.

    Attributes:
        number: which scene it is, from 0.
        seconds: how long it stays in a film.
        title: what the demo is called.
        caption: what is said in the scene.
    """

    number: int
    name: str
    drawing: Drawing
    seconds: float
    title: str
    caption: str

    @property
    def svg(self) -> str:
        """Its picture."""
        return picture(self.drawing, self.title, self.caption)


def shots(
    rehearsal: Rehearsal,
    say: Language,
    *,
    size: tuple[int, int] = SIZE,
    theme: str = "dark",
    numbers: Sequence[int] | None = None,
) -> list[Shot]:
    """Every scene of a demo (or those of these numbers, in ascending order) as it looks at a size and in a theme."""
    title = rehearsal.demo.title[say.code]

    async def take() -> list[Shot]:
        taken = []
        async for number, app in scenes(rehearsal, say, size, theme, numbers=numbers, kind=StillApp):
            said = app.explorer.said
            seconds = rehearsal.seconds(number, say.code, alone=True)
            assert seconds is not None
            name = rehearsal.states[number].scene.name
            taken.append(Shot(number, name, drawing(app), seconds / FASTER, title, said))
        return taken

    return asyncio.run(take())


def moving(taken: Sequence[Shot]) -> str:
    """The scenes as one picture that moves."""
    said = " ".join(shot.caption for shot in taken)
    return film([shot.drawing for shot in taken], [shot.seconds for shot in taken], taken[0].title, said)


def record(
    path: Path,
    directory: Path,
    say: Language,
    *,
    size: tuple[int, int] = SIZE,
    theme: str = "dark",
    instead: Instead = OWN,
    memory: int = GIBIBYTE,
    load: Callable[[str], Model] = load,
) -> list[Path]:
    """Write a picture of every scene, one named after the demo that moves, and index.html, which pages through them.

    None of them needs another file. Gives the files.

    Raises:
        FileError: something about the demo is wrong, or the directory cannot be written to.
    """
    rehearsal = rehearsed(path, say, instead=instead, memory=memory, load=load)
    taken = shots(rehearsal, say, size=size, theme=theme)
    files = {f"{shot.number + 1:02d}{'-' * bool(shot.name)}{shot.name}.svg": shot.svg for shot in taken}
    pages = page([(shot.svg, shot.caption) for shot in taken], taken[0].title, say.code, theme, taken[0].drawing.paper)
    files |= {f"{rehearsal.demo.name}.svg": moving(taken), "index.html": pages}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (directory / name).write_text(text, "utf-8")
    except OSError as error:
        raise FileError(
            "demo-cannot-write",
            "{file}: cannot be written ({reason})",
            file=directory,
            reason=error.strerror or error,
        ) from None
    return [directory / name for name in files]
