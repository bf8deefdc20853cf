"""Options side by side: none is passed over in silence."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tui.asked import Asked
from tui.language import LANGUAGES, language
from tui.usage import BESIDE, misused

# A value for every option.
VALUES: dict[str, Any] = {
    "demo_new": Path("new.toml"),
    "demo": "tour",
    "verify": Path("expected.npz"),
    "worked": "shapes",
    "model": "tiny-gpt",
    "target": ["I"],
    "report": True,
    "stage": "logits",
    "layer": 0,
    "head": 0,
    "format": "json",
    "output": Path("out.json"),
    "theme": "light",
    "memory": 1,
    "speed": 2.0,
    "from_": "1",
    "loop": True,
    "text": ["猫"],
    "check": True,
    "record": Path("pages"),
}


def asked(*names: str, texts: list[str] | None = None) -> Asked:
    return Asked(texts or [], **{name: VALUES[name] for name in names})


def fault(*names: str, texts: list[str] | None = None) -> str | None:
    return misused(asked(*names, texts=texts), language("en"))


def test_every_option_is_known_by_its_name() -> None:
    everything = asked(*VALUES)
    assert set(vars(everything)) == {"texts", *VALUES}
    assert len(everything.options) == len(VALUES)
    assert set(BESIDE) | {option for others in BESIDE.values() for option in others} == set(everything.options)
    assert asked().options == []


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("demo_new",),
        ("verify", "model"),
        ("demo", "model", "target", "text", "speed", "from_", "loop", "theme", "memory"),
        ("demo", "check", "model", "target", "text", "memory"),
        ("demo", "record", "model", "target", "text", "theme", "memory"),
        ("worked", "stage", "layer", "head", "theme", "memory"),
        ("worked", "report", "format", "output", "stage", "layer", "head", "memory"),
        ("model", "target", "stage", "layer", "head", "theme", "memory"),
        ("model", "target", "report", "format", "output", "stage", "layer", "head", "memory"),
    ],
    ids=" ".join,
)
def test_what_goes_together(names: tuple[str, ...]) -> None:
    assert fault(*names) is None
    # ... and so does any part of it that needs no more.
    for name in names:
        rest = tuple(other for other in names if other != name)
        assert fault(*rest) is None or name == "demo"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        *((("demo", name), f"{option} does not go with --demo;") for name, option in [
            ("report", "--report"), ("stage", "--stage"), ("layer", "--layer"), ("head", "--head"),
            ("format", "--format"), ("output", "--output"), ("worked", "--worked"),
        ]),
        *((("worked", name), f"{option} does not go with --worked;") for name, option in [
            ("model", "--model"), ("target", "--target"),
        ]),
        *(((name,), f"{option} goes with --demo") for name, option in [
            ("speed", "--speed"), ("from_", "--from"), ("loop", "--loop"), ("text", "--text"),
            ("check", "--check"), ("record", "--record"),
        ]),
        (("worked", "loop"), "--loop goes with --demo"),
        (("demo", "check", "speed"), "--speed does not go with --check;"),
        (("demo", "check", "theme"), "--theme does not go with --check;"),
        (("demo", "check", "record"), "--record does not go with --check;"),
        (("demo", "record", "from_"), "--from does not go with --record;"),
        (("demo", "demo_new"), "--demo does not go with --demo-new;"),
        (("demo_new", "model"), "--model does not go with --demo-new; what goes with --demo-new: --lang"),
        (("verify", "head"), "--head does not go with --verify;"),
        (("verify", "report"), "--report does not go with --verify;"),
        (("verify", "demo"), "--verify does not go with --demo;"),
        (("report", "theme"), "--theme does not go with --report;"),
        (("worked", "output", "theme"), "--theme does not go with --output;"),
    ],
)  # fmt: skip
def test_what_would_be_passed_over(names: tuple[str, ...], said: str) -> None:
    found = fault(*names)
    assert found is not None
    assert found.startswith(said)


def test_the_order_does_not_matter() -> None:
    for names in permutations(("demo", "record", "loop")):
        assert fault(*names) == fault("demo", "record", "loop")


@pytest.mark.parametrize("name", ["demo", "demo_new", "worked", "verify"])
def test_what_has_its_own_text_takes_none_beside_it(name: str) -> None:
    found = fault(name, texts=["a\x1b[31m"])
    assert found is not None
    assert f"--{name.replace('_', '-')} brings its own text; leave out “a␛[31m”" in found


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_blank_text_is_none(code: str) -> None:
    blank = Asked(demo="tour", text=["猫", " "])
    assert misused(blank, language(code)) == language(code)("cli.blank_text")
