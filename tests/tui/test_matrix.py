"""The matrix view: what it draws, how little it asks for, and what it draws again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.style import Style
from textual.app import App, ComposeResult
from textual.events import MouseScrollDown, MouseScrollUp
from textual.geometry import Size
from textual.pilot import Pilot
from textual.strip import Strip

from tui.widgets.matrix import Look, MatrixView
from tui.widgets.numbers import ASCII, Kind, NumberFormat, align, cut
from tui.widgets.palette import MASKED, NAN, ZERO, Palette, palette_for

TOKENS = ["我", "爱", "你"]


@dataclass(eq=False)
class Sheet:
    """A grid that remembers which windows were asked of it."""

    values: NDArray[np.float32]
    kind: Kind = "signed"
    row_labels: Sequence[str] | None = None
    column_labels: Sequence[str] | None = None
    limit: float = 1.0
    asked: list[tuple[slice, slice]] = field(default_factory=list)
    labelled: int = 0

    @property
    def rows(self) -> int:
        return len(self.values)

    @property
    def columns(self) -> int:
        return int(self.values.shape[1])

    @property
    def numbered_rows(self) -> bool:
        return self.row_labels is None

    @property
    def numbered_columns(self) -> bool:
        return self.column_labels is None

    def window(self, rows: slice, columns: slice) -> NDArray[np.float32]:
        self.asked.append((rows, columns))
        return self.values[rows, columns]

    def row_label(self, row: int) -> str:
        self.labelled += 1
        return self.row_labels[row] if self.row_labels else str(row)

    def column_label(self, column: int) -> str:
        self.labelled += 1
        return self.column_labels[column] if self.column_labels else str(column)


class Endless:
    """A grid too large to be held: every value is its row."""

    kind: Kind = "signed"
    limit = 150_000.0
    numbered_rows = numbered_columns = True

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.asked: list[tuple[slice, slice]] = []

    def window(self, rows: slice, columns: slice) -> NDArray[np.float32]:
        self.asked.append((rows, columns))
        values = np.arange(rows.start, rows.stop, dtype=np.float32)
        return np.repeat(values[:, None], columns.stop - columns.start, axis=1)

    def row_label(self, row: int) -> str:
        return str(row)

    def column_label(self, column: int) -> str:
        return str(column)


def sheet(values: object, kind: Kind = "signed", limit: float = 1.0, **labels: Sequence[str]) -> Sheet:
    return Sheet(np.asarray(values, np.float32), kind, limit=limit, **labels)  # type: ignore[arg-type]


def scores() -> Sheet:
    values = [[-3.29, 14.42, 3.46], [-1.06, 6.03, 9.19], [-7.82, 7.78, -0.65]]
    return sheet(values, limit=14.42, row_labels=TOKENS, column_labels=TOKENS)


class Shown(App[None]):
    """One view, as large as its grid or as the screen."""

    CSS = "MatrixView.full { width: 1fr; height: 1fr; }"

    def __init__(self, view: MatrixView) -> None:
        super().__init__()
        self.view = view
        self.clicked: list[MatrixView.CellClicked] = []

    def compose(self) -> ComposeResult:
        yield self.view

    def on_matrix_view_cell_clicked(self, event: MatrixView.CellClicked) -> None:
        self.clicked.append(event)


@pytest.fixture(autouse=True)
def true_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def no_colour(monkeypatch: pytest.MonkeyPatch, true_colour: None) -> None:
    monkeypatch.setenv("NO_COLOR", "")


def lines(view: MatrixView) -> list[str]:
    return [view.render_line(y).text for y in range(view.size.height)]


def style_at(strip: Strip, x: int) -> Style:
    """The style of the segment that covers a cell."""
    for segment in strip:
        if x < segment.cell_length:
            assert segment.style is not None
            return segment.style
        x -= segment.cell_length
    raise AssertionError("beyond the end of the strip")


def counted(view: MatrixView, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lines that are drawn from now on."""
    drawn: list[int] = []
    render: Callable[[int], Strip] = view.render_line

    def render_line(y: int) -> Strip:
        drawn.append(y)
        return render(y)

    monkeypatch.setattr(view, "render_line", render_line)
    return drawn


def accent(view: MatrixView) -> object:
    return view.get_component_styles("matrixview--here").color.rich_color


