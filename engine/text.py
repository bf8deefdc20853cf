"""Text from users and files, made safe and visible."""

from __future__ import annotations

import unicodedata

SPACE, NEWLINE, TAB = "␣", "⏎", "⇥"


def visible(text: str) -> str:
    """The text with every character that would act on a terminal, or not be seen, written out.

    C0 controls become their Unicode pictures (ESC → ``␛``); C1 controls, bidirectional and zero-width characters,
    surrogates and unassigned code points become ``⟨hex⟩``. Spaces stay as they are.
    """
    return "".join(map(_visible_character, text))


def label(text: str) -> str:
    """What a token is called where tokens stand side by side: as `visible`, and white space too can be seen."""
    if not text:
        return "∅"
    marks = {" ": SPACE, "\n": NEWLINE, "\t": TAB, "\u3000": "⟨3000⟩", "\u00a0": "⟨a0⟩"}
    shown = "".join(marks.get(character) or _visible_character(character) for character in text)
    # A combining mark with nothing before it would sit on its neighbour.
    return "◌" + shown if unicodedata.combining(shown[0]) else shown


def _visible_character(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}:
        return f"⟨{code:x}⟩"
    return character
