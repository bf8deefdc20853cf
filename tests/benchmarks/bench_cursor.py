"""How much a key that moves the cell cursor costs in a large matrix against a small one.

    python tests/benchmarks/bench_cursor.py [--runs 25] [--tokens 1000] [--few 20]

Two explorers of one size run side by side, headless: one at the attention scores of a text of 1,000 tokens, one at
those of 20. The same keys move the cursor inside the window of both in turns. What is compared is the processor time
from the key until everything that it changed has been painted, since a frame is drawn at the next sixtieth of a second
however little there is to do. Target: 2.0. Keys that scroll the large matrix are shown beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from measure import Seconds, long_model, report
from textual.pilot import Pilot

from engine.model import load
from tui.app import ExploreApp
from tui.language import language
from tui.screens.explorer import Explorer
from tui.session import Session

SIZE = (120, 40)
STAGE = "layers.0.attention.scores"
# Longer than a key takes and a frame waits.
SETTLED = 0.15


class Opened:
    """An explorer at the scores of so many tokens, in the middle of its window."""

    def __init__(self, pilot: Pilot[int], screen: Explorer) -> None:
        self.pilot, self.screen = pilot, screen
        self.frames = 0
        paint = screen._compositor_refresh

        def counted() -> None:
            self.frames += 1
            paint()

        screen._compositor_refresh = counted  # type: ignore[method-assign]

    async def key(self, key: str) -> Seconds:
        """The processor time that a key takes until the screen is at rest."""
        before, frames = self.screen.session.cell, self.frames
        start = time.thread_time()
        self.pilot.app.simulate_key(key)
        await asyncio.sleep(SETTLED)
        seconds = time.thread_time() - start
        assert self.screen.session.cell != before, f"{key} did not move the cursor"
        assert self.frames > frames, f"{key} was not painted"
        return seconds


@asynccontextmanager
async def explorer(folder: Path, tokens: int) -> AsyncIterator[Opened]:
    """The program itself, at the scores."""
    model = load(folder)
    ids = random.Random(0).choices(range(4, model.spec.vocabulary), k=tokens)
    session = Session(model, model.trace(ids=ids), 1 << 30)
    session.go(session.trace[STAGE])
    async with ExploreApp(session, language("en")).run_test(size=SIZE) as pilot:
        await pilot.app.workers.wait_for_complete()
        await pilot.pause(SETTLED)
        screen = pilot.app.screen
        assert isinstance(screen, Explorer)
        session.move_to(tokens // 2, tokens // 2)
        screen._moved()
        await pilot.pause(SETTLED)
        # Away from the edges of the window, so that the keys that are measured need not scroll.
        for key in ("up", "up", "h", "h"):
            await pilot.press(key)
        yield Opened(pilot, screen)


async def measured(runs: int, few: int, many: int) -> dict[str, list[Seconds]]:
    times: dict[str, list[Seconds]] = {f"{n}×{n}": [] for n in (few, many)}
    scrolled: list[Seconds] = []
    with long_model(many) as folder:
        async with explorer(folder, few) as small, explorer(folder, many) as large:
            for round_ in range(runs + 1):
                for key in ("j", "l", "k", "h"):
                    for name, opened in zip(times, (small, large), strict=True):
                        seconds = await opened.key(key)
                        if round_:
                            times[name].append(seconds)
            for _ in range(runs):
                scrolled += [await large.key("pagedown"), await large.key("pageup")]
    times["pages"] = scrolled
    return times


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=25)
    options.add_argument("--tokens", type=int, default=1000)
    options.add_argument("--few", type=int, default=20)
    chosen = options.parse_args()
    times = asyncio.run(measured(chosen.runs, chosen.few, chosen.tokens))
    small, large, _ = times
    report("A key that moves the cursor", times, large, small, 2.0)
    pages = times["pages"]
    print(f"  a page in {large}: median {1e3 * statistics.median(pages):.2f} ms, min {1e3 * min(pages):.2f} ms")


if __name__ == "__main__":
    main()
