"""Every demo that ships: it works at both sizes in both languages, and its captions are fit to be read."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path

import pytest
from rich.cells import cell_len

from engine.errors import FileError
from tui.demo.check import SIZES, check, faults
from tui.demo.headless import scenes
from tui.demo.play import play, rehearsed
from tui.demo.rehearsal import Instead, Rehearsal
from tui.demo.shipped import ORDER, minutes, shipped_demos
from tui.grids import OperandGrid
from tui.language import LANGUAGES, language
from tui.widgets.matrix import MatrixView
from tui.wrapping import wrap

HALF_WIDTH = re.compile(r"[\u3400-\u9fff}][,:;?!](?=[\u3400-\u9fff{]|$)|[\u3400-\u9fff]\(|\)[\u3400-\u9fff]")
# The only numbers that captions may type: formulas, and mathematics that is so of every run. By demo and scene.
KNOWN = {
    ("sines", "start"): ("pos/10000^(2i/D)",),
    ("sines", "book"): ("PE(pos, 2i)", "PE(pos, 2i+1)"),
    ("loss", "losses"): ("P 越接近 1，损失越接近 0", "As P nears 1 the loss nears 0"),
}

# What a caption takes from the text stands there between quotation marks, in every language.
TAKEN = r"\{(?:[\w-]+\.)?(?:token|query|key|best|top\d?|target|following|text|source)\}"
UNQUOTED = re.compile(rf"(?<!“){TAKEN}|{TAKEN}(?!”)")
# Each thing has one name.
OTHER_NAMES = re.compile("遮盖|遮罩|方程|标记|记号化|单词")
NINE = {"tour", "graph", "self-attention", "cross-attention", "heads", "positions", "mask", "next-token", "loss"}
# So much of a title can be seen beside a bar of a terminal of 80 columns, whatever else stands there.
LONGEST_TITLE = 38


@cache
def demo(name: str) -> Rehearsal:
    return rehearsed(shipped_demos()[name], language("en"))


def test_all_are_there() -> None:
    assert tuple(shipped_demos()) == ORDER
    assert set(ORDER) >= NINE


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
        assert not UNQUOTED.search(state.scene.say[lang]), state.scene.say[lang]
        assert not OTHER_NAMES.search(caption), caption
    assert cell_len(rehearsal.demo.title[lang]) <= LONGEST_TITLE
    assert 1 <= minutes(rehearsal.demo, lang) <= 4


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_tour_takes_about_three_minutes(lang: str) -> None:
    # As README has it.
    assert 3 <= minutes(demo("tour").demo, lang) <= 3 + 20 / 60


@pytest.mark.parametrize("name", ORDER)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_its_numbers_come_from_the_run(name: str, lang: str) -> None:
    for scene in demo(name).demo.scenes:
        said = re.sub(r"\{[^}]*\}", "", scene.say[lang])
        for known in KNOWN.get((name, scene.name), ()):
            said = said.replace(known, "")
        assert not re.search(r"\d", said), said


def test_no_number_is_let_through_that_is_not_said() -> None:
    for (name, scene), statements in KNOWN.items():
        (said,) = (each.say.values() for each in demo(name).demo.scenes if each.name == scene)
        for known in statements:
            assert any(known in caption for caption in said), known


@pytest.mark.parametrize("name", ORDER)
def test_it_ends_with_something_to_try(name: str) -> None:
    last = demo(name).states[-1].scene
    assert "请试试" in last.say["zh"]
    assert "Try it" in last.say["en"]
    assert last.wait == "key"


@pytest.mark.parametrize("name", ORDER)
def test_it_can_be_shown_on_another_text(name: str) -> None:
    other = rehearsed(shipped_demos()[name], language("zh"), instead=Instead(texts=("她喜欢喝茶。",)))
    assert other.states
    for number in range(len(other.states)):
        for lang in LANGUAGES:
            assert other.caption(number, lang)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_that_one_token_has_nothing_to_predict_is_said_of_the_text(lang: str) -> None:
    with pytest.raises(FileError) as caught:
        rehearsed(shipped_demos()["loss"], language(lang), instead=Instead(texts=("你",)))
    assert caught.value.key == "demo-one-token"
    said = language(lang).error(caught.value.key, caught.value.english, caught.value.values)
    assert "你" in said
    assert {"zh": "只有一个词元", "en": "is one token"}[lang] in said
    # What is not about the tokens that follow can be shown on it.
    assert rehearsed(shipped_demos()["graph"], language(lang), instead=Instead(texts=("你",))).states


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(
        'text = "我"\ntitle.zh = "a"\ntitle.en = "a"\nsummary.zh = "a"\nsummary.en = "a"\n'
        '[[scenes]]\nsay.zh = "很长' + "很长" * 100 + '"\nsay.en = "short"\n',
        "utf-8",
    )
    rehearsal = rehearsed(path, language("en"))
    assert check(rehearsal, "en") == []
    found = check(rehearsal, "zh")
    assert [str(path) in fault and "line 6" in fault for fault in found] == [True] * len(SIZES)


@pytest.mark.parametrize("name", sorted(shipped_demos()))
def test_in_a_hall_it_goes_round_by_itself(name: str) -> None:
    app = play(shipped_demos()[name], language("en"), loop=True)
    player, seen = app.player, [0]
    for _ in range(10_000):
        if player.tick(0.5):
            seen.append(player.index)
        if len(seen) > player.count + 1:
            break
    assert seen == [*range(player.count), 0, 1]


@pytest.mark.parametrize("lang", LANGUAGES)
async def test_the_large_loss_that_raises_the_mean_is_in_sight(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    rehearsal = demo("loss")
    numbers = [rehearsal.number(name) for name in ("mean", "perplexity")]
    trace = rehearsal.states[numbers[0]].trace
    largest = max(trace["losses"].value[0].tolist())
    async for _, app in scenes(rehearsal, language(lang), (80, 24), numbers=numbers):
        view = app.explorer.equation.query(MatrixView).first()
        assert isinstance(view.grid, OperandGrid)
        assert view.grid.operand is trace["losses"]
        shown = "\n".join(view.render_line(y).text for y in range(view.size.height))
        assert f"{largest:.4f}" in shown


@pytest.mark.parametrize(
    ("name", "scene", "edges"), [("cross-attention", "graph", 5), ("context", "graph", 5), ("self-attention", "try", 2)]
)
@pytest.mark.parametrize("lang", LANGUAGES)
async def test_graphs_have_lines_to_be_pictures_in(
    name: str, scene: str, edges: int, lang: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    rehearsal = demo(name)
    async for number, app in scenes(rehearsal, language(lang), (80, 24), numbers=[rehearsal.number(scene)]):
        assert app.explorer.view.size.height >= 10
        assert app.explorer.number.lines == 1
        state = rehearsal.states[number]
        weights = state.trace[state.stage].value[0, state.positions["H"], state.positions["N"]]
        assert (weights >= state.threshold).sum() == edges


def test_the_sines_stand_where_the_caption_says() -> None:
    table = demo("sines").states[0].trace["encoder.positions"].value[0]
    rows, columns = table.shape
    half = columns // 2
    for pos in range(rows):
        for i in range(half):
            angle = pos / 10000 ** (2 * i / columns)
            assert table[pos, i] == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[pos, half + i] == pytest.approx(math.cos(angle), abs=1e-6)
