"""What is being looked at: texts, stage, text, head, cell. Plain Python; it knows no widget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.axes import Axis
from engine.derivation import Derivation, Reference
from engine.model import Model
from engine.operand import Cell, Operand
from engine.stages import Stage
from engine.tokenizer import Token
from engine.trace import Trace
from tui.grids import OperandGrid, matrix_axes
from tui.places import block_start, blocks, same_stage

if TYPE_CHECKING:
    from engine.worked import Worked


@dataclass
class View:
    """Where the reader was, to come back to."""

    operand: Operand
    positions: dict[str, int]


@dataclass
class Session:
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
        operands = (self.operand, self.trace.stages[self.position])
        tokens = (axis for symbol in "NM" for operand in operands for axis in operand.axes if axis.symbol == symbol)
        return next(tokens, self.trace.stages[0].axes[1])

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
        return min(self.positions.get(axis_name(axis), 0), len(self.tokens) - 1, axis.size - 1)

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
        return tuple(
            min(self._at(axis, name), axis.size - 1)
            for axis, name in zip(operand.axes, axis_names(operand), strict=True)
        )

    def _at(self, axis: Axis, name: str) -> int:
        if axis.symbol == "H_kv":
            return self.head * axis.size // max(self.heads, 1)
        if axis.symbol == "B":
            return self.text
        return self.positions.get(name, 0)

    @property
    def grid(self) -> OperandGrid:
        """The matrix in which the cell stands."""
        return OperandGrid.around(self.operand, self.cell, self.text)

    def derivation(self) -> Derivation | None:
        """How the cell came about; None for a weight or a constant."""
        return None if self.stage is None else self.stage.derivation(self.cell)

    # Going elsewhere

    def look_at_end(self) -> None:
        """Look where something is predicted first: at the last token of the text, or at its mask token."""
        self.positions["N"] = self.trace.asked[self.text]

    def look_at_query(self, number: int) -> None:
        """Look at another token."""
        self.positions[axis_name(self.row_axis)] = number

    def look_at_key(self, number: int) -> None:
        """Look at another key."""
        if self.key_axis is not None:
            self.positions[axis_name(self.key_axis)] = number

    def go(self, operand: Operand) -> None:
        """Go to a stage (or weight, or constant), staying with the same tokens, head and coordinates."""
        if operand is not self.operand:
            self.history.append(View(self.operand, dict(self.positions)))
            self.operand = operand

    def step(self, count: int) -> None:
        """Go so many stages on (or back, if negative), as far as there are any."""
        target = max(0, min(self.position + count, len(self.trace) - 1))
        self.go(self.trace.stages[target])

    def step_layer(self, count: int) -> None:
        """Go to the same stage of the next layer, or past the layers to the output or the input."""
        layers, here = blocks(self.trace), self.trace.stages[self.position]
        if here.layer is not None:
            target = layers.index((here.side, here.layer)) + count
        else:
            passed = [block for block in layers if block_start(self.trace, block).position < here.position]
            target = len(passed) + (count - 1 if count > 0 else count)
        if 0 <= target < len(layers):
            self.go(same_stage(self.trace, here, layers[target]))
        elif target < 0:
            self.go(self.trace.stages[0])
        else:
            last = max((s.position for s in self.trace if s.layer is not None), default=-1)
            self.go(self.trace.stages[-1 if here.position > last else last + 1])

    def step_head(self, count: int) -> None:
        """Look at the next head, round and round."""
        if self.heads:
            self.positions["H"] = (self.head + count) % self.heads

    def step_text(self, count: int) -> None:
        """Look at the next text of the batch, round and round."""
        self.positions["B"] = (self.text + count) % len(self.texts)
        self.look_at_end()

    def move(self, down: int, across: int) -> None:
        """Move the cell looked at, within its matrix."""
        grid = self.grid
        row, column = grid.place(self.cell)
        self.move_to(row + down, column + across)

    def move_to(self, row: int, column: int) -> None:
        """Look at a cell of the matrix, or the nearest there is."""
        grid = self.grid
        cell = grid.cell(max(0, min(row, grid.rows - 1)), max(0, min(column, grid.columns - 1)))
        self._look_at(self.operand, cell, matrix_axes(self.operand))

    def follow(self, reference: Reference) -> None:
        """Go to where a number stands."""
        self.visit(reference.operand, reference.cell)

    def visit(self, operand: Operand, cell: Cell) -> None:
        """Go to a cell of an operand."""
        self.history.append(View(self.operand, dict(self.positions)))
        self.operand = operand
        self._look_at(operand, cell, range(len(cell)))

    def back(self) -> bool:
        """Return to where one was; False where there is nowhere to return to."""
        if not self.history:
            return False
        view = self.history.pop()
        self.operand, self.positions = view.operand, view.positions
        return True

    def _look_at(self, operand: Operand, cell: Cell, axes: Sequence[int | None]) -> None:
        names = axis_names(operand)
        for axis in axes:
            if axis is None:
                continue
            symbol = operand.axes[axis].symbol
            if symbol == "H_kv":
                group = self.heads // operand.axes[axis].size
                if self.head // group != cell[axis]:
                    self.positions["H"] = cell[axis] * group
            elif symbol != "1":
                self.positions[names[axis]] = cell[axis]

    # Changing the texts

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts as they are written: of an encoder-decoder, those that it reads."""
        return self.trace.source_texts or self.trace.texts

    @property
    def writes(self) -> bool:
        """Whether the model continues a text, rather than filling in its gaps."""
        return not isinstance(self.opened, Model) or self.opened.spec.kind != "encoder"

    @property
    def predicts(self) -> bool:
        """Whether the model gives a distribution over its vocabulary."""
        return "probabilities" in self.trace

    def edit(self, text: str) -> None:
        """Put another text in the place of the one looked at, and stay at the same stage.

        Raises:
            EngineError: the model cannot take it; everything stays as it was.
        """
        reads = self.model.spec.source is not None
        row = [token.id for token in self.model.tokenize(text)]
        rows = self._ids(self.trace.source_tokens if reads else self.trace.tokens)
        rows[self.text] = row
        # A translation of the text before is none of this one.
        written = (
            [[r[0]] if n == self.text else r for n, r in enumerate(self._ids(self.trace.tokens))] if reads else None
        )
        self._replace(rows, written)

    def put(self, token: int, position: int) -> None:
        """Go on from a position with a token; where the model only fills gaps, put it there.

        Raises:
            EngineError: the model cannot take it; everything stays as it was.
        """
        rows = self._ids(self.trace.tokens)
        row = rows[self.text]
        rows[self.text] = (
            [*row[: position + 1], token] if self.writes else [*row[:position], token, *row[position + 1 :]]
        )
        self._continue(rows)
        if not self.writes:
            self.positions["N"] = position

    def _continue(self, rows: list[list[int]]) -> None:
        """Run the batch with other tokens in what is predicted."""
        if self.model.spec.source is None:
            self._replace(rows, None)
        else:
            self._replace(self._ids(self.trace.source_tokens), rows)

    def append(self, token: int, text: int | None = None) -> None:
        """Append a token to what the model continues: the text looked at, or another one of the batch.

        Raises:
            EngineError: the model cannot take it; everything stays as it was.
        """
        rows = self._ids(self.trace.tokens)
        rows[self.text if text is None else text].append(token)
        self._continue(rows)

    @staticmethod
    def _ids(texts: Sequence[Sequence[Token]]) -> list[list[int]]:
        return [[token.id for token in tokens] for tokens in texts]

    def _replace(self, rows: list[list[int]], written: list[list[int]] | None) -> None:
        """Run the batch with other tokens: ``written`` are an encoder-decoder's own."""
        trace = self.model.trace(ids=rows, decoder_ids=written, memory=self.memory)
        name = self.trace.stages[self.position].name
        self.trace = trace
        self.operand = trace[name]
        # Where one was before belongs to the text before.
        self.history.clear()
        self.look_at_end()
        # What was most probable need not be so any more.
        self.positions.pop("V", None)


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
