"""The other side of the ratios: transformers' eager implementation, in an interpreter that has it and torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from measure import Seconds, installed_environment

# Everything, as a trace has it: attentions and hidden states too. Or the logits at the last position alone.
What = Literal["everything", "last"]

# One line with a number of threads (0: as torch chooses), what is wanted, and ids → one line with the seconds of a run.
PROGRAM = """
import json, sys, time
import torch, transformers

own = torch.get_num_threads()
model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1], attn_implementation="eager", dtype=torch.float32)
model.eval()
print("ready", flush=True)
for line in sys.stdin:
    threads, what, ids = json.loads(line)
    torch.set_num_threads(threads or own)
    ids = torch.tensor([ids])
    with torch.no_grad():
        start = time.perf_counter()
        if what == "everything":
            result = model(ids, output_attentions=True, output_hidden_states=True, use_cache=False)
        else:
            result = model(ids).logits[:, -1]
        seconds = time.perf_counter() - start
    assert what != "everything" or len(result.attentions) == model.config.num_hidden_layers
    del result
    print(seconds, flush=True)
"""

Run = Callable[[int, What, Sequence[int]], Seconds]


def add_option(options: ArgumentParser) -> None:
    """The option that names the interpreter."""
    options.add_argument("--reference", default=os.environ.get("LLM_EXPLORE_REFERENCE", ""), metavar="PYTHON")


@contextmanager
def reference(python: str, folder: Path) -> Iterator[Run]:
    """Runs of a checkpoint in transformers, in a process of its own, on a given number of threads."""
    if not python:
        sys.exit("no reference interpreter given (--reference or LLM_EXPLORE_REFERENCE): skipped")
    with (
        installed_environment() as environment,
        subprocess.Popen(
            [python, "-c", PROGRAM, str(folder)],
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
            sys.exit(f"{python} cannot run the reference: it needs torch and transformers")

        def run(threads: int, what: What, ids: Sequence[int]) -> Seconds:
            told.write(json.dumps([threads, what, list(ids)]) + "\n")
            told.flush()
            return float(said.readline())

        yield run
        told.close()
