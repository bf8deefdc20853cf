"""What stands above and below the graph: its name and legend, the edge looked at, and what is drawn of how much."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

from tui.language import Language
from tui.views.attention import Picture
from tui.views.pens import Pens
from tui.widgets.numbers import cut

# A token in a sentence.
NAME = 14


@dataclass(frozen=True)
class Part:
    """Some text of a line, and what a click on it does."""

    text: str
    style: str
    call: Callable[[], object] | None = None


def legend(picture: Picture, small: bool, say: Language, ink: Pens) -> list[Part]:
    """What the strokes mean; what is cut is not drawn in ``small`` graphs."""
    token = cut(picture.attention.query_labels[picture.query], NAME)
    parts = [
        Part("⠶⠶ ", ink.here[-1]),
        Part(say("graph.from_here", token=token), ink.quiet),
        Part("   ⠒⠒ ", ink.others[-1]),
        Part(say("graph.others"), ink.quiet),
    ]
    if not small and not picture.sight.all():
        parts += [Part("   ⠂⠐✕ ", ink.cut), Part(say("graph.masked"), ink.quiet)]
    return parts


def edge(picture: Picture, say: Language, ink: Pens) -> list[Part]:
    """The query and the key looked at, and the weight between them."""
    query = cut(picture.attention.query_labels[picture.query], NAME)
    key = cut(picture.attention.key_labels[picture.key], NAME)
    parts = [Part(query, ink.bold), Part(" → ", ink.quiet), Part(key, ink.bold)]
    if not picture.sight[picture.query, picture.key]:
        return [*parts, Part(f"  ✕ {say('graph.cut')}", ink.label)]
    return [*parts, Part(f"  {picture.weights[picture.query, picture.key]:.3f}", ink.bold)]


def drawn(picture: Picture, keys: Container[int], say: Language, ink: Pens) -> tuple[list[Part], list[Part]]:
    """How much of the query's weight is drawn to these keys: in full, with what is left out and cut, and in short."""
    shown = [edge.weight for edge in picture.own if edge.key in keys]
    total, whole = sum(shown), float(picture.weights[picture.query].sum())
    rest = int(picture.sight[picture.query].sum()) - len(shown)
    parts = [say("graph.drawn", count=len(shown), sum=f"{total:.2f}")]
    if rest:
        parts.append(say("graph.not_drawn", count=rest, sum=f"{max(0.0, whole - total):.2f}"))
    if picture.cut:
        parts.append(say("graph.cut_count", count=len(picture.cut)))
    short = say("graph.drawn_short", sum=f"{total:.2f}")
    return [Part(f"   {' · '.join(parts)}", ink.quiet)], [Part(f"   {short}", ink.quiet)]
