"""What is said about a stage, weight or constant, filled with what is being looked at."""

from __future__ import annotations

from engine.constants import Constant
from engine.operand import Operand
from engine.ops import GivenMask, GivenWeight
from engine.stages import Stage
from tui.dimensions import dimensions
from tui.language import Language
from tui.naming import name_of
from tui.session import Session


def subject(operand: Operand) -> str:
    """The entry of the language files that an operand belongs to."""
    if isinstance(operand, Stage):
        return operand.kind.removesuffix(".given")
    if isinstance(operand, Constant):
        return f"constant.{operand.kind}"
    *_, stage, part = operand.name.split(".")
    if part == "bias":
        return "weight.norm_bias" if stage.endswith("norm") else "weight.bias"
    if stage.endswith("norm"):
        return "weight.norm"
    return "weight.unembedding" if stage == "logits" else f"weight.{stage}"


def explained(operand: Operand, say: Language, field: str, session: Session | None = None) -> str:
    """The ``name``, ``title``, ``explain`` or ``look`` of an operand."""
    values: dict[str, object] = {} if session is None else values_of(session)
    kind = subject(operand)
    if kind == "weight.unembedding" and session is not None and session.tied:
        kind += ".tied"
    if _by_hand(operand) and (field != "name" or not say.explains(kind)):
        kind = "given"
    elif _of_given(operand) and say.explains(f"{kind}.by_hand") and field != "name":
        # No training has made what it is computed from, and there are no models of which it is a part.
        kind += ".by_hand"
    return say.about(kind, field, values)


def _by_hand(operand: Operand) -> bool:
    """Whether its numbers come from the file of a worked example, whatever they are called."""
    if isinstance(operand, Stage):
        return operand.op.variety == "given"
    return isinstance(operand, GivenMask | GivenWeight)


def _of_given(operand: Operand) -> bool:
    """Whether it is computed from a matrix that the file of a worked example gives."""
    return isinstance(operand, Stage) and any(isinstance(each, GivenWeight) for each in operand.inputs)


def values_of(session: Session) -> dict[str, object]:
    """What the sentences' placeholders stand for at the reader's place."""
    tokens, keys, key = session.tokens, session.keys, session.key
    query = name_of(tokens, session.query)
    return dimensions(session.trace, session.trace.stages[session.position]) | {
        "N": len(tokens),
        "query": query,
        "key": name_of(keys, key) if key is not None else "",
        "token": query,
        "position": session.query,
        "head": session.head,
        "layer": 0 if session.layer is None else session.layer,
    }
