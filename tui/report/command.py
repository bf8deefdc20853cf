"""What the command line writes without a screen, to standard output or to a file."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

from engine.errors import InputError
from engine.generation import translated
from engine.model import Model
from engine.trace import Trace
from engine.worked import Worked
from tui.asked import Asked
from tui.language import Language
from tui.report import write
from tui.report.selection import select
from tui.terminal import UNUSABLE, USAGE, fail, shown


def report(asked: Asked, opened: Model | Worked, trace: Trace, say: Language) -> int:
    """Write the stages that were asked for, and give the exit status; a translation that was not begun is written.

    Raises:
        InputError: there is no such stage, layer or head.
    """
    gc.enable()
    if isinstance(opened, Model):
        trace = translated(opened, trace, asked.kept)
    chosen, kind = select(trace, *asked.place), asked.format or "text"
    if kind == "npz" and asked.output is None:
        fail(say("cli.npz_needs_output"), USAGE)
    try:
        write(opened, trace, chosen, kind, asked.output, say)
    except BrokenPipeError:
        # The reader, `head` for one, has seen enough. Python must not try to flush what is left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        name = shown(str(asked.output or "stdout"))
        fail(say("cli.cannot_write", file=name, reason=say.phrase("reason", error.strerror or error)), UNUSABLE)
    return 0


def verify(model: Model, expected: Path, say: Language) -> int:
    """Write how far a model is from a reference, and give the exit status.

    Raises:
        FileError: the reference cannot be used.
    """
    from engine.verify import verify
    from tui.report.verify import table

    try:
        checks = verify(model, expected)
    except InputError as error:
        # Not what the reader typed, but what the file holds.
        fail(f"{shown(str(expected))}: {say.error(error.key, error.english, error.values)}", UNUSABLE)
    print(table(model, expected, checks, say))
    return 0 if all(check.agrees for check in checks) else UNUSABLE
