"""What a token is called where it is named by itself, so that it is clear which of several that read alike is meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.cells import cell_len

from engine.axes import Axis
from engine.tokenizer import Token
from tui.widgets.numbers import cut

DIGITS = "₀₁₂₃₄₅₆₇₈₉"
_LOWERED = str.maketrans("0123456789", DIGITS)
# The axes along which tokens stand in the order of a text.
_IN_ORDER = ("N", "M")


def token_names(labels: Sequence[str]) -> list[str]:
    """The tokens of a text by name: of several that read alike each has its position, from 0, as in 猫₀ 追 猫₂."""
    counts = Counter(labels)
    return [_placed(label, position) if counts[label] > 1 else label for position, label in enumerate(labels)]


def name_of(tokens: Sequence[Token], position: int) -> str:
    """The name of one of the tokens of a text."""
    label = tokens[position].label
    return _placed(label, position) if sum(token.label == label for token in tokens) > 1 else label


def name_on(axis: Axis, position: int, text: int = 0) -> str:
    """The name of what stands at a position of an axis; its number where positions are only numbered."""
    label, labels = axis.label(position, text), axis.labels_of(text)
    repeated = labels is not None and axis.symbol in _IN_ORDER and labels.count(label) > 1
    return _placed(label, position) if repeated else label


def cut_name(name: str, width: int) -> str:
    """A name in at most ``width`` cells; its position stays as long as a character fits before it."""
    said = name.rstrip(DIGITS)
    room = width - cell_len(name[len(said) :])
    return cut(name, width) if cell_len(name) <= width or room < 2 else cut(said, room) + name[len(said) :]


def _placed(label: str, position: int) -> str:
    return label + str(position).translate(_LOWERED)
