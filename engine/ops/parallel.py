"""Element-wise work block by block: a block stays in the processor's cache, and blocks run on several threads.

NumPy lets go of the interpreter lock inside its loops, so threads really work at the same time. Each row's arithmetic
is the same however rows are shared out, so results do not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product
from typing import Any

from engine.operand import Array

# Measured: 256 KiB of float32 keeps the input and the output of a block in a second-level cache.
BLOCK = 65_536
# Below this, handing work to a thread costs more than it saves.
SMALL = 4 * BLOCK


def over_blocks(work: Callable[..., Any], *arrays: Array) -> None:
    """Call ``work`` on matching blocks of whole last-axis rows of all arrays, which have one shape of two axes or more.
    """
    shape = arrays[0].shape
    if arrays[0].size <= SMALL:
        work(*arrays)
        return
    step = max(1, BLOCK // shape[-1])
    leading = product(*map(range, shape[:-2]))
    blocks = [(*place, slice(start, start + step)) for place in leading for start in range(0, shape[-2], step)]
    # `list` so that an exception in a thread is raised here.
    list(_pool().map(lambda block: work(*(array[block] for array in arrays)), blocks))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1), thread_name_prefix="engine")
