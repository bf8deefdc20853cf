"""What comes next, and the text: chosen, appended, edited in place, another one of the batch."""

from __future__ import annotations

import numpy as np
import pytest

from engine.model import Model, load
from tests.tui.exploring import Explore, Exploring
from tui.screens.explorer import Explorer
from tui.screens.predictions import Predictions

WEIGHTS = "layers.1.attention.weights"


def distribution(it: Exploring, position: int, text: int = 0) -> list[tuple[str, float]]:
    """Every token and its probability after a position, worked out here from the logits, most probable first."""
    logits = it.session.trace["logits"]
    row = logits.value[text, position].astype(np.float64)
    shares = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
    return [(logits.axes[2].label(int(id)), float(shares[id])) for id in np.argsort(-row, kind="stable")]


def bars(it: Exploring) -> list[tuple[str, str, int]]:
    """Each line of the predictions: the token, its probability, and how many whole blocks its bar has."""
    lines = [line.replace("▸", " ").split() for line in it.lines() if " 0." in line]
    return [(line[0], line[-2 if "█" in line[-1] or len(line) == 3 else -1], line[-1].count("█")) for line in lines]


class TestPredictions:
    async def test_are_the_softmax_of_the_logits(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            await it.press("p")
            assert isinstance(it.top, Predictions)
            expected = distribution(it, 2)
            shown = bars(it)[:-1]
            assert len(shown) > 10
            assert [(label, share) for label, share, _ in shown] == [
                (label, f"{share:.4f}") for label, share in expected[: len(shown)]
            ]
            rest = sum(share for _, share in expected[len(shown) :])
            assert f"其余 {4096 - len(shown)} 个词元" in it.text()
            assert f" {rest:.4f} " in it.text()

    async def test_bars_are_as_long_as_their_shares(self, explore: Explore) -> None:
        async with explore("我爱你", size=(120, 40)) as it:
            await it.press("p")
            (_, first, longest), (_, second, shorter), *_ = bars(it)
            assert longest > 40
            assert shorter == pytest.approx(longest * float(second) / float(first), abs=1)

    async def test_the_second_is_chosen_and_appended(self, explore: Explore) -> None:
        async with explore("我爱你", at=WEIGHTS) as it:
            second = distribution(it, 2)[1][0]
            await it.press("p", "down", "enter")
            assert isinstance(it.top, Explorer)
            assert it.session.texts == (f"我爱你{second}",)
            assert it.session.operand.name == WEIGHTS
            assert (it.session.query, it.session.grid.rows) == (3, 4)
            assert second in it.lines(it.screen.top)[1]

    async def test_choosing_stops_at_both_ends(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            await it.press("p", "up", "j", "k", "k")
            assert "▸ 。" in it.text()
            await it.press(*["down"] * 30)
            assert it.text().count("▸") == 1

    async def test_after_an_earlier_token(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            await it.press("p", "left")
            assert it.say("predictions.after", token="爱", position=1, count=4096) in it.text()
            assert [label for label, *_ in bars(it)[:3]] == [label for label, _ in distribution(it, 1)[:3]]
            await it.press("left", "left", "h")
            assert it.say("predictions.after", token="我", position=0, count=4096) in it.text()
            await it.press("right", "right", "right", "l")
            assert it.say("predictions.after", token="你", position=2, count=4096) in it.text()

    async def test_left_without_choosing(self, explore: Explore) -> None:
        async with explore("我爱你", at=WEIGHTS) as it:
            before = it.text(), it.session.trace
            for key in ("escape", "p", "q"):
                await it.press("p", "down", key)
                assert (it.text(), it.session.trace) == before

    async def test_a_click_chooses_and_a_second_takes(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            third = distribution(it, 2)[2][0]
            await it.press("p")
            await it.click_on(f"  {third}  ")
            assert f"▸ {third}" in it.text()
            await it.click_on(f"▸ {third}")
            assert it.session.texts == (f"我爱你{third}",)

    @pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40)])
    async def test_fit_the_screen(self, explore: Explore, size: tuple[int, int]) -> None:
        async with explore("我爱你", size=size, lang="en") as it:
            await it.press("p")
            assert it.say("predictions.title") in it.text()
            assert it.say("predictions.hint")[:30] in it.lines()[-1]
            assert "other" in it.lines()[-4] or size != (40, 12)

    async def test_at_the_end_of_the_way(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            first, second, third = distribution(it, 2)[:3]
            ends = [f"{label} {100 * share:.0f}%" for label, share in (first, second, third)]
            assert it.text(it.screen.way).rstrip().endswith("  ".join(ends))


class TestGaps:
    """An encoder says what stands at the mask; where there is none, at the token looked at."""

    async def test_without_a_mask_it_is_the_token_looked_at(self, explore: Explore) -> None:
        model = load("tiny-bert")
        async with explore("我爱你", model=model, lang="en", at="layers.0.attention.weights") as it:
            labels = [token.label for token in it.session.trace.tokens[0]]
            for position in (len(labels) - 2, len(labels) - 3):
                await it.press("k")
                assert it.session.query == position
                shares = it.session.trace["probabilities"].value[0, position]
                best = model.vocabulary[int(shares.argmax())]
                assert f"{best} " in it.text(it.screen.way).rsplit("▸", 1)[1]
                await it.press("p")
                shown = it.lines(it.top.query_one("#bars"))
                assert it.say("predictions.at", token=labels[position], position=position, count=4096) in shown[1]
                assert f"{shares.max():.4f}" in shown[3]
                await it.press("escape")

    async def test_at_the_mask_wherever_one_looks(self, explore: Explore) -> None:
        async with explore("我<mask>你", model=load("tiny-bert"), lang="en", at="layers.0.attention.weights") as it:
            mask = [token.label for token in it.session.trace.tokens[0]].index("<mask>")
            await it.press("k", "p")
            text = it.say("predictions.at", token="<mask>", position=mask, count=4096)
            assert text in it.lines(it.top.query_one("#bars"))[1]


class TestAppend:
    async def test_the_most_probable_token(self, explore: Explore) -> None:
        async with explore("我爱", at=WEIGHTS) as it:
            await it.press("a")
            assert it.session.texts == ("我爱你",)
            await it.press("a")
            assert it.session.texts == ("我爱你。",)
            assert it.session.operand.name == WEIGHTS
            assert it.text(it.screen.top).count("。") == 2

    async def test_a_special_token(self, explore: Explore) -> None:
        async with explore("我爱你。", at=WEIGHTS) as it:
            assert distribution(it, 3)[0][0] == "<eos>"
            await it.press("a")
            assert [token.label for token in it.session.trace.tokens[0]] == [*"我爱你。", "<eos>"]
            assert "<eos>" in it.lines(it.screen.top)[1]

    async def test_nothing_is_written_after_the_end_of_a_translation(self, explore: Explore) -> None:
        async with explore("我爱你。", model=load("tiny-translator"), lang="en", at="decoder.tokens") as it:
            await it.until(lambda: it.session.trace.tokens[0][-1].label == "<eos>")
            written = it.session.trace.tokens
            await it.press("a")
            assert it.say("predictions.ended") in "".join(it.lines(it.screen.keys))
            assert it.session.trace.tokens == written

    async def test_past_the_last_position_is_refused(self, explore: Explore) -> None:
        async with explore("猫" * 256, at="tokens") as it:
            before = it.session.trace, it.text(it.screen.top)
            await it.press("a")
            assert "256" in it.text(it.screen.keys)
            assert (it.session.trace, it.text(it.screen.top)) == before
            await it.press("right")
            assert it.session.operand.name == "embedding"


class TestEdit:
    async def test_in_place(self, explore: Explore) -> None:
        async with explore("我爱你", at=WEIGHTS) as it:
            await it.press("e")
            assert it.screen.editor.display
            assert it.screen.editor.value == "我爱你"
            assert it.say("edit.hint") in it.text(it.screen.keys)
            assert not it.screen.top.display
            await it.press("end")
            await it.type("吗q")
            await it.press("enter")
            assert it.session.texts == ("我爱你吗q",)
            assert it.session.operand is it.session.trace[WEIGHTS]
            assert not it.screen.editor.display
            assert "吗" in it.lines(it.screen.top)[1]
            assert (it.session.operand.value == it.session.model.trace("我爱你吗q")[WEIGHTS].value).all()
            # The keys are the explorer's again.
            await it.press("left")
            assert it.session.operand.name == "layers.1.attention.masked"

    async def test_escape_cancels(self, explore: Explore) -> None:
        async with explore("我爱你", at=WEIGHTS) as it:
            before = it.text(), it.session.trace
            await it.press("i")
            await it.type("很")
            await it.press("escape")
            assert (it.text(), it.session.trace) == before
            # What was typed is forgotten.
            await it.press("e")
            assert it.screen.editor.value == "我爱你"

    @pytest.mark.parametrize("value", ["", " \u3000"])
    async def test_a_blank_text_is_refused(self, explore: Explore, value: str) -> None:
        await self._is_refused(explore, value, "文本是空的")

    async def test_a_text_that_is_too_long_is_refused(self, explore: Explore, sample: Model) -> None:
        await self._is_refused(explore, "猫" * 257, "256")

    @staticmethod
    async def _is_refused(explore: Explore, value: str, said: str) -> None:
        async with explore("我爱你", at=WEIGHTS) as it:
            before = it.text(), it.session.trace
            await it.press("e")
            it.screen.editor.value = value
            await it.press("enter")
            assert said in it.text(it.screen.keys)
            # It can be mended.
            assert it.screen.editor.display
            assert it.screen.editor.has_focus
            assert it.screen.editor.value == value
            await it.press("escape")
            assert (it.text(), it.session.trace) == before

    async def test_line_breaks_and_tabs_survive(self, explore: Explore) -> None:
        async with explore("你好\n我\t爱你") as it:
            await it.press("e", "enter")
            assert it.session.texts == ("你好\n我\t爱你",)


class TestBatch:
    """Two texts of different lengths."""

    async def test_switches(self, explore: Explore) -> None:
        async with explore("我爱你吗", "猫", at=WEIGHTS) as it:
            assert "文本 0" in it.lines(it.screen.top)[0]
            assert [place.y for place in it.find("吗", it.screen.top)] == [1, 1]
            await it.press("t")
            top = it.lines(it.screen.top)
            assert "文本 1" in top[0]
            assert top[1].split()[0] == "猫"
            assert "我" not in top[1]
            assert it.session.query == 0
            first = distribution(it, 0, text=1)[0]
            assert f"▸ {first[0]} {100 * first[1]:.0f}%" in it.text(it.screen.way)
            await it.press("t")
            assert "文本 0" in it.lines(it.screen.top)[0]

    async def test_padding_is_labelled_and_masked(self, explore: Explore) -> None:
        async with explore("我爱你吗", "猫", at="layers.0.attention.masked", size=(120, 40)) as it:
            await it.press("t", "s")
            header, first, *_ = it.lines(it.screen.query_one("#result"))[1:]
            assert header.split() == ["猫", "<pad>", "<pad>", "<pad>"]
            assert first.count("−∞") == 3

    async def test_a_text_by_itself_has_no_other(self, explore: Explore) -> None:
        async with explore("我爱你") as it:
            before = it.text()
            await it.press("t")
            assert it.text() == before
            assert "文本" not in it.lines(it.screen.top)[0]

    async def test_a_token_is_appended_to_the_text_looked_at(self, explore: Explore) -> None:
        async with explore("猫", "我爱") as it:
            await it.press("t", "a")
            assert it.session.texts == ("猫", "我爱你")
            assert it.session.text == 1
