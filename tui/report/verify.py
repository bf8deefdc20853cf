"""What --verify prints: how far each family of stages is from a reference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len

from engine.model import Model
from engine.text import visible
from engine.verify import Check
from tui.language import Language

GAP = 3


def table(model: Model, expected: Path, checks: Sequence[Check], say: Language) -> str:
    """A line a family: how many stages it has, the one furthest from the reference, its max |Δ| and what is allowed."""
    rows = [tuple(say(f"verify.{name}") for name in ("family", "stages", "gap", "tolerance", "verdict", "worst"))]
    for check in checks:
        worst = check.worst
        verdict = say("verify.agrees" if check.agrees else "verify.differs")
        numbers = (str(len(check.comparisons)), f"{worst.gap:.1e}", f"{worst.tolerance:.1e}")
        rows.append((say(f"verify.{check.family}"), *numbers, verdict, worst.stage))
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = [f"llm-explore · {model.name} · {visible(expected.name)}", ""]
    lines += [(" " * GAP).join(map(_padded, row, widths, _TO_THE_RIGHT)).rstrip() for row in rows]
    return "\n".join([*lines, "", _summary(checks, say)])


# Numbers stand at the right of their columns.
_TO_THE_RIGHT = (False, True, True, True, False, False)


def _padded(text: str, width: int, to_the_right: bool) -> str:
    blank = " " * (width - cell_len(text))
    return blank + text if to_the_right else text + blank


def _summary(checks: Sequence[Check], say: Language) -> str:
    comparisons = [comparison for check in checks for comparison in check.comparisons]
    apart = sum(not comparison.agrees for comparison in comparisons)
    return say("verify.some_differ" if apart else "verify.all_agree", count=len(comparisons), apart=apart)
