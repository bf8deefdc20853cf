"""The command line: arguments only. What they ask for is imported when they are known to be good."""

from __future__ import annotations

import gc
import os
import sys
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

from tui.language import LANGUAGES, language, locale_language

if TYPE_CHECKING:
    import typer

    from engine.model import Model
    from engine.trace import Trace
    from engine.worked import Worked

SAMPLE_TEXT, SAMPLE_MODEL = "我爱你", "tiny-gpt"
USAGE, UNUSABLE = 2, 1
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
        str, typer.Option("--model", "-m", help=say("cli.model"), metavar="NAME|DIR", autocompletion=_models)
    ] = SAMPLE_MODEL,
    target: Annotated[
        list[str] | None, typer.Option(help=say("cli.target"), metavar="TEXT", show_default=False)
    ] = None,
    report: Annotated[bool, typer.Option("--report", help=say("cli.report"))] = False,
    stage: Annotated[str | None, typer.Option(help=say("cli.stage"), metavar="NAME", show_default=False)] = None,
    layer: Annotated[int | None, typer.Option(help=say("cli.layer"), show_default=False)] = None,
    head: Annotated[int | None, typer.Option(help=say("cli.head"), show_default=False)] = None,
    format_: Annotated[Format, typer.Option("--format", help=say("cli.format"))] = Format.TEXT,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=say("cli.output"), metavar="FILE", show_default=False)
    ] = None,
    verify: Annotated[Path | None, typer.Option(help=say("cli.verify"), metavar="FILE", show_default=False)] = None,
    lang: Annotated[Code | None, typer.Option(help=say("cli.lang"), show_default=False)] = None,
    theme: Annotated[Theme, typer.Option(help=say("cli.theme"))] = Theme.DARK,
    memory: Annotated[int, typer.Option(help=say("cli.memory"), metavar="MIB", min=1)] = 1024,
    worked: Annotated[
        str | None,
        typer.Option(help=say("cli.worked"), metavar="NAME|FILE", show_default=False, autocompletion=_worked_names),
    ] = None,
    demo: Annotated[
        str | None,
        typer.Option(help=say("cli.demo"), metavar="NAME|FILE", show_default=False, autocompletion=_demo_names),
    ] = None,
    speed: Annotated[float, typer.Option(help=say("cli.speed"), min=0.1, max=100.0)] = 1.0,
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
    plain = report or format_ is not Format.TEXT or output is not None or not _has_terminal()
    named = {"--worked": worked, "--demo": demo, "--demo-new": demo_new, "--verify": verify}
    without_text = next((option for option, value in named.items() if value is not None), None)
    if without_text and texts:
        _fail(say("cli.text_beside", option=without_text, text=_shown(texts[0])), USAGE)
    for_demos = {"--check": check, "--record": record, "--from": from_, "--loop": loop, "--text": text}
    misplaced = next((option for option, value in for_demos.items() if value and demo is None), None)
    if misplaced:
        _fail(say("cli.only_demo", option=misplaced), USAGE)
    given = [] if without_text else _texts(texts or [], interactive=not plain)
    _make_haste()
    from engine.errors import EngineError, FileError

    try:
        if demo is not None or demo_new is not None:
            from tui.demo.commands import Wish, run

            wish = Wish(demo, demo_new, check, record, text or None, speed, from_, loop, theme.value, memory << 20)
            raise SystemExit(run(wish, say, _load, has_terminal=_has_terminal()))
        if worked is not None:
            from engine.worked import load_worked

            example = load_worked(worked, memory << 20)
            if plain:
                _report(example, example.trace, stage, layer, head, format_, output)
            else:
                _explore(example, example.trace, stage, layer, head, theme, memory)
            return
        opened = _load(model)
        if verify is not None:
            _verify(opened, verify)
        trace = opened.trace(given, targets=target or None, memory=memory << 20)
        if plain:
            from engine.generation import translated

            trace = translated(opened, trace, memory << 20)
            _report(opened, trace, stage, layer, head, format_, output)
        else:
            _explore(opened, trace, stage, layer, head, theme, memory)
    except EngineError as error:
        _fail(say.error(error.key, error.english, error.values), UNUSABLE if isinstance(error, FileError) else USAGE)
    finally:
        gc.enable()


def _make_haste() -> None:
    """What keeps the import of all that is needed short; without it the first frame takes half as long again."""
    # Nothing that is imported is garbage; the explorer begins to look for some when its first frame stands.
    gc.disable()
    # While NumPy is imported, OpenBLAS starts its threads, which takes as long as all the rest of NumPy. The engine has
    # threads of its own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _load(name: str) -> Model:
    """The model of a name, with a bar on the terminal while it is downloaded."""
    from engine.model import load

    if not sys.stderr.isatty():
        return load(name)
    from tui.download import Download

    with Download(name, say) as download:
        return load(name, download.progress)


def _verify(model: Model, expected: Path) -> NoReturn:
    from engine.verify import verify
    from tui.report.verify import table

    checks = verify(model, expected)
    print(table(model, expected, checks, say))
    raise SystemExit(0 if all(check.agrees for check in checks) else UNUSABLE)


def _report(
    model: Model | Worked,
    trace: Trace,
    stage: str | None,
    layer: int | None,
    head: int | None,
    format_: Format,
    output: Path | None,
) -> None:
    gc.enable()
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
    model: Model | Worked,
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
    raise SystemExit(explorer.return_code or 0)


def _texts(given: list[str], interactive: bool) -> list[str]:
    """The texts to look at: the arguments, else standard input, else what the user agrees to."""
    if not given and not sys.stdin.isatty():
        given = [_read_input()]
    elif not given:
        given = [_offer_sample()] if interactive else _fail(say("cli.no_text"), USAGE)
    for text in given:
        if not text.strip():
            _fail(say("cli.blank_text"), USAGE)
    return given


def _read_input() -> str:
    data = sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"0x{data[error.start]:02x}"
        _fail(say("cli.invalid_utf8", byte=byte, position=error.start + 1), USAGE)
    return text.removesuffix("\n").removesuffix("\r")


def _offer_sample() -> str:
    import typer

    try:
        if typer.confirm(say("cli.offer", text=SAMPLE_TEXT), default=True, err=True):
            return SAMPLE_TEXT
    except typer.Abort:
        print(file=sys.stderr)
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
    _complain(message)
    raise SystemExit(code)


def _complain(message: str) -> None:
    print(f"llm-explore: {message}", file=sys.stderr)


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
        _complain(say("cli.cannot_write", file="stdout", reason=error.strerror))
        code = UNUSABLE
    sys.exit(code)


def _run(words: list[str]) -> int:
    # Texts and nothing else need no parsing, for which typer 0.29 imports all of pydantic: together they are a fifth of
    # the way to the first frame.
    texts_only = words and COMPLETION not in os.environ and not any(word.startswith("-") for word in words)
    try:
        if texts_only:
            explore(words)
            return 0
        return options()(standalone_mode=False) or 0
    except SystemExit as end:
        return int(end.code or 0)
    except Exception as error:
        # Typer's faults say themselves what is wrong; which class they are of differs between its versions.
        if not hasattr(error, "format_message"):
            raise
        _complain(say("cli.usage", message=error.format_message()))
        return USAGE
