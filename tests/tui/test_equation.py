"""The equation on the screen: what is seen of a stage's matrices at each size, and how."""

from __future__ import annotations

import re

import pytest

from engine.model import Model, load
from tests.tui.exploring import Explore, Exploring

NUMBER = re.compile(r"−?\d*\.\d+|(?<![\d.])\d(?![\d.])")
ATTENTION = "layers.0.attention"
CAT = "The cat sat on the mat."
LONGER = "The little cat sat on the old mat."


@pytest.fixture(scope="module")
def translator() -> Model:
    return load("tiny-translator")


def rows(it: Exploring) -> dict[str, str]:
    """The lines of the result's rows by their labels."""
    lines = [line.replace("▸", " ") for line in it.lines(it.screen.query_one("#result"))[2:]]
    split = [line.split(maxsplit=1) for line in lines if line.strip(" ▌▐")]
    return {label: rest[0] if rest else "" for label, *rest in split}


def numbers(line: str) -> list[float]:
    """The numbers on a line."""
    return [float(found.replace("−", "-")) for found in NUMBER.findall(line)]


class TestNumbersComeFirst:
    """What attention gives to whom is to be read, not guessed from colours."""

    @pytest.mark.parametrize(
        ("text", "size", "digits"),
        [
            ("我爱你", (80, 24), 4),
            ("我喜欢吃苹果", (80, 24), 3),
            (CAT, (80, 24), 3),
            (CAT, (120, 40), 3),
            (LONGER, (120, 40), 2),
            (LONGER, (200, 60), 3),
        ],
    )
    async def test_weights(self, explore: Explore, text: str, size: tuple[int, int], digits: int) -> None:
        async with explore(text, at=f"{ATTENTION}.weights", size=size) as it:
            shown = rows(it)
            weights = it.session.operand.value[0, 0]
            for label, values in zip((token.label for token in it.session.trace.tokens[0]), weights, strict=True):
                found = numbers(shown[label])
                assert len(found) == len(values)
                assert found == pytest.approx(values.tolist(), abs=0.51 * 10**-digits)

    async def test_scores(self, explore: Explore) -> None:
        async with explore("我喜欢吃苹果", at=f"{ATTENTION}.scores") as it:
            values = it.session.operand.value[0, 0, -1].tolist()
            assert numbers(rows(it)["果"]) == pytest.approx(values, abs=0.051)

    @pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
    async def test_losses_are_numbers_beside_a_whole_vocabulary(self, explore: Explore, size: tuple[int, int]) -> None:
        async with explore("我爱你", at="losses", size=size) as it:
            shown = rows(it)
            for label, value in zip("我爱", it.session.operand.value[0].tolist(), strict=True):
                assert numbers(shown[label]) == pytest.approx([value], abs=0.006)

    async def test_zoom_gives_the_result_the_width(self, explore: Explore) -> None:
        async with explore(LONGER, at=f"{ATTENTION}.masked", size=(80, 24)) as it:
            await it.press("z")
            result, operand = (it.screen.query_one(name).size.width for name in ("#result", "#operand-0"))
            assert result > 3 * operand
            assert len(numbers(rows(it)["."])) >= 6


class TestWhole:
    @pytest.mark.parametrize("text", ["我爱你", "我喜欢吃苹果", CAT])
    async def test_no_row_of_a_small_matrix_is_cut(self, explore: Explore, text: str) -> None:
        async with explore(text) as it:
            for stage in it.session.trace:
                it.screen.action_visit(stage.name)
                await it.settle()
                assert it.screen.equation.size.height >= 2 + min(it.session.grid.rows, 8), stage.name
                if stage.name != "loss":
                    labels = [it.session.grid.row_label(row) for row in range(it.session.grid.rows)]
                    assert set(labels) <= set(rows(it)), stage.name

    @pytest.mark.parametrize(
        ("stage", "names"),
        [("q", ["residual_norm", "W_Q", "b_Q", "Q"]), ("residual_norm", ["residual", "γ", "β", "residual_norm"])],
    )
    async def test_operands_are_never_dropped(
        self, explore: Explore, translator: Model, stage: str, names: list[str]
    ) -> None:
        async with explore("我爱你。", model=translator, at=f"decoder.layers.0.cross_attention.{stage}") as it:
            assert [word for word in it.lines(it.screen.equation)[0].split() if word in names] == names
            # Beside the result, several columns of each.
            for number in range(3):
                assert it.screen.query_one(f"#operand-{number}").size.width >= 8

    async def test_where_they_cannot_be_shown_they_are_named(self, explore: Explore) -> None:
        async with explore("我爱你", at=f"{ATTENTION}.scores", size=(40, 12)) as it:
            assert "Q′ · K′ᵀ =" in it.text(it.screen.equation)
            assert numbers(rows(it)["你"]) == pytest.approx(it.session.operand.value[0, 0, 2].tolist(), abs=0.051)

    async def test_rows_are_higher_where_there_is_room(self, explore: Explore) -> None:
        heights = {}
        for size in ((80, 24), (120, 40)):
            async with explore("我爱你", at=f"{ATTENTION}.weights", size=size) as it:
                places = [it.find(token, it.screen.query_one("#result")) for token in ("爱", "你")]
                heights[size] = places[1][-1].y - places[0][-1].y
        assert heights == {(80, 24): 1, (120, 40): 3}


class TestHeads:
    """Which coordinates are this head's."""

    async def test_are_bracketed_where_a_row_is_cut_into_heads(self, explore: Explore) -> None:
        async with explore("我爱你", at=f"{ATTENTION}.q_heads", size=(120, 40)) as it:
            await it.press("right_square_bracket")
            header = it.lines(it.screen.query_one("#operand-0"))[1]
            assert re.search(r"16─+20─+24─+28─+╮ *32", header)
            await it.press("left_square_bracket", "left_square_bracket")
            assert it.session.head == 3
            header = it.lines(it.screen.query_one("#operand-0"))[1]
            assert re.search(r"44 +48─+52─+56─+60─+╮", header)

    async def test_are_bracketed_where_heads_are_joined(self, explore: Explore) -> None:
        async with explore("我爱你", at=f"{ATTENTION}.concat") as it:
            await it.press(*["l"] * 17)
            header = it.lines(it.screen.query_one("#result"))[1]
            assert re.search(r"12 +╭17─20──24──28─╮32", header)
            assert it.session.cell == (0, 2, 17)


async def test_a_single_number_has_no_legend(explore: Explore) -> None:
    async with explore("我爱你", at="loss") as it:
        assert not it.screen.query_one("#result Legend").display
    async with explore("我爱你", at="losses") as it:
        legend = it.text(it.screen.query_one("#result Legend"))
        assert legend.split() == ["0", "4.55"]
