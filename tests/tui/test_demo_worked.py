"""Scenes that open a worked example, beside those that show the demo's model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import EngineError
from engine.model import Model, load
from engine.worked import Worked, load_worked, shipped_worked
from tui.demo.check import faults
from tui.demo.headless import scenes
from tui.demo.rehearsal import OWN, Instead, Rehearsal, rehearse
from tui.demo.script import read
from tui.demo.template import save_scene
from tui.language import language
from tui.session import Session
from tui.widgets.topbar import TopBar

HEAD = 'title.zh = "题"\ntitle.en = "Title"\nsummary.zh = "摘要"\nsummary.en = "Summary"\n'
TEXT = 'text = "我爱你"\n'


@pytest.fixture
def lesson(tmp_path: Path) -> Callable[..., Path]:
    def written(*scenes: str, head: str = HEAD + TEXT) -> Path:
        path = tmp_path / "lesson.toml"
        said = 'say.zh = "{model}：{value}"\nsay.en = "{model}: {value}"\n'
        path.write_text(head + "".join(f"[[scenes]]\n{each}\n{said}" for each in scenes), "utf-8")
        return path

    return written


def rehearsed(path: Path, instead: Instead = OWN) -> Rehearsal:
    demo = read(path)
    return rehearse(demo, load(demo.model), language("en"), instead=instead)


CAT = 'worked = "cat-dog"\nstage = "attention.weights"\nwhich = 1\ncell = ["猫", "狗"]'
BACK = 'text = "猫追狗"\nstage = "embedding"\ncell = ["猫", 0]'


def test_a_worked_example_takes_the_place_of_the_model_until_a_text_is_named(lesson: Callable[..., Path]) -> None:
    rehearsal = rehearsed(lesson('stage = "tokens"', CAT, 'cell = ["狗", "猫"]', BACK))
    opened = [state.opened for state in rehearsal.states]
    assert isinstance(opened[0], Model)
    assert isinstance(opened[1], Worked)
    assert opened[2] is opened[1]
    assert opened[3] is opened[0]
    # By hand: q of 猫 is (2, 0), k of 狗, 追, 猫 are (2, 2), (1, 2), (0, 2); scores 4, 2, 0 ÷ √2; their softmax.
    assert rehearsal.caption(1, "en") == "cat-dog: 0.768"
    assert rehearsal.states[3].trace.texts == ("猫追狗",)
    assert rehearsal.caption(3, "en").startswith("tiny-gpt: ")


def test_the_text_of_before_comes_back(lesson: Callable[..., Path]) -> None:
    path = lesson('text = "我爱"\nstage = "tokens"', CAT, 'worked = "cat-dog-positions"', "worked = false")
    states = rehearsed(path).states
    assert states[3].trace is states[0].trace
    assert states[3].stage == "tokens"
    assert rehearsed(path, Instead(texts=("她喜欢",))).states[3].trace.texts == ("我爱",)
    path = lesson('stage = "tokens"', CAT, "worked = false")
    assert rehearsed(path, Instead(texts=("她喜欢",))).states[2].trace.texts == ("她喜欢",)
    with pytest.raises(EngineError, match="worked: there is no false here"):
        rehearsed(lesson(CAT, "worked = false", head=HEAD))


def test_what_a_scene_does_not_name_stays_where_the_example_has_it(lesson: Callable[..., Path]) -> None:
    states = rehearsed(lesson(CAT, 'worked = "cat-dog-positions"', 'worked = "next-token-loss"')).states
    assert [state.stage for state in states] == ["attention.weights", "attention.weights", "tokens"]


def test_a_demo_of_worked_examples_needs_no_text(lesson: Callable[..., Path]) -> None:
    path = lesson(CAT, head=HEAD)
    assert read(path).texts == ()
    assert rehearsed(path).caption(0, "zh") == "cat-dog：0.768"
    with pytest.raises(EngineError, match=r"lesson.toml: this demo begins with a worked example"):
        rehearsed(path, Instead(texts=("我",)))
    with pytest.raises(EngineError, match="line 1: text is ∅"):
        rehearsed(lesson('stage = "tokens"', CAT, head=HEAD))


def test_a_file_beside_the_demo_is_opened(lesson: Callable[..., Path], tmp_path: Path) -> None:
    path = lesson('worked = "mine.toml"\nstage = "attention.weights"\ncell = ["a", "b"]', head=HEAD)
    (tmp_path / "mine.toml").write_text('tokens = ["a", "b"]\nscores = [[0, 0], [1, 1]]\n', "utf-8")
    assert rehearsed(path).caption(0, "en") == "mine: 0.500"


@pytest.mark.parametrize(
    ("scene", "line", "message"),
    [
        ('worked = "cat-dig"', 7, "cat-dig is neither a file nor a worked example"),
        ("worked = 1", 7, "worked is 1; it should be "),
        ("worked = 0", 7, "worked is 0; it should be "),
        ('worked = ""', 7, "worked is ''; it should be "),
        ("worked = true", 7, "worked is True; it should be "),
        ('worked = "cat-dog"\ntext = "猫"', 8, "text is '猫'; it should be worked | text"),
        ('worked = "cat-dog"\nappend = true', 8, "append: there is no true here"),
        ('worked = "cat-dog"\nstage = "attention.wieghts"', 8, "there is no stage attention.wieghts"),
        ('worked = "cat-dog"\nwhich = 2', 8, "which: there is no 2 here; there are 0 … 1"),
        ('worked = "cat-dog"\nstage = "attention.weights"\ncell = ["我"]', 9, "cell: there is no 我 here"),
    ],
)
def test_a_fault_is_found_with_its_line(lesson: Callable[..., Path], scene: str, line: int, message: str) -> None:
    path = lesson(scene)
    with pytest.raises(EngineError) as caught:
        rehearsed(path)
    assert str(caught.value).startswith(f"{path}: line {line}: "), caught.value
    assert message in str(caught.value)


def test_another_text_leaves_worked_examples_as_they_are(lesson: Callable[..., Path]) -> None:
    path = lesson('stage = "tokens"', CAT, BACK)
    other = rehearsed(path, Instead(texts=("她喜欢喝茶",)))
    assert other.caption(1, "en") == rehearsed(path).caption(1, "en")
    assert other.states[0].trace.texts == ("她喜欢喝茶",)


@pytest.mark.parametrize("shipped", [True, False])
def test_a_place_in_a_worked_example_becomes_a_scene(tmp_path: Path, shipped: bool) -> None:
    mine = tmp_path / "a" / "mine.toml"
    mine.parent.mkdir()
    mine.write_bytes(shipped_worked()["cat-dog"].read_bytes())
    example = load_worked("cat-dog" if shipped else mine)
    session = Session(example, example.trace, 1 << 30)
    session.go(session.trace["attention.weights"])
    session.positions.update({"B": 1, "N": 2, "M": 0})
    save_scene(tmp_path / "scenes.toml", session, "graph")
    (state,) = rehearsed(tmp_path / "scenes.toml").states
    assert isinstance(state.opened, Worked)
    assert state.opened.path == example.path
    assert (state.stage, state.view, state.trace.texts) == ("attention.weights", "graph", ("猫追狗", "狗追猫"))
    assert {key: state.positions[key] for key in "BNM"} == {"B": 1, "N": 2, "M": 0}


async def test_the_explorer_shows_what_is_open(lesson: Callable[..., Path]) -> None:
    rehearsal = rehearsed(lesson('stage = "tokens"', CAT + '\nview = "graph"', BACK + '\nview = "equation"'))
    assert await faults(rehearsal, (80, 24), "en") == []
    tops = []
    async for _, app in scenes(rehearsal, language("en"), (120, 40)):
        tops.append(str(app.explorer.query_one(TopBar).render()).split("\n")[0])
    # Only a model's weights can have been checked.
    assert ["✓" in top for top in tops] == [True, False, True]
    assert [top.split()[0] for top in tops] == ["tiny-gpt", "cat-dog", "tiny-gpt"]
