"""What is being looked at: texts, stage, text, head, cell. Plain Python; it knows no widget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.axes import Axis
from engine.derivation import Derivation, Reference
from engine.model import Model
from engine.operand import Cell, Operand
from engine.trace import Stage, Trace
from tui.grids import OperandGrid, matrix_axes


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

    model: Model
    trace: Trace
    memory: int
    operand: Operand = field(init=False)
    positions: dict[str, int] = field(default_factory=dict)
    history: list[View] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.operand = self.trace.stages[0]
        self.look_at_end()

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
    def query(self) -> int:
        """The token looked at: the row."""
        return min(self.positions.get("N", 0), len(self.trace.tokens[self.text]) - 1)

    @property
    def key(self) -> int | None:
        """The token looked at as a key: the column; None where the operand has no keys."""
        if any(axis.symbol == "M" for axis in self.operand.axes):
            return min(self.positions.get("M", 0), len(self.trace.tokens[self.text]) - 1)
        return None

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
        """Look at the last token of the text: what comes next is predicted there."""
        self.positions["N"] = self.trace.ends[self.text]

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
        layers = 1 + max((stage.layer for stage in self.trace if stage.layer is not None), default=-1)
        here = self.trace.stages[self.position]
        if here.layer is None:
            before = all(stage.layer is None for stage in self.trace.stages[: here.position])
            if before == (count < 0) or not layers:
                self.go(self.trace.stages[0 if count < 0 else -1])
                return
            target = 0 if before else layers - 1
            self.go(next(stage for stage in self.trace if stage.layer == target))
            return
        target = here.layer + count
        if 0 <= target < layers:
            wanted = here.name.replace(f"layers.{here.layer}.", f"layers.{target}.", 1)
            same = (stage for stage in self.trace if stage.name == wanted)
            self.go(next(same, next(stage for stage in self.trace if stage.layer == target)))
        elif target < 0:
            self.go(self.trace.stages[0])
        else:
            self.go(next(s for s in self.trace.stages[here.position :] if s.layer is None))

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
        """The texts as they are written."""
        return self.trace.texts

    def edit(self, text: str) -> None:
        """Put another text in the place of the one looked at, and stay at the same stage.

        Raises:
            EngineError: the model cannot take it; everything stays as it was.
        """
        self._replace(self.model.tokenizer.encode(text))

    def append(self, token: int) -> None:
        """Append a token to the text looked at.

        Raises:
            EngineError: the model cannot take it; everything stays as it was.
        """
        self._replace([*(known.id for known in self.trace.tokens[self.text]), token])

    def _replace(self, row: list[int]) -> None:
        """Run the batch with other tokens in the place of the text looked at."""
        rows = [[token.id for token in tokens] for tokens in self.trace.tokens]
        rows[self.text] = row
        trace = self.model.trace(ids=rows, memory=self.memory)
        name = self.trace.stages[self.position].name
        self.trace = trace
        self.operand = trace[name]
        # Where one was before belongs to the text before.
        self.history.clear()
        self.look_at_end()
        self.positions["M"] = min(self.positions.get("M", 0), self.query)
        # What was most probable need not be so any more.
        self.positions.pop("V", None)


def axis_names(operand: Operand) -> list[str]:
    """A name for each axis of an operand: its symbol, marked where the same symbol came before (W is D×D)."""
    names: list[str] = []
    for axis in operand.axes:
        names.append(axis.symbol + "′" * sum(name.rstrip("′") == axis.symbol for name in names))
    return names
