"""How fast a model of the shape of GPT-2 small computes, against transformers on the same weights and threads.

    python tests/benchmarks/bench_gpt2_small.py --reference /path/to/python [--runs 9]

The reference interpreter (or the environment variable LLM_EXPLORE_REFERENCE) must have torch and transformers; without
one there is nothing to compare with. The checkpoint is made in a temporary folder: 124 million random weights, 500 MB.
Both sides run on two threads (those of a machine with more processors are kept to two of them).

1. Every stage of a trace of 128 and of 512 tokens, all of them kept, against the eager implementation with attentions
   and hidden states. Target: 1.1.
2. The probabilities at the last of 128 tokens, nothing else kept, against ``model(ids).logits[:, -1]``. Target: 0.9.
3. From opening the checkpoint until the numbers of the first stages are there, against the trace of 128 tokens.
   Target: 0.1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from measure import Seconds, interleaved, report
from reference import add_option, reference
from safetensors.numpy import save_file

from engine.model import Model, load

VOCABULARY, POSITIONS, WIDTH, LAYERS, HEADS = 50257, 1024, 768, 12, 12
OURS, THEIRS = "llm-explore", "transformers"
# A trace of 512 tokens is larger than what is kept of one where nobody asks for more.
MEMORY = 1 << 31


def write_checkpoint(folder: Path) -> None:
    """Write config.json and model.safetensors with random weights."""
    numbers = np.random.default_rng(0)

    def drawn(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return numbers.standard_normal(shape, np.float32) * np.float32(0.02)

    tensors = {"wte.weight": drawn(VOCABULARY, WIDTH), "wpe.weight": drawn(POSITIONS, WIDTH)}
    matrices = {
        "attn.c_attn": (WIDTH, 3 * WIDTH),
        "attn.c_proj": (WIDTH, WIDTH),
        "mlp.c_fc": (WIDTH, 4 * WIDTH),
        "mlp.c_proj": (4 * WIDTH, WIDTH),
    }
    norms = ["ln_f"]
    for layer in range(LAYERS):
        norms += [f"h.{layer}.ln_1", f"h.{layer}.ln_2"]
        for name, shape in matrices.items():
            tensors |= {f"h.{layer}.{name}.weight": drawn(*shape), f"h.{layer}.{name}.bias": drawn(shape[1])}
    for name in norms:
        tensors |= {f"{name}.weight": 1.0 + drawn(WIDTH), f"{name}.bias": drawn(WIDTH)}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    config = {
        "model_type": "gpt2",
        "vocab_size": VOCABULARY,
        "n_positions": POSITIONS,
        "n_embd": WIDTH,
        "n_layer": LAYERS,
        "n_head": HEADS,
    }
    (folder / "config.json").write_text(json.dumps(config), "utf-8")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(options)
    options.add_argument("--runs", type=int, default=9)
    chosen = options.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_checkpoint(folder)
        model = load(folder)
        ids = random.Random(0).choices(range(VOCABULARY), k=512)
        short = ids[:128]
        with reference(chosen.reference, folder) as theirs:
            for some in (short, ids):
                both = compared(chosen.runs, partial(theirs, 2, "everything", some), partial(everything, model, some))
                report(f"Every stage of {len(some)} tokens", both, OURS, THEIRS, 1.1)
            both = compared(chosen.runs, partial(theirs, 2, "last", short), partial(last, model, short))
            report("The last of 128 tokens", both, OURS, THEIRS, 0.9)
        whole, opening = "every stage", "opening, first stages"
        cases = {whole: partial(timed, everything, model, short), opening: partial(timed, first, folder, short)}
        report("First stages of 128 tokens", interleaved(chosen.runs, cases, warm=2), opening, whole, 0.1)


def compared(runs: int, theirs: Callable[[], Seconds], ours: Callable[[], None]) -> dict[str, list[Seconds]]:
    """The times of both sides, in turns."""
    times: dict[str, list[Seconds]] = interleaved(runs, {THEIRS: theirs, OURS: partial(timed, ours)}, warm=2)
    return times


def timed(work: Callable[..., None], *arguments: object) -> Seconds:
    """How long something takes."""
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start


def everything(model: Model, ids: list[int]) -> None:
    trace = model.trace(ids=ids, memory=MEMORY)
    trace.compute(trace.stages)
    assert all(trace.is_kept(stage) for stage in trace)


def last(model: Model, ids: list[int]) -> None:
    model.trace(ids=ids, memory=0)["probabilities"].part((0, -1))


def first(folder: Path, ids: list[int]) -> None:
    trace = load(folder).trace(ids=ids)
    for name in ("tokens", "embedding", "positions", "embedded"):
        assert trace[name].value.size


if __name__ == "__main__":
    main()
