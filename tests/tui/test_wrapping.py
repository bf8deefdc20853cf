"""Lines as Chinese and English set them."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from tui.language import LANGUAGES, Language, language
from tui.wrapping import NOT_FIRST, NOT_LAST, opening, wrap

CHINESE = "分词器把文本切成词元：可以是一个词、词的一部分、一个字，也可以只是一个字的部分字节。每个词元换成编号。"


def sentences(say: Language) -> list[str]:
    kinds = [f"{part}.{name}" for part in ("attention", "mlp") for name in ("norm", "q", "output", "residual", "gate")]
    found = [say.about(kind, "title", {}) for kind in kinds if say.explains(kind)]
    return [*found, say("help.intro"), say("help.mouse"), say("welcome.start")]


class TestEnglish:
    def test_breaks_between_words(self) -> None:
        assert wrap("the quick brown fox jumps", 10) == ["the quick", "brown fox", "jumps"]

    def test_a_line_may_be_full(self) -> None:
        assert wrap("the quick brown", 9) == ["the quick", "brown"]

    def test_blanks_stand_at_neither_end_of_a_line(self) -> None:
        assert wrap("aaa     bbb  ccc", 6) == ["aaa", "bbb", "ccc"]

    def test_a_longer_word_is_cut(self) -> None:
        assert wrap("see layers.0.attention.scores now", 10) == ["see", "layers.0.a", "ttention.s", "cores now"]

    def test_punctuation_stays_with_its_word(self) -> None:
        assert wrap("one two, three (four) five", 8) == ["one two,", "three", "(four)", "five"]


class TestChinese:
    def test_breaks_anywhere(self) -> None:
        assert wrap("我爱你你爱我", 6) == ["我爱你", "你爱我"]

    def test_an_odd_width_leaves_a_cell(self) -> None:
        assert wrap("我爱你你爱我", 7) == ["我爱你", "你爱我"]

    def test_no_full_stop_begins_a_line(self) -> None:
        assert wrap("我爱你。你爱我。", 6) == ["我爱", "你。你", "爱我。"]

    def test_two_marks_in_a_row_stay_together(self) -> None:
        assert wrap("他说：“好。”我走了", 8) == ["他说：", "“好。”我", "走了"]

    def test_no_opening_bracket_ends_a_line(self) -> None:
        assert wrap("一二三（四五）六", 8) == ["一二三", "（四五）", "六"]

    def test_latin_words_in_chinese_stay_whole(self) -> None:
        assert wrap("把分数除以√16再做softmax运算", 14) == ["把分数除以√16", "再做softmax运", "算"]


@pytest.mark.parametrize("width", range(4, 60, 5))
@pytest.mark.parametrize("code", LANGUAGES)
def test_every_line_fits_and_nothing_is_lost(code: str, width: int) -> None:
    for text in [*sentences(language(code)), CHINESE]:
        lines = wrap(text, width)
        assert all(cell_len(line) <= width for line in lines)
        assert "".join("".join(lines).split()) == "".join(text.split())
        assert all(line and line == line.rstrip() for line in lines)


@pytest.mark.parametrize("width", range(12, 60))
def test_marks_never_stand_at_the_wrong_end_of_a_line(width: int) -> None:
    for text in [*sentences(language("zh")), CHINESE]:
        lines = wrap(text, width)
        assert all(line[0] not in NOT_FIRST for line in lines[1:]), lines
        assert all(line[-1] not in NOT_LAST for line in lines[:-1]), lines


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_nothing_makes_no_line(text: str) -> None:
    assert wrap(text, 20) == []


def test_a_character_wider_than_the_line_stands_alone() -> None:
    assert wrap("我爱", 1) == ["我", "爱"]


class TestOpening:
    """As much of a text as fits, without a sentence that is cut."""

    def test_ends_with_a_sentence(self) -> None:
        text = "One is 0.5 here. Two goes on (longer than that). Three is the last!"
        assert opening(text, 20, 9) == wrap(text, 20)
        assert opening(text, 20, 3) == ["One is 0.5 here. Two", "goes on (longer than", "that)."]
        assert opening(text, 20, 2) == ["One is 0.5 here."]
        assert opening(text, 20, 0) == []
        assert opening("A sentence that is too long.", 10, 2) == []

    def test_ends_with_a_chinese_sentence(self) -> None:
        text = "它说：“好。”然后走了！是吗？"
        assert opening(text, 30, 1) == [text]
        assert opening(text, 27, 1) == ["它说：“好。”然后走了！"]
        assert opening(text, 20, 1) == ["它说：“好。”"]

    def test_leaves_room_for_a_word_behind_it(self) -> None:
        text = "One two. Three four. Five six seven."
        assert opening(text, 20, 1) == ["One two. Three four."]
        assert opening(text, 20, 1, after=6) == ["One two."]
        # Where no sentence would be left, the word has to go elsewhere.
        assert opening("One two three four. Five.", 20, 1, after=6) == ["One two three four."]

    def test_only_what_is_cut_leaves_room(self) -> None:
        assert opening("One two. Three four.", 20, 1, after=6) == ["One two. Three four."]


def test_a_key_stays_beside_what_it_does() -> None:
    for width in range(8, 60):
        for line in wrap("左边是用到的矩阵，右边是算出的矩阵；↑↓ 移动，⏎ 追溯，? 看全部按键。", width):
            assert not line.endswith("⏎")
