"""What is being looked at: stage, text, tokens, head, cell. Plain Python; it knows no widget."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.axes import Axis
from engine.constants import Constant
from engine.derivation import Derivation
from engine.model import Model
from engine.operand import Cell, Operand
from engine.stages import Stage
from engine.tokenizer import Token
from engine.trace import Trace
from tui.grids import OperandGrid

if TYPE_CHECKING:
    from engine.worked import Comparison, Worked


@dataclass
class View:
    """Where the reader was, to come back to."""

    operand: Operand
    positions: dict[str, int]


@dataclass
class Look:
    """A model, the trace of its texts, and the reader's place in it.

    The place is kept by axis, not by stage: ``positions`` says which token, head or coordinate is looked at on every
    axis by its symbol, so that stepping to another stage stays with the same query, key and head.
    """

    opened: Model | Worked
    trace: Trace
    memory: int
    operand: Operand = field(init=False)
    positions: dict[str, int] = field(default_factory=dict)
    history: list[View] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.operand = self.trace.stages[0]
        self.look_at_end()

    # What is open

    @property
    def model(self) -> Model:
        """The model. A worked example has none: ask `changeable` first."""
        assert isinstance(self.opened, Model)
        return self.opened

    @property
    def name(self) -> str:
        """What is open, by name."""
        return self.opened.name

    @property
    def changeable(self) -> bool:
        """Whether other texts can be run: not those of a worked example, which has no tokenizer."""
        return isinstance(self.opened, Model)

    @property
    def tied(self) -> bool:
        """Whether the output uses the embedding, turned on its side."""
        return isinstance(self.opened, Model) and self.opened.spec.tied

    def notes(self, language: str) -> tuple[str, str] | None:
        """The title of a worked example, and what it says about itself; None where a model is open."""
        if isinstance(self.opened, Model):
            return None
        paragraphs = self.opened.noted(language).split()
        whole = self.opened.noted(language).replace("\n", "") if language == "zh" else " ".join(paragraphs)
        return self.opened.titled(language), whole

    @property
    def comparison(self) -> Comparison | None:
        """What the file of a worked example says of the stage looked at, where it says something."""
        comparisons: tuple[Comparison, ...] = getattr(self.opened, "comparisons", ())
        return next((found for found in comparisons if found.stage is self.operand), None)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts as they are written: of an encoder-decoder, those that it reads."""
        return self.trace.source_texts or self.trace.texts

    @property
    def writes(self) -> bool:
        """Whether the model continues a text, rather than filling in its gaps."""
        return not isinstance(self.opened, Model) or self.opened.spec.kind != "encoder"

    @property
    def asks_here(self) -> bool:
        """Whether a prediction is asked for at the token looked at: where a model fills gaps, and the text has none."""
        if self.writes or not isinstance(self.opened, Model):
            return False
        mask = self.opened.tokenizer.mask
        return mask is None or all(token.id != mask for token in self.trace.tokens[self.text])

    @property
    def asked(self) -> int:
        """The position whose prediction is asked for first: the gap, the end, or else the token looked at."""
        if self.asks_here:
            return min(self.positions.get("N", 0), self.trace.ends[self.text])
        return self.trace.asked[self.text]

    @property
    def predicts(self) -> bool:
        """Whether the model gives a distribution over its vocabulary."""
        return "probabilities" in self.trace

    # Where one is

    @property
    def stage(self) -> Stage | None:
        """The stage that is looked at; None for a weight or a constant."""
        return self.operand if isinstance(self.operand, Stage) else None

    @property
    def position(self) -> int:
        """The number of the stage looked at, or of the one that a weight was reached from, from 0."""
        if self.stage is not None:
            return self.stage.position
        earlier = (view.operand.position for view in reversed(self.history) if isinstance(view.operand, Stage))
        return next(earlier, 0)

    @property
    def layer(self) -> int | None:
        """The layer looked at; None in the input and the output."""
        return self.trace.stages[self.position].layer

    @property
    def text(self) -> int:
        """The number of the text looked at."""
        return min(self.positions.get("B", 0), len(self.texts) - 1)

    @property
    def heads(self) -> int:
        """How many (query) heads the model has."""
        return max((axis.size for stage in self.trace for axis in stage.axes if axis.symbol == "H"), default=0)

    @property
    def head(self) -> int:
        """The head looked at."""
        return min(self.positions.get("H", 0), max(self.heads - 1, 0))

    @property
    def row_axis(self) -> Axis:
        """The axis of the tokens looked at: the operand's own, or those of the stage that a weight was reached from."""
        # A text's mean has no axis of tokens; it is about those of the stages before it.
        operands = (self.operand, *reversed(self.trace.stages[: self.position + 1]))
        return next(axis for operand in operands for symbol in "NM" for axis in operand.axes if axis.symbol == symbol)

    @property
    def key_axis(self) -> Axis | None:
        """The axis of the tokens looked at as keys; None where the operand has no keys beside queries."""
        symbols = [axis.symbol for axis in self.operand.axes]
        return self.operand.axes[symbols.index("M")] if "N" in symbols and "M" in symbols else None

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens that `query` counts."""
        return self.trace.tokens_along(self.row_axis)[self.text]

    @property
    def keys(self) -> tuple[Token, ...]:
        """The tokens that `key` counts; none where there are no keys."""
        return () if self.key_axis is None else self.trace.tokens_along(self.key_axis)[self.text]

    @property
    def query(self) -> int:
        """The token looked at: the row."""
        axis = self.row_axis
        # The last token has no successor: where successors are looked at, the axis ends before it.
        return min(self._row(axis_name(axis)), len(self.tokens) - 1, axis.size - 1)

    def _row(self, name: str) -> int:
        """The position along an axis of rows: until a key has been chosen, a token's own key is looked at."""
        return self.positions.get(name, self.positions.get("N", 0) if name == "M" else 0)

    @property
    def key(self) -> int | None:
        """The token looked at as a key: the column; None where the operand has no keys."""
        if self.key_axis is None:
            return None
        return min(self.positions.get(axis_name(self.key_axis), 0), len(self.keys) - 1)

    @property
    def cell(self) -> Cell:
        """The cell looked at, in the operand's own axes."""
        return self.cell_in(self.operand)

    def cell_in(self, operand: Operand) -> Cell:
        """The cell of another operand at the same positions."""
        has_queries = any(axis.symbol == "N" for axis in operand.axes)
        return tuple(
            min(self._at(axis, name, has_queries), axis.size - 1)
            for axis, name in zip(operand.axes, axis_names(operand), strict=True)
        )

    def _at(self, axis: Axis, name: str, has_queries: bool) -> int:
        if axis.symbol == "H_kv":
            return self.head * axis.size // max(self.heads, 1)
        if axis.symbol == "B":
            return self.text
        return self.positions.get(name, 0) if has_queries else self._row(name)

    @property
    def grid(self) -> OperandGrid:
        """The matrix in which the cell stands."""
        return OperandGrid.around(self.operand, self.cell, self.text)

    def derivation(self) -> Derivation | None:
        """How the cell came about; None for a weight."""
        return self.operand.derivation(self.cell) if isinstance(self.operand, Stage | Constant) else None

    def look_at_end(self) -> None:
        """Look where something is predicted first: at the last token of the text, or at its mask token."""
        self.positions["N"] = self.trace.asked[self.text]


def axis_name(axis: Axis) -> str:
    """What the position along an axis is kept under: its symbol, and whose tokens they are of two texts."""
    return f"{axis.symbol} {axis.side}".rstrip()


def axis_names(operand: Operand) -> list[str]:
    """A name for each axis of an operand, marked where the same symbol came before (W is D×D)."""
    names: list[str] = []
    for axis in operand.axes:
        name = axis_name(axis)
        names.append(name + "′" * sum(known.rstrip("′") == name for known in names))
    return names
