"""The command line: arguments only. What they ask for is imported when they are known to be good."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tui.language import LANGUAGES, language, locale_language

if TYPE_CHECKING:
    from engine.model import Model
    from engine.trace import Trace

SAMPLE_TEXT, SAMPLE_MODEL = "我爱你", "tiny-gpt"
USAGE, UNUSABLE = 2, 1


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
    for word, following in zip(words, [*words[1:], ""], strict=True):
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

        typer.echo(f"llm-explore {version('llm-explore')}")
        raise typer.Exit


def _list_models(asked: bool) -> None:
    if asked:
        from tui.report.models import listing

        typer.echo(listing(say))
        raise typer.Exit


app = typer.Typer(
    help=say("cli.help"),
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command(help=say("cli.help"), epilog=say("cli.epilog"))
def explore(
    texts: Annotated[list[str] | None, typer.Argument(help=say("cli.texts"), show_default=False)] = None,
    model: Annotated[
        str, typer.Option("--model", "-m", help=say("cli.model"), metavar="NAME|DIR", autocompletion=_models)
    ] = SAMPLE_MODEL,
    report: Annotated[bool, typer.Option("--report", help=say("cli.report"))] = False,
    stage: Annotated[str | None, typer.Option(help=say("cli.stage"), metavar="NAME", show_default=False)] = None,
    layer: Annotated[int | None, typer.Option(help=say("cli.layer"), show_default=False)] = None,
    head: Annotated[int | None, typer.Option(help=say("cli.head"), show_default=False)] = None,
    format_: Annotated[Format, typer.Option("--format", help=say("cli.format"))] = Format.TEXT,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=say("cli.output"), metavar="FILE", show_default=False)
    ] = None,
    lang: Annotated[Code | None, typer.Option(help=say("cli.lang"), show_default=False)] = None,
    theme: Annotated[Theme, typer.Option(help=say("cli.theme"))] = Theme.DARK,
    memory: Annotated[int, typer.Option(help=say("cli.memory"), metavar="MIB", min=1)] = 1024,
    list_models: Annotated[
        bool, typer.Option("--list-models", help=say("cli.list_models"), is_eager=True, callback=_list_models)
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help=say("cli.version"), is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Explore a text, or report on it where no terminal can be drawn on."""
    plain = report or format_ is not Format.TEXT or output is not None or not _has_terminal()
    given = _texts(texts or [], interactive=not plain)
    from engine.errors import EngineError, FileError

    try:
        opened, trace = _open(model, given, memory)
        if plain:
            _report(opened, trace, stage, layer, head, format_, output)
        else:
            _explore(opened, trace, stage, layer, head, theme, memory)
    except EngineError as error:
        _fail(say.error(error.key, error.english, error.values), UNUSABLE if isinstance(error, FileError) else USAGE)


def _open(name: str, texts: list[str], memory: int) -> tuple[Model, Trace]:
    from engine.model import load

    model = load(name)
    return model, model.trace(texts, memory=memory << 20)


def _report(
    model: Model,
    trace: Trace,
    stage: str | None,
    layer: int | None,
    head: int | None,
    format_: Format,
    output: Path | None,
) -> None:
    from tui.report import write
    from tui.report.selection import select

    chosen = select(trace, stage, layer, head)
    if format_ is Format.NPZ and output is None:
        _fail(say("cli.npz_needs_output"), USAGE)
    try:
        write(model, trace, chosen, format_.value, output, say)
    except BrokenPipeError:
        # The reader, `head` for one, has seen enough. Python must not try to flush what is left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        _fail(say("cli.cannot_write", file=_shown(str(output or "stdout")), reason=error.strerror or error), UNUSABLE)


def _explore(
    model: Model,
    trace: Trace,
    stage: str | None,
    layer: int | None,
    head: int | None,
    theme: Theme,
    memory: int,
) -> None:
    from tui.report.selection import select

    chosen = select(trace, stage, layer, head)
    first = chosen.stages[0] if stage is not None or layer is not None else trace.stages[0]
    from tui.app import ExploreApp
    from tui.session import Session

    session = Session(model, trace, memory << 20)
    session.go(first)
    if head is not None:
        session.positions["H"] = head
    if not sys.stdin.isatty():
        # The text came through a pipe; the keys come from the terminal itself.
        os.dup2(os.open("/dev/tty", os.O_RDWR), sys.stdin.fileno())
    explorer = ExploreApp(session, say, theme.value)
    explorer.run()
    raise typer.Exit(explorer.return_code or 0)


def _texts(given: list[str], interactive: bool) -> list[str]:
    """The texts to look at: the arguments, else standard input, else what the user agrees to."""
    if not given and not sys.stdin.isatty():
        given = [_read_input()]
    elif not given:
        given = [_offer_sample()] if interactive else _fail(say("cli.no_text"), USAGE)
    for text in given:
        if not text.strip():
            _fail(say("cli.blank_text"), USAGE)
        if any("\ud800" <= character <= "\udfff" for character in text):
            _fail(say("cli.invalid_utf8", source=say("cli.argument")), USAGE)
    return given


def _read_input() -> str:
    data = sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        source = say("cli.stdin", byte=f"0x{data[error.start]:02x}", position=error.start)
        _fail(say("cli.invalid_utf8", source=source), USAGE)
    return text.removesuffix("\n").removesuffix("\r")


def _offer_sample() -> str:
    try:
        if typer.confirm(say("cli.offer", text=SAMPLE_TEXT), default=True, err=True):
            return SAMPLE_TEXT
    except typer.Abort:
        typer.echo(err=True)
    return _fail(say("cli.no_text"), USAGE)


def _has_terminal() -> bool:
    """Whether the explorer can draw and hear keys. Textual draws on standard error; keys may come from /dev/tty."""
    if os.environ.get("TERM", "dumb") in ("", "dumb") or not (sys.stdout.isatty() and sys.stderr.isatty()):
        return False
    if sys.stdin.isatty():
        return True
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return False
    return True


def _shown(text: str) -> str:
    from engine.text import visible

    return visible(text)


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(f"llm-explore: {message}", err=True)
    raise typer.Exit(code)


def main() -> None:
    """The console script."""
    app()
