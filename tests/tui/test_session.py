"""Where the reader is: the same tokens, head and coordinates from stage to stage, and the way back."""

from __future__ import annotations

import pytest

from engine.constants import Constant
from engine.derivation import Reference
from engine.model import Model
from engine.operand import Operand, Weight
from engine.stages import Stage
from engine.trace import GIBIBYTE
from tui.looking import axis_names
from tui.session import Session

ATTENTION = "layers.{}.attention."


def session_of(model: Model, *texts: str) -> Session:
    return Session(model, model.trace(list(texts)), GIBIBYTE)


@pytest.fixture
def session(sample: Model) -> Session:
    return session_of(sample, "我爱你")


def at(session: Session, stage: str) -> Session:
    session.go(session.trace[stage])
    return session


def reference_to(session: Session, kind: type[Operand]) -> Reference:
    derivation = session.derivation()
    assert derivation is not None
    return next(each for each in derivation.references() if isinstance(each.operand, kind))


class TestPlace:
    def test_begins_at_the_first_stage_and_the_last_token(self, session: Session) -> None:
        assert session.stage is session.trace.stages[0]
        assert (session.position, session.layer, session.text, session.cell) == (0, None, 0, (0, 2))
        assert session.key is None

    def test_query_key_and_head_stay_from_stage_to_stage(self, session: Session) -> None:
        at(session, "layers.0.attention.scores").step_head(2)
        session.move_to(1, 0)
        for name, cell in {
            "layers.0.attention.scores": (0, 2, 1, 0),
            "layers.0.attention.weights": (0, 2, 1, 0),
            "layers.1.attention.masked": (0, 2, 1, 0),
            "layers.0.attention.q_heads": (0, 2, 1, 0),
            "layers.0.attention.k_heads": (0, 2, 0, 0),  # a key's row is a key
            "layers.1.mlp.gate": (0, 1, 0),
            "tokens": (0, 1),
        }.items():
            assert at(session, name).cell == cell, name
        assert (session.query, session.head) == (1, 2)

    def test_coordinates_of_model_and_head_are_two_things(self, session: Session) -> None:
        at(session, "layers.0.attention.q").move_to(2, 40)
        at(session, "layers.0.attention.q_heads").move_to(2, 5)
        assert at(session, "layers.1.attention.v").cell == (0, 2, 40)
        assert at(session, "layers.1.attention.heads").cell == (0, 0, 2, 5)

    def test_a_position_past_the_end_is_the_last(self, session: Session) -> None:
        at(session, "layers.0.mlp.gate").positions["D"] = 70
        assert at(session, "layers.0.mlp.norm").cell == (0, 2, 63)

    def test_two_axes_of_one_symbol_have_two_positions(self, session: Session) -> None:
        at(session, "layers.0.attention.q")
        session.visit(session.trace["layers.0.attention.q"].inputs[1], (3, 50))
        assert axis_names(session.operand) == ["D", "D′"]
        session.move(1, 2)
        assert session.cell == (4, 52)

    def test_key_is_there_where_keys_are(self, session: Session) -> None:
        assert at(session, "layers.0.attention.scores").key == 0
        session.move(0, 2)
        assert session.key == 2
        assert at(session, "layers.0.attention.concat").key is None


class TestStepping:
    def test_over_all_stages_and_no_further(self, session: Session) -> None:
        names = [session.operand.name]
        for _ in range(len(session.trace) + 3):
            session.step(1)
            if session.operand.name != names[-1]:
                names.append(session.operand.name)
        assert names == [stage.name for stage in session.trace]
        session.step(-1000)
        session.step(-1)
        assert session.position == 0

    def test_an_end_adds_nothing_to_the_way_back(self, session: Session) -> None:
        session.step(-1)
        assert not session.back()

    @pytest.mark.parametrize(
        ("start", "count", "end"),
        [
            ("tokens", 1, "layers.0.attention.norm"),
            ("embedding", -1, "tokens"),
            ("layers.0.attention.scores", 1, "layers.1.attention.scores"),
            ("layers.1.mlp.up", -1, "layers.0.mlp.up"),
            ("layers.0.attention.scores", -1, "tokens"),
            ("layers.1.attention.scores", 1, "norm"),
            ("logits", -1, "layers.1.attention.norm"),
            ("norm", 1, "loss"),
            ("loss", 1, "loss"),
        ],
    )
    def test_by_layer(self, session: Session, start: str, count: int, end: str) -> None:
        at(session, start).step_layer(count)
        assert session.operand.name == end

    def test_by_head_round_and_round(self, session: Session) -> None:
        heads = []
        for _ in range(5):
            heads.append(session.head)
            session.step_head(1)
        session.step_head(-2)
        assert (heads, session.head) == ([0, 1, 2, 3, 0], 3)

    def test_by_text_round_and_round(self, sample: Model) -> None:
        session = session_of(sample, "我爱你", "你好吗？")
        assert (session.text, session.query) == (0, 2)
        session.step_text(1)
        assert (session.text, session.query) == (1, 3)
        session.step_text(1)
        assert (session.text, session.query) == (0, 2)
        session.step_text(-1)
        assert session.text == 1

    def test_a_shorter_text_keeps_query_and_key_within_itself(self, sample: Model) -> None:
        session = at(session_of(sample, "我爱你", "猫"), "layers.0.attention.scores")
        session.move_to(2, 2)
        session.step_text(1)
        assert (session.query, session.key) == (0, 0)
        assert session.grid.row_label(0) == "猫"


