"""How the matrices of an equation share a width."""

from __future__ import annotations

import pytest

from tui.layout import ZOOMS, Plan, Wish, Zoom, arrange

SCORES = Wish(numbers=30, wide=14, narrow=10, least=8, named=True, wide_cell=4, narrow_cell=2)
WIDE = Wish(numbers=400, wide=130, narrow=68, least=16, named=False)
HUGE = Wish(numbers=30_000, wide=9_000, narrow=4_500, least=16, named=False)


def modes(plans: list[Plan]) -> list[tuple[str, int]]:
    return [(plan.mode, plan.cell_width) for plan in plans]


class TestAuto:
    def test_numbers_where_they_fit(self) -> None:
        assert arrange(60, [SCORES, SCORES]) == [Plan("numbers", 4, 30)] * 2

    def test_else_numbers_in_the_result(self) -> None:
        assert arrange(59, [SCORES, SCORES]) == [Plan("heat", 4, 14), Plan("numbers", 4, 30)]
        assert arrange(43, [SCORES, SCORES]) == [Plan("heat", 2, 10), Plan("numbers", 4, 30)]

    def test_else_everything_painted(self) -> None:
        assert arrange(39, [SCORES, SCORES]) == [Plan("heat", 4, 14)] * 2
        assert arrange(27, [SCORES, SCORES]) == [Plan("heat", 2, 10)] * 2

    def test_where_nothing_fits_the_width_is_shared_and_the_result_counts_for_two(self) -> None:
        assert arrange(90, [HUGE, HUGE]) == [Plan("heat", 1, 30), Plan("heat", 1, 60)]

    def test_what_one_does_not_need_goes_to_the_others(self) -> None:
        plans = arrange(100, [SCORES, HUGE, HUGE])
        assert [plan.width for plan in plans] == [10, 30, 60]

    def test_columns_of_tokens_that_are_too_many_stay_legible_in_numbers(self) -> None:
        tokens = Wish(numbers=900, wide=500, narrow=300, least=8, named=True, wide_cell=4, narrow_cell=2)
        assert modes(arrange(80, [WIDE, tokens])) == [("heat", 1), ("numbers", 4)]

    def test_a_single_matrix(self) -> None:
        assert arrange(80, [SCORES]) == [Plan("numbers", 4, 30)]
        assert arrange(80, [WIDE]) == [Plan("heat", 1, 68)]
        assert arrange(200, [WIDE]) == [Plan("heat", 2, 130)]
        assert arrange(80, [HUGE]) == [Plan("heat", 1, 80)]


class TestZoom:
    def test_numbers_even_where_they_are_cut(self) -> None:
        assert modes(arrange(90, [WIDE, SCORES], "numbers")) == [("numbers", 2), ("numbers", 4)]

    def test_colours_even_where_numbers_fit(self) -> None:
        assert arrange(60, [SCORES, SCORES], "heat") == [Plan("heat", 4, 14)] * 2
        assert arrange(27, [SCORES, SCORES], "heat") == [Plan("heat", 2, 10)] * 2


@pytest.mark.parametrize("zoom", ZOOMS)
@pytest.mark.parametrize("wishes", [[SCORES], [WIDE, SCORES], [WIDE, HUGE, SCORES], [HUGE, HUGE, HUGE, HUGE]])
class TestAnyWidth:
    @pytest.mark.parametrize("width", [1, 20, 38, 78, 118, 198])
    def test_each_gets_its_least_and_no_more_than_it_wishes(self, zoom: Zoom, width: int, wishes: list[Wish]) -> None:
        plans = arrange(width, wishes, zoom)
        for plan, wish in zip(plans, wishes, strict=True):
            wished = {"numbers": wish.numbers, "heat": wish.wide if plan.cell_width == wish.wide_cell else wish.narrow}
            assert min(wish.least, wished[plan.mode]) <= plan.width <= wished[plan.mode]

    @pytest.mark.parametrize("width", [118, 198])
    def test_the_width_is_kept_where_there_is_room_for_the_least(
        self, zoom: Zoom, width: int, wishes: list[Wish]
    ) -> None:
        assert sum(plan.width for plan in arrange(width, wishes, zoom)) <= width