class TestNumbers:
    async def test_text(self) -> None:
        view = MatrixView(scores())
        async with Shown(view).run_test(size=(80, 24)):
            assert lines(view) == [
                "         我      爱      你 ",
                " 我   −3.29   14.42    3.46 ",
                " 爱   −1.06    6.03    9.19 ",
                " 你   −7.82    7.78   −0.65 ",
            ]

    @pytest.mark.parametrize("size", [(80, 24), (40, 12)])
    async def test_columns_line_up_in_cells(self, size: tuple[int, int]) -> None:
        view = MatrixView(scores(), classes="full")
        async with Shown(view).run_test(size=size):
            header, first = (view.render_line(y) for y in (0, 1))
            ends = [cell_len(header.text[: header.text.index(token) + 1]) for token in TOKENS]
            assert ends == [cell_len(first.text[: first.text.index(n) + len(n)]) for n in ("−3.29", "14.42", "3.46")]
            assert {view.render_line(y).cell_length for y in range(size[1])} == {size[0]}

    async def test_a_cell_has_the_background_of_its_level(self) -> None:
        view = MatrixView(scores())
        async with Shown(view).run_test():
            palette = palette_for(view)
            levels = palette.levels(scores().values, "signed", 14.42)
            for row, column in np.ndindex(3, 3):
                style = style_at(view.render_line(1 + row), view.measure().width - 8 * (3 - column) + 2)
                assert style.bgcolor == palette.style(int(levels[row, column])).bgcolor

    async def test_shares(self) -> None:
        view = MatrixView(sheet([[1, 0, 0], [0.145, 0.855, 0]], "share", column_labels=TOKENS))
        async with Shown(view).run_test():
            assert [line.split() for line in lines(view)[1:]] == [
                ["0", "1.000", "0", "0"],
                ["1", "0.145", "0.855", "0"],
            ]
            assert view.render_line(1)._segments[-1].style == palette_for(view).style(ZERO)

    async def test_masked_and_strange_cells(self) -> None:
        view = MatrixView(sheet([[-1.5, -np.inf, np.nan, np.inf]], limit=1.5))
        async with Shown(view).run_test():
            palette = palette_for(view)
            strip = view.render_line(1)
            assert strip.text == " 0  −1.50  ╱╱╱−∞    NaN      ∞ "
            assert style_at(strip, view.measure().width - 7 * 3 + 2) == palette.style(MASKED)
            assert style_at(strip, view.measure().width - 7 * 2 + 2) == palette.style(NAN)

    async def test_ids_are_written_out_in_heat_mode_too(self) -> None:
        view = MatrixView(sheet([[50256, 0, 11]], "ids", 50256, column_labels=TOKENS), look=Look("heat"))
        async with Shown(view).run_test():
            assert view.render_line(1).text.split() == ["0", "50256", "0", "11"]

    async def test_mask(self) -> None:
        view = MatrixView(sheet([[0, -np.inf]], "mask", row_labels=["我"], column_labels=["我", "爱"]))
        async with Shown(view).run_test():
            assert view.render_line(1).text == " 我    0  ╱−∞ "

    async def test_the_cursor_has_a_frame_and_its_labels_the_accent(self) -> None:
        view = MatrixView(scores())
        async with Shown(view).run_test():
            view.cursor = (1, 0)
            strip, header = view.render_line(2), view.render_line(0)
            assert strip.text == "▸爱 ▌ −1.06▐   6.03    9.19 "
            for x in (0, 1, 4, 11):
                assert style_at(strip, x).color == accent(view)
            assert style_at(strip, 7).bold
            assert style_at(strip, 7).underline
            assert style_at(header, 10).color == accent(view)
            assert style_at(header, 18).color != accent(view)

    async def test_without_colour_the_cursor_has_brackets(self, no_colour: None) -> None:
        view = MatrixView(scores())
        async with Shown(view).run_test():
            view.cursor = (1, 0)
            strip = view.render_line(2)
            assert "[−1.06]" in strip.text
            assert cell_len(strip.text) == cell_len(view.render_line(1).text)

    async def test_ascii(self) -> None:
        view = MatrixView(sheet([[-1.5, -np.inf]], limit=1.5))
        view.look = Look(glyphs=ASCII)
        view.cursor = (0, 0)
        async with Shown(view).run_test():
            assert view.render_line(1).text.isascii()
            assert "[-1.50]" in view.render_line(1).text
            assert "-inf" in view.render_line(1).text


