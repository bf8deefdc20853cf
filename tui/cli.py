"""The command line: arguments only. What they ask for is imported when they are known to be good."""

from __future__ import annotations

import gc
import os
import sys
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tui import terminal
from tui.asked import MEBIBYTES, SAMPLE_MODEL, Asked
from tui.language import LANGUAGES, language, locale_language

if TYPE_CHECKING:
    import typer

# Where this is set, the shell asks how a word could go on.
COMPLETION = "_LLM_EXPLORE_COMPLETE"


class Format(StrEnum):
    """What the report is written as."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    NPZ = "npz"


class Theme(StrEnum):
    """The explorer's colours at the start."""

    DARK = "dark"
    LIGHT = "light"


class Code(StrEnum):
    """The languages there are."""

    ZH = "zh"
    EN = "en"


def _asked_language() -> str:
    """The language of --help itself: --lang where it stands among the arguments, else the locale's."""
    words = sys.argv[1:]
    for word, following in zip(words, [*words, ""][1:], strict=True):
        given = following if word == "--lang" else word.removeprefix("--lang=")
        if given in LANGUAGES:
            return given
    return locale_language()


say = language(_asked_language())


def _models(incomplete: str) -> list[str]:
    """Completion for --model: the names of shipped samples."""
    from engine.model import shipped_models

    return [name for name in shipped_models() if name.startswith(incomplete)]


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"llm-explore {version('llm-explore')}")
        raise SystemExit


def _list_models(asked: bool) -> None:
    if asked:
        from tui.report.models import listing

        print(listing(say))
        raise SystemExit


def _list_worked(asked: bool) -> None:
    if asked:
        from tui.report.worked import listing

        print(listing(say))
        raise SystemExit


def _worked_names(incomplete: str) -> list[str]:
    """Completion for --worked: the names of shipped examples."""
    from engine.worked import shipped_worked

    return [name for name in shipped_worked() if name.startswith(incomplete)]


def _list_demos(asked: bool) -> None:
    if asked:
        from tui.demo.shipped import list_demos

        print(list_demos(say))
        raise SystemExit


def _demo_names(incomplete: str) -> list[str]:
    """Completion for --demo: the names of shipped demos."""
    from tui.demo.shipped import shipped_demos

    return [name for name in shipped_demos() if name.startswith(incomplete)]


