"""Colour scales: the background behind each size of number, for each kind of terminal."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.color import Color, ColorSystem

Depth = Literal["truecolor", "256", "16", "none"]
"""What a terminal can show. At "16" and "none" colour alone cannot carry a number: print its sign and size too."""

RGB = tuple[int, int, int]
BLACK: RGB = (0, 0, 0)
WHITE: RGB = (255, 255, 255)

READABLE = 4.5
"""The contrast that WCAG asks of text."""

STEPS = 32
"""How finely an ink is sought between two colours."""

PLACES = (0.0, 0.1, 0.3, 0.65, 1.0)
"""Where on the scale of magnitudes the stops of its colours stand."""

BROWN: RGB = (170, 85, 0)
SIXTEEN: tuple[RGB, ...] = (
    *((0, 0, 0), (170, 0, 0), (0, 170, 0), BROWN, (0, 0, 170), (170, 0, 170), (0, 170, 170), (170, 170, 170)),
    *((85, 85, 85), (255, 85, 85), (85, 255, 85), (255, 255, 85), (85, 85, 255), (255, 85, 255), (85, 255, 255), WHITE),
)
"""The sixteen colours as rich sees them, by number: these and no others survive its downgrade unchanged."""


@dataclass(frozen=True)
class Scales:
    """The colours that a palette's styles are made of.

    Each scale goes from the smallest magnitude that has a colour to the largest; `nothing` is the colour of zero.
    `faint` is the ink of the smallest negative and positive where their background is the page's.
    """

    depth: Depth
    page: RGB
    nothing: RGB
    negative: Sequence[RGB]
    positive: Sequence[RGB]
    share: Sequence[RGB]
    warning: RGB
    here: RGB
    foreground: RGB
    faint: tuple[RGB, RGB] | None = None


def rgb(text: str) -> RGB:
    """A colour written ``#rrggbb``, or ``color(n)`` for one of the 256."""
    red, green, blue = Color.parse(text).get_truecolor()
    return (red, green, blue)


def luminance(color: RGB) -> float:
    """The relative luminance, 0 to 1 (https://www.w3.org/TR/WCAG21/#dfn-relative-luminance)."""
    red, green, blue = color
    return 0.2126 * _LINEAR[red] + 0.7152 * _LINEAR[green] + 0.0722 * _LINEAR[blue]


_LINEAR = [c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in range(256)]


def contrast(one: RGB, other: RGB) -> float:
    """The contrast ratio, 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def mix(one: RGB, other: RGB, share: float) -> RGB:
    """`share` of the way from one colour to the other."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return (red, green, blue)


@dataclass(frozen=True)
class Inks:
    """Text colours that can be read on the backgrounds of these scales, as the terminal shows them."""

    scales: Scales

    @property
    def accent(self) -> RGB:
        """The colour of *here*, lightened or darkened as little as makes it readable on the page."""
        here, page = self.scales.here, self.scales.page
        pole = max(BLACK, WHITE, key=lambda end: contrast(end, page))
        return next((ink for ink in _between(here, pole) if self._readable(ink, page)), pole)

    def on(self, background: RGB, *wanted: RGB) -> RGB:
        """The first wanted ink that can be read, the page's text colour, the page's own, or black or white."""
        choices = (*wanted, self.scales.foreground, self.scales.page)
        preferred = (ink for ink in choices if self._readable(ink, background))
        return next(preferred, max(BLACK, WHITE, key=lambda ink: contrast(ink, background)))

    def quiet(self, background: RGB) -> RGB:
        """The faintest that can be read."""
        ink = self.on(background)
        # The nearer to the background, the fainter: the first that cannot be read is found by halving.
        first = bisect.bisect_left(
            range(STEPS + 1),
            True,
            lo=1,
            key=lambda step: not self._readable(mix(ink, background, step / STEPS), background),
        )
        return mix(ink, background, (first - 1) / STEPS)

    def _readable(self, ink: RGB, background: RGB) -> bool:
        depth = self.scales.depth
        return contrast(shown(ink, depth), shown(background, depth)) >= READABLE


def shown(color: RGB, depth: Depth) -> RGB:
    """The colour as it looks when rich has brought it down to what the terminal can show."""
    match depth:
        case "256":
            return rgb(f"color({Color.from_rgb(*color).downgrade(ColorSystem.EIGHT_BIT).number})")
        case "16":
            return SIXTEEN[Color.from_rgb(*color).downgrade(ColorSystem.STANDARD).number or 0]
        case _:
            return color


def scales(depth: Depth, dark: bool, page: RGB, foreground: RGB, here: RGB) -> Scales:
    """The scales for a terminal, on a page of this colour."""
    return _SCALES[depth](dark, page, foreground, here)


