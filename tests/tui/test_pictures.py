"""README's pictures: they are what the program shows now, as far as processors agree, and README shows all of them."""

from __future__ import annotations

import re
import sys
from copy import deepcopy
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from rich.segment import Segment
from rich.style import Style

from tests.tui.svg import Frame, Seen, seen
from tui.demo.marks import Paper, drawn_lines
from tui.demo.pictures import picture

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "samples" / "pictures"
# README's pictures come whole and at once.
STILL, MOVING = 80_000, 300_000

# Processors round sums differently: a number may differ in its last digit, a colour by a step of its scale, and a bar
# by an eighth of a cell.
STEP = 16
BARS = 3
NUMBER = re.compile(r"[−-]?\d+(?:\.\d+)?(?:e[−-]?\d+)?")
# What their rounding leaves is all that differs in every digit.
LEFT = re.compile(r"\s*float32 (?:rounding|舍入差) \S+")
COLOUR = re.compile(r"#[0-9a-f]{6}")


def load_make() -> Any:
    spec = spec_from_file_location("make_pictures", FOLDER / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Its dataclasses look for it there.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


make = load_make()


def value(number: str) -> tuple[float, float]:
    """A number as it is written, and what one more in its last digit is worth."""
    mantissa, _, exponent = number.replace("−", "-").partition("e")
    scale = 10.0 ** int(exponent or 0)
    return float(mantissa) * scale, scale * 10.0 ** -len(mantissa.partition(".")[2])


def close(old: str, new: str) -> bool:
    """Whether two numbers differ by no more than one in the last digit; a number written differently does not."""
    (one, of_one), (other, of_other) = value(old), value(new)
    return old == new or (one != other and abs(one - other) <= 1.01 * max(of_one, of_other))


def alike(old: str, new: str) -> bool:
    """Whether two lines say the same, their numbers taken as close."""
    if old == new:
        return True
    words = [" ".join(NUMBER.sub(" 0 ", text).split()) for text in (old, new)]
    numbers = list(zip(NUMBER.findall(old), NUMBER.findall(new), strict=False))
    # Where no number has changed, what has is how the line is laid out.
    changed = any(one != other for one, other in numbers)
    return words[0] == words[1] and changed and all(close(one, other) for one, other in numbers)


def near(old: str, new: str) -> bool:
    """Whether two styles are the same but for a small step in their colours."""
    if COLOUR.sub("", old) != COLOUR.sub("", new):
        return False
    colours = [
        [int(colour[at : at + 2], 16) for colour in COLOUR.findall(style) for at in (1, 3, 5)] for style in (old, new)
    ]
    return all(abs(one - other) <= STEP for one, other in zip(*colours, strict=True))


def differences(old: Seen, new: Seen) -> list[str]:
    """What anybody would notice: other words, numbers, places, colours, scenes or times."""
    found = [
        f"{name}: {one} | {other}"
        for name, one, other in (
            ("size", old.size, new.size),
            ("title", old.title, new.title),
            ("times", old.times, new.times),
            ("scenes", len(old.frames), len(new.frames)),
        )
        if one != other
    ]
    if not alike(old.described, new.described):
        found.append(f"described: {old.described} | {new.described}")
    for number, (one, other) in enumerate(zip(old.frames, new.frames, strict=False), 1):
        found += [f"scene {number}, {fault}" for fault in (*in_text(one, other), *in_paint(one, other))]
    return found


def in_text(old: Frame, new: Frame) -> list[str]:
    found = []
    olds, news = old.rows, new.rows
    for line in sorted({*olds, *news}):
        one, other = (LEFT.sub("", rows.get(line, "")).rstrip() for rows in (olds, news))
        if not alike(one, other):
            found.append(f"line {line}: {one!r} | {other!r}")
    for place, (text, style) in old.text.items():
        # Text on a coloured ground has the colour that can be read there.
        if (
            new.text.get(place, ("", ""))[0] == text
            and not old.paint.get(place)
            and not near(style, new.text[place][1])
        ):
            found.append(f"{text!r} at {place}: {style} | {new.text[place][1]}")
    return found


def in_paint(old: Frame, new: Frame) -> list[str]:
    found: list[str] = []
    bars: list[str] = []
    for place in sorted({*old.paint, *new.paint}):
        one, other = (sorted(frame.paint.get(place, ()), key=lambda painted: painted[1]) for frame in (old, new))
        if [drawn for _, drawn in one] != [drawn for _, drawn in other]:
            are_bars = all("crispEdges" in style for style, _ in one + other)
            (bars if are_bars else found).append(f"{place}: {one} | {other}")
        elif not all(near(style, changed) for (style, _), (changed, _) in zip(one, other, strict=True)):
            found.append(f"{place}: {one} | {other}")
    return found + (bars if len(bars) > BARS else [])


@pytest.mark.parametrize("wanted", make.PICTURES, ids=lambda wanted: f"{wanted.name}-{wanted.lang}")
def test_they_are_what_is_shown_now(wanted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, svg in make.drawn(wanted):
        file = FOLDER / name
        assert file.exists(), f"{name} is not there: python samples/pictures/make.py"
        found = differences(seen(file.read_text("utf-8")), seen(svg))
        assert not found, f"{name} is stale: python samples/pictures/make.py\n" + "\n".join(found[:10])


def test_readme_shows_all_of_them() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = re.findall(r"samples/pictures/([\w.-]+\.svg)", readme)
    expected = {f"{each.name}-{each.lang}-{theme}.svg" for each in make.PICTURES for theme in make.THEMES}
    assert set(shown) == expected
    assert {file.name for file in FOLDER.iterdir() if file.suffix != ".py" and file.name != "__pycache__"} == expected
    # Each in the theme of the reader's, and with words for who cannot see it.
    tags = re.findall(
        r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)-dark\.svg">\s*'
        r'<img src="([^"]+)-light\.svg" alt="([^"]{20,})"[^>]*>\s*</picture>',
        readme,
    )
    assert len(tags) == len(make.PICTURES)
    assert all(dark == light for dark, light, _ in tags)
    english, chinese = readme.split("\n## 中文\n")
    assert "-zh-" not in english
    assert "-en-" not in chinese


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.svg")), ids=lambda file: file.name)
def test_they_are_small_and_need_nothing(file: Path) -> None:
    svg = file.read_text("utf-8")
    assert len(svg.encode()) < (MOVING if file.name.startswith("tour-") else STILL)
    assert re.findall(r"https?://[^\"]*", svg) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|<foreignObject|@import|@font-face|url\(|href|\son\w+=", svg)


def drawn(*lines: str, ink: str = "#f1b368", ground: str = "#0f1418", title: str = "t") -> Seen:
    """A picture of lines of text; a bar of three cells and an eighth stands on the last."""
    paper = Paper(40, len(lines) + 1, "#0f1418", "#d6dbe0", "#2a333b")
    style = Style(color=ink, bgcolor=ground)
    rows = [*([Segment(line, style)] for line in lines), [Segment("███▏", style)]]
    return seen(picture(drawn_lines(rows, paper), title, lines[0]))


LINES = ("weights 0.987 −1.50 2.14e−04 70%", "   Σ = 1.013   float32 rounding −4.29e−08")


@pytest.mark.parametrize(
    ("old", "new", "noticed"),
    [
        ("0.987", "0.988", False),
        ("0.987", "0.989", True),
        ("0.987", "0.9870", True),
        ("−1.50", "−1.49", False),
        ("−1.50", " 1.50", True),
        ("2.14e−04", "2.13e−04", False),
        ("2.14e−04", "2.14e−05", True),
        ("70%", "71%", False),
        ("−4.29e−08", "3.11e−09", False),
        ("   float32 rounding −4.29e−08", "", False),
        ("weights", "weight", True),
        ("   Σ", "  Σ ", True),
        ("Σ", "S", True),
    ],
)
def test_which_words_and_numbers_are_noticed(old: str, new: str, noticed: bool) -> None:
    assert bool(differences(drawn(*LINES), drawn(*(line.replace(old, new) for line in LINES)))) == noticed


def test_what_else_is_noticed() -> None:
    one = drawn(*LINES)
    assert not differences(one, drawn(*LINES, ink="#f0b46a"))
    assert differences(one, drawn(*LINES, ink="#b3f168"))
    assert differences(one, drawn(*LINES, ground="#2c5a94"))
    assert differences(drawn(*LINES, ground="#2c5a94"), drawn(*LINES, ground="#8a4334"))
    assert not differences(drawn(*LINES, ground="#2c5a94"), drawn(*LINES, ground="#2d5c99"))
    assert differences(one, drawn(*reversed(LINES)))
    assert differences(one, drawn(*LINES, ""))
    assert differences(one, drawn(*LINES, title="u"))
    longer = deepcopy(one)
    longer.frames[0].paint[2, 3] = [(style, "M0 0h2.5v20") for style, _ in longer.frames[0].paint[2, 3]]
    assert not differences(one, longer)
    del longer.frames[0].paint[2, 0], longer.frames[0].paint[2, 1], longer.frames[0].paint[2, 2]
    assert differences(one, longer)
    assert differences(one, replace(one, times=("1.0",)))
    assert differences(one, replace(one, frames=one.frames * 2))