class TestMoving:
    def test_within_the_matrix(self, session: Session) -> None:
        at(session, "layers.0.attention.scores").move_to(0, 0)
        session.move(-1, -1)
        assert session.cell[2:] == (0, 0)
        session.move(5, 1)
        assert session.cell[2:] == (2, 1)
        session.move_to(-3, 99)
        assert session.cell[2:] == (0, 2)

    def test_a_row_of_tokens_is_a_column(self, session: Session) -> None:
        session.move(-1, 4)
        assert session.cell == (0, 1)

    def test_along_a_single_axis(self, session: Session) -> None:
        at(session, "norm")
        session.visit(session.trace["norm"].inputs[1], (5,))
        session.move(3, 2)
        assert session.cell == (7,)


class TestFollowing:
    def test_down_to_a_weight_and_back(self, session: Session) -> None:
        at(session, "layers.1.attention.q").move_to(1, 9)
        reference = reference_to(session, Weight)
        session.follow(reference)
        assert session.operand.name == "layers.1.attention.q.weight"
        assert session.cell == reference.cell
        assert session.operand.number(session.cell) == reference.value
        assert session.stage is None
        assert session.derivation() is None
        # One is still where the weight was reached from.
        assert (session.position, session.layer) == (session.trace["layers.1.attention.q"].position, 1)
        assert session.back()
        assert (session.operand.name, session.cell) == ("layers.1.attention.q", (0, 1, 9))

    def test_stepping_from_a_weight_goes_on_from_its_stage(self, session: Session) -> None:
        at(session, "layers.1.attention.q")
        session.follow(reference_to(session, Weight))
        session.step(1)
        assert session.operand.name == "layers.1.attention.k"

    def test_a_constant(self, session: Session) -> None:
        at(session, "layers.0.attention.masked").move_to(1, 2)
        session.follow(reference_to(session, Constant))
        assert (session.operand.name, session.cell) == ("mask", (0, 1, 2))
        assert session.operand.number(session.cell) == 0

    @pytest.mark.parametrize("start", ["probabilities", "layers.1.mlp.product", "layers.0.attention.weights"])
    def test_every_number_leads_to_the_tokens_or_a_weight(self, session: Session, start: str) -> None:
        at(session, start)
        session.move_to(2, 0)
        passed = []
        while (derivation := session.derivation()) is not None and any(derivation.references()):
            reference = next(derivation.references())
            assert derivation.operand.name not in passed
            passed.append(derivation.operand.name)
            session.follow(reference)
            assert session.cell == reference.cell
        assert isinstance(session.operand, Weight | Constant) or session.operand.name == "tokens"
        for name in reversed(passed):
            assert session.back()
            assert session.operand.name == name
            if name == start:
                break
        assert session.cell[-2:] == (2, 0)

    def test_back_at_the_start(self, session: Session) -> None:
        assert not session.back()
        assert session.operand is session.trace.stages[0]


class TestGroupedHeads:
    """Four query heads over two key/value heads."""

    @pytest.fixture
    def session(self, grouped: Model) -> Session:
        return session_of(grouped, "a b c")

    @pytest.mark.parametrize(("head", "shared"), [(0, 0), (1, 0), (2, 1), (3, 1)])
    def test_a_query_head_sees_its_groups_keys(self, session: Session, head: int, shared: int) -> None:
        session.step_head(head)
        assert at(session, "layers.0.attention.scores").cell[1] == head
        assert at(session, "layers.0.attention.k_rotated").cell[1] == shared
        assert at(session, "layers.0.attention.v_heads").cell[1] == shared
        assert session.head == head

    def test_following_a_key_stays_with_a_head_of_its_group(self, session: Session) -> None:
        session.step_head(3)
        at(session, "layers.0.attention.scores")
        keys = session.trace["layers.0.attention.k_rotated"]
        session.visit(keys, (0, 1, 0, 0))
        assert session.head == 3
        session.visit(keys, (0, 0, 0, 0))
        assert session.head == 0
        session.visit(keys, (0, 1, 0, 0))
        assert session.head == 2

    def test_stepping_heads_at_the_keys(self, session: Session) -> None:
        at(session, "layers.2.attention.k_heads")
        seen = []
        for _ in range(4):
            seen.append(session.cell[1])
            session.step_head(1)
        assert seen == [0, 0, 1, 1]
        assert isinstance(session.operand, Stage)
