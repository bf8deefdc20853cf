"""README's pictures, made by the program from the demos that ship with it: `python samples/pictures/make.py`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.model import Model, load
from tui.demo.play import rehearsed
from tui.demo.record import moving, shots
from tui.demo.rehearsal import Instead
from tui.demo.shipped import find_demo
from tui.language import language

HERE = Path(__file__).parent
THEMES = ("dark", "light")


@dataclass(frozen=True)
class Picture:
    """A scene of a demo, or where none is named all of it as a picture that moves.

    Attributes:
        lang: the language that it speaks.
        text: what the demo is shown on instead of its own text; empty for that.
    """

    name: str
    lang: str
    demo: str
    scene: str = ""
    text: str = ""


PICTURES = (
    Picture("tour", "en", "tour", text="I love you"),
    Picture("weights", "en", "tour", "weights", "I like to code"),
    Picture("graph", "en", "tour", "graph", "I like to code"),
    Picture("cross-attention", "en", "cross-attention", "table"),
    Picture("heads", "en", "heads", "map"),
    Picture("next-token", "en", "tour", "predictions", "I like to"),
    Picture("tour", "zh", "tour"),
    Picture("weights", "zh", "self-attention", "weights"),
    Picture("next-token", "zh", "next-token", "distribution"),
)


@cache
def model(name: str) -> Model:
    """The model of a name, opened once."""
    return load(name)


def drawn(picture: Picture) -> Iterator[tuple[str, str]]:
    """The names of a picture's files, and what is in them: one for each theme."""
    say = language(picture.lang)
    instead = Instead(texts=(picture.text,) if picture.text else ())
    rehearsal = rehearsed(find_demo(picture.demo), say, instead=instead, load=model)
    numbers = [rehearsal.number(picture.scene)] if picture.scene else None
    for theme in THEMES:
        taken = shots(rehearsal, say, theme=theme, numbers=numbers)
        svg = taken[0].svg if picture.scene else moving(taken)
        yield f"{picture.name}-{picture.lang}-{theme}.svg", svg


def main() -> None:
    """Write all of them beside this file, and take away what is no longer one of them."""
    # Pictures have their colours, whoever makes them.
    os.environ.pop("NO_COLOR", None)
    files = {name: svg for picture in PICTURES for name, svg in drawn(picture)}
    for old in HERE.glob("*.svg"):
        if old.name not in files:
            old.unlink()
    for name, svg in files.items():
        (HERE / name).write_text(svg, "utf-8")
        print(f"{len(svg.encode()):>8,}  {name}")


if __name__ == "__main__":
    main()
