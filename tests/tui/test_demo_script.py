"""The file of a demo: what it may say, and that every fault in it is found before it starts, with its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import EngineError
from engine.model import Model, load
from engine.worked import load_worked
from tui.demo import facts
from tui.demo.fact import NoFactError
from tui.demo.lines import Lines
from tui.demo.rehearsal import Instead, Rehearsal, reading_time, rehearse
from tui.demo.script import placeholders, read
from tui.demo.shipped import find_demo, list_demos, shipped_demos
from tui.demo.template import new, save_scene, scene_here, start
from tui.language import LANGUAGES, language
from tui.session import Session

HEAD = """\
model = "tiny-gpt"
text = "我爱你"
title.zh = "题"
title.en = "Title"
summary.zh = "摘要"
summary.en = "Summary"
"""
SCENE = """
[[scenes]]
stage = "layers.0.attention.weights"
head = 0
cell = ["爱", "我"]
say.zh = "“{query}”看“{key}”：{value}"
say.en = "{query} looks at {key}: {value}"
"""
SECOND = 14  # the line after both


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def written(text: str) -> Path:
        path = tmp_path / "lesson.toml"
        path.write_text(text, "utf-8")
        return path

    return written


def rehearsed(path: Path, *texts: str, model: str | None = None, targets: tuple[str, ...] = ()) -> Rehearsal:
    demo = read(path)
    return rehearse(demo, load(model or demo.model), language("en"), instead=Instead(model, texts, targets))


def scene(*lines: str) -> str:
    said = () if any(line.startswith("say") for line in lines) else ('say.zh = "说"', 'say.en = "said"')
    return "\n".join(["[[scenes]]", *lines, *said, ""])


def test_captions_take_their_numbers_from_the_run(write: Callable[[str], Path]) -> None:
    rehearsal = rehearsed(write(HEAD + SCENE))
    weight = rehearsal.states[0].trace["layers.0.attention.weights"].value[0, 0, 1, 0]
    assert rehearsal.caption(0, "zh") == f"“爱”看“我”：{weight:.3f}"
    assert rehearsal.caption(0, "en") == f"爱 looks at 我: {weight:.3f}"
    assert rehearsal.demo.name == "lesson"


def test_what_a_scene_does_not_name_stays(write: Callable[[str], Path]) -> None:
    states = rehearsed(
        write(HEAD + SCENE + scene('view = "graph"') + scene('stage = "logits"', 'view = "equation"', 'cell = ["你"]'))
    ).states
    assert [state.view for state in states] == ["equation", "graph", "equation"]
    assert states[0].stage == states[1].stage
    assert states[0].positions == states[1].positions
    assert (states[2].positions["H"], states[2].positions["N"]) == (0, 2)


def test_texts_are_edited_and_grow(write: Callable[[str], Path]) -> None:
    states = rehearsed(write(HEAD + SCENE + scene('text = "猫追"', 'append = "狗"') + scene("append = true"))).states
    assert [state.trace.texts[0] for state in states] == ["我爱你", "猫追狗", "猫追狗。"]
    # The text did not change between the stages of one scene and the next that leaves it alone.
    assert states[0].trace is not states[1].trace


def test_an_earlier_scene_can_be_quoted(write: Callable[[str], Path]) -> None:
    before = SCENE.replace("[[scenes]]", '[[scenes]]\nname = "before"')
    after = scene('cell = ["你"]', 'say.zh = "{before.value}，现在 {value}"', 'say.en = "{before.value}, now {value}"')
    rehearsal = rehearsed(write(HEAD + before + after))
    first = rehearsal.caption(0, "en").rpartition(" ")[2]
    assert rehearsal.caption(1, "en").startswith(f"{first}, now ")
    assert rehearsal.number("before") == 0
    assert rehearsal.number("2") == 1
    with pytest.raises(EngineError, match="there is no scene 3; there are 1 to 2, and before"):
        rehearsal.number("3")


def test_a_translator_is_shown_on_its_own_translation(write: Callable[[str], Path]) -> None:
    head = HEAD.replace("tiny-gpt", "tiny-translator").replace("我爱你", "我爱你。")
    rehearsal = rehearsed(
        write(
            head
            + scene('stage = "decoder.layers.1.cross_attention.weights"', 'cell = ["love", "你"]', "head = 3")
            + scene('text = "猫追狗。"')
        )
    )
    assert rehearsal.states[0].trace.texts[0].replace("␣", " ").startswith("I love you")
    assert "cat" in rehearsal.states[1].trace.texts[0]


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (['stage = "layers.0.attention.wieghts"'], 1, "there is no stage layers.0.attention.wieghts"),
        (['stage = "layers.7.attention.weights"'], 1, "there is no layer 7"),
        (['stage = "weights"'], 1, "weights could be layers.0.attention.weights"),
        (["head = 9"], 1, "there is no head 9; this model has heads 0 to 3"),
        (['stage = "embedding"', "head = 1"], 2, "embedding has no heads"),
        (['cell = ["恨", "我"]'], 1, "cell: there is no 恨 here; there are 我, 爱, 你"),
        (["cell = [1, 3]"], 1, "cell: there is no 3 here; there are 0 … 2"),
        (['stage = "embedding"', 'cell = [0, "爱"]'], 2, "cell: there is no 爱 here; there are 0 … 63"),
        (['stage = "tokens"', "cell = [0, 0]"], 2, "cell: there is no 0, 0 here"),
        (["cell = [0, 0, 0]"], 1, "cell is"),
        (['view = "movie"'], 1, "view is 'movie'; it should be equation | graph"),
        (["threshold = 2"], 1, "threshold is 2; it should be 0 | 0.05"),
        (['threshold = "0"'], 1, "threshold is '0'"),
        (["threshold = 0.03"], 1, "threshold: there is no 0.03 here; there are 0, 0.01, 0.02, 0.05"),
        (['append = "no such"'], 1, "append: there is no no such here"),
        (["which = 1"], 1, "which: there is no 1 here"),
        (['text = " "'], 1, "text is ' '"),
        (['text = "' + "我" * 300 + '"'], 1, "300"),
        (["wait = 0"], 1, "wait is 0; it should be 12 | "),
        (["wait = true"], 1, "wait is True"),
        (['wait = "long"'], 1, "wait is 'long'"),
        (["colour = 1"], 1, "colour is no key of a demo here; there are name, stage"),
        (['name = "a b"'], 1, "name is 'a b'"),
        (["head = 0.5"], 1, "head is 0.5"),
        (['say.zh = "说"'], 1, "say.en is not said; a demo speaks zh, en"),
        (['say.zh = "说"', 'say.en = "{vlaue}"'], 2, "{vlaue} means nothing at this place; there are {names}"),
        (['say.zh = "{other.value}"', 'say.en = "said"'], 1, "{other.value} means nothing at this place"),
        (['say.zh = "说"', 'say.en = "{value:.2f}"'], 2, "say.en has a brace that holds no name"),
        (['say.zh = "{"', 'say.en = "said"'], 1, "say.zh has a brace that holds no name"),
        (['stage = "embedding"', 'say.zh = "说"', 'say.en = "{key}"'], 3, "{key} means nothing at this place"),
        (['say.zh = "说"', 'say.en = "x"', 'say.fr = "y"'], 3, "say.fr is 'y'; it should be zh | en"),
        (['holds = ["value > 2"]'], 1, "value > 2 is not so in this run: value is 0.918"),
        (["holds = [\"best = '你'\"]"], 1, "best = '你' is not so in this run: best is 我"),
        (['holds = ["big"]'], 1, "holds is ['big']"),
        (['holds = ["weight > 0"]'], 1, "{weight} means nothing"),
    ],
)
def test_a_fault_is_found_with_its_line(
    write: Callable[[str], Path], lines: list[str], line: int, message: str
) -> None:
    path = write(HEAD + SCENE + scene(*lines))
    with pytest.raises(EngineError) as caught:
        rehearsed(path)
    expected = f"{path}: line {SECOND + line}: "
    assert str(caught.value).startswith(expected), caught.value
    if "{names}" not in message:
        assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: scenes is ∅"),
        (HEAD, "line 1: scenes is ∅"),
        (HEAD + "x = \n", "line 7: not TOML (Invalid value)"),
        (HEAD + 'say = "', "line 7: not TOML"),
        (HEAD + "colour = 1\n" + SCENE, "line 7: colour is no key of a demo here"),
        (HEAD.replace("title.en", "title.fr") + SCENE, "line 3: title.en is not said"),
        (HEAD.replace('text = "我爱你"\n', "") + SCENE, "line 1: text is ∅"),
        (HEAD.replace("我爱你", "") + SCENE, "line 2: text is"),
        (HEAD + 'texts = ["我"]\n' + SCENE, "line 7: texts is"),
        (HEAD.replace('"我爱你"', '"' + "我" * 300 + '"') + SCENE, "line 2: "),
        (HEAD + SCENE.replace("[[", '[[scenes]]\nname = "a"\nsay.zh = "a"\nsay.en = "a"\n[[') * 2, "a scene a before"),
    ],
)
def test_a_fault_of_the_file_is_found_with_its_line(write: Callable[[str], Path], text: str, message: str) -> None:
    with pytest.raises(EngineError) as caught:
        rehearsed(write(text))
    assert message in str(caught.value)


def test_what_is_no_text_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "lesson.toml"
    path.write_bytes(b'model = "tiny-gpt"\ntext = "\xff"\n')
    with pytest.raises(EngineError, match="line 2: is not UTF-8"):
        read(path)


def test_a_missing_model_is_refused(write: Callable[[str], Path]) -> None:
    with pytest.raises(EngineError, match="no-model is neither a folder"):
        rehearsed(write(HEAD.replace("tiny-gpt", "no-model") + SCENE))


def test_lines_are_found_in_every_spelling_of_toml() -> None:
    text = '\n[title]\nzh = "a"\n[[scenes]]\n"stage" = 1\nsay.zh = """\nhead = 1\n"""\nhead = 2\n'
    text += '\n[scenes.say]\nen = "b"\n'
    lines = Lines(text + "[[ scenes ]]\nsay = {zh = 'a'}\n")
    assert lines.of(None, "title.zh") == 3
    assert lines.of(0, "stage") == 5
    assert lines.of(0, "head") == 9
    assert lines.of(0, "say.zh") == 6
    assert lines.of(0, "say.en") == 12
    assert lines.of(1, "say.en") == 14
    assert lines.of(1, "cell") == 13
    assert lines.of(None, "model") == 1


def test_line_breaks_of_captions_do_not_matter(write: Callable[[str], Path]) -> None:
    said = 'say.zh = """\n第一行，\n第二行。\n"""\nsay.en = """\none\ntwo"""\n'
    rehearsal = rehearsed(write(HEAD + "[[scenes]]\n" + said))
    assert rehearsal.caption(0, "zh") == "第一行，第二行。"
    assert rehearsal.caption(0, "en") == "one two"


def test_a_scene_stays_as_long_as_its_caption_takes_to_read(write: Callable[[str], Path]) -> None:
    timed = rehearsed(write(HEAD + SCENE + scene("wait = 2.5") + scene('wait = "key"')))
    assert [timed.seconds(number, "zh") for number in (1, 2)] == [2.5, None]
    assert timed.seconds(0, "zh") == reading_time(timed.demo.scenes[0].say["zh"], "zh")
    assert reading_time("字" * 110, "zh") > reading_time("字" * 50, "zh") > 6


def test_other_texts_leave_out_what_is_not_so_of_them(write: Callable[[str], Path]) -> None:
    path = write(HEAD + SCENE + scene("holds = [\"key = '我'\"]") + scene('say.zh = "{text}"', 'say.en = "{text}"'))
    assert len(rehearsed(path).states) == 3
    other = rehearsed(path, "猫追狗")
    assert other.left_out == 1
    assert [other.caption(number, "zh") for number in (0, 1)][1] == "猫追狗"
    # 爱 stood in the second place, and so does 追.
    assert other.caption(0, "zh").startswith("“追”看“猫”")
    assert rehearsed(path, "猫").caption(0, "zh").startswith("“猫”看“猫”")


def test_another_model_leaves_out_what_is_not_so_of_it(write: Callable[[str], Path]) -> None:
    path = write(HEAD + SCENE + scene('holds = ["hidden > 0"]') + scene('say.zh = "{N}"', 'say.en = "{N} tokens"'))
    assert len(rehearsed(path).states) == 3
    encoder = rehearsed(path, model="tiny-bert")
    assert (len(encoder.states), encoder.left_out) == (2, 1)
    weight = encoder.states[0].trace["layers.0.attention.weights"].value[0, 0, 2, 1]
    assert encoder.caption(0, "en") == f"爱 looks at 我: {weight:.3f}"
    # Tokens that begin and end a text are the encoder's own.
    assert encoder.caption(1, "en") == "5 tokens"
    with pytest.raises(EngineError, match=r"line 9: layers\.0\.attention\.weights could be encoder"):
        rehearsed(path, model="tiny-translator")


def test_a_model_that_is_the_demos_own_changes_nothing(write: Callable[[str], Path]) -> None:
    path = write(HEAD + SCENE + scene('holds = ["value > 2"]'))
    with pytest.raises(EngineError, match="value > 2 is not so"):
        rehearsed(path, model="tiny-gpt")


def test_where_nothing_is_true_nothing_is_shown(write: Callable[[str], Path]) -> None:
    path = write(HEAD + scene('stage = "layers.0.attention.weights"', 'cell = ["我"]', 'holds = ["hidden = 2"]'))
    assert len(rehearsed(path).states) == 1
    with pytest.raises(EngineError, match="nothing that this demo says is so"):
        rehearsed(path, "猫")


def test_a_translation_begins_as_it_is_told(write: Callable[[str], Path]) -> None:
    head = HEAD.replace("tiny-gpt", "tiny-translator").replace("我爱你", "我爱你。")
    path = write(head + scene('stage = "decoder.tokens"', 'say.zh = "{tokens}"', 'say.en = "{tokens}"'))
    begun = rehearsed(path, targets=("We",))
    assert begun.states[0].trace.texts == ("We",)
    assert begun.caption(0, "en").split()[-1].endswith("We")
    with pytest.raises(EngineError, match="2 target texts for 1 source"):
        rehearsed(path, targets=("We", "I"))


def test_every_fact_can_be_had_somewhere(sample: Model) -> None:
    found = set()
    for model, text, name in (
        (sample, "我爱你爱", "layers.0.attention.weights"),
        (load("tiny-bert"), "我爱你", "layers.0.attention.weights"),
        (load("tiny-translator"), "我爱你。", "decoder.layers.0.cross_attention.weights"),
    ):
        session = Session(model, model.trace([text]), 1 << 30)
        session.go(session.trace[name])
        session.look_at_query(0)
        for fact in facts.names():
            try:
                facts.check(session, fact)
                said = facts.fact(session, fact).text
                assert said or fact == "text"
                found.add(fact)
            except NoFactError:
                pass
    printed = load_worked("masked-softmax")
    session = Session(printed, printed.trace, 1 << 30)
    session.go(session.trace["attention.weights"])
    session.look_at_query(2)
    assert facts.fact(session, "printed").text == "0.08"
    session = Session(sample, sample.trace(["我爱你"]), 1 << 30)
    session.go(session.trace["layers.0.attention.masked"])
    assert facts.fact(session, "matrix").text == "mask"
    assert facts.fact(session, "matrix_shape").text == "1×N×M = 1×3×3"
    found |= {"printed", "matrix", "matrix_shape"}
    assert set(facts.names()) - found == set()


def test_shipped_demos_are_listed_in_both_languages() -> None:
    for code in LANGUAGES:
        listed = list_demos(language(code))
        for name, path in shipped_demos().items():
            assert name in listed
            assert read(path).title[code] in listed
            assert read(path).summary[code] in listed


def test_a_demo_is_found_by_name_and_by_file(write: Callable[[str], Path]) -> None:
    assert find_demo("tour") == shipped_demos()["tour"]
    path = write(HEAD)
    assert find_demo(str(path)) == path
    with pytest.raises(EngineError, match=r"tuor is neither a file nor a demo .*tour"):
        find_demo("tuor")


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_new_file_is_a_demo_that_works(tmp_path: Path, code: str) -> None:
    path = tmp_path / "lesson.toml"
    new(path, language(code))
    assert path.read_text("utf-8") == start(language(code))
    assert len(rehearsed(path).states) == 3
    assert start(language("zh")) != start(language("en"))
    with pytest.raises(EngineError, match="is there already"):
        new(path, language(code))
    with pytest.raises(EngineError, match="cannot be written"):
        new(tmp_path / "none" / "x.toml", language(code))


def test_where_the_explorer_is_becomes_a_scene(tmp_path: Path, sample: Model) -> None:
    session = Session(sample, sample.trace(["爱我爱"]), 1 << 30)
    session.go(session.trace["layers.1.attention.weights"])
    session.positions.update({"H": 2, "N": 1, "M": 2})
    path = tmp_path / "mine.toml"
    save_scene(path, session, "graph")
    session.go(session.trace["tokens"])
    save_scene(path, session)
    assert "cell = [2]" in scene_here(Session(sample, session.trace, 1 << 30))
    states = rehearsed(path).states
    assert [state.stage for state in states] == ["layers.1.attention.weights", "tokens"]
    assert [state.view for state in states] == ["graph", "equation"]
    assert {key: states[0].positions[key] for key in "HNM"} == {"H": 2, "N": 1, "M": 2}


def test_placeholders_are_names() -> None:
    assert placeholders("a {b} {c.d} {{e}}") == ["b", "c.d"]
    for wrong in ("{", "}", "{}", "{a!r}", "{a b}", "{0[1]}"):
        with pytest.raises(ValueError, match=r"."):
            placeholders(wrong)
