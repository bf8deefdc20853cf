"""What the shell gives and takes: a terminal, texts, the exit status and the line that says why."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from tui.language import Language

SAMPLE_TEXT = "我爱你"
USAGE, UNUSABLE = 2, 1
# In bytes: more tokens than any model here takes. A pipe may never end.
INPUT_LIMIT = 1 << 20


def has_terminal() -> bool:
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


def keys_from_terminal() -> None:
    """Where the text came through a pipe, the keys come from the terminal itself."""
    if not sys.stdin.isatty():
        os.dup2(os.open("/dev/tty", os.O_RDWR), sys.stdin.fileno())


def texts_to_see(given: list[str], say: Language, *, interactive: bool) -> list[str]:
    """The texts to look at: the arguments, else standard input, else what the user agrees to."""
    if not given and not sys.stdin.isatty():
        given = [_read_input(say)]
    elif not given:
        given = [_offer_sample(say)] if interactive else fail(say("cli.no_text"), USAGE)
    for text in given:
        if not text.strip():
            fail(say("cli.blank_text"), USAGE)
    return given


def shown(text: str) -> str:
    """A text of the user's without what would act on the terminal."""
    from engine.text import visible

    return visible(text)


def fail(message: str, code: int) -> NoReturn:
    """End with a line on standard error."""
    complain(message)
    raise SystemExit(code)


def complain(message: str) -> None:
    """Say in a line on standard error what is wrong."""
    print(f"llm-explore: {message}", file=sys.stderr)


def _read_input(say: Language) -> str:
    data = sys.stdin.buffer.read(INPUT_LIMIT + 1)
    if len(data) > INPUT_LIMIT:
        fail(say("cli.input_too_long", limit=INPUT_LIMIT), USAGE)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"0x{data[error.start]:02x}"
        fail(say("cli.invalid_utf8", byte=byte, position=error.start + 1), USAGE)
    # A line ends as the system that wrote it ends lines.
    return text.replace("\r\n", "\n").removesuffix("\n").removesuffix("\r")


def _offer_sample(say: Language) -> str:
    import typer

    try:
        if typer.confirm(say("cli.offer", text=SAMPLE_TEXT), default=True, err=True):
            return SAMPLE_TEXT
    except typer.Abort:
        print(file=sys.stderr)
    return fail(say("cli.no_text"), USAGE)
