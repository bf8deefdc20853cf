"""A demo as one picture that moves: its scenes one after the other, without a script, wherever a picture can stand.

What several scenes have in common is drawn once. Everything that not all scenes show lies in groups; a group holds what
the same scenes show, and a rule of CSS lets it be seen in their time. A set of scenes is written as a number in
hexadecimal, whose bits, from the lowest, are the scenes: ``m5`` is the first and the third.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tui.demo.marks import LAYERS, Drawing, Mark
from tui.demo.pictures import class_names, css, document, elements


def film(drawings: Sequence[Drawing], seconds: Sequence[float], title: str, described: str) -> str:
    """Screens of one size and theme as SVG that shows each for its seconds, over and over.

    Who asks for less motion, or cannot show any, sees the first.
    """
    sets: dict[Mark, int] = defaultdict(int)
    for number, drawing in enumerate(drawings):
        for mark in drawing.marks:
            sets[mark] |= 1 << number
    groups: dict[int, list[Mark]] = defaultdict(list)
    for mark, members in sets.items():
        groups[members].append(mark)
    names = class_names(sets)
    all_of_them = (1 << len(drawings)) - 1
    body = []
    for layer in LAYERS:
        for members, marks in groups.items():
            drawn = elements([mark for mark in marks if mark.layer == layer], names)
            if drawn:
                body.append(drawn if members == all_of_them else _group(members, drawn))
    rules = [
        css(names),
        f"g{{animation:{sum(seconds):.1f}s step-end infinite}}",
        *(_times(members, seconds) for members in groups if members != all_of_them),
        "@media (prefers-reduced-motion:reduce){g[class]{animation:none}}",
    ]
    return document(drawings[0].paper, title, described, "\n".join(rules), "\n".join(body))


def _group(members: int, drawn: str) -> str:
    hidden = "" if members & 1 else ' visibility="hidden"'
    return f'<g class="m{members:x}"{hidden}>\n{drawn}\n</g>'


def _times(members: int, seconds: Sequence[float]) -> str:
    """The rule that lets a set of scenes be seen in their time."""
    whole, passed, before = sum(seconds), 0.0, None
    frames = []
    for number, length in enumerate(seconds):
        seen = bool(members >> number & 1)
        if seen != before:
            frames.append(f"{100 * passed / whole:.4g}%{{visibility:{'visible' if seen else 'hidden'}}}")
        passed, before = passed + length, seen
    return f".m{members:x}{{animation-name:m{members:x}}}@keyframes m{members:x}{{{''.join(frames)}}}"
