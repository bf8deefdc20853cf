"""The palette: what can be told apart, what can be read, and which level a number gets."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest
from rich.color import Color, ColorSystem
from rich.style import Style
from textual.app import App, ComposeResult

from tui.widgets.legend import Legend, legend
from tui.widgets.palette import INFINITE, MASKED, NAN, PLAIN, ZERO, Palette, color_depth
from tui.widgets.scales import READABLE, RGB, Depth, contrast, luminance, rgb, shown

DEPTHS: tuple[Depth, ...] = ("truecolor", "256", "16", "none")
PAGES = [(True, "#0f1419"), (True, "#121212"), (True, "#2e3440"), (False, "#e0e0e0"), (False, "#fafafa")]

every_palette = pytest.mark.parametrize(
    ("depth", "dark", "page"), [(depth, dark, page) for depth in DEPTHS for dark, page in PAGES]
)


def colors(style: Style, depth: Depth) -> tuple[RGB, RGB]:
    """The text colour and background as the terminal shows them."""
    assert style.color is not None
    assert style.bgcolor is not None
    ink, ground = style.color.get_truecolor(), style.bgcolor.get_truecolor()
    return shown((ink.red, ink.green, ink.blue), depth), shown((ground.red, ground.green, ground.blue), depth)


def grounds(styles: Iterable[Style], depth: Depth) -> list[RGB]:
    return [colors(style, depth)[1] for style in styles]


@every_palette
def test_every_number_can_be_read(depth: Depth, dark: bool, page: str) -> None:
    palette = Palette.build(dark, depth, page)
    labels = (palette.label, palette.quiet, palette.here, palette.mark)
    for style in (*palette.normal, *palette.faded, *palette.cursor, *labels):
        assert contrast(*colors(style, depth)) >= READABLE


@every_palette
def test_the_edges_of_the_cursor_can_be_seen(depth: Depth, dark: bool, page: str) -> None:
    for style in Palette.build(dark, depth, page).edge:
        assert contrast(*colors(style, depth)) >= 1.8


@pytest.mark.parametrize("depth", ["truecolor", "256"])
@pytest.mark.parametrize(("dark", "page"), PAGES)
def test_neighbouring_levels_stay_distinct(depth: Depth, dark: bool, page: str) -> None:
    palette = Palette.build(dark, depth, page)
    zero, steps = palette.signed_zero, palette.signed_steps
    signed = grounds(palette.normal[zero - steps : zero + steps + 1], depth)
    share = grounds(palette.normal[palette.share_zero : palette.share_zero + palette.share_steps + 1], depth)
    assert len(set(signed)) == len(signed)
    assert len(set(share)) == len(share)


@pytest.mark.parametrize("depth", ["truecolor", "256"])
@pytest.mark.parametrize(("dark", "page"), PAGES)
def test_a_larger_magnitude_stands_out_more(depth: Depth, dark: bool, page: str) -> None:
    palette = Palette.build(dark, depth, page)
    zero, steps, share = palette.signed_zero, palette.signed_steps, palette.share_zero
    for ramp in (
        palette.normal[zero + 1 : zero + steps + 1],
        palette.normal[zero - steps : zero][::-1],
        palette.normal[share + 1 : share + palette.share_steps + 1],
    ):
        lights = [luminance(ground) for ground in grounds(ramp, depth)]
        assert all((b > a) == dark for a, b in itertools.pairwise(lights))


def test_negative_is_blue_and_positive_is_orange() -> None:
    for depth, (dark, page) in itertools.product(("truecolor", "256"), PAGES):
        palette = Palette.build(dark, depth, page)  # type: ignore[arg-type]
        red, _, blue = grounds([palette.normal[palette.signed_zero + palette.signed_steps]], "truecolor")[0]
        assert red > blue
        red, _, blue = grounds([palette.normal[palette.signed_zero - palette.signed_steps]], "truecolor")[0]
        assert blue > red


def test_true_colour_has_thirty_two_steps_a_side() -> None:
    palette = Palette.build(True, "truecolor", "#121212")
    assert (palette.signed_steps, palette.share_steps) == (32, 32)


def test_styles_are_few_and_shared() -> None:
    palette = Palette.build(True, "truecolor", "#121212")
    assert Palette.build(True, "truecolor", "#121212") is palette
    assert len({*palette.normal, *palette.faded, *palette.cursor, *palette.edge}) < 500


def test_sixteen_colours_are_the_sixteen() -> None:
    for dark, page in PAGES:
        for style in Palette.build(dark, "16", page).normal:
            assert style.bgcolor is not None
            ground = style.bgcolor.get_truecolor()
            number = style.bgcolor.downgrade(ColorSystem.STANDARD).number
            assert (ground.red, ground.green, ground.blue) == shown((ground.red, ground.green, ground.blue), "16")
            assert number is not None


def test_grey_says_nothing_of_the_sign() -> None:
    palette = Palette.build(True, "none", "#121212")
    zero = palette.signed_zero
    assert palette.prints_digits
    for step in range(1, palette.signed_steps + 1):
        assert palette.normal[zero - step] == palette.normal[zero + step]
    assert all(style.bold and style.underline and style.reverse for style in palette.cursor)


def test_the_terminals_own_background_is_left_alone() -> None:
    palette = Palette.build(True, "truecolor", "default")
    for style in (palette.blank, palette.label, palette.quiet, palette.here):
        assert style.bgcolor == Color.default()


def test_levels_of_signed_numbers() -> None:
    palette = Palette.build(True, "truecolor", "#121212")
    values = np.array([[-4, -2, 0], [1, 2, 100]], np.float32)
    zero = palette.signed_zero
    expected = [[zero - 32, zero - 32, zero], [zero + 16, zero + 32, zero + 32]]
    assert palette.levels(values, "signed", 2.0).tolist() == expected


def test_levels_of_shares() -> None:
    palette = Palette.build(True, "truecolor", "#121212")
    values = np.array([0.0, -0.0, 1e-9, 1 / 64, 0.25, 1.0], np.float32)
    zero = palette.share_zero
    # A quarter is in the middle: a weight among forty can be told from nothing.
    assert palette.levels(values, "share", 1.0).tolist() == [ZERO, ZERO, zero, zero + 4, zero + 16, zero + 32]


@pytest.mark.parametrize("kind", ["signed", "share", "mask", "ids"])
def test_levels_of_what_is_not_finite(kind: str) -> None:
    palette = Palette.build(True, "truecolor", "#121212")
    values = np.array([np.nan, np.inf, -np.inf], np.float32)
    assert palette.levels(values, kind, 1.0).tolist() == [NAN, INFINITE, MASKED]  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [0.0, -1.0, np.nan, np.inf, 1e-45])
def test_no_limit_breaks_the_scale(limit: float) -> None:
    palette = Palette.build(True, "256", "#121212")
    levels = palette.levels(np.array([-3e38, 0, 3e38], np.float32), "signed", limit)
    assert levels.tolist() == [palette.signed_zero + step * palette.signed_steps for step in (-1, 0, 1)]


def test_ids_have_no_colour() -> None:
    palette = Palette.build(True, "truecolor", "#121212")
    assert set(palette.levels(np.arange(9, dtype=np.float32), "ids", 8).tolist()) == {PLAIN}


@pytest.mark.parametrize(
    ("environment", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "truecolor"),
        ({"TERM": "xterm-256color", "COLORTERM": ""}, "256"),
        ({"TERM": "xterm", "COLORTERM": ""}, "16"),
        ({"TERM": "dumb", "COLORTERM": ""}, "none"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": ""}, "none"),
    ],
)
def test_depth_of_a_terminal(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], depth: Depth) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert color_depth(App()) == depth


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast(rgb("#000000"), rgb("#ffffff")) == pytest.approx(21)
    assert contrast(rgb("#777777"), rgb("#ffffff")) == pytest.approx(4.48, abs=0.01)


class TestLegend:
    def test_signed(self) -> None:
        palette = Palette.build(True, "truecolor", "#121212")
        content = legend(palette, "signed", 14.42, low=-3.3, high=14.42, cells=4)
        assert content.plain == "−3.3      0      14.42"

    def test_the_gradient_has_the_colours_of_the_cells(self) -> None:
        palette = Palette.build(True, "truecolor", "#121212")
        segments = legend(palette, "signed", 2.0, low=-1.0, high=2.0, cells=4).render_segments()
        expected = palette.levels(np.array([-0.875, 1.75], np.float32), "signed", 2.0)
        painted = [s.style.bgcolor for s in segments if s.style and s.style.bgcolor and not s.style.bgcolor.is_default]
        assert [painted[0], painted[-1]] == [palette.normal[level].bgcolor for level in expected]

    def test_shares(self) -> None:
        palette = Palette.build(True, "truecolor", "#121212")
        content = legend(palette, "share", 1.0, cells=3)
        assert content.plain == "0     0.25     1"
        painted = [
            s.style.bgcolor for s in content.render_segments() if s.text.isspace() and s.style and s.style.bgcolor
        ]
        # The six cells stand for equal parts of the square root.
        expected = palette.levels(np.array([(n + 0.5) / 6 for n in range(6)]) ** 2, "share", 1.0)
        grounds = [palette.normal[level].bgcolor for level in expected]
        assert [color for color in painted if not color.is_default] == grounds

    def test_all_of_one_sign(self) -> None:
        palette = Palette.build(True, "truecolor", "#121212")
        assert legend(palette, "signed", 2.0, low=0.5, high=2.0, cells=3).plain == "0.5     2"

    def test_masked(self) -> None:
        palette = Palette.build(True, "truecolor", "#121212")
        assert legend(palette, "mask", 1.0, masked="掩蔽 [red]").plain == "╱╱ 掩蔽 [red]"

    def test_zero_stands_on_the_middle_cell_of_a_narrow_one(self) -> None:
        palette = Palette.build(True, "truecolor", "#121212")
        content = legend(palette, "signed", 2.0, low=-1.0, high=2.0, cells=2, apart=False)
        assert content.plain == "−1   0   2"
        assert legend(palette, "share", 1.0, cells=2, apart=False).plain == "0   .25   1"
        assert legend(palette, "signed", 2.0, low=0.0, high=2.0, cells=2, apart=False).plain == "0       2"

    def test_without_a_scale(self) -> None:
        palette = Palette.build(True, "truecolor", "#121212")
        assert legend(palette, "signed", 2.0, masked="masked", cells=0).plain == "╱╱ masked"
        assert legend(palette, "signed", 2.0, cells=0).plain == ""

    @pytest.mark.parametrize(
        ("width", "printed", "shown"),
        [
            (60, True, "−3.76          0          3.76   ╱╱ masked"),
            (40, True, "−3.76      0      3.76   ╱╱ masked"),
            (32, True, "−3.76    0    3.76   ╱╱ masked"),
            (28, True, "−3.76   0   3.76   ╱╱ masked"),
            # Numbers in cells need no scale; colours do.
            (20, True, "╱╱ masked"),
            (24, False, "−3.76      0      3.76"),
            (20, False, "−3.76    0    3.76"),
            (17, False, "−3.76   0   3.76"),
        ],
    )
    async def test_the_word_on_masked_cells_outlives_the_gradient(
        self, monkeypatch: pytest.MonkeyPatch, width: int, printed: bool, shown: str
    ) -> None:
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("COLORTERM", "truecolor")
        monkeypatch.delenv("NO_COLOR", raising=False)
        scale = Legend()
        scale.kind, scale.limit, scale.masked, scale.printed = "signed", 3.76, "masked", printed

        class Page(App[None]):
            def compose(self) -> ComposeResult:
                yield scale

        async with Page().run_test(size=(width, 5)) as pilot:
            await pilot.pause()
            assert scale.render().plain == shown

    @pytest.mark.parametrize("depth", ["16", "none"])
    def test_without_colour_it_explains_the_digits(self, depth: Depth) -> None:
        palette = Palette.build(True, depth, "#121212")
        assert legend(palette, "signed", 14.4).plain == "−9…+9 = −14.4…14.4"
        assert legend(palette, "share", 1.0, masked="masked").plain == "0…9 = 0…1   ╱╱ masked"
