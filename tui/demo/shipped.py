"""The demos that there are: those that ship with the program by name, and any file."""

from __future__ import annotations

from pathlib import Path

from engine.errors import FileError
from engine.model import samples
from tui.demo.rehearsal import reading_time
from tui.demo.script import Demo, read
from tui.language import Language

# The order in which to see them.
ORDER = (
    *("tour", "tokens", "graph", "self-attention", "cross-attention", "heads", "context"),
    *("positions", "sines", "mask", "next-token", "loss"),
)


def shipped_demos() -> dict[str, Path]:
    """The demos that ship with the program, by name, in the order in which to see them."""
    found = {path.stem: path for path in sorted((samples() / "demos").glob("*.toml"))}
    return {name: found[name] for name in sorted(found, key=lambda name: (name not in ORDER, _place(name), name))}


def find_demo(name: str) -> Path:
    """The file of a shipped demo's name, or the file itself.

    Raises:
        FileError: there is neither.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return path
    shipped = shipped_demos()
    if name not in shipped:
        raise FileError(
            "no-such-demo",
            "{name} is neither a file nor a demo that ships with llm-explore ({shipped})",
            name=name,
            shipped=", ".join(shipped),
        )
    return shipped[name]


def minutes(demo: Demo, code: str) -> float:
    """About how long a demo takes."""
    waits = (
        scene.wait if isinstance(scene.wait, int | float) else reading_time(scene.say[code], code)
        for scene in demo.scenes
    )
    return sum(waits) / 60


def list_demos(say: Language) -> str:
    """What ``--list-demos`` prints: two lines a demo."""
    lines = []
    for name, path in shipped_demos().items():
        demo = read(path)
        lines.append(
            say(
                "demo.line",
                name=name,
                title=demo.title[say.code],
                minutes=f"{minutes(demo, say.code):.0f}",
                model=demo.model,
                summary=demo.summary[say.code],
            )
        )
    return "\n".join(lines)


def _place(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)
