"""What the benchmarks share: cases measured in turns in one run, and their ratio beside the target.

A machine's speed changes from one minute to the next, so the two sides of a ratio take turns, and the ratio is that of
their medians (and, less sensitive to what else the machine is doing, of their minimums).
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from engine.model import shipped_models

Seconds = float


def interleaved(runs: int, cases: Mapping[str, Callable[[], Seconds]], warm: int = 1) -> dict[str, list[Seconds]]:
    """The times of each case, ``runs`` of them, taken in turns; ``warm`` rounds before them are not counted."""
    times: dict[str, list[Seconds]] = {name: [] for name in cases}
    for round_ in range(warm + runs):
        for name, case in cases.items():
            seconds = case()
            if round_ >= warm:
                times[name].append(seconds)
    return times


def report(title: str, times: Mapping[str, list[Seconds]], ours: str, base: str, target: float) -> None:
    """Print both sides of a ratio, the ratio by medians and by minimums, and the target beside it."""
    print(title)
    for name in (base, ours):
        found = times[name]
        middle, least = statistics.median(found), min(found)
        print(f"  {name:<44} median {1e3 * middle:8.2f} ms   min {1e3 * least:8.2f} ms   of {len(found)}")
    by_median = statistics.median(times[ours]) / statistics.median(times[base])
    by_minimum = min(times[ours]) / min(times[base])
    verdict = "ok" if by_median <= target else "ok by minimums only" if by_minimum <= target else "TOO SLOW"
    print(
        f"  {'ratio':<44} median {by_median:8.2f}      min {by_minimum:8.2f}      target ≤ {target:.2f}   {verdict}\n"
    )


@contextmanager
def long_model(positions: int) -> Iterator[Path]:
    """The sample model in a temporary folder, with so many positions: rotary ones need no weights."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tiny-gpt"
        shutil.copytree(shipped_models()["tiny-gpt"], copy)
        config = json.loads((copy / "config.json").read_text("utf-8"))
        config["max_position_embeddings"] = positions
        (copy / "config.json").write_text(json.dumps(config), "utf-8")
        yield copy


@contextmanager
def installed_environment() -> Iterator[dict[str, str]]:
    """The environment in which an installed program runs: byte code is kept, nothing about BLAS is set by hand."""
    with tempfile.TemporaryDirectory() as cache:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("OPENBLAS_", "OMP_", "MKL_")) and name != "PYTHONDONTWRITEBYTECODE"
        }
        terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "zh_CN.UTF-8", "LC_ALL": "zh_CN.UTF-8"}
        yield {**kept, **terminal, "PYTHONPYCACHEPREFIX": cache}
