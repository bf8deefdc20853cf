"""How the matrices of an equation share a width."""

from __future__ import annotations

import pytest

from tui.layout import ZOOMS, Form, Painted, Plan, Wish, Written, Zoom, arrange
from tui.widgets.grid import Look

WRITTEN = {way: Look(digits=number) for number, way in enumerate(Written)}
PAINTED = {way: Look("heat", digits=number) for number, way in enumerate(Painted)}


def wish(
    written: tuple[int, ...], painted: tuple[int, ...], least: int = 10, title: int = 0, *, named: bool = False
) -> Wish:
    """A matrix that takes these widths, the tightest first."""
    return Wish(
        {way: Form(WRITTEN[way], width) for way, width in zip(Written, written, strict=True)},
        {way: Form(PAINTED[way], width) for way, width in zip(Painted, painted, strict=True)},
        least,
        title,
        named,
    )


# Eight tokens by eight, sixteen and sixty-four coordinates, and a vocabulary.
SCORES = wish((38, 46, 54, 62, 70, 86), (10, 14, 22, 38), named=True)
NARROW = wish((84, 100, 116, 132, 164, 196), (18, 20, 36, 68))
WIDE = wish((320, 384, 448, 512, 640, 768), (66, 68, 132, 260))
HUGE = wish((24_000,) * 6, (4_100, 4_102, 8_200, 16_400), least=16, named=True)
COLUMN = wish((5, 6, 7, 8, 10, 12), (5, 5, 6, 8), least=5)
SAMPLES = [[SCORES], [WIDE, SCORES], [NARROW, NARROW, SCORES], [WIDE, WIDE, WIDE], [HUGE, COLUMN], [WIDE, HUGE, HUGE]]


def ways(plans: list[Plan]) -> list[Written | Painted]:
    """In which way each is drawn."""
    known: dict[Look, Written | Painted] = {look: way for way, look in WRITTEN.items()}
    known.update({look: way for way, look in PAINTED.items()})
    return [known[plan.look] for plan in plans]


class TestTheResultComesFirst:
    def test_in_the_tightest_numbers_beside_a_strip_of_the_operand(self) -> None:
        plans = arrange(48, [SCORES, SCORES])
        assert ways(plans) == [Painted.BARE, Written.BARE]
        assert [plan.width for plan in plans] == [10, 38]

    def test_an_operand_is_seen_in_part_if_need_be(self) -> None:
        plans = arrange(50, [NARROW, SCORES])
        assert ways(plans) == [Painted.BARE, Written.BARE]
        assert [plan.width for plan in plans] == [12, 38]

    def test_an_operand_seen_whole_comes_before_another_digit(self) -> None:
        assert ways(arrange(56, [NARROW, SCORES])) == [Painted.BARE, Written.BARE]
        assert ways(arrange(65, [NARROW, SCORES])) == [Painted.BARE, Written.SHORT]
        assert ways(arrange(72, [NARROW, SCORES])) == [Painted.BARE, Written.CLOSE]

    def test_the_usual_digits_come_before_numbers_in_the_operand(self) -> None:
        assert ways(arrange(100, [SCORES, SCORES])) == [Painted.BROAD, Written.SPACED]
        assert ways(arrange(116, [SCORES, SCORES])) == [Written.CLOSE, Written.SPACED]

    def test_more_digits_where_there_is_room(self) -> None:
        assert ways(arrange(140, [SCORES, SCORES])) == [Written.EXACT, Written.EXACT]
        assert ways(arrange(180, [SCORES, SCORES])) == [Written.AIRY, Written.AIRY]

    def test_a_column_of_numbers_is_never_a_strip_of_colour(self) -> None:
        for width in range(26, 200):
            huge, column = arrange(width, [HUGE, COLUMN])
            assert column.look in WRITTEN.values()
            assert column.width >= 5
            assert huge.width + column.width == width

    def test_a_result_that_cannot_be_written_is_painted_whole(self) -> None:
        plans = arrange(100, [NARROW, WIDE])
        assert ways(plans) == [Painted.THIN, Painted.THIN]
        assert ways(arrange(39, [SCORES, SCORES])) == [Painted.THIN, Painted.SQUARE]

    def test_it_does_not_grow_while_an_operand_could_be_seen_whole(self) -> None:
        plans = arrange(80, [WIDE, NARROW])
        assert ways(plans) == [Painted.THIN, Painted.THIN]
        assert [plan.width for plan in plans] == [60, 20]
        # A vocabulary cannot.
        assert ways(arrange(80, [HUGE, NARROW]))[1] == Painted.SQUARE


