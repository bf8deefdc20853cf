"""How fast a whole trace computes against transformers on the same weights.

    python tests/benchmarks/bench_trace.py --reference /path/to/python [--runs 9] [--tokens 1000]

The reference interpreter (or the environment variable LLM_EXPLORE_REFERENCE) must have torch and transformers; without
one there is nothing to compare with. It runs the eager implementation with attentions and hidden states and no
gradients, on two threads and on as many as torch itself chooses. Our side computes every stage of a new trace, all of
it kept. Target: 1.5.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from measure import Seconds, installed_environment, interleaved, long_model, report

from engine.model import load

# One line with a number of threads (0: as torch chooses) → one line with the seconds of a run.
REFERENCE = """
import json, sys, time
import torch, transformers

folder, ids = sys.argv[1], json.loads(sys.argv[2])
own = torch.get_num_threads()
model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
model.eval()
ids = torch.tensor([ids])
print("ready", flush=True)
for line in sys.stdin:
    torch.set_num_threads(int(line) or own)
    with torch.no_grad():
        start = time.perf_counter()
        result = model(ids, output_attentions=True, output_hidden_states=True, use_cache=False)
        seconds = time.perf_counter() - start
    assert len(result.attentions) == model.config.num_hidden_layers
    del result
    print(seconds, flush=True)
"""


@contextmanager
def reference(python: str, folder: Path, ids: list[int]) -> Iterator[Callable[[int], Seconds]]:
    """Runs of transformers in a process of its own, on a given number of threads."""
    with (
        installed_environment() as environment,
        subprocess.Popen(
            [python, "-c", REFERENCE, str(folder), json.dumps(ids)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment | {"HF_HUB_OFFLINE": "1"},
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        told, said = process.stdin, process.stdout
        if said.readline() != "ready\n":
            raise SystemExit(f"{python} cannot run the reference: it needs torch and transformers")

        def run(threads: int) -> Seconds:
            told.write(f"{threads}\n")
            told.flush()
            return float(said.readline())

        yield run
        told.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--reference", default=os.environ.get("LLM_EXPLORE_REFERENCE", ""))
    options.add_argument("--runs", type=int, default=9)
    options.add_argument("--tokens", type=int, default=1000)
    chosen = options.parse_args()
    if not chosen.reference:
        sys.exit("no reference interpreter given (--reference or LLM_EXPLORE_REFERENCE): skipped")
    with long_model(max(1024, chosen.tokens)) as folder:
        model = load(folder)
        ids = random.Random(0).choices(range(4, model.spec.vocabulary), k=chosen.tokens)

        def ours() -> Seconds:
            start = time.perf_counter()
            trace = model.trace(ids=ids)
            trace.compute(trace.stages)
            return time.perf_counter() - start

        with reference(chosen.reference, folder, ids) as theirs:
            name, two, own = "llm-explore, every stage", "transformers, 2 threads", "transformers, its own choice"
            times = interleaved(chosen.runs, {two: lambda: theirs(2), name: ours, own: lambda: theirs(0)}, warm=2)
        for base in (two, own):
            report(f"Whole trace of {chosen.tokens} tokens", times, name, base, 1.5)


if __name__ == "__main__":
    main()
