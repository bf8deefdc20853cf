"""How long a checkpoint of the size of Llama 2 7B takes to its first stages, and how much memory it ever takes.

    python tests/benchmarks/bench_seven_billion.py [--layers 32] [--tokens 3]

The checkpoint is made in a temporary folder: three bfloat16 shards with an index, 13.5 GB that take no room on the
disk, for they are sparse and every number is 0. A process of its own opens it, looks at the first stages, and walks the
residual stream layer by layer to the probabilities. Targets: first stages within 3 s of the start of the process, and
never more than 1.5 GB of memory, pages of the mapped files included.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SECONDS, BYTES = 3.0, 1.5e9

WIDTH, INNER, HEADS, VOCABULARY, SHARDS = 4096, 11008, 32, 32000, 3

WALK = """
import json, resource, sys, time
start = float(sys.argv[3])

def tell(what):
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([what, time.time() - start, peak]), flush=True)

from engine.model import load
model = load(sys.argv[1])
trace = model.trace(ids=list(range(1, 1 + int(sys.argv[2]))))
for name in ("embedding", "layers.0.attention.q", "layers.0.attention.k", "layers.0.attention.weights"):
    trace[name].value
tell("first stages")
for stage in trace.stages:
    if stage.name.endswith(".mlp.residual"):
        stage.value
        tell(f"layer {stage.layer}")
trace["probabilities"].value
tell("probabilities")
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--layers", type=int, default=32)
    options.add_argument("--tokens", type=int, default=3)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        size = write_checkpoint(Path(folder), chosen.layers)
        print(f"Llama of {size / 2e9:.1f} billion parameters, {size / 1e9:.1f} GB, {chosen.tokens} tokens")
        steps = list(walk(Path(folder), chosen.tokens))
    for what, seconds, peak in (steps[0], *steps[1:-1:8], steps[-1]):
        print(f"  {what:<44} after {seconds:7.2f} s   memory at most {peak / 1e9:5.2f} GB")
    verdict("seconds until the first stages", steps[0][1], SECONDS)
    verdict("GB of memory at most", steps[-1][2] / 1e9, BYTES / 1e9)


def verdict(what: str, found: float, most: float) -> None:
    print(f"  {what:<44} {found:8.2f}   target < {most:.1f}   {'ok' if found < most else 'TOO MUCH'}")


def walk(folder: Path, tokens: int) -> Iterator[tuple[str, float, float]]:
    """What the process has done, the seconds since its start, and the most memory it has had so far."""
    command = [sys.executable, "-c", WALK, str(folder), str(tokens), str(time.time())]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        what, seconds, peak = json.loads(line)
        yield what, seconds, peak


def write_checkpoint(folder: Path, layers: int) -> int:
    """Write config.json, an index, and shards that are nothing but a header and a length; gives their size in bytes."""
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (VOCABULARY, WIDTH)}
    for layer in range(layers):
        shapes |= {f"model.layers.{layer}.{name}.weight": shape for name, shape in LAYER.items()}
    shapes |= {"model.norm.weight": (WIDTH,), "lm_head.weight": (VOCABULARY, WIDTH)}
    names = list(shapes)
    per_shard = -(-len(names) // SHARDS)
    weight_map = {}
    total = 0
    for number in range(SHARDS):
        shard = f"model-{number + 1:05}-of-{SHARDS:05}.safetensors"
        header = {}
        end = 0
        for name in names[number * per_shard : (number + 1) * per_shard]:
            begin, end = end, end + 2 * math.prod(shapes[name])
            header[name] = {"dtype": "BF16", "shape": shapes[name], "data_offsets": (begin, end)}
            weight_map[name] = shard
        text = json.dumps(header).encode()
        with (folder / shard).open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            file.truncate(8 + len(text) + end)
        total += end
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps(CONFIG | {"num_hidden_layers": layers}))
    return total


LAYER: dict[str, tuple[int, ...]] = {
    "input_layernorm": (WIDTH,),
    **{f"self_attn.{letter}_proj": (WIDTH, WIDTH) for letter in "qkvo"},
    "post_attention_layernorm": (WIDTH,),
    "mlp.gate_proj": (INNER, WIDTH),
    "mlp.up_proj": (INNER, WIDTH),
    "mlp.down_proj": (WIDTH, INNER),
}
CONFIG = {
    "model_type": "llama",
    "hidden_size": WIDTH,
    "intermediate_size": INNER,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}

if __name__ == "__main__":
    main()
