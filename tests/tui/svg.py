"""Pictures in SVG read back: what stands in every cell of the screen, in every scene of one that moves."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from xml.etree.ElementTree import Element, fromstring

from rich.cells import cell_len

ACROSS, DOWN = 10, 20
SVG = "{http://www.w3.org/2000/svg}"
RULE = re.compile(r"\.(c\d+)\{([^}]*)\}")
SUBPATH = re.compile(r"M([\d.]+) ([\d.]+)([^M]*)")
LEVEL = re.compile(r"h([\d.]+)(v.*)?$")
CORNER = re.compile(r"L([\d.]+) ([\d.]+)")

Place = tuple[int, int]
"""A line and a column."""


@dataclass
class Frame:
    """One scene.

    Attributes:
        text: what is written at a place, and its CSS.
        paint: the CSS of what is painted there, and its path, counted from the cell's corner.
    """

    text: dict[Place, tuple[str, str]] = field(default_factory=dict)
    paint: dict[Place, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))

    def row(self, line: int) -> str:
        """What is written on a line."""
        row = ""
        for column, (text, _) in sorted((place[1], cell) for place, cell in self.text.items() if place[0] == line):
            row += " " * (column - cell_len(row)) + text
        return row

    @property
    def rows(self) -> dict[int, str]:
        """All lines on which something is written."""
        return {line: self.row(line) for line in sorted({place[0] for place in self.text})}


@dataclass
class Seen:
    """A picture.

    Attributes:
        size: its width and height.
        times: the seconds that it takes, and when scenes begin, in per cent.
    """

    title: str
    described: str
    size: tuple[str, str]
    times: tuple[str, ...]
    frames: list[Frame]


def seen(svg: str) -> Seen:
    """Read a picture."""
    root = fromstring(svg)
    rules = root.findtext(f"{SVG}style") or ""
    styles = dict(RULE.findall(rules))
    groups = [(1, root)] + [(int(group.get("class", "")[1:], 16), group) for group in root.iter(f"{SVG}g")]
    count = max(members.bit_length() for members, _ in groups)
    groups[0] = ((1 << count) - 1, root)
    frames = [Frame() for _ in range(count)]
    for members, group in groups:
        for number in range(count):
            if members >> number & 1:
                _draw(group, styles, frames[number])
    begin = sorted({float(share) for share in re.findall(r"([\d.]+)%\{", rules)})
    times = (*re.findall(r"animation:([\d.]+)s", rules), *map(str, begin))
    return Seen(
        root.findtext(f"{SVG}title") or "",
        root.findtext(f"{SVG}desc") or "",
        (root.get("width", ""), root.get("height", "")),
        times,
        frames,
    )


def _draw(group: Element, styles: dict[str, str], frame: Frame) -> None:
    for text in group.findall(f"{SVG}text"):
        line = int(text.get("y", "")) // DOWN
        for run in text.findall(f"{SVG}tspan") or [text]:
            for column, characters in _written(run):
                assert (line, column) not in frame.text, "two characters in one cell"
                frame.text[line, column] = characters, styles[text.get("class", "").split()[0]]
    for path in group.findall(f"{SVG}path"):
        style = styles[path.get("class", "")]
        for left, top, rest in SUBPATH.findall(path.get("d", "")):
            for place, drawn in _painted(float(left), float(top), rest):
                frame.paint[place].append((style, drawn))


def _written(text: Element) -> Iterator[tuple[int, str]]:
    """The characters of a text, and their columns; what has the same place is one character."""
    units = (text.text or "").encode("utf-16-le")
    places = text.get("x", "").split()
    if text.get("textLength"):
        places *= len(units) // 2
    assert len(places) * 2 == len(units), "a place for every unit of UTF-16"
    for x, numbers in groupby(range(len(places)), key=lambda number: int(places[number])):
        yield x // ACROSS, b"".join(units[2 * number : 2 * number + 2] for number in numbers).decode("utf-16-le")


def _painted(left: float, top: float, rest: str) -> Iterator[tuple[Place, str]]:
    """A path, cut into cells where it leads through several."""
    line, column = int(top // DOWN), int(left // ACROSS)
    y = top - line * DOWN
    level = LEVEL.match(rest)
    if level and float(level[1]) > ACROSS:
        height = (level[2] or "").partition("h")[0]
        for number in range(round(float(level[1]) / ACROSS)):
            yield (line, column + number), f"M0 {y:g}h{ACROSS}{height}"
        return
    drawn = CORNER.sub(lambda to: f"L{float(to[1]) - column * ACROSS:g} {float(to[2]) - line * DOWN:g}", rest)
    if level:
        drawn = f"h{level[1]}{(level[2] or '').partition('h')[0]}"
    yield (line, column), f"M{left - column * ACROSS:g} {y:g}{drawn}"
