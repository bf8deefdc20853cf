"""What is said around the map of all heads: of the head that is framed, of the dots, and of the map as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from engine.heads import description
from tui.language import Language
from tui.views.attention import Attention, attention_name
from tui.views.pens import Pens
from tui.views.sheet import Group, Part, cells
from tui.views.thumbnails import LEVELS, SHADES, Raster, half_blocks
from tui.widgets.palette import Palette

# Paragraphs of help.
ABOUT = ("about_map", "about_measures", "about_names")


def about(say: Language) -> list[str]:
    """What the map is, for the help."""
    return [say(f"heads.{name}") for name in ABOUT]


def measure_line(attention: Attention, head: int, say: Language, ink: Pens, *, even: bool) -> list[Group]:
    """A head's name and what can be measured of it, what describes it first: for a line that may be too short.

    ``even`` says whether each number stands beside that of an even head.
    """
    name, *groups = _groups(attention, head, say, ink, even=even)
    found = attention.measures[head]
    best = description(found)
    order = sorted(range(len(found)), key=lambda number: found[number] is not best)
    return [name, *(groups[number] for number in order)]


def measure_lines(attention: Attention, head: int, width: int, say: Language, ink: Pens) -> list[list[Group]]:
    """The same on as many lines of ``width`` cells as it takes, in the order of every head, beside an even head's."""
    name, *groups = _groups(attention, head, say, ink, even=True)
    lines: list[list[Group]] = [[name]]
    for group in groups:
        if len(lines[-1]) > 1 and sum(map(cells, lines[-1])) + cells(group) > width:
            lines.append([[Part(" " * cells(name), ink.quiet)]])
        lines[-1].append(group)
    return lines


def most_lines(attentions: Sequence[Attention], width: int, say: Language, ink: Pens) -> int:
    """How many lines that takes for the heads that take most."""
    return max(len(measure_lines(each, each.heads - 1, width, say, ink)) for each in attentions)


def title(attention: Attention, raster: Raster, palette: Palette, say: Language, ink: Pens) -> list[Group]:
    """What the map is, its scale, and how many weights a dot of an attention's pictures stands for."""
    groups: list[Group] = [[Part(say("heads.title"), ink.bold)], _legend(palette, say, ink)]
    dots = _dots(attention, raster, say)
    return [*groups, [Part(f"   {dots}", ink.quiet)]] if dots else groups


def _legend(palette: Palette, say: Language, ink: Pens) -> list[Part]:
    """Half of the scale is the weight 0.25, for the colour goes with the square root."""
    half = LEVELS // 2
    parts = []
    for text, steps in (
        (f"   {say('heads.weight')} 0 ", range(half)),
        (" 0.25 ", range(half, LEVELS)),
        (" 1", range(0)),
    ):
        parts.append(Part(text, ink.quiet))
        for step in steps:
            if palette.prints_digits:
                parts.append(Part(SHADES[step * len(SHADES) // LEVELS], ink.label))
            else:
                parts.append(Part("▀", half_blocks(palette)[step, step]))
    return parts


def _dots(attention: Attention, raster: Raster, say: Language) -> str:
    """How many weights a dot stands for, the largest of them; empty where it is one."""
    sizes = (len(attention.query_labels), raster.down), (len(attention.key_labels), raster.across)
    down, across = (max(1, -(-count // pixels)) for count, pixels in sizes)
    if down * across == 1:
        return ""
    exact = all(count <= pixels or count % pixels == 0 for count, pixels in sizes)
    return say("heads.dot" if exact else "heads.dot_most", down=down, across=across)


def _groups(attention: Attention, head: int, say: Language, ink: Pens, *, even: bool) -> list[Group]:
    found = attention.measures[head]
    best = description(found)
    name = f"{attention_name(attention.stage, say)} · {say('graph.head', head=head)}"
    groups: list[Group] = [[Part(name, ink.bold)]]
    for measure in found:
        text = f"   {say(f'heads.{measure.name}')} {measure.value:.2f}"
        if even and measure.name != "evenly":
            text += f" ({measure.even:.2f})"
        groups.append([Part(text, ink.number if measure is best else ink.quiet)])
    return groups
