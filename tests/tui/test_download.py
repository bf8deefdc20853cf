"""The bar while a model is downloaded: what it says of how much has come."""

from __future__ import annotations

import re

import pytest
from rich.progress import Progress

from tui.download import Download
from tui.language import LANGUAGES, language


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize(
    ("done", "total", "shown"),
    [
        (0, 1_400_000, ["0.0", "1.4"]),
        (131_072, 1_400_000, ["0.1", "1.4"]),
        (1_400_000, 1_400_000, ["1.4", "1.4"]),
        (31_450_000, 91_000_000, ["31.4", "91.0"]),
        (31_450_000, 99_999_999, ["31.4", "100.0"]),
        (131_072, 100_000_000, ["0", "100"]),
        (2_999_999_999, 15_200_000_000, ["2999", "15200"]),
    ],
)
def test_small_downloads_are_seen_to_come(code: str, done: int, total: int, shown: list[str]) -> None:
    with Download("someone/model", language(code)) as download:
        download.progress("model.safetensors", done, total)
        bar = download._bar
        assert isinstance(bar, Progress)
        (task,) = bar.tasks
    assert (task.completed, task.total) == (done, total)
    assert re.findall(r"\d+(?:\.\d+)?", task.description) == shown


def test_a_hostile_name_is_text() -> None:
    with Download("someone/[red]model[/]", language("en")) as download:
        download.progress("a\x1b[31m.json", 1, 2)
        bar = download._bar
        assert isinstance(bar, Progress)
        assert "\x1b" not in bar.tasks[0].description
        assert "\\[red]" in bar.tasks[0].description
