"""A session: the reader's place in a trace, the way on and back from there, and other texts to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.derivation import Reference
from engine.operand import Cell, Operand
from engine.stages import Stage
from engine.tokenizer import Token
from tui.grids import matrix_axes
from tui.looking import Look, View, axis_name, axis_names
from tui.places import block_start, blocks, same_stage, section_of, sections


@dataclass
class Session(Look):
    """Goes where the reader wants to look, and puts other texts in the place of those that are looked at."""

    # Going elsewhere

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
            self._look_at_compared()

    def _look_at_compared(self) -> None:
        """Of a stage that a worked example's file has numbers for, look at one of them, if possible of the same row."""
        if self.comparison is None:
            return
        known, cell = ~np.isnan(self.comparison.given), self.cell
        if not known[cell] and known.any():
            row = known[cell[:-1]]
            found = (*cell[:-1], row.argmax()) if row.any() else np.argwhere(known)[0]
            self._look_at(self.operand, tuple(map(int, found)), range(len(cell)))

    def step(self, count: int) -> None:
        """Go so many stages on (or back, if negative), as far as there are any."""
        target = max(0, min(self.position + count, len(self.trace) - 1))
        self.go(self.trace.stages[target])

    def step_layer(self, count: int) -> None:
        """Go to the same stage of the next layer, or past the layers to the output or the input.

        Where there are no layers, go to the next part of the way.
        """
        layers, here = blocks(self.trace), self.trace.stages[self.position]
        if not layers:
            self._step_section(here, count)
            return
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

    def _step_section(self, here: Stage, count: int) -> None:
        """Go to the next part of a trace without layers, past the last to its end."""
        parts = sections(self.trace)
        target = section_of(here, parts) + count
        self.go(parts[max(target, 0)].start if target < len(parts) else self.trace.stages[-1])

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

    def ended_before(self, position: int) -> bool:
        """Whether a translation has its end at a position, so that nothing is written after it."""
        source = self.model.spec.source
        return source is not None and self.trace.tokens[self.text][position].id == source.end

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