class TestHeat:
    async def test_cells_are_blank_and_coloured(self) -> None:
        view = MatrixView(scores(), look=Look("heat"))
        async with Shown(view).run_test():
            palette = palette_for(view)
            levels = palette.levels(scores().values, "signed", 14.42)
            assert lines(view) == ["    我  你", " 我       ", " 爱       ", " 你       "]
            for row, column in np.ndindex(3, 3):
                assert style_at(view.render_line(1 + row), 4 + 2 * column) == palette.style(int(levels[row, column]))

    async def test_wide_cells(self) -> None:
        view = MatrixView(scores(), look=Look("heat", 4))
        async with Shown(view).run_test():
            assert lines(view)[0] == "     我  爱  你 "
            assert view.measure() == Size(4 + 3 * 4, 4)

    async def test_rows_of_several_lines(self) -> None:
        view = MatrixView(sheet([[1, -np.inf], [0, 1]], row_labels="我你"), look=Look(row_height=3))
        view.cursor = (0, 0)
        app = Shown(view)
        async with app.run_test() as pilot:
            palette, levels = palette_for(view), palette_for(view).levels(np.array([1.0, 0.0]), "signed", 1.0)
            assert view.size == view.measure() == Size(4 + 2 * 7, 1 + 2 * 3)
            assert lines(view) == [
                "         0      1 ",
                "    ▌     ▐╱╱╱╱╱╱╱",
                "▸我 ▌ 1.00▐ ╱╱╱−∞ ",
                "    ▌     ▐╱╱╱╱╱╱╱",
                "                  ",
                " 你   0.00   1.00 ",
                "                  ",
            ]
            for y, level in zip(range(4, 7), levels[[1, 1, 1]].tolist(), strict=True):
                assert style_at(view.render_line(y), 8).bgcolor == palette.style(level).bgcolor
            assert not style_at(view.render_line(1), 7).underline
            await pilot.click(view, offset=(14, 6))
            await pilot.pause()
            assert [(event.row, event.column) for event in app.clicked] == [(1, 1)]

    async def test_masked(self) -> None:
        view = MatrixView(sheet([[1, -np.inf]]), look=Look("heat"))
        async with Shown(view).run_test():
            assert view.render_line(1).text.endswith("  ╱╱")

    async def test_cursor(self) -> None:
        view = MatrixView(scores(), look=Look("heat"))
        view.cursor = (0, 1)
        async with Shown(view).run_test() as pilot:
            assert view.render_line(1).text == "▸我   ▌▐  "
            view.look = Look("heat", 1)
            await pilot.pause()
            assert view.render_line(1).text == "▸我  ▪ "

    @pytest.mark.usefixtures("no_colour")
    async def test_without_colour_a_cell_says_sign_and_size(self) -> None:
        view = MatrixView(sheet([[-1, -0.71, 0, 0.35, 1, np.nan, -np.inf]]), look=Look("heat"))
        async with Shown(view).run_test():
            assert view.render_line(1).text.endswith("−9−7 0+3+9? ╱╱")

    async def test_with_sixteen_colours_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLORTERM", "")
        view = MatrixView(sheet([[0, 0.35, 1]], "share"), look=Look("heat"))
        async with Shown(view).run_test():
            assert view.render_line(1).text.endswith(" 0 3 9")

    async def test_numbered_columns_stand_apart(self) -> None:
        view = MatrixView(sheet(np.zeros((1, 16))), look=Look("heat"))
        async with Shown(view).run_test():
            assert view.render_line(0).text.rstrip() == "   0       4       8       12"
            view.cursor = (0, 9)
            assert view.render_line(0).text.rstrip() == "   0       4       8 9     12"

    async def test_marks_fade_the_rest(self) -> None:
        view = MatrixView(scores(), look=Look("heat"))
        view.marked_row = 1
        async with Shown(view).run_test():
            palette = palette_for(view)
            levels = palette.levels(scores().values, "signed", 14.42)
            assert [line[0] for line in lines(view)] == [" ", " ", "▸", " "]
            assert style_at(view.render_line(2), 8) == palette.normal[levels[1, 2]]
            assert style_at(view.render_line(1), 8) == palette.faded[levels[0, 2]]

            view.marked_row, view.marked_column = None, 2
            assert style_at(view.render_line(1), 8) == palette.normal[levels[0, 2]]
            assert style_at(view.render_line(1), 6) == palette.faded[levels[0, 1]]
            assert style_at(view.render_line(0), 8).color == accent(view)

            view.marked_column, view.marked_cells = None, frozenset({(0, 1), (2, 1)})
            assert style_at(view.render_line(1), 6) == palette.normal[levels[0, 1]]
            assert style_at(view.render_line(2), 6) == palette.faded[levels[1, 1]]
            assert style_at(view.render_line(0), 6).color == accent(view)


