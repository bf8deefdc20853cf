"""How fast a whole trace of the sample model computes against transformers on the same weights.

    python tests/benchmarks/bench_trace.py --reference /path/to/python [--runs 9] [--tokens 1000]

The reference interpreter (or the environment variable LLM_EXPLORE_REFERENCE) must have torch and transformers; without
one there is nothing to compare with. It runs the eager implementation with attentions and hidden states and no
gradients, on two threads and on as many as torch itself chooses. Our side computes every stage of a new trace, all of
it kept. Target: 1.5.
"""

from __future__ import annotations

import argparse
import random
import time

from measure import Seconds, interleaved, long_model, report
from reference import add_option, reference

from engine.model import load


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(options)
    options.add_argument("--runs", type=int, default=9)
    options.add_argument("--tokens", type=int, default=1000)
    chosen = options.parse_args()
    with long_model(max(1024, chosen.tokens)) as folder, reference(chosen.reference, folder) as theirs:
        model = load(folder)
        ids = random.Random(0).choices(range(4, model.spec.vocabulary), k=chosen.tokens)

        def ours() -> Seconds:
            start = time.perf_counter()
            trace = model.trace(ids=ids)
            trace.compute(trace.stages)
            return time.perf_counter() - start

        name, two, own = "llm-explore, every stage", "transformers, 2 threads", "transformers, its own choice"
        cases = {
            two: lambda: theirs(2, "everything", ids),
            name: ours,
            own: lambda: theirs(0, "everything", ids),
        }
        times = interleaved(chosen.runs, cases, warm=2)
        for base in (two, own):
            report(f"Whole trace of {chosen.tokens} tokens", times, name, base, 1.5)


if __name__ == "__main__":
    main()
