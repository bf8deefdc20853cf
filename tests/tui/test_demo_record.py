"""A demo as pictures: every character where it belongs, nothing fetched from elsewhere, a page to go through them."""

from __future__ import annotations

import re
from base64 import b64decode
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.cells import cell_len
from rich.console import Console

from engine.errors import EngineError
from tui.demo.pictures import CELL, corrected, runs
from tui.demo.record import record
from tui.language import language

LESSON = """\
text = "我爱你"
title.zh = "课<一>"
title.en = "Lesson <1>"
summary.zh = "摘要"
summary.en = "Summary"

[[scenes]]
name = "scores"
stage = "layers.0.attention.scores"
say.zh = "“{query}”问“{key}” <&>"
say.en = "{query} asks {key} <&>"

[[scenes]]
view = "graph"
say.zh = "图"
say.en = "a graph"
"""
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[ElementTree.Element]:
    return [each for each in ElementTree.fromstring(svg).iter(f"{SVG}text") if each.get("textLength")]


def test_wide_characters_take_two_cells() -> None:
    console = Console(width=20, record=True, file=open("/dev/null", "w"), force_terminal=True)  # noqa: SIM115
    console.print("a我爱b <&>", markup=False, highlight=False)
    console.file.close()
    svg = console.export_svg(title="t")
    placed = [(each.text, float(each.get("x", 0)), float(each.get("textLength", 0))) for each in texts(corrected(svg))]
    assert placed[:3] == [("a", 0.0, 12.2), ("我爱", 12.2, 48.8), ("b\u00a0<&>", 61.0, 61.0)]
    assert "cdnjs" not in corrected(svg)


def test_runs_keep_marks_with_their_characters() -> None:
    assert list(runs("ab我爱e\u0301\u200bf你\u0301")) == ["ab", "我爱", "e\u0301\u200bf", "你\u0301"]
    assert list(runs("")) == []


@pytest.mark.parametrize(("lang", "theme"), [("zh", "dark"), ("en", "light")])
def test_a_demo_becomes_a_page(tmp_path: Path, lang: str, theme: str) -> None:
    path = tmp_path / "lesson.toml"
    path.write_text(LESSON, "utf-8")
    files = record(path, tmp_path / "out" / "in", language(lang), theme=theme)
    assert [file.name for file in files] == ["01-scores.svg", "02.svg", "index.html"]
    for file in files[:2]:
        svg = file.read_text("utf-8")
        assert texts(svg)
        for each in texts(svg):
            assert float(each.get("textLength", 0)) == pytest.approx(cell_len(each.text or "") * CELL, abs=0.06)
        assert set(re.findall(r"https?://[^\s\"]+", svg)) <= {"http://www.w3.org/2000/svg", "https://www.textualize.io"}
    page = files[2].read_text("utf-8")
    assert "http" not in page
    assert "src=" not in page.replace('src="data:', "")
    embedded = [b64decode(data).decode() for data in re.findall(r"base64,([^\"]+)", page)]
    assert embedded == [file.read_text("utf-8") for file in files[:2]]
    captions = [unescape(each) for each in re.findall("<figcaption>(.*?)</figcaption>", page)]
    assert captions[0] == ("“你”问“我” <&>" if lang == "zh" else "你 asks 我 <&>")
    assert page.count('class="here"') == 1
    assert "ArrowRight" in page


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "lesson.toml"
    path.write_text(LESSON, "utf-8")
    with pytest.raises(EngineError, match="cannot be written"):
        record(path, path / "out", language("zh"))