class TestLabels:
    async def test_wide_labels_are_cut_without_breaking_the_columns(self) -> None:
        labels = ["中文字符测试很长", "Ġmechanism", "a"]
        view = MatrixView(sheet(np.zeros((3, 3)), row_labels=labels, column_labels=labels))
        view.look = Look(row_label_width=7, column_label_width=5)
        async with Shown(view).run_test():
            assert len({cell_len(line) for line in lines(view)}) == 1
            assert "中文字…" in lines(view)[1]
            assert "Ġmecha…" in lines(view)[2]
            for y in range(4):
                assert view.render_line(y).cell_length == cell_len(view.render_line(y).text) == view.size.width

    async def test_labels_over_colours_stand_apart_and_the_cursors_is_whole(self) -> None:
        labels = ["The", "␣cat", "␣s", "at", "."]
        view = MatrixView(sheet(np.zeros((1, 5)), row_labels=["."], column_labels=labels), look=Look("heat"))
        async with Shown(view).run_test():
            assert lines(view)[0] == "   The ␣s  . "
            view.cursor = (0, 1)
            assert lines(view)[0].split() == ["␣cat", "."]
            assert style_at(view.render_line(0), 5).color == accent(view)
            view.cursor = (0, 3)
            assert lines(view)[0].split() == ["The", "at"]

    async def test_a_label_at_the_edge_is_moved_in(self) -> None:
        labels = ["a", "b", "translation"]
        view = MatrixView(sheet(np.zeros((1, 3)), column_labels=labels), look=Look("heat", 4))
        view.cursor = (0, 2)
        async with Shown(view).run_test():
            assert lines(view)[0] == "    translation"
            assert view.size.width == 15

    async def test_labels_over_close_numbers_are_cut_but_for_the_cursors(self) -> None:
        labels = ["【BOS】", "I", "like", "【EOS】"]
        look = Look(spacing=1, column_label_width=0)
        view = MatrixView(sheet(np.full((1, 4), 0.5), "share", column_labels=labels), look=look)
        async with Shown(view).run_test():
            assert lines(view) == ["    【BO…     I  like 【EO…", " 0  0.500 0.500 0.500 0.500"]
            view.cursor = (0, 3)
            assert lines(view)[0].endswith("【EOS】")
            assert lines(view)[1] == "▸0  0.500 0.500 0.500▌0.500"

    async def test_columns_that_belong_together(self) -> None:
        view = MatrixView(sheet(np.ones((2, 16)), row_labels="我你"), look=Look("heat", 1))
        view.span = range(4, 8)
        async with Shown(view).run_test():
            palette = palette_for(view)
            assert lines(view)[0] == "    0   4──╮8   12  "
            assert style_at(view.render_line(0), 9).color == accent(view)
            view.marked_cells = frozenset({(1, 5)})
            assert lines(view)[0] == "    0   ╭5─╮8   12  "
            assert lines(view)[2] == "▸你" + " " * 6 + "▪" + " " * 10 + ""
            lit = palette.normal[palette.signed_zero + palette.signed_steps]
            assert [style_at(view.render_line(1), x) == lit for x in range(7, 13)] == [False, *[True] * 4, False]

    async def test_labels_cannot_write_to_the_terminal(self) -> None:
        labels = ["\x1b[31m", "[red]", "\u202e"]
        view = MatrixView(sheet(np.zeros((3, 3)), row_labels=labels, column_labels=labels))
        async with Shown(view).run_test():
            text = "".join(lines(view))
            assert "\x1b" not in text
            assert "\u202e" not in text
            assert "[red]" in text

    def test_measuring_asks_for_few_labels(self) -> None:
        grid = Sheet(np.zeros((50_000, 1), np.float32), row_labels=["爱"] * 50_000)
        assert MatrixView(grid).measure().height == 50_001
        assert grid.labelled < 300
        assert grid.asked == []