def _between(one: RGB, other: RGB) -> list[RGB]:
    return [mix(one, other, step / STEPS) for step in range(STEPS + 1)]


def _ramp(stops: Sequence[RGB], steps: int, places: Sequence[float] = ()) -> list[RGB]:
    """`steps` colours after the first stop, the last of them the last stop; stops stand evenly or at these places."""
    places = places or [number / (len(stops) - 1) for number in range(len(stops))]
    colors = []
    for step in range(1, steps + 1):
        low = bisect.bisect_left(places, step / steps, 1, len(places) - 1) - 1
        share = (step / steps - places[low]) / (places[low + 1] - places[low])
        colors.append(mix(stops[low], stops[low + 1], share))
    return colors


def _hex(text: str) -> tuple[RGB, ...]:
    return tuple(rgb(f"#{part}") for part in text.split())


def _xterm(*numbers: int) -> tuple[RGB, ...]:
    return tuple(rgb(f"color({number})") for number in numbers)


_TRUE_STOPS = {
    True: (
        _hex("2c5a94 3b82d4 55a0f7"),
        _hex("8a4334 c65f41 f57b50"),
        _hex("6e5a2a b0913c e6c75a"),
        rgb("#d65fc0"),
    ),
    False: (
        _hex("9fc5ef 6ba3e0 2f6fc0"),
        _hex("f0b090 e88860 cf5020"),
        _hex("e2c257 cda52c a17c00"),
        rgb("#b0209a"),
    ),
}

# Chosen by hand: a ramp of true colours wanders through other hues when it is brought down to the 256.
_XTERM_STEPS = {
    True: (
        _xterm(17, 24, 25, 32, 68, 75),
        _xterm(52, 95, 131, 167, 173, 209),
        _xterm(237, 94, 136, 178, 221),
        rgb("color(170)"),
    ),
    False: (
        _xterm(189, 153, 110, 74, 68, 26),
        _xterm(224, 223, 216, 209, 173, 166),
        _xterm(230, 222, 178, 136),
        rgb("color(127)"),
    ),
}


def _true(dark: bool, page: RGB, foreground: RGB, here: RGB) -> Scales:
    negative, positive, share, warning = _TRUE_STOPS[dark]
    nothing = mix(page, foreground, 0.06)
    # Most numbers of a model are small beside the largest: their colours rise fast, for their signs to be seen.
    below, above = (_ramp((nothing, mix(nothing, stops[0], 0.5), *stops), 32, PLACES) for stops in (negative, positive))
    shares = _ramp((nothing, mix(nothing, share[0], 0.5), *share), 32, PLACES)
    return Scales("truecolor", page, nothing, below, above, shares, warning, here, foreground)


def _two_hundred_and_fifty_six(dark: bool, page: RGB, foreground: RGB, here: RGB) -> Scales:
    wanted = luminance(mix(page, foreground, 0.09 if dark else 0.06))
    nothing = min(_xterm(*range(232, 256)), key=lambda grey: abs(luminance(grey) - wanted))
    return Scales("256", page, nothing, *_XTERM_STEPS[dark], here, foreground)


def _sixteen(dark: bool, page: RGB, foreground: RGB, here: RGB) -> Scales:
    """A small number is coloured text on the page, a large one has a coloured background."""
    page = shown(page, "16")
    red, blue, magenta = SIXTEEN[1], SIXTEEN[4], SIXTEEN[5]
    bright_red, bright_yellow, bright_magenta, bright_cyan, white = (SIXTEEN[n] for n in (9, 11, 13, 14, 15))
    return Scales(
        depth="16",
        page=page,
        nothing=page,
        negative=(page, blue),
        positive=(page, red),
        share=(BROWN, bright_yellow) if dark else (bright_yellow, BROWN),
        warning=bright_magenta if dark else magenta,
        here=bright_yellow if dark else magenta,
        foreground=white if dark else BLACK,
        faint=(bright_cyan, bright_red) if dark else (blue, red),
    )


def _none(dark: bool, page: RGB, foreground: RGB, here: RGB) -> Scales:
    """How large a number is, in greys; its sign has to be printed."""
    page, foreground = _grey(page), _grey(foreground)
    ramp = _ramp((page, mix(page, foreground, 0.5)), 9)
    return Scales("none", page, page, ramp, ramp, ramp, foreground, foreground, foreground)


def _grey(color: RGB) -> RGB:
    """As Textual's filter for NO_COLOR sees it."""
    level = round(color[0] * 0.2126 + color[1] * 0.7152 + color[2] * 0.0722)
    return (level, level, level)


_SCALES: dict[Depth, Callable[[bool, RGB, RGB, RGB], Scales]] = {
    "truecolor": _true,
    "256": _two_hundred_and_fifty_six,
    "16": _sixteen,
    "none": _none,
}