class TestInPart:
    def test_the_width_is_shared_and_the_result_counts_for_two(self) -> None:
        plans = arrange(72, [WIDE, WIDE, WIDE])
        assert ways(plans) == [Painted.BARE, Painted.BARE, Painted.BARE]
        assert [plan.width for plan in plans] == [18, 18, 36]

    def test_what_one_does_not_need_goes_to_the_others(self) -> None:
        assert [plan.width for plan in arrange(71, [COLUMN, WIDE, WIDE])] == [5, 22, 44]

    def test_tokens_that_are_too_many_stay_legible_in_numbers(self) -> None:
        assert ways(arrange(100, [NARROW, HUGE, HUGE])) == [Painted.BARE, Written.SPACED, Written.SPACED]


class TestZoom:
    def test_numbers_even_where_they_are_cut(self) -> None:
        plans = arrange(80, [NARROW, WIDE], "numbers")
        assert ways(plans) == [Painted.BARE, Written.CLOSE]
        # The result gets the width that the least of the operand leaves.
        assert [plan.width for plan in plans] == [10, 70]

    def test_the_results_digits_come_first(self) -> None:
        assert ways(arrange(50, [NARROW, SCORES], "numbers")) == [Painted.BARE, Written.BARE]
        assert ways(arrange(60, [NARROW, SCORES], "numbers")) == [Painted.BARE, Written.SHORT]

    def test_then_numbers_of_the_operands_as_far_as_they_go(self) -> None:
        assert ways(arrange(80, [NARROW, SCORES], "numbers")) == [Written.CLOSE, Written.CLOSE]
        assert [plan.width for plan in arrange(80, [NARROW, SCORES], "numbers")] == [26, 54]

    def test_colours_even_where_numbers_fit(self) -> None:
        assert ways(arrange(80, [SCORES, SCORES], "heat")) == [Painted.BROAD, Painted.BROAD]
        assert ways(arrange(28, [SCORES, SCORES], "heat")) == [Painted.THIN, Painted.THIN]


def test_titles_are_written_out_where_there_is_room() -> None:
    titled = wish((5, 6, 7, 8, 10, 12), (5, 5, 6, 8), least=5, title=14)
    assert [plan.width for plan in arrange(90, [titled, titled])] == [14, 14]
    assert [plan.width for plan in arrange(24, [titled, titled])] == [12, 12]


@pytest.mark.parametrize("zoom", ZOOMS)
@pytest.mark.parametrize("wishes", SAMPLES)
@pytest.mark.parametrize("width", [1, 20, 38, 60, 78, 118, 198])
class TestAnyWidth:
    def test_each_gets_its_least(self, zoom: Zoom, width: int, wishes: list[Wish]) -> None:
        for plan, each in zip(arrange(width, wishes, zoom), wishes, strict=True):
            assert plan.width >= min(each.least, each.painted[Painted.BARE].width)

    def test_the_width_is_kept_where_there_is_room_for_the_least(
        self, zoom: Zoom, width: int, wishes: list[Wish]
    ) -> None:
        if sum(each.least for each in wishes) <= width:
            assert sum(plan.width for plan in arrange(width, wishes, zoom)) <= width
