"""A demo's scenes resolved with its model, one after the other: what each of them leaves the explorer at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import EngineError, FileError
from engine.generation import predictions, translated
from engine.model import Model
from engine.operand import Operand
from engine.trace import Trace
from tui.demo.script import Demo, Scene, View
from tui.grids import matrix_axes
from tui.language import Language
from tui.report.selection import select
from tui.session import Session
from tui.views.attention import Limits, nearest_weights
from tui.views.graph import THRESHOLDS

if TYPE_CHECKING:
    from engine.worked import Worked

# The stages that a text has only where one of its tokens follows another.
TOLD_OF_SUCCESSORS = ("targets", "losses", "loss")


@dataclass(frozen=True)
class State:
    """Where a scene is: everything that the explorer must be put back to.

    Attributes:
        threshold: the weight from which on the graph shows an edge.
    """

    scene: Scene
    opened: Model | Worked
    trace: Trace
    stage: str
    positions: dict[str, int]
    view: View
    threshold: float

    def session(self, memory: int) -> Session:
        """A session that stands there."""
        session = Session(self.opened, self.trace, memory)
        self.restore(session)
        return session

    def restore(self, session: Session) -> None:
        """Put a session there, whatever it looked at."""
        session.opened = self.opened
        session.trace = self.trace
        session.operand = self.trace[self.stage]
        session.positions = dict(self.positions)
        # Where the reader was has nothing to do with where the demo is.
        session.history.clear()


class Walk:
    """One walk through the scenes with a session of its own."""

    def __init__(self, demo: Demo, model: Model, say: Language, memory: int) -> None:
        self._demo, self._model, self._say, self._memory = demo, model, say, memory
        self._left: Trace | None = None

    def states(self) -> list[State]:
        """Every scene's state on the demo's own texts.

        Raises:
            FileError: a scene names what is not there; the message names the line.
        """
        demo = self._demo
        if not demo.texts:
            return self._states(self._session(self._example(demo.scenes[0])), None)
        try:
            trace = self._trace(demo.texts, [demo.target] * len(demo.texts) if demo.target else ())
        except EngineError as error:
            raise self._refusal(None, self._texts_key(), error) from None
        return self._states(self._session(trace), None)

    def elsewhere(self, texts: Sequence[str], targets: Sequence[str], own: Sequence[State]) -> list[State]:
        """Every scene's state on other texts, or with other beginnings of what is written; none keeps the demo's own.

        Cells are those at the same places as in the demo's ``own`` states.

        Raises:
            EngineError: the model does not take them, or a scene names what is not there.
        """
        texts = texts or self._demo.texts
        if not targets and self._demo.target:
            targets = [self._demo.target] * len(texts)
        trace = self._trace(texts, targets)
        if max(trace.ends) == 0 and any(state.stage in TOLD_OF_SUCCESSORS for state in own):
            raise FileError(
                "demo-one-token",
                "{file}: {token} is one token, and nothing follows it that could be predicted, which this demo is "
                "about; give --text a longer text",
                file=self._demo.path,
                token=trace.tokens[0][0].label,
            )
        return self._states(self._session(trace), own)

    def _session(self, shown: Trace | Worked) -> Session:
        """A session on a run of the model, or on a worked example."""
        if isinstance(shown, Trace):
            return Session(self._model, shown, self._memory)
        return Session(shown, shown.trace, self._memory)

    def _states(self, session: Session, own: Sequence[State] | None) -> list[State]:
        view: View = "equation"
        threshold = Limits().threshold
        states = []
        for scene in self._demo.scenes:
            self._go(session, scene, None if own is None else own[scene.number])
            view = scene.view or view
            threshold = threshold if scene.threshold is None else scene.threshold
            self._look_as(session, scene, view)
            name, positions = session.operand.name, dict(session.positions)
            states.append(State(scene, session.opened, session.trace, name, positions, view, threshold))
        return states

    def _texts_key(self) -> str:
        """Where the file gives its texts."""
        return "texts" if self._demo.lines.has("texts") else "text"

    def _trace(self, texts: Sequence[str], targets: Sequence[str]) -> Trace:
        """A run over texts; a translation that is not begun is the model's own."""
        trace = self._model.trace(list(texts), targets=list(targets) or None, memory=self._memory)
        return translated(self._model, trace, self._memory)

    def _refusal(self, scene: Scene | None, key: str, error: EngineError) -> FileError:
        """An error of the engine, with the line that it comes from."""
        line = self._demo.lines.of(None if scene is None else scene.number, key)
        return FileError(
            "demo-refused",
            "{file}: line {line}: {reason}",
            file=self._demo.path,
            line=line,
            reason=self._say.error(error.key, error.english, error.values),
        )

    def _go(self, session: Session, scene: Scene, own: State | None) -> None:
        key = "text"
        try:
            if scene.worked is not None:
                self._open(session, self._session(self._instead(session, scene)))
            if scene.which is not None:
                key = "which"
                self._look_at_text(session, scene)
            key = "text"
            if scene.text is not None and not session.changeable:
                self._open(session, self._session(self._trace([scene.text], ())))
            elif scene.text is not None:
                session.edit(scene.text)
                self._translate(session)
            key = "append"
            if scene.append:
                self._append(session, scene)
            key = "stage"
            if scene.stage is not None:
                session.go(select(session.trace, scene.stage, None, None).stages[0])
            key = "head"
            if scene.head is not None:
                select(session.trace, session.operand.name, None, scene.head)
                session.positions["H"] = scene.head
        except FileError:
            raise
        except EngineError as error:
            raise self._refusal(scene, key, error) from None
        if scene.cell and own is not None:
            self._same_cell(session, own)
        elif scene.cell:
            self._look_at(session, scene)

    def _instead(self, session: Session, scene: Scene) -> Trace | Worked:
        """What a scene shows in the place of what was looked at: a worked example, or again what was before one."""
        if session.changeable:
            self._left = session.trace
        if scene.worked:
            return self._example(scene)
        if self._left is None:
            raise self._missing(scene, "worked", "false", "text")
        return self._left

    def _example(self, scene: Scene) -> Worked:
        """The worked example that a scene opens: a file beside the demo where there is one, else what is so called."""
        # Most demos open none.
        from engine.worked import load_worked

        assert scene.worked
        beside = self._demo.path.parent / Path(scene.worked).expanduser()
        try:
            return load_worked(beside if beside.is_file() else scene.worked, self._memory)
        except EngineError as error:
            raise self._refusal(scene, "worked", error) from None

    @staticmethod
    def _open(session: Session, other: Session) -> None:
        """Look at something else, at the stage of the same name and the same place where it has them."""
        name = session.operand.name
        session.opened, session.trace, session.operand = other.opened, other.trace, other.operand
        if name in other.trace:
            session.operand = other.trace[name]
        session.look_at_end()
        session.positions.pop("V", None)

    def _look_at_text(self, session: Session, scene: Scene) -> None:
        assert scene.which is not None
        if not 0 <= scene.which < len(session.texts):
            raise self._missing(scene, "which", str(scene.which), f"0 … {len(session.texts) - 1}")
        session.step_text(scene.which - session.text)

    def _translate(self, session: Session) -> None:
        grown = translated(self._model, session.trace, self._memory)
        if grown is not session.trace:
            name = session.operand.name
            session.trace, session.operand = grown, grown[name]
            session.look_at_end()

    def _append(self, session: Session, scene: Scene) -> None:
        if isinstance(scene.append, str):
            vocabulary = list(self._model.vocabulary)
            if scene.append not in vocabulary:
                raise self._missing(scene, "append", scene.append, ", ".join(vocabulary[-3:]) + ", …")
            token = vocabulary.index(scene.append)
        elif session.predicts:
            token = predictions(session.trace, session.text, session.asked, count=1)[0].id
        else:
            raise self._missing(scene, "append", "true", "–")
        session.put(token, session.asked)

    def _same_cell(self, session: Session, own: State) -> None:
        grid = session.grid
        there = own.session(self._memory)
        session.move_to(*there.grid.place(there.cell))
        assert grid.operand is session.operand

    def _look_at(self, session: Session, scene: Scene) -> None:
        operand, row, column = session.operand, 0, 0
        axes = [axis for axis in matrix_axes(operand) if axis is not None]
        if len(scene.cell) > len(axes):
            raise self._missing(scene, "cell", _listed(scene.cell), operand.shape_text)
        row, column = session.grid.place(session.cell)
        places = [
            self._place(scene, session, operand, axis, part) for axis, part in zip(axes, scene.cell, strict=False)
        ]
        if matrix_axes(operand)[0] is None:
            places = [row, *places]
        row, column = [*places, *[row, column][len(places) :]]
        session.move_to(row, column)

    def _place(self, scene: Scene, session: Session, operand: Operand, number: int, part: int | str) -> int:
        axis = operand.axes[number]
        if isinstance(part, int):
            if not -axis.size <= part < axis.size:
                raise self._missing(scene, "cell", str(part), f"0 … {axis.size - 1}")
            return part % axis.size
        labels = list(axis.labels_of(session.text) or ())
        for wanted in (part, f"␣{part}"):
            if wanted in labels:
                return labels.index(wanted)
        there = ", ".join(labels[:8]) + (", …" if len(labels) > 8 else "") if labels else f"0 … {axis.size - 1}"
        raise self._missing(scene, "cell", part, there)

    def _missing(self, scene: Scene, key: str, what: str, there: str) -> FileError:
        return FileError(
            "demo-missing",
            "{file}: line {line}: {entry}: there is no {what} here; there are {there}",
            file=self._demo.path,
            line=self._demo.line(scene, key),
            entry=key,
            what=what,
            there=there,
        )

    def _look_as(self, session: Session, scene: Scene, view: View) -> None:
        if scene.threshold not in (None, *THRESHOLDS):
            raise self._missing(scene, "threshold", f"{scene.threshold:g}", ", ".join(f"{x:g}" for x in THRESHOLDS))
        picture = view.startswith("graph") or view == "heads"
        weights = nearest_weights(session.trace, session.trace.stages[session.position])
        if (picture and weights is None) or (view == "predictions" and not session.predicts):
            raise self._missing(scene, "view", view, "equation")
        if picture and weights is not None:
            session.go(weights)


def _listed(parts: Sequence[int | str]) -> str:
    return ", ".join(map(str, parts))