def explore(
    texts: Annotated[list[str] | None, typer.Argument(help=say("cli.texts"), show_default=False)] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help=say("cli.model"),
            metavar="NAME|DIR",
            show_default=SAMPLE_MODEL,
            autocompletion=_models,
        ),
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option(help=say("cli.target"), metavar="TEXT", show_default=False)
    ] = None,
    report: Annotated[bool, typer.Option("--report", help=say("cli.report"))] = False,
    stage: Annotated[str | None, typer.Option(help=say("cli.stage"), metavar="NAME", show_default=False)] = None,
    layer: Annotated[int | None, typer.Option(help=say("cli.layer"), show_default=False)] = None,
    head: Annotated[int | None, typer.Option(help=say("cli.head"), show_default=False)] = None,
    format_: Annotated[
        Format | None, typer.Option("--format", help=say("cli.format"), show_default=Format.TEXT)
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=say("cli.output"), metavar="FILE", show_default=False)
    ] = None,
    verify: Annotated[Path | None, typer.Option(help=say("cli.verify"), metavar="FILE", show_default=False)] = None,
    lang: Annotated[Code | None, typer.Option(help=say("cli.lang"), show_default=False)] = None,
    theme: Annotated[Theme | None, typer.Option(help=say("cli.theme"), show_default=Theme.DARK)] = None,
    memory: Annotated[
        int | None, typer.Option(help=say("cli.memory"), metavar="MIB", show_default=str(MEBIBYTES))
    ] = None,
    worked: Annotated[
        str | None,
        typer.Option(help=say("cli.worked"), metavar="NAME|FILE", show_default=False, autocompletion=_worked_names),
    ] = None,
    demo: Annotated[
        str | None,
        typer.Option(help=say("cli.demo"), metavar="NAME|FILE", show_default=False, autocompletion=_demo_names),
    ] = None,
    speed: Annotated[float | None, typer.Option(help=say("cli.speed"), metavar="0.1-100", show_default="1")] = None,
    from_: Annotated[
        str | None, typer.Option("--from", help=say("cli.from"), metavar="SCENE", show_default=False)
    ] = None,
    loop: Annotated[bool, typer.Option("--loop", help=say("cli.loop"))] = False,
    text: Annotated[list[str] | None, typer.Option(help=say("cli.text"), metavar="TEXT", show_default=False)] = None,
    check: Annotated[bool, typer.Option("--check", help=say("cli.check"))] = False,
    record: Annotated[Path | None, typer.Option(help=say("cli.record"), metavar="DIR", show_default=False)] = None,
    demo_new: Annotated[Path | None, typer.Option(help=say("cli.demo_new"), metavar="FILE", show_default=False)] = None,
    list_demos: Annotated[
        bool, typer.Option("--list-demos", help=say("cli.list_demos"), is_eager=True, callback=_list_demos)
    ] = False,
    list_worked: Annotated[
        bool, typer.Option("--list-worked", help=say("cli.list_worked"), is_eager=True, callback=_list_worked)
    ] = False,
    list_models: Annotated[
        bool, typer.Option("--list-models", help=say("cli.list_models"), is_eager=True, callback=_list_models)
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help=say("cli.version"), is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Explore a text, or report on it where no terminal can be drawn on."""
    asked = Asked(
        texts or [],
        demo_new=demo_new,
        demo=demo,
        verify=verify,
        worked=worked,
        model=model,
        target=target or [],
        report=report,
        stage=stage,
        layer=layer,
        head=head,
        format=format_,
        output=output,
        theme=theme,
        memory=memory,
        speed=speed,
        from_=from_,
        loop=loop,
        text=text or [],
        check=check,
        record=record,
    )
    raise SystemExit(_do(asked))


def _do(asked: Asked) -> int:
    """Do what was asked for, and give the exit status. Whatever is wrong ends the program with a line that says so."""
    if asked.options:
        from tui.usage import misused

        if fault := misused(asked, say):
            terminal.fail(fault, terminal.USAGE)
    if asked.needs_text:
        asked.texts = terminal.texts_to_see(asked.texts, say, interactive=not asked.reports and terminal.has_terminal())
    _make_haste()
    from engine.errors import EngineError, FileError
    from tui import opening

    try:
        return opening.run(asked, say)
    except EngineError as error:
        code = terminal.UNUSABLE if isinstance(error, FileError) else terminal.USAGE
        terminal.fail(say.error(error.key, error.english, error.values), code)
    finally:
        gc.enable()


def _make_haste() -> None:
    """What keeps the import of all that is needed short; without it the first frame takes half as long again."""
    # Nothing that is imported is garbage; the explorer begins to look for some when its first frame stands.
    gc.disable()
    # While NumPy is imported, OpenBLAS starts its threads, which takes as long as all the rest of NumPy. The engine has
    # threads of its own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@cache
def options() -> typer.Typer:
    """What `explore` takes, as typer declares it. Texts alone need none of this, and typer takes its time to import."""
    global typer
    import typer

    app = typer.Typer(
        help=say("cli.help"),
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.command(help=say("cli.help"), epilog=say("cli.epilog"))(explore)
    return app


def main() -> None:
    """The console script: whatever is wrong is one line on standard error, and the exit status says of what kind."""
    if sys.stdout is None or sys.stderr is None:
        # Whoever started us has closed them. Nowhere stays open as long as the program runs.
        nowhere = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    try:
        code = _run(sys.argv[1:])
        sys.stdout.flush()
    except OSError as error:
        # Nothing more can be said there, not even at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        terminal.complain(say("cli.cannot_write", file="stdout", reason=say.phrase("reason", error.strerror)))
        code = terminal.UNUSABLE
    sys.exit(code)


def _run(words: list[str]) -> int:
    # Texts and nothing else need no parsing, for which typer 0.29 imports all of pydantic: together they are a fifth of
    # the way to the first frame.
    texts_only = words and COMPLETION not in os.environ and not any(word.startswith("-") for word in words)
    try:
        if texts_only:
            return _do(Asked(words))
        return options()(standalone_mode=False) or 0
    except SystemExit as end:
        return int(end.code or 0)
    except Exception as error:
        # Typer's faults say themselves what is wrong; which class they are of differs between its versions.
        if not hasattr(error, "format_message"):
            raise
        from tui.usage import misread

        terminal.complain(misread(error.format_message(), say))
        return terminal.USAGE
