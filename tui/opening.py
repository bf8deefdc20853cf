"""From what was asked for to what is shown: the explorer on a text or a worked example, a report, a demo."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from engine.model import Model, load
from tui import terminal

if TYPE_CHECKING:
    from engine.trace import Trace
    from engine.worked import Worked
    from tui.asked import Asked
    from tui.language import Language


def run(asked: Asked, say: Language) -> int:
    """Do what was asked for, and give the exit status.

    Raises:
        EngineError: a file, a model, a text or a place in it cannot be used.
    """

    def model_of(name: str) -> Model:
        return _model(name, say)

    if asked.demo is not None or asked.demo_new is not None:
        from tui.demo.commands import run

        return run(asked, say, model_of, drawn=terminal.has_terminal())
    if asked.verify is not None:
        from tui.report.command import verify

        return verify(model_of(asked.model_name), asked.verify, say)
    opened, trace = _opened(asked, say)
    if asked.reports or not terminal.has_terminal():
        from tui.report.command import report

        return report(asked, opened, trace, say)
    return _explore(asked, opened, trace, say)


def _opened(asked: Asked, say: Language) -> tuple[Model | Worked, Trace]:
    """A worked example, or a model on the texts."""
    if asked.worked is not None:
        from engine.worked import load_worked

        example = load_worked(asked.worked, asked.kept)
        return example, example.trace
    model = _model(asked.model_name, say)
    return model, model.trace(asked.texts, targets=asked.target or None, memory=asked.kept)


def _model(name: str, say: Language) -> Model:
    """The model of a name, with a bar on the terminal while it is downloaded."""
    if not sys.stderr.isatty():
        return load(name)
    from tui.download import Download

    with Download(name, say) as download:
        return load(name, download.progress)


def _explore(asked: Asked, opened: Model | Worked, trace: Trace, say: Language) -> int:
    from tui.report.selection import select

    chosen = select(trace, *asked.place)
    first = chosen.stages[0] if asked.stage is not None or asked.layer is not None else trace.stages[0]
    from tui.app import ExploreApp
    from tui.session import Session

    session = Session(opened, trace, asked.kept)
    session.go(first)
    if asked.head is not None:
        session.positions["H"] = asked.head
    terminal.keys_from_terminal()
    explorer = ExploreApp(session, say, asked.colours)
    explorer.run()
    return explorer.return_code or 0
