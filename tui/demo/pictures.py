"""Pictures of a screen, with wide characters where they belong and nothing that is fetched from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape
from itertools import groupby

from rich.cells import cell_len
from textual.app import App

# The width of a cell in rich's pictures: 0.61 of a height of 20.
CELL = 12.2

TEXT = re.compile(
    r'<text (?P<before>[^>]*?)x="(?P<x>[\d.]+)"(?P<between>[^>]*?)'
    r'textLength="[\d.]+"(?P<after>[^>]*)>(?P<text>[^<]*)</text>'
)
FONT_FACES = re.compile(r"@font-face\s*\{[^}]*\}\s*")
FONTS = (
    "'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, 'Noto Sans Mono CJK SC', 'Noto Sans CJK SC', "
    "'PingFang SC', 'Microsoft YaHei', monospace"
)


def picture(app: App[int], title: str) -> str:
    """The screen as SVG."""
    return corrected(app.export_screenshot(title=title))


def corrected(svg: str) -> str:
    """An SVG of rich's with every text as wide as its cells, and without the fonts that it would fetch.

    rich says of how many characters a text is (https://github.com/Textualize/rich/issues/2742), and a browser squeezes
    Chinese into half its room. Each run of narrow and of wide characters becomes a text of its own.
    """
    svg = FONT_FACES.sub("", svg).replace("Fira Code, monospace", FONTS)
    # Each character has its cells: nothing is to be made wider.
    svg = svg.replace("font-variant-east-asian: full-width;", "white-space: pre;")
    return TEXT.sub(_in_runs, svg)


def _in_runs(found: re.Match[str]) -> str:
    x, parts = float(found["x"]), []
    for run in runs(unescape(found["text"])):
        width = cell_len(run) * CELL
        if run.strip():
            shown = escape(run, quote=False).replace(" ", "\u00a0")
            place = f'x="{x:.1f}"{found["between"]}textLength="{width:.1f}"{found["after"]}'
            parts.append(f"<text {found['before']}{place}>{shown}</text>")
        x += width
    return "".join(parts)


def runs(text: str) -> Iterator[str]:
    """The text in runs of characters of one width; a character of none stays with the one that it belongs to."""
    wide = False
    keyed = []
    for character in text:
        width = cell_len(character)
        wide = wide if width == 0 else width == 2
        keyed.append((wide, character))
    for _, run in groupby(keyed, key=lambda each: each[0]):
        yield "".join(character for _, character in run)
