"""Worked examples: matrices given by hand in a TOML file, and whatever follows from them computed by the engine's ops.

`paper` reads and checks a file, `forward` records the stages, `comparison` sets what the file gives beside what comes
out.
"""

from __future__ import annotations

from engine.worked.comparison import Comparison
from engine.worked.example import Worked, load_worked, shipped_worked

__all__ = ["Comparison", "Worked", "load_worked", "shipped_worked"]
