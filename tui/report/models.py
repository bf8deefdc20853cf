"""What --list-models prints."""

from __future__ import annotations

from engine.model import load, shipped_models
from tui.language import Language


def listing(say: Language) -> str:
    """A line a shipped model: its name, family and sizes, and where it is."""
    lines = []
    for name, folder in shipped_models().items():
        spec = load(folder).spec
        attention = spec.layers[0].attention
        lines.append(
            say(
                "report.model",
                name=name,
                family=spec.family,
                layers=len(spec.layers),
                heads=attention.heads,
                width=spec.width,
                vocabulary=spec.vocabulary,
                folder=folder,
            )
        )
    return "\n".join(lines)
