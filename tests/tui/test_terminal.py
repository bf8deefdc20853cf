"""The real program in a real terminal: what it draws, how it ends, and what it does in lesser terminals."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic

import pexpect
import pyte
import pytest

pytestmark = pytest.mark.terminal

ROOT = Path(__file__).parents[2]
SCRIPT = Path(sys.executable).with_name("llm-explore")
PROGRAM = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-c", "from tui.cli import main; main()"]
RIGHT = "\x1b[C"
PATIENCE = 20
# What a terminal is left with: the ordinary screen, a cursor, no reports of the mouse, no marks around pasted text.
RESTORED = ("\x1b[?1049l", "\x1b[?25h", "\x1b[?1000l", "\x1b[?1003l", "\x1b[?2004l")


class Terminal:
    """A terminal in which a command runs."""

    def __init__(self, command: Sequence[str], width: int, height: int, environment: dict[str, str]) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH", "VIRTUAL_ENV") if name in os.environ}
        defaults = {"LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.screen = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""
        self.child = pexpect.spawn(
            command[0],
            list(command[1:]),
            dimensions=(height, width),
            env={**kept, **defaults, **environment},
            cwd=str(ROOT),
            timeout=PATIENCE,
        )

    @property
    def lines(self) -> list[str]:
        """What is on the screen.

        The second cell of a wide character is empty, and so is half of one that was overwritten, over which pyte's own
        ``display`` stumbles.
        """
        cells = range(self.screen.columns)
        return ["".join(self.screen.buffer[y][x].data for x in cells) for y in range(self.screen.lines)]

    @property
    def text(self) -> str:
        """All that is on the screen."""
        return "\n".join(self.lines)

    @property
    def output(self) -> str:
        """All that has been written, escape sequences included."""
        return self.written.decode()

    def read(self) -> bool:
        """Take what has been written since; False at the end."""
        try:
            data = self.child.read_nonblocking(1 << 16, timeout=0.2)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.written += data
        self._stream.feed(data)
        return True

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something to be seen."""
        end = monotonic() + PATIENCE
        while not condition():
            assert monotonic() < end, f"it did not come to that:\n{self.text}"
            if not self.read():
                assert condition(), f"it ended before:\n{self.text}"

    def is_at(self, step: int) -> None:
        """Wait for the stage of a number, which is said in words or, where there is no room, in figures."""
        self.until(lambda: f"第 {step} 步" in self.text or f" {step}/" in self.text)

    def shows(self, text: str) -> None:
        """Wait for a text to be on the screen."""
        self.until(lambda: text in self.text)

    def press(self, keys: str) -> None:
        self.child.send(keys)

    def resize(self, width: int, height: int) -> None:
        self.child.setwinsize(height, width)
        self.screen.resize(height, width)
        self.screen.reset()

    def end(self) -> int:
        """Wait for the end; its exit status, or less than 0 where a signal ended it."""
        while self.read():
            pass
        self.child.close()
        status = self.child.exitstatus if self.child.signalstatus is None else -self.child.signalstatus
        return int(status)

    def is_restored(self) -> bool:
        """Whether what the program changed in the terminal was changed back, last of all."""
        return all(
            self.output.rfind(restoring) > self.output.rfind(restoring[:-1] + ("l" if restoring[-1] == "h" else "h"))
            for restoring in RESTORED
        )


@pytest.fixture
def run() -> Iterator[Callable[..., Terminal]]:
    """Runs the program with arguments, or a command, in a terminal."""
    started: list[Terminal] = []

    def start(
        *arguments: str, command: Sequence[str] = (), width: int = 80, height: int = 24, **environment: str
    ) -> Terminal:
        started.append(Terminal(command or [*PROGRAM, *arguments], width, height, environment))
        return started[-1]

    yield start
    for terminal in started:
        terminal.child.close(force=True)


Run = Callable[..., Terminal]


def column(terminal: Terminal, line: int, text: str) -> int:
    """The cell in which a text begins."""
    cells = terminal.screen.buffer[line]
    for x in range(terminal.screen.columns):
        if "".join(cells[i].data for i in range(x, terminal.screen.columns)).startswith(text) and cells[x].data:
            return x
    raise AssertionError(f"{text} is not in line {line}:\n{terminal.text}")


