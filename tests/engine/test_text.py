"""Text made visible: what has no width of its own, or one that terminals disagree on, is written out."""

from __future__ import annotations

import pytest

from engine.text import label, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31m", "a␛[31m"),
        ("\x7f\x85\u200d", "␡⟨85⟩⟨200d⟩"),
        (" a ", " a "),
        ("", ""),
        # A skin tone changes the emoji before it; alone it stands for none.
        ("👍🏽", "👍🏽"),
        ("🏽", "⟨1f3fd⟩"),
        ("_🏽", "_⟨1f3fd⟩"),
        ("👍🏽🏿", "👍🏽⟨1f3ff⟩"),
        # Two letters make a flag.
        ("🇨🇳", "🇨🇳"),
        ("🇨", "⟨1f1e8⟩"),
        ("🇨🇳🇨", "🇨🇳⟨1f1e8⟩"),
        ("🇨_🇳", "⟨1f1e8⟩_⟨1f1f3⟩"),
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" a\n", "␣a⏎"),
        ("", "∅"),
        ("\u0301", "◌\u0301"),
        # An enclosing mark and a variation selector have no width either, nor a combining class.
        ("\u20e3", "◌\u20e3"),
        ("\ufe0f", "◌\ufe0f"),
        ("🏽 ", "⟨1f3fd⟩␣"),
    ],
)
def test_label(text: str, shown: str) -> None:
    assert label(text) == shown
