"""What the command line can do with demos: play, check, record, begin a new one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.model import Model
from tui.language import Language

SIZES = ((80, 24), (120, 40))


@dataclass(frozen=True)
class Wish:
    """What was asked for; `demo` is a shipped name or a file, and `texts` replaces what it is shown on."""

    demo: str | None
    new: Path | None
    check: bool
    record: Path | None
    texts: list[str] | None
    speed: float
    start: str | None
    loop: bool
    theme: str
    memory: int


def run(wish: Wish, say: Language, load: Callable[[str], Model], *, has_terminal: bool) -> int:
    """Do it, and give the exit status.

    Raises:
        EngineError: the demo, its model or its texts cannot be used.
    """
    if wish.new is not None:
        from tui.demo.template import new

        new(wish.new, say)
        print(say("cli.demo_written", file=wish.new))
        return 0
    from tui.demo.shipped import find_demo

    assert wish.demo is not None
    path = find_demo(wish.demo)
    if wish.check:
        from tui.demo.check import check

        found = [fault for size in SIZES for fault in check(path, size, say.code, load)]
        print("\n".join(found) or say("cli.demo_works", name=path.stem))
        return 1 if found else 0
    if wish.record is not None:
        from tui.demo.record import record

        for file in record(path, wish.record, say, theme=wish.theme, texts=wish.texts, memory=wish.memory, load=load):
            print(file)
        return 0
    if not has_terminal:
        print(f"llm-explore: {say('cli.demo_terminal')}", file=sys.stderr)
        return 2
    from tui.demo.play import play

    app = play(
        path,
        say,
        theme=wish.theme,
        speed=wish.speed,
        start=wish.start,
        loop=wish.loop,
        texts=wish.texts,
        memory=wish.memory,
        load=load,
    )
    app.run()
    return app.return_code or 0
