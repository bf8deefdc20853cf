"""Which options go together. What another option would leave without effect is refused, not passed over."""

from __future__ import annotations

from tui.asked import Asked
from tui.language import Language
from tui.terminal import shown

REPORT = ("--report", "--format", "--output")
PLACE = ("--stage", "--layer", "--head")
OF_DEMOS = ("--speed", "--from", "--loop", "--text", "--check", "--record")

# What goes with an option that says what is to be done; --lang goes with all of them.
BESIDE = {
    "--demo-new": (),
    "--check": ("--demo", "--model", "--target", "--text", "--memory"),
    "--record": ("--demo", "--model", "--target", "--text", "--theme", "--memory"),
    "--demo": ("--model", "--target", *OF_DEMOS, "--theme", "--memory"),
    "--verify": ("--model",),
    "--worked": (*REPORT, *PLACE, "--theme", "--memory"),
    **dict.fromkeys(REPORT, ("--model", "--target", "--worked", *REPORT, *PLACE, "--memory")),
}
SLOWEST, FASTEST, MOST_MEBIBYTES = 0.1, 100, 1 << 30
# These have a text of their own, or need none.
WITHOUT_TEXT = ("--demo-new", "--demo", "--verify", "--worked")


def misused(asked: Asked, say: Language) -> str | None:
    """What is wrong with the options that were given side by side, and with the texts; None where nothing is."""
    given = asked.options
    own = next((option for option in WITHOUT_TEXT if option in given), None)
    if own and asked.texts:
        return say("cli.text_beside", option=own, text=shown(asked.texts[0]))
    if any(not text.strip() for text in asked.text):
        return say("cli.blank_text")
    alone = next((option for option in OF_DEMOS if option in given), None)
    if alone and "--demo" not in given:
        return say("cli.only_demo", option=alone)
    for leading, others in BESIDE.items():
        stranger = next((option for option in given if option not in (leading, *others)), None)
        if leading in given and stranger:
            allowed = ", ".join(option for option in (*others, "--lang") if option != leading)
            return say("cli.beside", option=stranger, other=leading, allowed=allowed)
    return misplaced(asked, say)


def misread(message: str, say: Language) -> str:
    """What typer says of words that it cannot read, in the user's language: which wording it has differs by version."""
    plain = message.replace("Value error, ", "").removesuffix(".")
    return say("cli.usage", message=say.phrase("usage", plain))


def misplaced(asked: Asked, say: Language) -> str | None:
    """What number is outside the range of its option; None where none is."""
    if asked.speed is not None and not SLOWEST <= asked.speed <= FASTEST:
        return say("cli.range", option="--speed", value=f"{asked.speed:g}", least=SLOWEST, most=FASTEST)
    if asked.memory is not None and not 1 <= asked.memory <= MOST_MEBIBYTES:
        return say("cli.range", option="--memory", value=asked.memory, least=1, most=MOST_MEBIBYTES)
    return None
