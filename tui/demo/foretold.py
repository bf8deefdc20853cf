"""Facts of what is predicted: the distribution after the text, and what each token of it was given."""

from __future__ import annotations

import math
from collections.abc import Callable

from engine.generation import Prediction, predictions
from engine.operand import Array
from engine.ops.loss import rank
from tui.demo.fact import Fact, NoFactError
from tui.session import Session


def share(probability: float) -> str:
    """A probability as the way strip writes it."""
    return f"{100 * probability:.{0 if probability >= 0.01 else 2}f}%"


def _guess(session: Session, place: int) -> Prediction:
    return predictions(session.trace, session.text, count=3)[place - 1]


def _guessed(place: int, probability: bool) -> Callable[[Session], Fact]:
    def found(session: Session) -> Fact:
        guess = _guess(session, place)
        return Fact(guess.probability, share(guess.probability)) if probability else Fact.of(guess.label)

    return found


def _rest(session: Session) -> Fact:
    left = max(0.0, 1.0 - sum(guess.probability for guess in predictions(session.trace, session.text, count=3)))
    return Fact(left, share(left))


def _surprise(session: Session) -> Fact:
    loss = -math.log(_guess(session, 1).probability)
    return Fact(loss, f"{loss:.3f}")


def perplexity(session: Session) -> Fact:
    """What the loss that is looked at is as a perplexity."""
    found = math.exp(min(700.0, session.operand.number(session.cell)))
    return Fact(found, f"{found:.3g}")


def _target(session: Session) -> tuple[int, Array]:
    """The true next token of the one looked at, and the distribution that was predicted there."""
    token, count = session.query, len(session.trace.tokens[session.text])
    if "targets" not in session.trace or token + 1 >= count:
        raise NoFactError("target")
    target = session.trace.tokens[session.text][token + 1].id
    return target, session.trace["probabilities"].part((session.text, token))


def _target_label(session: Session) -> Fact:
    target, _ = _target(session)
    return Fact.of(session.trace["probabilities"].axes[-1].label(target))


def _target_probability(session: Session) -> Fact:
    target, probabilities = _target(session)
    return Fact(float(probabilities[target]), share(float(probabilities[target])))


def _rank(session: Session) -> Fact:
    target, probabilities = _target(session)
    return Fact.of(rank(probabilities, target))


TARGETS: dict[str, Callable[[Session], Fact]] = {
    "target": _target_label,
    "target_probability": _target_probability,
    "rank": _rank,
}

PREDICTED: dict[str, Callable[[Session], Fact]] = {
    "top": _guessed(1, False),
    "probability": _guessed(1, True),
    "top2": _guessed(2, False),
    "probability2": _guessed(2, True),
    "top3": _guessed(3, False),
    "probability3": _guessed(3, True),
    "rest": _rest,
    "surprise": _surprise,
    **TARGETS,
}
