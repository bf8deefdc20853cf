"""What the command line can do with demos: play, check, record, begin a new one."""

from __future__ import annotations

from collections.abc import Callable

from engine.model import Model
from tui.asked import Asked
from tui.demo.rehearsal import Instead
from tui.language import Language
from tui.terminal import UNUSABLE, USAGE, complain


def run(asked: Asked, say: Language, load: Callable[[str], Model], *, drawn: bool) -> int:
    """Do with a demo what was asked for, and give the exit status.

    Raises:
        EngineError: the demo, its model or its texts cannot be used.
    """
    if asked.demo_new is not None:
        from tui.demo.template import new

        new(asked.demo_new, say)
        print(say("cli.demo_written", file=asked.demo_new))
        return 0
    from tui.demo.shipped import find_demo

    assert asked.demo is not None
    path = find_demo(asked.demo)
    instead = Instead(asked.model, tuple(asked.text), tuple(asked.target))
    if asked.check:
        from tui.demo.check import check
        from tui.demo.play import rehearsed

        rehearsal = rehearsed(path, say, instead=instead, memory=asked.kept, load=load)
        found = check(rehearsal, say.code)
        works = say("cli.demo_works", name=path.stem)
        if rehearsal.left_out:
            works = say("cli.demo_works_in_part", name=path.stem, count=rehearsal.left_out)
        print("\n".join(found) or works)
        return UNUSABLE if found else 0
    if asked.record is not None:
        from tui.demo.record import record

        for file in record(path, asked.record, say, theme=asked.colours, instead=instead, memory=asked.kept, load=load):
            print(file)
        return 0
    if not drawn:
        complain(say("cli.demo_terminal"))
        return USAGE
    from tui.demo.play import play

    app = play(
        path,
        say,
        theme=asked.colours,
        speed=asked.speed or 1.0,
        start=asked.from_,
        loop=asked.loop,
        instead=instead,
        memory=asked.kept,
        load=load,
    )
    app.run()
    return app.return_code or 0
