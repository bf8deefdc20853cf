"""The equation on the screen: what is seen of a stage's matrices at each size, and how."""

from __future__ import annotations

import re

import pytest

from engine.model import Model, load
from engine.trace import GIBIBYTE
from engine.worked import load_worked
from tests.tui.exploring import Explore, Exploring
from tui.app import ExploreApp
from tui.grids import OperandGrid
from tui.language import language
from tui.session import Session
from tui.widgets.equation import FEW_ROWS
from tui.widgets.legend import Legend
from tui.widgets.matrix import MatrixView

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
        assert not it.screen.query_one(Legend).display
    async with explore("我爱你", at="losses") as it:
        legend = it.text(it.screen.query_one(Legend))
        assert legend.split() == ["0", "4.55"]


@pytest.mark.parametrize("stage", ["q_heads", "k_rotated", "scores", "masked", "weights"])
@pytest.mark.parametrize("text", ["我喜欢吃苹果", CAT, "昨日大雨袭击了沿海的城市，很多人被困在家里，没有水也没有电。"])
async def test_a_legend_covers_nothing(explore: Explore, text: str, stage: str) -> None:
    async with explore(text, at=f"{ATTENTION}.{stage}") as it:
        legend = it.screen.query_one(Legend)
        if not legend.display:
            # Only a matrix that takes all lines leaves none.
            assert len(it.session.tokens) >= FEW_ROWS
            return
        line = it.text(legend)
        ends = re.findall(r"−?[\d.]+", line)
        assert ends[1] in ("0", "0.25", ".25")
        assert "  " in line
        assert (float(ends[0].replace("−", "-")) < 0) == (stage != "weights")
        assert it.screen.equation.region.contains_region(legend.region)
        for view in it.screen.query(MatrixView):
            written = view.region.intersection(legend.region) if view.display else None
            geometry = view.geometry
            if written and geometry is not None and written.area:
                assert written.y - view.region.y >= min(geometry.height, view.size.height)


class TestLosses:
    async def test_a_target_stands_by_its_name_beside_the_token_that_predicts_it(self, explore: Explore) -> None:
        async with explore("我爱你", at="targets") as it:
            lines = it.lines(it.screen.query_one("#result"))
            ids = [token.id for token in it.session.trace.tokens[0]]
            assert re.search(rf"我→爱 \W*{ids[1]}", lines[2])
            assert re.search(rf"爱→你 \W*{ids[2]}", lines[3])

    async def test_of_the_probabilities_the_targets_column_alone_is_shown(self, explore: Explore) -> None:
        async with explore("我爱你", at="losses") as it:
            probabilities = it.session.trace["probabilities"].value[0]
            targets = it.session.trace["targets"].value[0].astype(int).tolist()
            for row, target in reversed(list(enumerate(targets))):
                assert it.session.cell == (0, row)
                view = it.screen.query_one("#operand-0 MatrixView", MatrixView)
                header, *lines = it.lines(view)
                assert header.split() == [it.session.trace["probabilities"].axes[-1].label(target)]
                shown = [numbers(line)[-1] for line in lines[:3]]
                assert shown == pytest.approx(probabilities[:, target].tolist(), abs=6e-4)
                await it.press("k")

    async def test_the_mean_is_a_plain_number(self, explore: Explore) -> None:
        async with explore("我爱你", at="loss") as it:
            result = "".join(it.lines(it.screen.query_one("#result"))[1:])
            assert result.split() == [f"{it.session.operand.value.item():.4f}"]


class TestGivenNumbers:
    """Matrices written by hand are shown as they are written, and so is what comes out as even."""

    @pytest.mark.parametrize(
        ("example", "at", "first"),
        [
            ("root-d", "q", "我 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"),
            ("masked-softmax", "scores", "【BOS】 5.1 3.2 2.8 4.1 1.9"),
            ("cat-dog", "q", "猫 2 0"),
        ],
    )
    async def test_have_the_digits_of_the_file(self, example: str, at: str, first: str) -> None:
        worked = load_worked(example)
        session = Session(worked, worked.trace, GIBIBYTE)
        session.go(next(stage for stage in session.trace.stages if stage.name.split(".")[-1] == at))
        app = ExploreApp(session, language("zh"), "dark")
        async with app.run_test(size=(80, 24)) as pilot:
            it = Exploring(app, session, language("zh"), pilot)
            await it.settle()
            label, *expected = first.split()
            assert re.sub("[▌▐]", " ", rows(it)[label]).split() == expected

    @pytest.mark.parametrize("stage", ["embedding", f"{ATTENTION}.q", f"{ATTENTION}.weights"])
    def test_a_models_numbers_are_not_cut(self, sample: Model, stage: str) -> None:
        trace = sample.trace(["我爱你"])
        operand = trace[stage]
        assert OperandGrid.around(operand, (0,) * len(operand.axes), 0).whole_digits is None


class TestNames:
    async def test_of_a_vocabulary_leave_no_gap(self, explore: Explore) -> None:
        async with explore("我爱你", at="embedding") as it:
            for label in "你爱我":
                lines = it.lines(it.screen.query_one("#operand-1 MatrixView"))
                assert any(line.startswith(f"▸{label}") for line in lines)
                await it.press("k")

    async def test_of_parts_of_an_emoji_are_whole_beside_a_sign_that_stands(self, explore: Explore) -> None:
        async with explore("_👍🏽é") as it:
            shown = it.text(it.screen.equation)
            assert "tokenizer( “_👍⟨1f3fd⟩é” ) =" in shown
            assert "⟨1f3fd⟩⟨1/4 f0⟩ " in shown
            assert "…" not in shown
