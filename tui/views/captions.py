"""What stands above and below the graph: its name and legend, the edge looked at, and what is drawn of how much."""

from __future__ import annotations

import math
from collections.abc import Container

from tui.arithmetic import number_text
from tui.language import Language
from tui.naming import cut_name
from tui.views.attention import Picture
from tui.views.pens import Pens
from tui.views.sheet import Group, Part

# A token in a sentence.
NAME = 14


def legend(picture: Picture, others: bool, say: Language, ink: Pens) -> list[Group]:
    """What the strokes mean; ``others`` says whether edges of other tokens are drawn than of the one looked at."""
    token = cut_name(picture.attention.query_labels[picture.query], NAME)
    groups: list[Group] = [[Part("⠶⠶ ", ink.here[-1]), Part(say("graph.from_here", token=token), ink.quiet)]]
    if others:
        groups.append([Part("   ⠒⠒ ", ink.others[-1]), Part(say("graph.others"), ink.quiet)])
    if picture.cut:
        groups.append([Part("   ⠂⠐✕ ", ink.cut), Part(say("graph.masked"), ink.quiet)])
    return groups


def edge(picture: Picture, named: bool, say: Language, ink: Pens) -> Group:
    """The query and the key looked at, and the weight between them; the head too, if it is to be ``named``."""
    query = cut_name(picture.attention.query_labels[picture.query], NAME)
    key = cut_name(picture.attention.key_labels[picture.key], NAME)
    parts = [Part(f"{say('graph.head', head=picture.head)}  ", ink.quiet)] if named else []
    parts += [Part(query, ink.bold), Part(" → ", ink.quiet), Part(key, ink.bold)]
    if not picture.sight[picture.query, picture.key]:
        return [*parts, Part(f"  ✕ {say('graph.cut')}", ink.label)]
    return [*parts, Part(f"  {number_text(float(picture.weights[picture.query, picture.key]))}", ink.bold)]


def drawn(picture: Picture, keys: Container[int], say: Language, ink: Pens) -> list[Group]:
    """How much of the query's weight is drawn to these keys, how much is not, and how many keys are cut off."""
    shown = {edge.key: edge.weight for edge in picture.own if edge.key in keys}
    left = picture.left_out(shown)
    values = {"count": len(shown), "sum": number_text(math.fsum(shown.values()))}
    if picture.is_below:
        said = [say("graph.drawn_below", threshold=f"{picture.limits.threshold:g}", **values)]
    else:
        said = [say("graph.drawn", **values)]
    if left:
        said.append(say("graph.not_drawn", count=len(left), sum=number_text(math.fsum(left))))
    if picture.cut:
        said.append(say("graph.cut_count", count=len(picture.cut)))
    return [[Part(f"{' · ' if number else '   '}{text}", ink.quiet)] for number, text in enumerate(said)]
