"""Every demo that ships: it works at both sizes in both languages, and its captions are fit to be read."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from rich.cells import cell_len

from tui.demo.check import check, faults
from tui.demo.play import rehearsed
from tui.demo.rehearsal import Rehearsal
from tui.demo.shipped import ORDER, minutes, shipped_demos
from tui.language import LANGUAGES, language
from tui.wrapping import wrap

HALF_WIDTH = re.compile(r"[\u3400-\u9fff}][,:;?!](?=[\u3400-\u9fff{]|$)|[\u3400-\u9fff]\(|\)[\u3400-\u9fff]")
TYPED = re.compile(r"(?<![{\w.-])\d+(?![\w}])")


@cache
def demo(name: str) -> Rehearsal:
    return rehearsed(shipped_demos()[name], language("en"))


def test_all_are_there() -> None:
    assert tuple(shipped_demos()) == ORDER


@pytest.mark.parametrize("name", ORDER)
@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_it_works(name: str, lang: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert await faults(demo(name), size, lang) == []


@pytest.mark.parametrize("name", ORDER)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_its_captions_can_be_read(name: str, lang: str) -> None:
    rehearsal = demo(name)
    for number, state in enumerate(rehearsal.states):
        caption = rehearsal.caption(number, lang)
        assert len(wrap(caption, 78)) <= 3, caption
        assert cell_len(caption) > 20
        if lang == "zh":
            assert not HALF_WIDTH.search(state.scene.say["zh"]), caption
        # Numbers come from the run; e to the power 0 and the row of 1s are the only ones that are known before.
        assert not TYPED.search(state.scene.say[lang].replace("是 0", "").replace("is 0", "").replace("near", "")) or (
            name in ("loss", "mask", "next-token")
        ), state.scene.say[lang]
    assert 1 <= minutes(rehearsal.demo, lang) <= 4


@pytest.mark.parametrize("name", ORDER)
def test_it_ends_with_something_to_try(name: str) -> None:
    last = demo(name).states[-1].scene
    assert "请试试" in last.say["zh"]
    assert "Try it" in last.say["en"]
    assert last.wait == "key"


@pytest.mark.parametrize("name", ORDER)
def test_it_can_be_shown_on_another_text(name: str) -> None:
    other = rehearsed(shipped_demos()[name], language("zh"), texts=["她喜欢喝茶。"])
    assert other.states
    for number in range(len(other.states)):
        for lang in LANGUAGES:
            assert other.caption(number, lang)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(
        'text = "我"\ntitle.zh = "a"\ntitle.en = "a"\nsummary.zh = "a"\nsummary.en = "a"\n'
        '[[scenes]]\nsay.zh = "很长' + "很长" * 100 + '"\nsay.en = "short"\n',
        "utf-8",
    )
    assert check(path, (80, 24), "en") == []
    found = check(path, (80, 24), "zh")
    assert [str(path) in fault and "line 6" in fault for fault in found] == [True]
    path.write_text("text = 1")
    assert len(check(path, (80, 24), "zh")) == 1
