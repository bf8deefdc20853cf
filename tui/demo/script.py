"""The file of a demo: what it may say, read and checked as far as that needs no model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Any, Literal, get_args

from engine.checkpoints.files import read_bytes
from engine.errors import FileError
from tui.demo.lines import Lines, joined
from tui.language import LANGUAGES

View = Literal["equation", "graph", "graph-all", "graph-mean", "heads", "predictions"]
VIEWS: tuple[View, ...] = get_args(View)

# Nobody writes so much by hand.
FILE_LIMIT = 1 << 20

DEMO_KEYS = ("title", "summary", "model", "text", "texts", "target", "scenes")
SCENE_KEYS = (
    *("name", "stage", "head", "cell", "view", "threshold", "text"),
    *("append", "which", "worked", "say", "wait", "holds"),
)

CLAIM = re.compile(r"\s*([\w.-]+)\s*(<=|>=|!=|=|<|>)\s*(.+?)\s*$")
NAME = re.compile(r"[\w-]+$")
KEY = "key"


@dataclass(frozen=True)
class Claim:
    """What must be true of the run for a caption to be: ``value > 0.9``, ``best = '爱'``, ``value = alone.value``."""

    text: str
    fact: str
    sign: str
    other: str


@dataclass(frozen=True)
class Scene:
    """One scene. What it does not name stays as it was in the scene before.

    Attributes:
        number: which scene it is, from 0.
        stage: the stage gone to: its whole name, or an end of it that only one has.
        cell: the row and the column looked at, by number (from the end where negative) or by the token there.
        worked: a worked example, by its name or its file, to look at instead; false goes back to the text before it.
        text: what takes the place of the text looked at; after a worked example, what the demo's model is run on again.
        threshold: the weight from which on the graph shows an edge; 0 for all of them.
        append: the token put at its end; true for the most probable one.
        which: the number of the text looked at, of several.
        say: the caption in each language, with ``{placeholders}``.
        wait: seconds, None for as long as the caption takes to read, or ``key``.
        holds: what must be true of the run.
    """

    number: int
    name: str
    say: Mapping[str, str]
    worked: str | Literal[False] | None = None
    stage: str | None = None
    head: int | None = None
    cell: tuple[int | str, ...] = ()
    view: View | None = None
    threshold: float | None = None
    text: str | None = None
    append: str | bool = False
    which: int | None = None
    wait: float | Literal["key"] | None = None
    holds: tuple[Claim, ...] = ()


@dataclass(frozen=True)
class Demo:
    """A demo as its file has it.

    Attributes:
        texts: what the model is run on; none where the first scene opens a worked example.
    """

    path: Path
    title: Mapping[str, str]
    summary: Mapping[str, str]
    model: str
    texts: tuple[str, ...]
    target: str | None
    scenes: tuple[Scene, ...]
    lines: Lines = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        return self.path.stem

    def line(self, scene: Scene, key: str = "") -> int:
        """The line of the file on which a scene, or a key of it, stands."""
        return self.lines.of(scene.number, key)


def read(path: Path) -> Demo:
    """Read a demo.

    Raises:
        FileError: it cannot be read, is no TOML, or says what no demo can; the message names file and line.
    """
    data = read_bytes(path, FILE_LIMIT)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise FileError("demo-not-utf8", "{file}: line {line}: is not UTF-8 text", file=path, line=line) from None
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _no_toml(path, text, str(error)) from None
    return _Reader(path, Lines(text)).demo(table)


def placeholders(caption: str) -> list[str]:
    """The names in braces of a caption.

    Raises:
        ValueError: a brace is not closed, or there is more in one than a name.
    """
    names = []
    for _, name, form, conversion in Formatter().parse(caption):
        if name is None:
            continue
        if form or conversion or not re.fullmatch(r"[\w.-]+", name):
            raise ValueError(name or "{}")
        names.append(name)
    return names


def _no_toml(path: Path, text: str, reason: str) -> FileError:
    at = re.search(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$", reason)
    line = int(at[1]) if at and at[1] else text.count("\n") + 1
    return FileError(
        "demo-no-toml",
        "{file}: line {line}: not TOML ({reason})",
        file=path,
        line=line,
        reason=reason[: at.start()] if at else reason,
    )


class _Reader:
    """Reads one file's tables."""

    def __init__(self, path: Path, lines: Lines) -> None:
        self._path, self._lines = path, lines

    def demo(self, table: dict[str, Any]) -> Demo:
        self._known(table, DEMO_KEYS, None)
        scenes = table.get("scenes")
        if not isinstance(scenes, list) or not scenes or not all(isinstance(scene, dict) for scene in scenes):
            raise self._fault(None, "scenes", scenes, "[[scenes]] …")
        texts = table.get("texts", table.get("text"))
        if "text" in table and "texts" in table:
            raise self._fault(None, "texts", texts, "text | texts")
        texts = [texts] if isinstance(texts, str) else texts
        if not _are_texts(texts) and not (texts is None and scenes[0].get("worked")):
            raise self._fault(None, "texts" if "texts" in table else "text", texts, '"…" | ["…", "…"]')
        read = tuple(self._scene(number, scene) for number, scene in enumerate(scenes))
        for scene in read:
            if scene.name and any(other.name == scene.name for other in read[: scene.number]):
                raise FileError(
                    "demo-name-twice",
                    "{file}: line {line}: there is a scene {name} before; each name must be its own",
                    file=self._path,
                    line=self._lines.of(scene.number, "name"),
                    name=scene.name,
                )
        return Demo(
            self._path,
            self._said(table, None, "title"),
            self._said(table, None, "summary"),
            self._of(table, None, "model", str, '"tiny-gpt"') or "tiny-gpt",
            tuple(texts or ()),
            self._of(table, None, "target", str, '"…"'),
            read,
            self._lines,
        )

    def _scene(self, number: int, table: dict[str, Any]) -> Scene:
        self._known(table, SCENE_KEYS, number)
        name = self._of(table, number, "name", str, '"…"') or ""
        if name and not NAME.match(name):
            raise self._fault(number, "name", name, "a-z 0-9 _ -")
        cell = table.get("cell", [])
        if not isinstance(cell, list) or len(cell) > 2 or not all(type(part) in (int, str) for part in cell):
            raise self._fault(number, "cell", cell, '["爱", "我"] | [1, 0] | ["爱"]')
        view = table.get("view")
        if view is not None and view not in VIEWS:
            raise self._fault(number, "view", view, " | ".join(VIEWS))
        threshold = table.get("threshold")
        if threshold is not None and (type(threshold) not in (int, float) or not 0 <= threshold <= 1):
            raise self._fault(number, "threshold", threshold, "0 | 0.05 | … 1")
        append = table.get("append", False)
        if not isinstance(append, str | bool):
            raise self._fault(number, "append", append, 'true | "…"')
        wait = table.get("wait")
        timed = isinstance(wait, int | float) and not isinstance(wait, bool) and 0 < wait <= 3600
        if wait not in (None, KEY) and not timed:
            raise self._fault(number, "wait", wait, '12 | "key"')
        text = self._of(table, number, "text", str, '"…"')
        if text is not None and not text.strip():
            raise self._fault(number, "text", text, '"…"')
        worked = table.get("worked")
        if not (worked is None or worked is False or (isinstance(worked, str) and worked.strip())):
            raise self._fault(number, "worked", worked, '"cat-dog" | "….toml" | false')
        if worked is not None and text is not None:
            raise self._fault(number, "text", text, "worked | text")
        return Scene(
            number,
            name,
            self._said(table, number, "say"),
            worked,
            self._of(table, number, "stage", str, '"layers.0.attention.scores"'),
            self._of(table, number, "head", int, "0, 1, 2 …"),
            tuple(cell),
            view,
            None if threshold is None else float(threshold),
            text,
            append,
            self._of(table, number, "which", int, "0, 1, 2 …"),
            wait,
            self._claims(table, number),
        )

    def _known(self, table: dict[str, Any], keys: tuple[str, ...], scene: int | None) -> None:
        for key in table:
            if key not in keys:
                raise FileError(
                    "demo-unknown-key",
                    "{file}: line {line}: {entry} is no key of a demo here; there are {keys}",
                    file=self._path,
                    line=self._lines.of(scene, key),
                    entry=key,
                    keys=", ".join(keys),
                )

    def _of(self, table: dict[str, Any], scene: int | None, key: str, kind: type, wanted: str) -> Any:
        value = table.get(key)
        if value is not None and type(value) is not kind:
            raise self._fault(scene, key, value, wanted)
        return value

    def _said(self, table: dict[str, Any], scene: int | None, key: str) -> Mapping[str, str]:
        """A sentence in every language."""
        value = table.get(key)
        if not isinstance(value, dict):
            raise self._fault(scene, key, value, " + ".join(f"{key}.{code}" for code in LANGUAGES))
        for code in LANGUAGES:
            sentence = value.get(code)
            if not isinstance(sentence, str) or not sentence.strip():
                raise FileError(
                    "demo-language",
                    "{file}: line {line}: {entry} is not said; a demo speaks {languages}",
                    file=self._path,
                    line=self._lines.of(scene, key),
                    entry=f"{key}.{code}",
                    languages=", ".join(LANGUAGES),
                )
        for code in value:
            if code not in LANGUAGES:
                raise self._fault(scene, f"{key}.{code}", value[code], " | ".join(LANGUAGES))
        return {code: " ".join(joined(value[code])) for code in LANGUAGES}

    def _claims(self, table: dict[str, Any], scene: int) -> tuple[Claim, ...]:
        claims = table.get("holds", [])
        claims = [claims] if isinstance(claims, str) else claims
        found = [CLAIM.match(claim) if isinstance(claim, str) else None for claim in claims or []]
        if not isinstance(claims, list) or not all(found):
            raise self._fault(scene, "holds", claims, '"value > 0.5" | "best = \'爱\'"')
        return tuple(Claim(match[0].strip(), match[1], match[2], match[3]) for match in found if match)

    def _fault(self, scene: int | None, key: str, value: object, wanted: str) -> FileError:
        return FileError(
            "demo-value",
            "{file}: line {line}: {entry} is {value}; it should be {wanted}",
            file=self._path,
            line=self._lines.of(scene, key),
            entry=key,
            value="∅" if value is None else repr(value)[:60],
            wanted=wanted,
        )


def _are_texts(texts: object) -> bool:
    return isinstance(texts, list) and bool(texts) and all(isinstance(each, str) and each.strip() for each in texts)
