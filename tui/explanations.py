"""What is said about a stage, weight or constant, filled with what is being looked at."""

from __future__ import annotations

from engine.operand import Constant, Operand
from engine.trace import Stage
from tui.language import Language
from tui.session import Session


def subject(operand: Operand) -> str:
    """The entry of the language files that an operand belongs to."""
    if isinstance(operand, Stage):
        return operand.kind
    if isinstance(operand, Constant):
        return f"constant.{operand.name}"
    *_, stage, part = operand.name.split(".")
    if part == "bias":
        return "weight.norm_bias" if stage.endswith("norm") else "weight.bias"
    if stage.endswith("norm"):
        return "weight.norm"
    return "weight.unembedding" if stage == "logits" else f"weight.{stage}"


def explained(operand: Operand, say: Language, field: str, session: Session | None = None) -> str:
    """The ``name``, ``title``, ``explain`` or ``look`` of an operand."""
    values: dict[str, object] = {} if session is None else values_of(session)
    return say.about(subject(operand), field, values)


def values_of(session: Session) -> dict[str, object]:
    """What the sentences' placeholders stand for at the reader's place."""
    spec, text = session.model.spec, session.text
    tokens = session.trace.tokens[text]
    attention = spec.layers[0].attention
    key = session.key
    return {
        "d": attention.head_width,
        "D": spec.width,
        "H": attention.heads,
        "Hkv": attention.kv_heads,
        "F": spec.layers[0].feed_forward.width,
        "V": spec.vocabulary,
        "N": len(tokens),
        "layers": len(spec.layers),
        "scale": f"{attention.divisor_text} = {attention.divisor:.4g}",
        "query": tokens[session.query].label,
        "key": tokens[key].label if key is not None else "",
        "token": tokens[session.query].label,
        "position": session.query,
        "head": session.head,
        "layer": 0 if session.layer is None else session.layer,
    }
