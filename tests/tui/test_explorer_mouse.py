"""The mouse: everything that is shown can be clicked."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.geometry import Offset

from tests.tui.exploring import Explore
from tui.actions import FOOTER
from tui.arithmetic import number_text
from tui.screens.help import Help
from tui.screens.predictions import Predictions

SCORES = "layers.0.attention.scores"
RIGHT_BUTTON = 3


class TestTokens:
    async def test_a_click_makes_one_the_query(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES) as it:
            await it.click_on("爱", it.screen.top)
            assert it.session.cell == (0, 0, 1, 0)
            assert "查询 爱 → 键 我" in it.text(it.screen.top)
            assert "scores[头 0, 爱, 我]" in it.text(it.screen.number)

    async def test_beside_them_nothing_happens(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES) as it:
            before = it.text()
            await it.click(Offset(40, 2))
            assert it.text() == before


class TestMatrices:
    async def test_a_cell_of_the_result_is_looked_at(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.attention.weights") as it:
            result = it.screen.query_one("#result")
            await it.click_on("0.9179", result)
            assert it.session.cell == (0, 0, 1, 0)
            assert "weights[头 0, 爱, 我] = 0.918" in it.text(it.screen.number)
            assert it.session.operand.name == "layers.0.attention.weights"

    async def test_a_cell_of_an_operand_is_followed(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.attention.weights") as it:
            await it.click_on("3.7583", it.screen.query_one("#operand-0"))
            assert it.session.operand.name == "layers.0.attention.masked"
            assert it.session.cell == (0, 0, 2, 1)
            await it.press("escape")
            assert it.session.operand.name == "layers.0.attention.weights"

    async def test_a_cell_of_a_key_on_its_side(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES, size=(120, 40)) as it:
            keys = it.screen.query_one("#operand-1")
            head = it.find("爱", keys)[0]
            # The third coordinate of the second key.
            await it.click(Offset(head.x, head.y + 3))
            assert it.session.operand.name == "layers.0.attention.k_rotated"
            assert it.session.cell == (0, 0, 1, 2)

    async def test_a_label_is_no_cell(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.attention.weights") as it:
            before = it.text()
            result = it.screen.query_one("#result")
            await it.click_on("爱", result)
            await it.click_on("爱", result, nth=1)
            await it.click_on("weights", result)
            assert it.text() == before


class TestArithmetic:
    async def test_a_number_is_followed(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.mlp.residual") as it:
            for operand in it.session.trace["layers.0.mlp.residual"].inputs:
                number = number_text(operand.number(it.session.cell))
                await it.click_on(number, it.screen.number)
                assert it.session.operand is operand
                assert it.session.cell == (0, 2, 0)
                await it.press("escape")

    async def test_a_term_of_a_sum_is_followed(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES) as it:
            derivation = it.session.derivation()
            assert derivation is not None
            total = derivation.steps[0].sum
            assert total is not None
            second = total.largest(2)[1].factors[1]
            await it.click_on(number_text(second.value), it.screen.number)
            assert (it.session.operand, it.session.cell) == (second.operand, second.cell)

    async def test_a_worked_out_number_leads_nowhere(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.attention.scaled") as it:
            before = it.text()
            await it.click_on("÷ 4", it.screen.number)
            assert it.text() == before


class TestPlaces:
    async def test_a_name_in_the_tree(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES, size=(120, 40)) as it:
            await it.click_on("q_rotated", it.screen.tree_view)
            assert it.session.operand.name == "layers.0.attention.q_rotated"
            await it.press("escape")
            assert it.session.operand.name == SCORES

    async def test_a_group_in_the_tree_unfolds(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES, size=(120, 40)) as it:
            await it.click_on("层 1 · 前馈", it.screen.tree_view)
            assert it.session.operand.name == SCORES
            assert "▾ 层 1 · 前馈" in it.text(it.screen.tree_view)
            await it.click_on("gate", it.screen.tree_view)
            assert it.session.operand.name == "layers.1.mlp.gate"

    async def test_a_stop_of_the_way(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES) as it:
            for stop, stage in (("我爱你", "tokens"), ("层 1", "layers.1.attention.norm"), ("输出", "logits")):
                await it.click_on(stop, it.screen.way)
                assert it.session.operand.name == stage

    async def test_the_end_of_the_way_is_what_comes_next(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES) as it:
            await it.click_on("<eos>", it.screen.way)
            assert isinstance(it.top, Predictions)

    async def test_the_right_button_goes_back(self, explore: Explore) -> None:
        async with explore("我爱你", at="layers.0.attention.scaled") as it:
            await it.press("enter")
            assert it.session.operand.name == SCORES
            await it.click(Offset(40, 9), button=RIGHT_BUTTON)
            assert it.session.operand.name == "layers.0.attention.scaled"


class TestKeyBar:
    async def test_its_keys(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES) as it:
            bar = it.screen.keys
            effects: tuple[tuple[str, Callable[[], bool]], ...] = (
                ("→", lambda: it.session.operand.name == "layers.0.attention.scaled"),
                ("←", lambda: it.session.operand.name == SCORES),
                ("]", lambda: it.session.head == 1),
                ("[", lambda: it.session.head == 0),
                ("}", lambda: it.session.layer == 1),
                ("{", lambda: it.session.layer == 0),
                ("k", lambda: it.session.query == 1),
                ("j", lambda: it.session.query == 2),
                ("l", lambda: it.session.key == 1),
                ("h", lambda: it.session.key == 0),
            )
            for key, moved in effects:
                await it.click_on(key, bar)
                assert moved(), key

    async def test_what_opens(self, explore: Explore) -> None:
        async with explore("我爱你", at=SCORES) as it:
            await it.click_on("预测", it.screen.keys)
            assert isinstance(it.top, Predictions)
            await it.press("escape")
            await it.click_on("帮助", it.screen.keys)
            assert isinstance(it.top, Help)
            await it.press("escape")
            await it.click_on("改文本", it.screen.keys)
            assert it.screen.editor.has_focus

    @pytest.mark.parametrize("lang", ["zh", "en"])
    async def test_shows_its_eight_groups(self, explore: Explore, lang: str) -> None:
        async with explore("我爱你", lang=lang) as it:
            shown = it.text(it.screen.keys)
            assert len(FOOTER) == 8
            assert all(it.say(f"short.{name}") in shown for name, _ in FOOTER)


class TestWheel:
    async def test_scrolls_a_matrix_and_leaves_the_cell(self, explore: Explore) -> None:
        async with explore("猫" * 60, at=SCORES) as it:
            result = it.screen.query_one("#result")
            at = it.find("scores", result)[0] + Offset(6, 4)
            before = it.text(it.screen.equation), it.session.cell
            await it.scroll(at, up=True)
            assert it.text(it.screen.equation) != before[0]
            assert it.session.cell == before[1]
            # The next move brings it back in sight.
            await it.press("l", "h")
            assert it.text(it.screen.equation) == before[0]
