"""How fast the program starts.

    python tests/benchmarks/bench_startup.py [--runs 15]

1. The first frame of ``llm-explore "我爱你"``, in a real terminal, against that of a Textual app with one Static:
   from the start of the process until what is to be seen has been written. Target: 2.0.
2. ``llm-explore --help`` against ``python -c "import typer"``. Target: 2.5.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pexpect
from measure import Seconds, installed_environment, interleaved, report

EMPTY = """
from textual.app import App, ComposeResult
from textual.widgets import Static


class Empty(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("first frame")


Empty().run()
"""

PROGRAM = str(Path(sys.executable).with_name("llm-explore"))
SIZE = (30, 100)


def first_frame(command: list[str], seen: str, environment: dict[str, str]) -> Seconds:
    """From the start of a program until ``seen`` stands on its terminal."""
    start = time.perf_counter()
    program = pexpect.spawn(command[0], command[1:], env=environment, dimensions=SIZE, timeout=60, encoding="utf-8")
    program.expect_exact(seen)
    seconds = time.perf_counter() - start
    program.close(force=True)
    return seconds


def whole_run(command: list[str], environment: dict[str, str]) -> Seconds:
    """A program from start to end."""
    start = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=15)
    runs = options.parse_args().runs
    with installed_environment() as environment, tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.py"
        empty.write_text(EMPTY, "utf-8")
        frames = {
            "empty Textual app": lambda: first_frame([sys.executable, str(empty)], "first frame", environment),
            # The equation of the first stage is the last that is drawn.
            'llm-explore "我爱你"': lambda: first_frame([PROGRAM, "我爱你"], "tokenizer(", environment),
        }
        report("First frame", interleaved(runs, frames, warm=2), 'llm-explore "我爱你"', "empty Textual app", 2.0)
        whole = {
            'python -c "import typer"': lambda: whole_run([sys.executable, "-c", "import typer"], environment),
            "llm-explore --help": lambda: whole_run([PROGRAM, "--help"], environment),
        }
        report("Help", interleaved(runs, whole), "llm-explore --help", 'python -c "import typer"', 2.5)


if __name__ == "__main__":
    main()
