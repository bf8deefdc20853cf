"""Pictures of a screen as SVG that needs no font and no file from elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from html import escape

from tui.demo.glyphs import ACROSS, DOWN
from tui.demo.marks import LAYERS, WIDE_SIZE, Drawing, Layer, Mark, Paper

FONTS = (
    "ui-monospace,'SF Mono',Menlo,'Cascadia Mono','DejaVu Sans Mono','Liberation Mono',Consolas,"
    "'Noto Sans Mono CJK SC','PingFang SC','Microsoft YaHei','Noto Sans CJK SC',monospace"
)
# A character of these is about three fifths as wide as the font is high: a cell.
SIZE = 16.6
# Between the screen and the frame.
MARGIN = 12


def picture(drawing: Drawing, title: str, described: str) -> str:
    """A screen as SVG.

    Args:
        title: what the picture is called.
        described: what it shows, in words, for who cannot see it.
    """
    names = class_names(drawing.marks)
    return document(drawing.paper, title, described, css(names), elements(drawing.marks, names))


def document(paper: Paper, title: str, described: str, rules: str, body: str) -> str:
    """SVG around what is drawn on a paper."""
    width, height = paper.columns * ACROSS + 2 * MARGIN, paper.lines * DOWN + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" xml:lang="zh-CN" width="{width}" height="{height}" '
        f'viewBox="{-MARGIN} {-MARGIN} {width} {height}">\n'
        f"<title>{escape(title)}</title>\n<desc>{escape(described)}</desc>\n<style>\n"
        f"text{{font:{SIZE}px {FONTS};font-variant-ligatures:none;white-space:pre}}\n"
        f".w{{font-size:{WIDE_SIZE}px}}\n{rules}\n</style>\n"
        f'<rect x="{0.5 - MARGIN}" y="{0.5 - MARGIN}" width="{width - 1}" height="{height - 1}" rx="8" '
        f'fill="{paper.ground}" stroke="{paper.edge}"/>\n{body}\n</svg>\n'
    )


def class_names(marks: Iterable[Mark]) -> dict[str, str]:
    """A short name for every style."""
    return {style: f"c{number}" for number, style in enumerate(dict.fromkeys(mark.style for mark in marks))}


def css(names: Mapping[str, str]) -> str:
    """The rules for these names."""
    return "\n".join(f".{name}{{{style}}}" for style, name in names.items())


def elements(marks: Iterable[Mark], names: Mapping[str, str]) -> str:
    """Marks as SVG, the ground first: one path for all that is painted alike, and a text for each mark of text."""
    paths: dict[tuple[Layer, str], list[str]] = defaultdict(list)
    texts = []
    for mark in marks:
        if mark.layer == "text":
            texts.append(f'<text class="{names[mark.style]}{mark.drawn}</text>')
        else:
            paths[mark.layer, mark.style].append(mark.drawn)
    ordered = sorted(paths.items(), key=lambda item: LAYERS.index(item[0][0]))
    drawn = [f'<path class="{names[style]}" d="{"".join(data)}"/>' for (_, style), data in ordered]
    return "\n".join(drawn + texts)
