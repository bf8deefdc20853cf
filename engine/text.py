"""Text from users and files, made safe and visible."""

from __future__ import annotations

import unicodedata

SPACE, NEWLINE, TAB = "␣", "⏎", "⇥"

# What changes the emoji before it, and of which two make a flag: alone, each is as wide as the terminal pleases.
SKIN_TONES = ("\U0001f3fb", "\U0001f3ff")
FLAG_LETTERS = ("\U0001f1e6", "\U0001f1ff")


def visible(text: str) -> str:
    """The text with every character that would act on a terminal, or not be seen, written out.

    C0 controls become their Unicode pictures (ESC → ``␛``); C1 controls, bidirectional and zero-width characters,
    surrogates and unassigned code points become ``⟨hex⟩``, and so does half an emoji. Spaces stay as they are.
    """
    return "".join(_shown(text))


def label(text: str) -> str:
    """What a token is called where tokens stand side by side: as `visible`, and white space too can be seen."""
    if not text:
        return "∅"
    marks = {" ": SPACE, "\n": NEWLINE, "\t": TAB, "\u3000": "⟨3000⟩", "\u00a0": "⟨a0⟩"}
    shown = "".join(marks.get(character) or seen for character, seen in zip(text, _shown(text), strict=True))
    # A combining mark with nothing before it would sit on its neighbour.
    return "◌" + shown if unicodedata.category(shown[0]) in {"Mn", "Me"} else shown


def _shown(text: str) -> list[str]:
    """What stands for each character."""
    shown = [*map(_visible_character, text)]
    if max(text, default="") >= FLAG_LETTERS[0]:
        for at, character in enumerate(text):
            if _half_emoji(text, at):
                shown[at] = f"⟨{ord(character):x}⟩"
    return shown


def _half_emoji(text: str, at: int) -> bool:
    """Whether a character is a skin tone after no emoji, or a flag's letter without another."""
    if SKIN_TONES[0] <= text[at] <= SKIN_TONES[1]:
        return at == 0 or unicodedata.category(text[at - 1]) != "So"
    if not FLAG_LETTERS[0] <= text[at] <= FLAG_LETTERS[1]:
        return False
    before = 0
    while before < at and FLAG_LETTERS[0] <= text[at - before - 1] <= FLAG_LETTERS[1]:
        before += 1
    return before % 2 == 0 and not FLAG_LETTERS[0] <= text[at + 1 : at + 2] <= FLAG_LETTERS[1]


def _visible_character(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}:
        return f"⟨{code:x}⟩"
    return character
