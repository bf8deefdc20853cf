"""What the way to the first frame does without: each of these would be felt."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

from tests.tui.exploring import Explore
from tui import cli

ROOT = Path(cli.__file__).parent.parent
SCRIPT = """
import gc, os, sys
sys.argv = ["llm-explore", "我爱你"]
from tui import cli, terminal
from textual.app import App

terminal.has_terminal = lambda: True
App.run = lambda app: print(sorted(sys.modules), gc.isenabled(), os.environ["OPENBLAS_NUM_THREADS"], sep="\\n")
cli.main()
"""


def test_texts_alone_need_no_parser_and_no_screen_but_the_first() -> None:
    terminal, keys = os.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, "-c", SCRIPT]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdin=keys, capture_output=True, text=True, check=True
        )
    finally:
        os.close(terminal)
        os.close(keys)
    modules, collecting, blas_threads = done.stdout.splitlines()
    assert "'tui.screens.explorer'" in modules
    assert "'numpy'" in modules
    for name in ("typer", "pydantic", "huggingface_hub", "tui.usage", "tui.screens.help", "tui.screens.predictions"):
        assert f"'{name}'" not in modules
    assert (collecting, blas_threads) == ("False", "1")


async def test_garbage_is_collected_again_once_the_first_frame_stands(explore: Explore) -> None:
    gc.disable()
    try:
        async with explore("我爱你"):
            assert gc.isenabled()
    finally:
        gc.unfreeze()
        gc.enable()
