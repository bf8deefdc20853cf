"""A demo gone through once, unseen, with its model: every scene's state, so that any of them can be gone to at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from string import Formatter

from rich.cells import cell_len

from engine.errors import FileError
from engine.model import Model
from engine.trace import GIBIBYTE
from tui.demo import facts
from tui.demo.fact import Fact, NoFactError, Raw
from tui.demo.script import Claim, Demo, placeholders
from tui.demo.walk import State, Walk
from tui.language import LANGUAGES, Language
from tui.session import Session

# A caption takes a moment to find, and then this many terminal cells are read in a second.
FOUND = 3.0
READ = {"zh": 11.0, "en": 15.0}
LEAST = 6.0

# Two numbers that are the same but for float32's rounding.
SAME = 1e-5


@dataclass(frozen=True)
class Instead:
    """What a demo is shown on instead of its own model, its own texts, and how its translations begin."""

    model: str | None = None
    texts: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


OWN = Instead()


class Rehearsal:
    """All scenes of a demo that are shown, with their states and captions.

    Attributes:
        states: those that are shown.
        left_out: how many are not, because what they claim is not true of another model or text than the demo's own.
    """

    def __init__(self, demo: Demo, states: Sequence[State], memory: int) -> None:
        self.demo = demo
        self.states = tuple(states)
        self.memory = memory
        self.left_out = 0
        self._all = self.states

    def keep_true(self) -> None:
        """Leave out the scenes of which something is not so in this run.

        Raises:
            FileError: that is so of all of them.
        """
        self.states = tuple(state for number, state in enumerate(self._all) if self._is_true(number))
        self.left_out = len(self._all) - len(self.states)
        if not self.states:
            raise FileError(
                "demo-nothing-true",
                "{file}: nothing that this demo says is so here; leave out --model, --text and --target",
                file=self.demo.path,
            )

    def _is_true(self, number: int) -> bool:
        scene = self._all[number].scene
        try:
            for code in LANGUAGES:
                for name in placeholders(scene.say[code]):
                    self.check(number, name)
            return all(self.holds(number, claim) for claim in scene.holds)
        except NoFactError:
            return False

    def caption(self, number: int, code: str) -> str:
        """What is said in a scene, its placeholders filled from the run."""
        state = self.states[number]
        session = state.session(self.memory)
        said = state.scene.say[code]
        values = {name: self._fact(session, name).text for name in placeholders(said)}
        return _filled(said, values)

    def predicts(self, number: int, code: str) -> bool:
        """Whether the caption of a scene needs the prediction, and with it every stage."""
        names = placeholders(self.states[number].scene.say[code])
        return any(facts.is_predicted(name.rpartition(".")[2]) for name in names)

    def seconds(self, number: int, code: str, *, alone: bool = False) -> float | None:
        """How long a scene stays; None where it waits for a key.

        In a hall the demo is ``alone``, and nobody presses one: it then stays as long as reading takes.
        """
        scene = self.states[number].scene
        if scene.wait == "key" and not alone:
            return None
        return reading_time(scene.say[code], code) if scene.wait in (None, "key") else float(scene.wait)

    def number(self, scene: str | None) -> int:
        """The number of a scene, from 0, by its name or by its number from 1.

        Raises:
            FileError: there is no such scene.
        """
        if scene is None:
            return 0
        names = [state.scene.name for state in self.states]
        if scene in names:
            return names.index(scene)
        if scene.isdecimal() and 1 <= int(scene) <= len(names):
            return int(scene) - 1
        raise FileError(
            "demo-no-scene",
            "{file}: there is no scene {scene}; there are 1 to {count}, and {names}",
            file=self.demo.path,
            scene=scene,
            count=len(names),
            names=", ".join(name for name in names if name) or "∅",
        )

    def holds(self, number: int, claim: Claim) -> bool:
        """Whether a claim is true of the run."""
        session = self.states[number].session(self.memory)
        left = self._fact(session, claim.fact).raw
        right = self._other(session, claim.other)
        if isinstance(left, str) or isinstance(right, str):
            # Of texts none is larger.
            return {"=": str(left) == str(right), "!=": str(left) != str(right)}.get(claim.sign, False)
        same = left == right or abs(left - right) <= SAME * max(1.0, abs(left), abs(right))
        signs: dict[str, Callable[[], bool]] = {
            "=": lambda: same,
            "!=": lambda: not same,
            "<": lambda: left < right,
            ">": lambda: left > right,
            "<=": lambda: left <= right or same,
            ">=": lambda: left >= right or same,
        }
        return signs[claim.sign]()

    def _other(self, session: Session, other: str) -> Raw:
        if other[0] in "'\"" and other[-1] == other[0]:
            return other[1:-1]
        try:
            return float(other)
        except ValueError:
            return self._fact(session, other).raw

    def _fact(self, session: Session, name: str) -> Fact:
        """A fact of a scene, or of another one: ``before.value``."""
        scene, _, own = name.rpartition(".")
        if not scene:
            return facts.fact(session, own)
        return facts.fact(self._named(scene, own).session(self.memory), own)

    def _named(self, scene: str, name: str) -> State:
        found = next((state for state in self._all if state.scene.name == scene), None)
        if found is None:
            raise NoFactError(f"{scene}.{name}")
        return found

    def check(self, number: int, name: str) -> None:
        """Make sure that a name means something in a scene, computing no more than must be.

        Raises:
            NoFactError: it means nothing there.
        """
        scene, _, own = name.rpartition(".")
        state = self._named(scene, own) if scene else self.states[number]
        facts.check(state.session(self.memory), own)


def reading_time(caption: str, code: str) -> float:
    """The seconds that it takes to read a caption and look at what it speaks of."""
    return max(LEAST, FOUND + cell_len(caption) / READ[code])


def rehearse(demo: Demo, model: Model, say: Language, *, instead: Instead = OWN, memory: int = GIBIBYTE) -> Rehearsal:
    """Go through a demo and make sure of all of it.

    Args:
        model: the demo's own model, or the one that ``instead`` names.
        instead: what the demo is shown on instead of its own. Of other texts, tokens that scenes name are those at the
            same places; of whatever is not the demo's own, scenes that claim what is not so are left out.

    Raises:
        EngineError: a scene names what is not there, or claims what is not so of the demo's own model and texts (the
            message names the line); or the model does not take what is given instead.
    """
    _check_braces(demo)
    if not demo.texts and (instead.texts or instead.targets):
        text = "{file}: this demo begins with a worked example, not with a text; leave out --text and --target"
        raise FileError("demo-no-text", text, file=demo.path)
    walk = Walk(demo, model, say, memory)
    states = walk.states()
    rehearsal = Rehearsal(demo, states, memory)
    other_model = instead.model not in (None, demo.model)
    if not other_model:
        _check_names(rehearsal)
    if instead.texts or instead.targets:
        states = walk.elsewhere(instead.texts, instead.targets, states)
        rehearsal = Rehearsal(demo, states, memory)
    elif not other_model:
        _check_claims(rehearsal)
        return rehearsal
    rehearsal.keep_true()
    return rehearsal


def _filled(said: str, values: dict[str, str]) -> str:
    parts = []
    for literal, name, _, _ in Formatter().parse(said):
        parts.append(literal)
        if name is not None:
            parts.append(values[name])
    return "".join(parts)


def _check_braces(demo: Demo) -> None:
    for scene in demo.scenes:
        for code in LANGUAGES:
            try:
                placeholders(scene.say[code])
            except ValueError as error:
                raise FileError(
                    "demo-braces",
                    "{file}: line {line}: say.{language} has a brace that holds no name ({reason})",
                    file=demo.path,
                    line=demo.line(scene, f"say.{code}"),
                    language=code,
                    reason=error,
                ) from None


def _check_names(rehearsal: Rehearsal) -> None:
    for number, scene in enumerate(rehearsal.demo.scenes):
        for code in LANGUAGES:
            for name in placeholders(scene.say[code]):
                _check_name(rehearsal, number, f"say.{code}", name)
        for claim in scene.holds:
            _check_name(rehearsal, number, "holds", claim.fact)
            literal = claim.other[0] in "'\"" or claim.other.replace(".", "", 1).lstrip("+-").isdigit()
            if not literal:
                _check_name(rehearsal, number, "holds", claim.other)


def _check_claims(rehearsal: Rehearsal) -> None:
    for number, scene in enumerate(rehearsal.demo.scenes):
        for claim in scene.holds:
            if not rehearsal.holds(number, claim):
                raise _untrue(rehearsal, number, claim)


def _check_name(rehearsal: Rehearsal, number: int, key: str, name: str) -> None:
    demo, scene = rehearsal.demo, rehearsal.states[number].scene
    try:
        rehearsal.check(number, name)
    except NoFactError:
        known = facts.names()
        near = get_close_matches(name.rpartition(".")[2], known, n=3, cutoff=0.4)
        raise FileError(
            "demo-placeholder",
            "{file}: line {line}: {name} means nothing at this place; there are {names}",
            file=demo.path,
            line=demo.line(scene, key),
            name="{" + name + "}",
            names=", ".join([*near, *(each for each in known if each not in near)][:6]) + ", …",
        ) from None


def _untrue(rehearsal: Rehearsal, number: int, claim: Claim) -> FileError:
    session = rehearsal.states[number].session(rehearsal.memory)
    return FileError(
        "demo-untrue",
        "{file}: line {line}: {claim} is not so in this run: {fact} is {value}",
        file=rehearsal.demo.path,
        line=rehearsal.demo.line(rehearsal.states[number].scene, "holds"),
        claim=claim.text,
        fact=claim.fact,
        value=rehearsal._fact(session, claim.fact).text,
    )
