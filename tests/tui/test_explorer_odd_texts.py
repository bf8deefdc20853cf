"""Texts that would upset a terminal, a mark-up language or a column: everything is shown, nothing is obeyed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from engine.model import Model, load
from engine.text import visible
from tests.tui.exploring import Explore, Exploring, squeeze
from tui.screens.predictions import Predictions

ODD = (
    "[red]x[/INST]",
    "[link=file:///etc/passwd]x[/link][@click=app.quit]y[/]",
    "[bold",
    "a\x1b[31mb\x1b]0;title\x07c",
    "\x00\x08\x7f\x85",
    "我😀爱",
    "👨\u200d👩\u200d👧",
    "🇨🇳",
    "👍🏽",
    "_🏽",
    "🇨_",
    "x\u0301\u0302y",
    "\u0301",
    "\u202eabc\u2066d",
    "你好\n我爱你\r\n",
    "a\tb\t\t",
    "  我  爱 ",
    "我\u3000爱\u00a0你",
    "\ufffe\ue000",
    "{query} {0} {",
    "supercalifragilisticexpialidocious" * 3,
)


def is_safe(it: Exploring, size: tuple[int, int]) -> None:
    """No character on the screen acts on the terminal, and every line is as wide as the screen."""
    for line in it.lines():
        assert cell_len(line) == size[0], line
        acting = [char for char in line if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}]
        assert not acting, (line, acting)


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40)])
async def test_are_shown_safely(explore: Explore, size: tuple[int, int]) -> None:
    async with explore("猫", at="layers.1.attention.weights", size=size) as it:
        for text in ODD if size == (80, 24) else ("[red]x[/INST]", "a\x1b[31mb\x1b]0;title\x07c", "👨\u200d👩"):
            await it.press("e")
            it.screen.editor.value = text
            await it.settle()
            is_safe(it, size)
            await it.press("enter")
            assert it.session.texts == (text,)
            is_safe(it, size)
        await it.press("p")
        assert isinstance(it.top, Predictions)
        is_safe(it, size)


@pytest.mark.parametrize("text", ["[red]x[/INST]", "a\x1b[31mb\n", "👨\u200d\u202e"])
async def test_are_named_safely_where_they_are_cut_into_tokens(explore: Explore, text: str) -> None:
    async with explore(text) as it:
        is_safe(it, (80, 24))
        assert f"tokenizer( “{visible(text)}” )" in it.text(it.screen.equation)
        for stage in ("logits", "probabilities"):
            it.screen.action_visit(stage)
            await it.settle()
            is_safe(it, (80, 24))


class TestLabels:
    """What tokens are called, on top of the screen and beside the rows."""

    async def labels(self, explore: Explore, text: str) -> list[str]:
        """The labels of the tokens, which stand in this order on top of the screen and down the side of the result."""
        async with explore(text, size=(200, 50)) as it:
            labels = [token.label for token in it.session.trace.tokens[0]]
            top = it.lines(it.screen.top)[1].split(f"  {it.say('top.token')} ")[0]
            assert squeeze(top) == squeeze("".join(labels))
            # Rows are several lines high where there is room.
            written = [line for line in it.lines(it.screen.query_one("#result"))[2:] if line.strip(" ▌▐")]
            for label, line in zip(labels, written[: len(labels)], strict=True):
                # The name of a row is cut where it is very long.
                assert line.replace("▸", " ").strip().startswith(label[:11])
            return labels

    async def test_of_markup(self, explore: Explore) -> None:
        assert await self.labels(explore, "[red]") == ["[", "red", "]"]

    async def test_of_an_escape(self, explore: Explore) -> None:
        assert await self.labels(explore, "a\x1bb") == ["a", "␛", "b"]

    async def test_of_white_space(self, explore: Explore) -> None:
        assert await self.labels(explore, "我 爱\n你\t") == ["我", "␣", "爱", "⏎", "你", "⇥"]

    async def test_of_bytes_with_the_character_they_are_part_of(self, explore: Explore) -> None:
        assert await self.labels(explore, "我😀") == ["我", "😀⟨1/4 f0⟩", "😀⟨2/4 9f⟩", "😀⟨3/4 98⟩", "😀⟨4/4 80⟩"]

    async def test_of_joiners(self, explore: Explore) -> None:
        assert (await self.labels(explore, "👨\u200d"))[4:] == ["⟨200d⟩⟨1/3 e2⟩", "⟨200d⟩⟨2/3 80⟩", "⟨200d⟩⟨3/3 8d⟩"]

    async def test_of_special_tokens(self, explore: Explore, sample: Model) -> None:
        bos, eos = sample.tokenizer.bos, sample.tokenizer.eos
        assert bos is not None
        assert eos is not None
        async with explore(ids=[[bos, 1381, eos]]) as it:
            assert it.lines(it.screen.top)[1].split()[:3] == ["<bos>", "我", "<eos>"]


async def test_columns_of_wide_and_narrow_tokens_line_up(explore: Explore) -> None:
    async with explore("我ab你c", at="layers.0.attention.scores", size=(120, 40)) as it:
        lines = it.lines(it.screen.query_one("#result"))
        names = [token.label for token in it.session.trace.tokens[0]]
        assert {len(name) == cell_len(name) for name in names} == {True, False}
        # However wide a row's name is, its numbers end in the same cells as those of the other rows.
        ends = []
        for name, values in zip(names, it.session.operand.value[0, 0], strict=True):
            line = next(line for line in lines[2:] if line.replace("▸", " ").strip().startswith(name))
            numbers = list(re.finditer(r"−?\d+\.(\d+)", line))
            assert [found.group() for found in numbers] == [
                f"{value:.{len(found.group(1))}f}".replace("-", "−")
                for value, found in zip(values, numbers, strict=True)
            ]
            ends.append([cell_len(line[: found.end()]) for found in numbers])
        assert all(found == ends[0] for found in ends)


async def test_a_model_whose_name_and_tokens_are_hostile(explore: Explore, checkpoint: Callable[..., Path]) -> None:
    words = ["<unk>", "[/INST]", "[red]x", "\x1b[31m", "{query}", "\u202eab", "[@click=app.quit]", *"abcd"]
    model = load(checkpoint(name="[red]mo\x1bdel[", tokens=words))
    async with explore(ids=[[1, 2, 3, 4, 5, 6]], model=model) as it:
        for name in ("tokens", "layers.1.attention.weights", "logits"):
            it.screen.action_visit(name)
            await it.settle()
            is_safe(it, (80, 24))
        assert "{query}" in it.lines(it.screen.top)[1]
        await it.press("p")
        is_safe(it, (80, 24))
        assert "[@click=app.quit]" in it.text()
        await it.press("enter")
        assert len(it.session.trace.tokens[0]) == 7
