"""What a caption can name: facts of the run at the place that is shown, so that no number is ever typed into one."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from engine.heads import NAMES, Name
from engine.operand import Array, Operand
from engine.stages import Stage
from engine.text import visible
from tui.demo.fact import Fact, NoFactError
from tui.demo.foretold import PREDICTED, TARGETS, perplexity
from tui.explanations import values_of
from tui.grids import kind_of, matrix_axes
from tui.session import Session
from tui.views.attention import Attention, nearest_weights
from tui.widgets.numbers import NumberFormat


def settle(session: Session) -> None:
    """Of a vocabulary, look at the most probable token where none has been looked at; as the explorer does."""
    if "V" not in session.positions and any(axis.symbol == "V" for axis in session.operand.axes[2:]):
        session.positions["V"] = int(session.operand.part(session.cell[:-1]).argmax())


def fact(session: Session, name: str) -> Fact:
    """A fact by its name.

    Raises:
        NoFactError: there is none of the name here.
    """
    if name in _NUMBERS:
        settle(session)
        return _NUMBERS[name](session)
    if name in _WORDS:
        return _WORDS[name](session)
    values = values_of(session)
    value = values.get(name)
    if not isinstance(value, str | int) or value == "":
        raise NoFactError(name)
    return Fact.of(value)


def is_predicted(name: str) -> bool:
    """Whether a fact is about the prediction, for which every stage is computed."""
    return name in PREDICTED


def names() -> list[str]:
    """All that can be named."""
    return [*_PLACES, *_WORDS, *_NUMBERS]


def check(session: Session, name: str) -> None:
    """Make sure that a fact can be had here, without computing what it says.

    Raises:
        NoFactError: it can not.
    """
    missing = False
    if name not in _NUMBERS:
        fact(session, name)
    elif name in TARGETS:
        count = len(session.trace.tokens[session.text])
        missing = "targets" not in session.trace or session.query + 1 >= count
    elif name == "printed":
        _printed(session)
    elif name in PREDICTED:
        missing = not session.predicts
    elif name in _SEEN:
        missing = nearest_weights(session.trace, session.trace.stages[session.position]) is None
    else:
        missing = name in ("best", "best_value") and matrix_axes(session.operand)[1] is None
    if missing:
        raise NoFactError(name)


# Facts of the place

_PLACES = (
    *("query", "key", "token", "position", "head", "layer"),
    *("layers", "N", "D", "H", "Hkv", "d", "F", "V", "scale"),
)


def _text(session: Session) -> Fact:
    return Fact.of(visible(session.trace.texts[session.text]))


def _source(session: Session) -> Fact:
    if not session.trace.source_tokens:
        raise NoFactError("source")
    return Fact.of(visible(session.trace.source_texts[session.text]))


def _keys(session: Session) -> Fact:
    if session.key_axis is None:
        raise NoFactError("M")
    return Fact.of(len(session.keys))


def _key_position(session: Session) -> Fact:
    if session.key is None:
        raise NoFactError("key_position")
    return Fact.of(session.key)


def _following(session: Session) -> Fact:
    if session.query + 1 >= len(session.tokens):
        raise NoFactError("following")
    return Fact.of(session.tokens[session.query + 1].label)


def _matrix(session: Session) -> Operand:
    """What a stage takes that no stage has computed: its weights, its mask, its angles."""
    found = next((x for x in getattr(session.operand, "inputs", ()) if not isinstance(x, Stage)), None)
    if found is None:
        raise NoFactError("matrix")
    assert isinstance(found, Operand)
    return found


_WORDS: dict[str, Callable[[Session], Fact]] = {
    "model": lambda session: Fact.of(session.name),
    "text": _text,
    "source": _source,
    "M": _keys,
    "key_position": _key_position,
    "following": _following,
    "tokens": lambda session: Fact.of(" ".join(token.label for token in session.trace.tokens[session.text])),
    "last": lambda session: Fact.of(session.trace.tokens[session.text][session.trace.asked[session.text]].label),
    "id": lambda session: Fact.of(session.tokens[session.query].id),
    "stage": lambda session: Fact.of(session.operand.name),
    "name": lambda session: Fact.of(session.operand.name.rpartition(".")[2]),
    "symbol": lambda session: Fact.of(session.operand.symbol),
    "shape": lambda session: Fact.of(session.operand.shape_text),
    "matrix": lambda session: Fact.of(_matrix(session).symbol),
    "matrix_shape": lambda session: Fact.of(_matrix(session).shape_text),
    "stages": lambda session: Fact.of(len(session.trace)),
    "step": lambda session: Fact.of(session.position + 1),
}


# Facts of the numbers


def _written(session: Session, value: float) -> Fact:
    """A number of the matrix that is looked at, as its cells show it."""
    return Fact(value, NumberFormat.fitting(kind_of(session.operand), session.grid.limit).text(value))


def _value(session: Session) -> Fact:
    return _written(session, session.operand.number(session.cell))


def _row(session: Session) -> Array:
    """The row of the matrix that is looked at, padding left out."""
    grid = session.grid
    row, _ = grid.place(session.cell)
    axis = grid.column_axis
    count = grid.columns
    if axis is not None and axis.symbol in ("M", "N"):
        count = min(count, len(session.trace.tokens_along(axis)[session.text]))
    cells: Array = grid.window(slice(row, row + 1), slice(count))[0]
    return cells


def _best(session: Session) -> Fact:
    return Fact.of(session.grid.column_label(int(np.argmax(_row(session)))))


def _row_sum(session: Session) -> Fact:
    total = float(_row(session).sum(dtype=np.float64))
    return Fact(round(total, 6), f"{total:.3f}".rstrip("0").rstrip(".").replace("-", "−"))


def _norm(session: Session) -> Fact:
    length = float(np.linalg.norm(_row(session).astype(np.float64)))
    return Fact(length, f"{length:.2f}")


def _printed(session: Session) -> Fact:
    """What the file of a worked example says that the number is, in as many digits."""
    for comparison in getattr(session.opened, "comparisons", ()):
        if comparison.stage is session.operand and math.isfinite(printed := float(comparison.given[session.cell])):
            half = float(comparison.printed.halves[session.cell])
            digits = max(0, round(-math.log10(2 * half))) if half else 0
            return Fact(printed, f"{printed:.{digits}f}".replace("-", "−"))
    raise NoFactError("printed")


def _sight(session: Session) -> tuple[int, int]:
    """Of the query looked at: how many keys it sees, and how many the mask hides."""
    stage = nearest_weights(session.trace, session.trace.stages[session.position])
    if stage is None:
        raise NoFactError("hidden")
    sight = Attention(session.trace, stage, session.text).sight
    seen = int(sight[min(session.query, len(sight) - 1)].sum())
    return seen, sight.shape[1] - seen


def _measured(name: Name) -> Callable[[Session], Fact]:
    """A measure of the head looked at, as the map of heads shows it."""

    def found(session: Session) -> Fact:
        stage = nearest_weights(session.trace, session.trace.stages[session.position])
        measured = [] if stage is None else Attention(session.trace, stage, session.text).measures[session.head]
        for measure in measured:
            if measure.name == name:
                return Fact(measure.value, f"{measure.value:.2f}")
        raise NoFactError(name)

    return found


_SEEN: dict[str, Callable[[Session], Fact]] = {
    "seen": lambda session: Fact.of(_sight(session)[0]),
    "hidden": lambda session: Fact.of(_sight(session)[1]),
    **{name: _measured(name) for name in NAMES},
}

_NUMBERS: dict[str, Callable[[Session], Fact]] = {
    "value": _value,
    "best": _best,
    "best_value": lambda session: _written(session, float(_row(session).max())),
    "row_sum": _row_sum,
    "norm": _norm,
    "printed": _printed,
    "perplexity": perplexity,
    **_SEEN,
    **PREDICTED,
}
