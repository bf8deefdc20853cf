"""Where in a TOML file something stands: tomllib says what a file holds, not on which line."""

from __future__ import annotations

import re

HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]")
ASSIGNED = re.compile(r"\s*([\w.\"'-]+(?:\s*\.\s*[\w\"'-]+)*)\s*=")
DELIMITERS = ('"""', "'''")
BARE = str.maketrans("", "", " \t\"'")


class Lines:
    """The line of every key of a demo file: ``lines.of(3, "say.zh")`` of the fourth scene, ``lines.of(None, "title")``
    of the file itself.
    """

    def __init__(self, text: str, tables: str = "scenes") -> None:
        self._found: dict[tuple[int | None, str], int] = {}
        scene: int | None = None
        prefix, inside = "", ""
        for number, line in enumerate(text.splitlines(), 1):
            if inside:
                inside = "" if inside in line else inside
                continue
            if header := HEADER.match(line):
                name = header[2].translate(BARE)
                if name == tables:
                    scene, prefix = -1 if scene is None else scene, ""
                    scene += 1
                elif name.startswith(f"{tables}."):
                    prefix = name.removeprefix(f"{tables}.") + "."
                else:
                    scene, prefix = None, f"{name}."
                self._found.setdefault((scene, prefix.rstrip(".")), number)
            elif key := ASSIGNED.match(line):
                self._found.setdefault((scene, prefix + key[1].translate(BARE)), number)
                inside = _left_open(line[key.end() :])

    def has(self, key: str) -> bool:
        """Whether the file itself has a key."""
        return (None, key) in self._found

    def of(self, scene: int | None, key: str = "") -> int:
        """The line of a key, or else of what it would stand in: its table, its scene, the file."""
        while True:
            starts = [line for (where, name), line in self._found.items() if where == scene and name == key]
            starts += [
                line for (where, name), line in self._found.items() if where == scene and name.startswith(f"{key}.")
            ]
            if starts:
                return starts[0]
            if not key:
                return 1
            key = key.rpartition(".")[0]


def _left_open(value: str) -> str:
    """The delimiter of a text of several lines that a value begins and does not end; else nothing."""
    value = value.strip()
    opener = next((mark for mark in DELIMITERS if value.startswith(mark)), "")
    return opener if opener and opener not in value[3:] else ""


def joined(text: str) -> list[str]:
    """A caption's lines as one: between two Chinese characters a line's end is no blank."""
    found: list[str] = []
    for line in text.split("\n"):
        line = line.strip()
        if found and line and ord(found[-1][-1]) > 0x2E7F and ord(line[0]) > 0x2E7F:
            found[-1] += line
        elif line:
            found.append(line)
    return found
