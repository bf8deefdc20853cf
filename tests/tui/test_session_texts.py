"""The session's texts: changed or lengthened at the same stage; what the model cannot take changes nothing."""

from __future__ import annotations

from copy import deepcopy

import pytest

from engine.errors import EngineError
from engine.model import Model
from engine.trace import GIBIBYTE
from tui.session import Session

WEIGHTS = "layers.1.attention.weights"


@pytest.fixture
def session(sample: Model) -> Session:
    session = Session(sample, sample.trace("我爱你"), GIBIBYTE)
    session.go(session.trace[WEIGHTS])
    session.step_head(1)
    session.move_to(1, 1)
    return session


def labels(session: Session) -> list[str]:
    return [token.label for token in session.trace.tokens[session.text]]


class TestEdit:
    def test_stays_at_the_stage_and_head_and_looks_at_the_end(self, session: Session) -> None:
        session.edit("今天天气好")
        assert session.texts == ("今天天气好",)
        assert session.operand is session.trace[WEIGHTS]
        assert (session.head, session.query, session.key) == (1, 4, 1)
        assert session.grid.rows == 5
        assert not session.back()

    def test_a_shorter_text_has_its_last_key(self, session: Session) -> None:
        session.move_to(2, 2)
        session.edit("猫")
        assert (session.query, session.key, session.cell) == (0, 0, (0, 1, 0, 0))

    def test_from_a_weight_it_returns_to_the_stage(self, session: Session) -> None:
        session.go(session.trace["layers.0.mlp.up"])
        session.go(session.trace["layers.0.mlp.up"].inputs[1])
        session.edit("你好")
        assert session.operand is session.trace["layers.0.mlp.up"]

    def test_the_most_probable_token_is_looked_for_anew(self, session: Session) -> None:
        session.positions["V"] = 2000
        session.edit("你好")
        assert "V" not in session.positions

    def test_only_the_text_looked_at(self, sample: Model) -> None:
        session = Session(sample, sample.trace(["我爱你", "你好吗", "猫"]), GIBIBYTE)
        session.step_text(1)
        session.edit("狗很好")
        assert session.texts == ("我爱你", "狗很好", "猫")
        assert session.text == 1

    def test_the_numbers_are_those_of_the_new_text(self, session: Session, sample: Model) -> None:
        session.edit("你爱我")
        assert (session.operand.value == sample.trace("你爱我")[WEIGHTS].value).all()

    def test_texts_of_a_batch_keep_their_numbers(self, sample: Model) -> None:
        session = Session(sample, sample.trace(["我爱你", "你好吗"]), GIBIBYTE)
        before = session.trace["logits"].value[1]
        session.edit("今天天气好")
        after = session.trace["logits"].value[1, :3]
        assert after == pytest.approx(before, abs=1e-4)


class TestAppend:
    def test_the_predicted_token(self, session: Session, sample: Model) -> None:
        (full_stop,) = sample.tokenizer.encode("。")
        session.append(full_stop)
        assert session.texts == ("我爱你。",)
        assert (session.query, session.key, session.operand.name) == (3, 1, WEIGHTS)

    def test_a_special_token(self, session: Session, sample: Model) -> None:
        eos = sample.tokenizer.eos
        assert eos is not None
        session.append(eos)
        assert labels(session) == ["我", "爱", "你", "<eos>"]
        assert session.trace.tokens[0][-1].special
        assert session.trace["tokens"].value[0, -1] == eos
        # And after it goes on.
        session.append(eos)
        assert len(session.trace.tokens[0]) == 5

    def test_the_bytes_of_a_character_one_by_one(self, session: Session, sample: Model) -> None:
        pieces = sample.tokenizer.encode("😀")
        assert len(pieces) == 4
        shown = []
        for piece in pieces:
            session.append(piece)
            shown.append(labels(session)[3:])
        assert shown == [
            ["⟨f0⟩"],
            ["⟨f0⟩", "⟨9f⟩"],
            ["⟨f0⟩", "⟨9f⟩", "⟨98⟩"],
            ["😀⟨1/4 f0⟩", "😀⟨2/4 9f⟩", "😀⟨3/4 98⟩", "😀⟨4/4 80⟩"],
        ]
        assert session.texts == ("我爱你😀",)
        assert session.trace["tokens"].value[0, 3:].tolist() == pieces

    def test_to_the_shorter_text_of_a_batch(self, sample: Model) -> None:
        session = Session(sample, sample.trace(["我爱你", "猫"]), GIBIBYTE)
        session.step_text(1)
        session.append(507)
        assert session.texts == ("我爱你", "猫你")
        assert session.query == 1


class TestRefusal:
    """What the model cannot take is said, and nothing is lost."""

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "empty"),
            ("猫" * 257, "257 tokens; tiny-gpt has 256 positions: shorten it, or take a model with more"),
            ("\ud83d", "not valid UTF-8"),
        ],
    )
    def test_of_an_edit(self, session: Session, text: str, said: str) -> None:
        self._is_refused(session, said, lambda: session.edit(text))

    @pytest.mark.parametrize("token", [4096, -1])
    def test_of_an_unknown_token(self, session: Session, token: int) -> None:
        self._is_refused(session, f"{token} is not a token id of tiny-gpt", lambda: session.append(token))

    def test_of_a_token_past_the_last_position(self, sample: Model) -> None:
        session = Session(sample, sample.trace("猫" * 256), GIBIBYTE)
        self._is_refused(session, "257 tokens", lambda: session.append(507))

    @staticmethod
    def _is_refused(session: Session, said: str, change: object) -> None:
        assert callable(change)
        before = (session.trace, session.operand, deepcopy(session.positions), list(session.history))
        with pytest.raises(EngineError, match=said):
            change()
        assert (session.trace, session.operand, session.positions, session.history) == before