class TestScrolling:
    async def test_only_what_can_be_seen_is_asked_for(self) -> None:
        grid = Endless(150_000, 4096)
        view = MatrixView(grid, look=Look("heat"), classes="full")
        async with Shown(view).run_test(size=(40, 12)) as pilot:
            await pilot.pause()
            view.show_cell(149_999, 4095)
            await pilot.pause()
            assert grid.asked[-1] == (slice(149_989, 150_000), slice(4081, 4096))
            assert all(r.stop - r.start <= 11 and c.stop - c.start <= 16 for r, c in grid.asked)
            assert lines(view)[-1].startswith(" 149999 ")

    async def test_one_window_for_a_whole_frame(self) -> None:
        grid = Endless(1000, 1000)
        view = MatrixView(grid, classes="full")
        async with Shown(view).run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            grid.asked.clear()
            view.show_cell(30, 0)
            await pilot.pause()
            assert grid.asked == [(slice(8, 31), slice(0, 8))]

    async def test_scrolls_just_enough_and_by_whole_columns(self) -> None:
        view = MatrixView(Endless(1000, 1000), classes="full")
        async with Shown(view).run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            geometry = view.geometry
            assert geometry is not None
            shown = geometry.columns_in(80)
            view.show_cell(5, shown - 1)
            assert view.scroll_offset == (0, 0)
            view.show_cell(23, shown)
            assert view.scroll_offset == (geometry.pitch, 1)
            view.show_cell(0, 0)
            assert view.scroll_offset == (0, 0)
            view.show_cell(999, 999)
            await pilot.pause()
            assert view.cell_at(geometry.gutter + (shown - 1) * geometry.pitch, 23) == (999, 999)

    async def test_margins_say_that_there_is_more(self) -> None:
        view = MatrixView(Endless(100, 100), look=Look("heat"), classes="full")
        async with Shown(view).run_test(size=(40, 12)) as pilot:
            await pilot.pause()
            assert lines(view)[0].rstrip().endswith("⋯")
            assert [line[0] for line in lines(view)] == [" "] * 11 + ["⋮"]
            view.show_cell(50, 50)
            await pilot.pause()
            assert lines(view)[0].startswith("   ⋯ ") or lines(view)[0].startswith("  ⋯ ")
            assert [line[0] for line in lines(view)] == [" ", "⋮"] + [" "] * 9 + ["⋮"]
            view.show_cell(99, 99)
            await pilot.pause()
            assert not lines(view)[0].rstrip().endswith("⋯")
            assert [line[0] for line in lines(view)] == [" ", "⋮"] + [" "] * 10

    async def test_the_wheel(self) -> None:
        view = MatrixView(Endless(1000, 1000), classes="full")
        async with Shown(view).run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            geometry = view.geometry
            assert geometry is not None
            await wheel(pilot, view, MouseScrollDown)
            assert view.scroll_offset == (0, 2)
            await wheel(pilot, view, MouseScrollDown, shift=True)
            assert view.scroll_offset == (geometry.pitch, 2)
            await wheel(pilot, view, MouseScrollUp, shift=True)
            await wheel(pilot, view, MouseScrollUp)
            assert view.scroll_offset == (0, 0)

    async def test_the_cell_shown_stays_in_sight_when_the_size_changes(self) -> None:
        view = MatrixView(Endless(100, 100), classes="full")
        async with Shown(view).run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            view.show_cell(22, 5)
            await pilot.resize_terminal(40, 12)
            await pilot.pause()
            assert lines(view)[-1].lstrip(" ⋮").startswith("22 ")
            view.look = Look("heat")
            await pilot.pause()
            assert {view.cell_at(x, 11) for x in range(40)} & {(22, 5)}

    async def test_shown_before_there_is_a_size(self) -> None:
        view = MatrixView(Endless(100, 100), classes="full")
        view.show_cell(70, 0)
        async with Shown(view).run_test(size=(40, 12)) as pilot:
            await pilot.pause()
            assert lines(view)[-1].lstrip(" ⋮").startswith("70 ")


