"""Where a legend stands beside the matrices of an equation."""

from __future__ import annotations

from tui.widgets.legendplace import Block, Spot, spot

OPERAND, RESULT = Block(0, 20, 6), Block(24, 40, 6, title=8)


def test_under_the_result_where_there_is_a_line() -> None:
    assert spot([OPERAND, RESULT], 60, 9, 5, 20) == Spot(26, 7, 34)


def test_as_far_to_the_left_as_it_needs() -> None:
    assert spot([OPERAND, RESULT], 40, 9, 5, 20) == Spot(20, 7, 20)


def test_under_a_shorter_operand() -> None:
    assert spot([Block(0, 20, 4), RESULT], 40, 6, 5, 17) == Spot(2, 5, 21)


def test_beside_the_title_where_the_matrices_take_all_lines() -> None:
    assert spot([OPERAND, RESULT], 60, 6, 5, 20) == Spot(37, 0, 23)


def test_close_under_the_result_where_that_is_all_there_is() -> None:
    assert spot([OPERAND, RESULT], 40, 7, 5, 20) == Spot(20, 6, 20)


def test_the_widest_place_where_none_is_wide_enough() -> None:
    assert spot([OPERAND, RESULT], 50, 6, 5, 20) == Spot(37, 0, 13)


def test_nowhere() -> None:
    assert spot([OPERAND, RESULT], 40, 6, 5, 20) is None
