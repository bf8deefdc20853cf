"""The stages of a trace without a screen: as plain text, JSON, CSV or npz."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from engine.model import Model
from engine.trace import Trace
from engine.worked import Worked
from tui.language import Language
from tui.report.selection import Selection


def write(
    model: Model | Worked, trace: Trace, chosen: Selection, kind: str, output: Path | None, say: Language
) -> None:
    """Write a report of one ``kind`` (text, json, csv, npz) to a file, or to standard output.

    A file appears whole or not at all: what stood there before is lost only when the new one is complete.

    Raises:
        OSError: it cannot be written.
    """
    from tui.report import data, text, worked

    def plain(out: TextIO, width: int | None) -> None:
        if isinstance(model, Worked):
            worked.write(out, model, chosen, say, width)
        else:
            text.write(out, model, trace, chosen, say, width)

    if output is None:
        out = sys.stdout
        if kind == "text":
            width = None if out.isatty() else text.PIPE_WIDTH
            plain(out, width)
        else:
            data.WRITERS[kind](out, model, trace, chosen)
        out.flush()
        return
    output = Path(os.path.realpath(output))
    handle, name = tempfile.mkstemp(prefix=f".{output.name}.", dir=output.parent)
    try:
        if kind == "npz":
            with os.fdopen(handle, "wb") as binary:
                data.write_npz(binary, trace, chosen)
        else:
            # newline="": the csv module ends its lines itself.
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as out_file:
                if kind == "text":
                    plain(out_file, text.PIPE_WIDTH)
                else:
                    data.WRITERS[kind](out_file, model, trace, chosen)
        # mkstemp lets only the owner read; a report is an ordinary file.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, output)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