class TestDirtyLines:
    @pytest.mark.parametrize("count", [20, 1000])
    async def test_a_cursor_step_draws_its_rows_and_the_header(
        self, count: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        grid = Endless(count, count)
        view = MatrixView(grid, look=Look("heat"), classes="full")
        view.cursor = (2, 2)
        async with Shown(view).run_test(size=(40, 12)) as pilot:
            await pilot.pause()
            drawn = counted(view, monkeypatch)
            grid.asked.clear()
            view.cursor = (3, 2)
            await pilot.pause()
            assert sorted(drawn) == [3, 4]
            drawn.clear()
            view.cursor = (3, 3)
            await pilot.pause()
            assert sorted(drawn) == [0, 4]
            assert grid.asked == []

    async def test_a_marked_row_draws_two_lines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        view = MatrixView(Endless(20, 20), look=Look("heat"), classes="full")
        view.marked_row = 2
        async with Shown(view).run_test(size=(40, 12)) as pilot:
            await pilot.pause()
            drawn = counted(view, monkeypatch)
            view.marked_row = 5
            await pilot.pause()
            assert sorted(drawn) == [3, 6]
            drawn.clear()
            view.marked_row = None
            await pilot.pause()
            assert sorted(drawn) == list(range(1, 12))

    async def test_a_cursor_out_of_sight_draws_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        view = MatrixView(Endless(1000, 1000), look=Look("heat"), classes="full")
        view.cursor = (500, 0)
        async with Shown(view).run_test(size=(40, 12)) as pilot:
            await pilot.pause()
            drawn = counted(view, monkeypatch)
            view.cursor = (501, 0)
            await pilot.pause()
            assert drawn == []


class TestMouse:
    async def test_a_click_names_the_cell(self) -> None:
        view = MatrixView(scores())
        app = Shown(view)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.click(view, offset=(14, 2))
            await pilot.pause()
            assert [(event.view, event.control, event.row, event.column) for event in app.clicked] == [
                (view, view, 1, 1)
            ]

    async def test_clicks_beside_the_cells_are_nobodys(self) -> None:
        view = MatrixView(scores(), classes="full")
        app = Shown(view)
        async with app.run_test(size=(80, 24)) as pilot:
            for offset in ((1, 2), (14, 0), (60, 2), (14, 10)):
                await pilot.click(view, offset=offset)
            await pilot.pause()
            assert app.clicked == []

    async def test_a_click_after_scrolling(self) -> None:
        view = MatrixView(Endless(100, 100), look=Look("heat"), classes="full")
        app = Shown(view)
        async with app.run_test(size=(40, 12)) as pilot:
            await pilot.pause()
            view.show_cell(50, 50)
            await pilot.pause()
            geometry = view.geometry
            assert geometry is not None
            await pilot.click(view, offset=(geometry.gutter + 2, 1))
            await pilot.pause()
            assert (app.clicked[0].row, app.clicked[0].column) == (40, 50 - geometry.columns_in(40) + 2)


class TestShape:
    def test_measures_before_mounting(self) -> None:
        view = MatrixView(scores())
        assert view.measure() == Size(4 + 3 * 8, 4)
        assert MatrixView(scores(), look=Look("heat")).measure() == Size(4 + 3 * 2, 4)
        assert MatrixView().measure() == Size(0, 0)

    async def test_takes_the_room_it_needs(self) -> None:
        view = MatrixView(scores())
        async with Shown(view).run_test(size=(80, 24)) as pilot:
            assert view.size == view.measure()
            view.look = Look("heat")
            await pilot.pause()
            assert view.size == Size(10, 4)

    async def test_a_new_grid(self) -> None:
        view = MatrixView(Endless(1000, 1000), classes="full")
        async with Shown(view).run_test(size=(40, 12)) as pilot:
            await pilot.pause()
            view.show_cell(999, 999)
            view.grid = scores()
            await pilot.pause()
            assert lines(view)[1].startswith(" 我   −3.29")
            view.grid = None
            await pilot.pause()
            assert "".join(lines(view)).strip() == ""

    async def test_values_that_changed_in_place(self) -> None:
        grid = scores()
        view = MatrixView(grid)
        async with Shown(view).run_test() as pilot:
            await pilot.pause()
            grid.values[0, 0] = 5
            view.grid = grid
            await pilot.pause()
            assert "5.00" in lines(view)[1]

    @pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1)])
    @pytest.mark.parametrize("size", [(80, 24), (3, 2)])
    async def test_small_grids_and_screens(self, shape: tuple[int, int], size: tuple[int, int]) -> None:
        view = MatrixView(sheet(np.zeros(shape)), classes="full")
        async with Shown(view).run_test(size=size) as pilot:
            await pilot.pause()
            view.cursor = (0, 0)
            view.show_cell(0, 0)
            await pilot.pause()
            assert {view.render_line(y).cell_length for y in range(size[1])} == {size[0]}

    async def test_another_theme_brings_another_palette(self) -> None:
        view = MatrixView(scores())
        app = Shown(view)
        async with app.run_test() as pilot:
            await pilot.pause()
            dark = style_at(view.render_line(1), 5)
            app.theme = "textual-light"
            await pilot.pause()
            light = style_at(view.render_line(1), 5)
            assert palette_for(view) is not Palette.build(True, "truecolor", "#121212")
            assert dark.bgcolor != light.bgcolor

    @pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light", "nord", "textual-light"])
    async def test_every_theme_draws(self, theme: str) -> None:
        view = MatrixView(scores())
        view.cursor = (0, 0)
        app = Shown(view)
        async with app.run_test() as pilot:
            app.theme = theme
            await pilot.pause()
            assert len(lines(view)) == 4


