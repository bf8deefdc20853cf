"""A demo as pictures: every character in its cell, nothing fetched from elsewhere, a film and a page to go through."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from html import unescape
from itertools import pairwise
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.widgets import Static

from engine.errors import EngineError
from tests.tui.svg import SVG, Seen, seen
from tui.demo.film import film
from tui.demo.glyphs import shape
from tui.demo.marks import Drawing, Paper, drawing, drawn_lines
from tui.demo.pictures import picture
from tui.demo.record import FASTER, record
from tui.demo.rehearsal import reading_time
from tui.language import language

LESSON = """\
text = "我爱你"
title.zh = "课<一>"
title.en = "Lesson <1>"
summary.zh = "摘要"
summary.en = "Summary"

[[scenes]]
name = "scores"
stage = "layers.0.attention.scores"
say.zh = "“{query}”问“{key}” <&>"
say.en = "{query} asks {key} <&>"
wait = 3

[[scenes]]
view = "graph"
say.zh = "图"
say.en = "a graph"
wait = "key"

[[scenes]]
view = "heads"
say.zh = "全部的头"
say.en = "every head"
wait = 9

[[scenes]]
view = "predictions"
say.zh = "接下来"
say.en = "what is next"
wait = 6
"""


@pytest.fixture(autouse=True)
def _colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


class Page(App[None]):
    """One text on a screen."""

    CSS = "Screen { background: #102030; } Static { color: #ffffff; width: 1fr; }"

    def __init__(self, *lines: str) -> None:
        super().__init__()
        self.lines = lines

    def compose(self) -> ComposeResult:
        yield Static("\n".join(self.lines), markup=True)


async def shown(*lines: str) -> Seen:
    app = Page(*lines)
    async with app.run_test(size=(24, 6)):
        return seen(picture(drawing(app), "t", "d"))


def at(found: Seen, line: int) -> list[tuple[int, str]]:
    return [(column, text) for (row, column), (text, _) in sorted(found.frames[0].text.items()) if row == line]


async def test_every_character_has_its_cell() -> None:
    found = await shown("a我爱b <&>", "e\u0301x\u200b你 −∞", "𝛼🙂!")
    assert at(found, 0) == [(0, "a"), (1, "我"), (3, "爱"), (5, "b"), (7, "<"), (8, "&"), (9, ">")]
    assert at(found, 1) == [(0, "e\u0301"), (1, "x\u200b"), (2, "你"), (5, "−"), (6, "∞")]
    assert at(found, 2) == [(0, "𝛼"), (1, "🙂"), (3, "!")]


async def test_what_fonts_may_not_have_is_squeezed_into_its_cell() -> None:
    app = Page("ab ⊘ 我 →")
    async with app.run_test(size=(24, 2)):
        root = fromstring(picture(drawing(app), "t", "d"))
    fitted = {"".join(text.itertext()): text.get("textLength") for text in root.iter(f"{SVG}text")}
    assert fitted == {"ab→": None, "⊘": "10", "我": None}
    assert [(part.text, part.get("x")) for part in root.iter(f"{SVG}tspan")] == [
        ("ab", "0 10"),
        ("→", "80"),
        ("我", "51"),
    ]


async def test_colours_and_fonts() -> None:
    found = await shown(
        "[#ff0000 on #00ff00]ab[/] [bold]c[/] [italic]d[/] [reverse]e[/]", "[underline]f我[/]g[strike]h[/]"
    )
    (frame,) = found.frames
    styles = dict(frame.text.values())
    assert styles["a"] == styles["b"] == "fill:#ff0000"
    assert styles["c"] == "fill:#ffffff;font-weight:bold"
    assert styles["d"] == "fill:#ffffff;font-style:italic"
    assert styles["e"] == "fill:#102030"
    green = [
        place
        for place, painted in frame.paint.items()
        if ("fill:#00ff00;shape-rendering:crispEdges", "M0 0h10v20") in painted
    ]
    assert green == [(0, 0), (0, 1)]
    assert frame.paint[0, 7] == [("fill:#ffffff;shape-rendering:crispEdges", "M0 0h10v20")]
    lines = [[drawn for style, drawn in frame.paint[1, column] if style == "fill:#ffffff"] for column in range(5)]
    assert lines == [["M0 17h10v1.2"]] * 3 + [[], ["M0 11h10v1.2"]]


@pytest.mark.parametrize(
    ("character", "kind", "drawn"),
    [
        ("█", "block", "M30 40h20v20h-20z"),
        ("▀", "block", "M30 40h20v10h-20z"),
        ("▂", "block", "M30 55h20v5h-20z"),
        ("▌", "block", "M30 40h5v20h-5zM40 40h5v20h-5z"),
        ("▐", "block", "M35 40h5v20h-5zM45 40h5v20h-5z"),
        ("─", "thin", "M30 50h20"),
        ("━", "thick", "M30 50h20"),
        ("└", "thin", "M35 50L35 40M35 50L40 50M45 50L45 40M45 50L50 50"),
        ("╮", "thin", "M30 50q5 0 5 10M40 50q5 0 5 10"),
        ("╰", "thin", "M40 50q-5 0 -5 -10M50 50q-5 0 -5 -10"),
        ("╱", "thin", "M30 60L40 40M40 60L50 40"),
        ("\u2801", "dots", "M32.5 42.5h.1M42.5 42.5h.1"),
        ("\u2880", "dots", "M37.5 57.5h.1M47.5 57.5h.1"),
        ("\u2804", "dots", "M32.5 52.5h.1M42.5 52.5h.1"),
    ],
)
def test_lines_blocks_and_dots_are_shapes(character: str, kind: str, drawn: str) -> None:
    """Twice the same side by side, in the fourth column of the third line: they meet, and keep to their cells."""
    assert shape(character, 3, 2, 2) == (kind, drawn)


def still(width: int, *lines: str) -> Drawing:
    """A drawing of lines of plain text."""
    paper = Paper(width, len(lines), "#000000", "#ffffff", "#888888")
    return drawn_lines([[Segment(line)] for line in lines], paper)


def test_a_film_shows_each_scene_in_its_time() -> None:
    scenes = [["same", "one", "ab"], ["same", "two", "ab"], ["same", "one", "── c"], ["same", "four", ""]]
    svg = film([still(8, *lines) for lines in scenes], [1, 2, 4, 1], "t", "d")
    found = seen(svg)
    assert [[frame.row(line).replace(" c", " c") for line in range(3)] for frame in found.frames] == [
        ["same", "one", "ab"],
        ["same", "two", "ab"],
        ["same", "one", "   c"],
        ["same", "four", ""],
    ]
    assert [sorted(frame.paint) for frame in found.frames] == [[], [], [(2, 0), (2, 1)], []]
    assert found.times == ("8.0", "0.0", "12.5", "37.5", "87.5")
    # What scenes share is written once; a set of scenes is seen exactly in their time.
    assert svg.count(">same<") == svg.count(">one<") == svg.count(">ab<") == 1
    assert (
        "@keyframes m5{0%{visibility:visible}12.5%{visibility:hidden}37.5%{visibility:visible}87.5%{visibility:hidden}}"
        in svg
    )
    assert "@keyframes m3{0%{visibility:visible}37.5%{visibility:hidden}}" in svg
    assert 'class="m2" visibility="hidden"' in svg
    assert 'class="m5">' in svg
    assert "prefers-reduced-motion" in svg


def captions(page: str) -> Iterator[str]:
    return map(unescape, re.findall(r"<li[^>]*><a [^>]*>(.*?)</a></li>", page))


@pytest.mark.parametrize(("lang", "theme"), [("zh", "dark"), ("en", "light")])
def test_a_demo_becomes_pictures_a_film_and_a_page(tmp_path: Path, lang: str, theme: str) -> None:
    path = tmp_path / "lesson.toml"
    path.write_text(LESSON, "utf-8")
    files = record(path, tmp_path / "out" / "in", language(lang), theme=theme)
    assert [file.name for file in files] == ["01-scores.svg", "02.svg", "03.svg", "04.svg", "lesson.svg", "index.html"]
    svgs = [file.read_text("utf-8") for file in files[:5]]
    pictures = [seen(svg) for svg in svgs]
    for svg, found in zip(svgs, pictures, strict=True):
        assert found.title == ("课<一>" if lang == "zh" else "Lesson <1>")
        assert re.findall(r"https?://[^\"]+", svg) == ["http://www.w3.org/2000/svg"]
        for frame in found.frames:
            for line, row in frame.rows.items():
                assert line < 29
                assert cell_len(row) <= 92
    # The film shows what the pictures show.
    assert [found.frames[0] for found in pictures[:4]] == pictures[4].frames
    waits = [3, reading_time("图" if lang == "zh" else "a graph", lang), 9, 6]
    assert float(pictures[4].times[0]) == pytest.approx(sum(waits) / FASTER, abs=0.06)
    # Nothing that only keys could do anything with.
    rows = [row for found in pictures for frame in found.frames for row in frame.rows.values()]
    assert any("我" in row for row in rows)
    say = language(lang)
    for word in (say("demo.keys"), say("demo.next"), say("predictions.hint"), "‹"):
        assert not any(word[:12] in row for row in rows), word
    background = {"dark": "#0f1418", "light": "#fbfaf7"}[theme]
    assert all(f'fill="{background}"' in svg for svg in svgs)

    page = files[5].read_text("utf-8")
    assert "http" not in page
    assert "src=" not in page.replace('src="data:', "")
    assert [b64decode(data).decode() for data in re.findall(r"base64,([^\"]+)", page)] == svgs[:4]
    said = ["“你”问“我” <&>", "图", "全部的头", "接下来"]
    if lang == "en":
        said = ["你 asks 我 <&>", "a graph", "every head", "what is next"]
    assert list(captions(page)) == [found.described for found in pictures[:4]] == said
    assert list(map(unescape, re.findall('<img alt="([^"]*)"', page))) == said
    assert page.count('class="here"') == 2
    assert f"color-scheme: {theme}" in page
    assert "ArrowRight" in page


def joined(dots: set[tuple[int, int]]) -> Iterator[set[tuple[int, int]]]:
    """Dots in lots that touch, side by side or at a corner."""
    left = set(dots)
    while left:
        lot, edge = set(), {left.pop()}
        while edge:
            lot |= edge
            edge = {(x + dx, y + dy) for x, y in edge for dx in (-1, 0, 1) for dy in (-1, 0, 1)} & left
            left -= edge
        yield lot


def test_an_edge_in_a_picture_is_one_line(tmp_path: Path) -> None:
    """Between two neighbours lies an unbroken line of dots, whatever cells it leads through."""
    path = tmp_path / "lesson.toml"
    path.write_text(LESSON, "utf-8")
    record(path, tmp_path / "out", language("zh"))
    frame = seen((tmp_path / "out" / "02.svg").read_text("utf-8")).frames[0]
    line = next(line for line, row in frame.rows.items() if line > 5 and {"我", "爱", "你"} <= set(row))
    dots = {
        (column * 2 + int(float(x) // 5), row * 4 + int(float(y) // 5))
        for (row, column), painted in frame.paint.items()
        for style, drawn in painted
        if "linecap:round" in style and 5 < row < line
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)h", drawn)
    }
    tokens = [column for (row, column), (text, _) in sorted(frame.text.items()) if row == line and text in "我爱你"]
    lots = list(joined(dots))
    assert len(tokens) == 3
    assert all(len(lot) > 3 for lot in lots)
    for left, right in pairwise(2 * column for column in tokens):
        spans = [[x for x, _ in lot if left <= x <= right] for lot in lots]
        assert max(max(span) - min(span) for span in spans if span) > (right - left) / 2


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "lesson.toml"
    path.write_text(LESSON, "utf-8")
    with pytest.raises(EngineError, match="cannot be written"):
        record(path, path / "out", language("zh"))
