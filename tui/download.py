"""A bar on standard error while a model is downloaded."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from tui.language import Language

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

MEGABYTE = 1_000_000
TENTHS_BELOW = 100 * MEGABYTE


class Download:
    """Draws nothing before there is something to download, and leaves nothing behind."""

    def __init__(self, name: str, say: Language) -> None:
        self._name, self._say = name, say
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Download:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def progress(self, file: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` bytes have come, the latest of them of ``file``."""
        from rich.markup import escape
        from rich.progress import BarColumn, Progress, TextColumn

        from engine.text import visible

        text = self._say(
            "download.file",
            name=visible(self._name),
            file=visible(file),
            done=_megabytes(done, total),
            total=_megabytes(total, total),
        )
        if self._bar is None or self._task is None:
            from rich.console import Console

            columns = (TextColumn("{task.description}"), BarColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done, total=total, description=escape(text))


def _megabytes(size: int, total: int) -> str:
    """A size in MB, to the tenth where the total is small enough for tenths to be seen to pass."""
    return f"{size / MEGABYTE:.1f}" if total < TENTHS_BELOW else f"{size // MEGABYTE}"