class TestNumberFormat:
    @pytest.mark.parametrize(
        ("kind", "limit", "value", "text"),
        [
            ("signed", 14.42, -1.06, "−1.06"),
            ("signed", 14.42, 0.0, "0.00"),
            ("signed", 14.42, -0.0, "0.00"),
            ("signed", 14.42, -0.001, "−0.00"),
            ("signed", 0.8, -0.1234, "−0.123"),
            ("signed", 0.008, 0.00123, "0.00123"),
            ("signed", 150.0, 149.96, "150.0"),
            ("signed", 4000.0, -3999.6, "−4000"),
            ("signed", 3e-8, -1.23e-8, "−1.2e−8"),
            ("signed", 3e20, 1.23e20, "1.2e20"),
            ("signed", 9.5, -123456.0, "−1e5"),
            ("share", 1.0, 0.876, "0.876"),
            ("share", 1.0, 0.0, "0"),
            ("share", 1.0, 1e-7, "0.000"),
            ("share", 0.01, 0.00123, "0.0012"),
            ("ids", 50256.0, 50256.0, "50256"),
            ("signed", 0.0, 0.0, "0.00"),
            ("signed", 1.0, np.nan, "NaN"),
            ("signed", 1.0, -np.inf, "−∞"),
        ],
    )
    def test_text(self, kind: Kind, limit: float, value: float, text: str) -> None:
        numbers = NumberFormat.fitting(kind, limit)
        assert numbers.text(value) == text
        assert len(text) <= numbers.width

    @pytest.mark.parametrize(
        ("value", "text"), [(0.974, ".97"), (0.004, ".00"), (0.0, "0"), (1.0, "1.0"), (0.996, "1.0"), (-np.inf, "−∞")]
    )
    def test_bare_shares_begin_with_their_point(self, value: float, text: str) -> None:
        numbers = NumberFormat.fitting("share", 1.0, 2, bare=True)
        assert numbers.text(value) == text
        assert numbers.width == 3

    def test_only_shares_can_be_bare(self) -> None:
        assert NumberFormat.fitting("signed", 1.0, 2, bare=True) == NumberFormat.fitting("signed", 1.0, 2)

    def test_the_limit_itself_fits(self) -> None:
        for exponent in range(-20, 20):
            for mantissa in (1.0, 9.99, 9.9999):
                numbers = NumberFormat.fitting("signed", mantissa * 10.0**exponent)
                assert "#" not in numbers.text(-mantissa * 10.0**exponent)

    def test_cut_and_align(self) -> None:
        assert cut("我爱你", 6) == "我爱你"
        assert cut("我爱你", 5) == "我爱…"
        assert cut("我爱你", 4) == "我 …"
        assert cut("我爱你", 1) == " "
        assert align("我", 5, "centre") == " 我  "
        assert align("我", 4, "right") == "  我"


async def wheel(
    pilot: Pilot[None], view: MatrixView, event: type[MouseScrollDown | MouseScrollUp], shift: bool = False
) -> None:
    x, y = view.region.x + 10, view.region.y + 5
    view.post_message(event(view, 10, 5, 0, 0, 0, shift=shift, meta=False, ctrl=False, screen_x=x, screen_y=y))
    await pilot.pause()
