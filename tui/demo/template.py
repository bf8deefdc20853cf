"""A demo to begin with, and the place where the explorer stands as a scene."""

from __future__ import annotations

import json
from pathlib import Path

from engine.errors import FileError
from engine.model import samples
from engine.worked import Worked
from tui.demo import facts
from tui.demo.script import VIEWS, View
from tui.grids import matrix_axes
from tui.language import Language
from tui.session import Session

START = """\
# {about}

model = "tiny-gpt"            # {model}
text = "我爱你"                # {text}

title.zh = "我的演示"
title.en = "My demo"
summary.zh = "用一句话说说它演示什么。"
summary.en = "One line that says what it shows."

# {scene}
[[scenes]]
name = "scores"               # {name}
stage = "layers.0.attention.scores"   # {stage}
head = 0                      # {head}
cell = ["爱", "我"]            # {cell}
say.zh = "“{{query}}”问“{{key}}”，点积是 {{value}}；这张表的形状是 {{shape}}。"
say.en = "“{{query}}” asks “{{key}}”: the product is {{value}}. The table's shape is {{shape}}."
# {placeholders}

[[scenes]]
stage = "layers.0.attention.weights"
view = "graph"                # {view}
threshold = 0.1               # {threshold}
holds = ["row_sum = 1"]       # {holds}
wait = 12                     # {wait}
say.zh = "softmax 之后，“{{query}}”看得最多的是“{{best}}”：{{best_value}}。"
say.en = "After the softmax “{{query}}” looks most at “{{best}}”: {{best_value}}."

[[scenes]]
text = "猫追狗"                # {edit}
append = true                 # {append}
view = "predictions"
wait = "key"
say.zh = "“{{text}}”后面最可能是“{{top}}”（{{probability}}）。{last}"
say.en = "After “{{text}}” the likeliest is “{{top}}” ({{probability}}). Try it: press esc, then e."
# worked = "cat-dog"          # {worked}
"""


def start(say: Language) -> str:
    """A demo with comments, in the reader's language."""
    notes = {
        name: say(f"demo_new.{name}")
        for name in (
            *("about", "model", "text", "scene", "name", "stage", "head", "cell"),
            *("view", "threshold", "holds", "wait", "edit", "append", "worked"),
        )
    }
    named = say("demo_new.placeholders") + " " + " ".join("{" + name + "}" for name in facts.names())
    return START.format(placeholders=_commented(named), last="请试试：按 esc，再按 e。", **notes)


def new(path: Path, say: Language) -> None:
    """Write a demo to begin with.

    Raises:
        FileError: there is such a file, which is left as it is, or it cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(start(say))
    except FileExistsError:
        raise FileError(
            "demo-exists", "{file}: is there already; give a name of which there is no file", file=path
        ) from None
    except OSError as error:
        raise FileError(
            "demo-cannot-write",
            "{file}: cannot be written ({reason})",
            file=path,
            reason=error.strerror or error,
        ) from None


def scene_here(session: Session, view: View = "equation") -> str:
    """The place where a session is as a scene of a demo, with the text it is on."""
    operand = session.trace.stages[session.position]
    lines = ["[[scenes]]"]
    if view not in VIEWS:
        raise ValueError(view)
    if session.changeable:
        lines.append(f"text = {_quoted(session.texts[session.text])}")
    else:
        lines.append(f"worked = {_quoted(_example(session))}")
    lines.append(f"stage = {_quoted(operand.name)}")
    if any(axis.symbol.startswith("H") for axis in operand.axes):
        lines.append(f"head = {session.head}")
    if len(session.texts) > 1:
        lines.insert(1, f"which = {session.text}")
    cell = session.cell_in(operand)
    parts = []
    for axis in matrix_axes(operand):
        if axis is not None:
            labels = list(operand.axes[axis].labels_of(session.text) or ())
            label = labels[cell[axis]] if cell[axis] < len(labels) else ""
            # A token that stands there twice is named by its number.
            parts.append(_quoted(label) if label and labels.count(label) == 1 else str(cell[axis]))
    lines.append(f"cell = [{', '.join(parts)}]")
    lines.append(f"view = {_quoted(view)}")
    lines += [f'say.zh = "{_HERE}"', f'say.en = "{_HERE}"']
    return "\n".join(lines) + "\n"


_HERE = "{name} {shape}"


def save_scene(path: Path, session: Session, view: View = "equation") -> None:
    """Append the place where a session is to a demo; a file that is not there yet becomes one.

    Raises:
        FileError: the file cannot be written.
    """
    text = scene_here(session, view)
    try:
        if not path.exists():
            text = _head(session) + text
        with path.open("a", encoding="utf-8") as file:
            file.write("\n" + text)
    except OSError as error:
        raise FileError(
            "demo-cannot-write",
            "{file}: cannot be written ({reason})",
            file=path,
            reason=error.strerror or error,
        ) from None


def _head(session: Session) -> str:
    said = "\n".join(f"{key}.{code} = {_quoted(session.name)}" for key in ("title", "summary") for code in ("zh", "en"))
    if not session.changeable:
        return f"{said}\n\n"
    texts = ", ".join(map(_quoted, session.texts))
    folder = session.model.folder
    model = session.name if folder.parent == samples() / "models" else str(folder.resolve())
    return f"model = {_quoted(model)}\ntexts = [{texts}]\n{said}\n\n"


def _example(session: Session) -> str:
    """What a scene calls the worked example that is open."""
    assert isinstance(session.opened, Worked)
    path = session.opened.path
    return path.stem if path.parent == samples() / "worked" else str(path.resolve())


def _quoted(text: str) -> str:
    """A TOML basic string; JSON's has the same escapes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _commented(text: str, width: int = 100) -> str:
    from tui.wrapping import wrap

    return "\n# ".join(wrap(text, width))
