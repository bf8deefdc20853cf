"""How each token of a text was foreseen, as a table: the position, the true next token, P, −ln P and its rank."""

from __future__ import annotations

from engine.generation import Outcome, TextLoss
from tui.language import Language
from tui.views.shares import predicted_text
from tui.widgets.numbers import align

COLUMNS = (("position", 20), ("next", 16), ("probability", 10), ("loss", 8), ("rank", 8))


def mean_line(found: TextLoss, say: Language) -> str:
    """The mean of the losses, and the perplexity."""
    return say("losses.mean", count=len(found.outcomes), mean=found.mean, perplexity=found.perplexity)


def heading(say: Language) -> str:
    """What the columns are called."""
    return "".join(align(say(f"losses.{name}"), size, "left") for name, size in COLUMNS)


def line(outcome: Outcome, mark: str = " ") -> str:
    """The line of a position; it begins with a mark of one cell."""
    cells = (
        f"{mark}{outcome.position:>4}  {outcome.token}",
        outcome.label,
        predicted_text(outcome.probability),
        f"{outcome.loss:.3f}",
        str(outcome.rank),
    )
    return "".join(align(cell, size, "left") for cell, (_, size) in zip(cells, COLUMNS, strict=True))