def test_a_sentence_is_explored_and_left(run: Run) -> None:
    terminal = run("我爱你", "--lang", "zh")
    terminal.is_at(1)
    terminal.shows("。 70%")
    assert "按 → 一步一步走过模型" in terminal.text
    # Every token stands over its id, two cells a character.
    assert [column(terminal, 1, token) for token in "我爱你"] == [2, 7, 12]
    assert [column(terminal, 2, id) for id in ("1381", "1983", "507")] == [1, 6, 11]
    for step in range(2, 13):
        terminal.press(RIGHT)
        terminal.is_at(step)
    assert "scores   B×H×N×M = 1×4×3×3" in terminal.text
    terminal.until(lambda: "scores = Q′·K′ᵀ" in terminal.text and "scores[头 0, 你, 我] = −4.729" in terminal.text)
    # The result's numbers end in the same cells in every row, whatever stands before them.
    numbers = ("11.91", "−5.11", "15.03")
    rows = [next(y for y, line in enumerate(terminal.lines) if number in line) for number in numbers]
    assert len({column(terminal, y, number) + len(number) for y, number in zip(rows, numbers, strict=True)}) == 1
    terminal.press("q")
    assert terminal.end() == 0
    assert terminal.is_restored()


def test_a_signal_to_end_restores_the_terminal(run: Run) -> None:
    terminal = run("我爱你")
    terminal.shows("1 of ")
    terminal.child.kill(signal.SIGTERM)
    assert terminal.end() in (143, -signal.SIGTERM)
    assert terminal.is_restored()
    assert "Traceback" not in terminal.output


def test_text_from_a_pipe_and_keys_from_the_terminal(run: Run) -> None:
    terminal = run(command=["sh", "-c", f"echo 我爱你 | {shlex.join(PROGRAM)} --lang zh"])
    terminal.is_at(1)
    terminal.until(lambda: "1983" in terminal.lines[2])
    assert column(terminal, 1, "爱") == 7
    terminal.press(RIGHT)
    terminal.is_at(2)
    terminal.press("q")
    assert terminal.end() == 0
    assert terminal.is_restored()


def test_another_size(run: Run) -> None:
    terminal = run("我爱你", "--lang", "zh", "--stage", "layers.0.attention.scores")
    terminal.is_at(12)
    terminal.resize(40, 12)
    terminal.shows("scores B×H×N×M = 1×4×3×3 12/")
    terminal.resize(120, 40)
    # There is room for the tree now.
    terminal.shows("层 1 · 注意力")
    terminal.press(RIGHT)
    terminal.is_at(13)
    terminal.press("q")
    assert terminal.end() == 0


class TestColours:
    """Colours as the terminal has them."""

    FULL, OF_256, OF_16 = r"[34]8;2;(\d+);(\d+);(\d+)", r"[34]8;5;\d+", r"\x1b\[(?:\d+;)*(?:[349][0-7]|10[0-7])[m;]"

    def drawn(self, run: Run, **environment: str) -> str:
        terminal = run("我爱你", "--lang", "zh", "--stage", "layers.0.attention.q", **environment)
        terminal.is_at(4)
        terminal.shows("Q[你, 0]")
        terminal.press("q")
        assert terminal.end() == 0
        assert terminal.is_restored()
        assert "我" in terminal.output
        return terminal.output

    def test_24_bits(self, run: Run) -> None:
        drawn = self.drawn(run)
        assert len(set(re.findall(self.FULL, drawn))) > 20

    def test_256(self, run: Run) -> None:
        drawn = self.drawn(run, TERM="xterm-256color", COLORTERM="")
        assert len(set(re.findall(self.OF_256, drawn))) > 10
        assert not re.search(self.FULL, drawn)

    def test_16(self, run: Run) -> None:
        drawn = self.drawn(run, TERM="xterm", COLORTERM="")
        assert re.search(self.OF_16, drawn)
        assert not re.search(self.FULL, drawn)
        assert not re.search(self.OF_256, drawn)

    def test_none(self, run: Run) -> None:
        drawn = self.drawn(run, NO_COLOR="1")
        assert all(red == green == blue for red, green, blue in re.findall(self.FULL, drawn))
        # What colours cannot say is written: a sign and a digit.
        assert re.search(r"[+−]\d[+−]\d[+−]\d", re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", drawn))


def test_a_terminal_that_cannot_be_drawn_on_gets_the_report(run: Run) -> None:
    terminal = run("我爱你", "--lang", "zh", "--stage", "layers.0.attention.scores", TERM="dumb")
    assert terminal.end() == 0
    assert "\x1b" not in terminal.output
    assert "layers.0.attention.scores" in terminal.output
    assert "−4.73" in terminal.output
