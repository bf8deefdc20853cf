"""What tests of the interface share: an opener of explorers, and a model whose heads share keys and values."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from engine.model import Model, load
from tests.tui.exploring import Explore, Exploring, opened


@pytest.fixture
def explore(sample: Model, monkeypatch: pytest.MonkeyPatch) -> Explore:
    """Opens the explorer on the sample, in a terminal of 24-bit colours: ``async with explore("我爱你") as it:``."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def open_(
        *texts: str,
        ids: list[list[int]] | None = None,
        model: Model | None = None,
        size: tuple[int, int] = (80, 24),
        lang: str = "zh",
        theme: str = "dark",
        at: str = "tokens",
    ) -> AbstractAsyncContextManager[Exploring]:
        return opened(model or sample, texts, ids, size, lang, theme, at)

    return open_


@pytest.fixture
def grouped(checkpoint: Callable[..., Path]) -> Model:
    """A model with four query heads, two key/value heads and three layers."""
    return load(
        checkpoint(
            num_attention_heads=4,
            num_key_value_heads=2,
            num_hidden_layers=3,
            tokens=["<unk>", *"abcdefghij"],
        )
    )
