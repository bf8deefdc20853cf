"""The engine knows no terminal, and its modules stand in layers without circles."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import engine

ROOT = Path(engine.__file__).parent.parent
INTERFACE = {"textual", "rich", "typer", "click", "prompt_toolkit", "curses"}

# From the ground up. What is not named here stands above all of it.
LAYERS = [
    {"engine.text"},
    {"engine.errors"},
    {"engine.axes", "engine.checkpoints", "engine.spelling"},
    {"engine.operand", "engine.tokenizer"},
    {"engine.buffers"},
    {"engine.derivation", "engine.values"},
    {"engine.constants"},
    {"engine.ops"},
    {"engine.stages"},
    {"engine.trace"},
    {"engine.architectures"},
    {"engine.weights"},
    {"engine.model"},
]


@cache
def modules() -> dict[str, Path]:
    """Every module of the engine by its name."""
    found = {}
    for file in sorted((ROOT / "engine").rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(file: Path) -> set[str]:
    """What a module imports, anywhere in it."""
    found, known = set(), modules()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else str(node.module) for name in names}
    return found


def layer(module: str) -> int:
    """How high a module stands."""
    for height, names in enumerate(LAYERS):
        if any(module == name or module.startswith(f"{name}.") for name in names):
            return height
    return len(LAYERS)


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    """Every module of the engine, and what it imports of the engine."""
    return {name: {each for each in imports(file) if each.startswith("engine")} for name, file in modules().items()}


def test_no_module_imports_the_interface() -> None:
    assert len(modules()) > 25
    for name, file in modules().items():
        heads = {each.split(".")[0] for each in imports(file)}
        assert not heads & (INTERFACE | {"tui"}), name


def test_importing_every_module_brings_in_no_terminal_library() -> None:
    script = f"""
import importlib, json, sys
for name in {sorted(modules())!r}:
    importlib.import_module(name)
print(json.dumps(sorted({{name.split(".")[0] for name in sys.modules}})))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert {"engine", "numpy"} <= loaded
    assert not loaded & (INTERFACE | {"tui"})


def test_every_layer_is_there(graph: dict[str, set[str]]) -> None:
    assert {name for names in LAYERS for name in names} <= set(graph)


def test_modules_import_only_from_below(graph: dict[str, set[str]]) -> None:
    upward = [
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in others
        if name != "engine" and layer(other) > layer(name)
    ]
    assert upward == []


def test_there_are_no_circles(graph: dict[str, set[str]]) -> None:
    # The package's own __init__ gathers names from above; nothing in the engine may import it.
    assert not [name for name, others in graph.items() if "engine" in others]
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("engine.axes") < order.index("engine.trace") < order.index("engine.model")
