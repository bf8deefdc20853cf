"""The forward pass of a whole model, recorded as it reads in the papers. Shapes stand at the end of the lines."""

from __future__ import annotations

from collections.abc import Hashable

from engine.architectures.batch import Batch
from engine.architectures.description import HeadSpec, ModelSpec
from engine.architectures.recorder import FindWeight, Recorder
from engine.architectures.stack import record_stack
from engine.axes import Axis
from engine.constants import Constant
from engine.ops import Activation, Add, Losses, MeanLoss, Pool, SoftCap, Softmax, Successors
from engine.stages import Stage
from engine.trace import Trace


def record_forward(trace: Trace, spec: ModelSpec, find: FindWeight, batch: Batch, source: Batch | None = None) -> None:
    """Record every stage of a forward pass over a batch, after those over the ``source`` texts where there are any."""
    root = Recorder(trace, find)
    tables: dict[Hashable, Constant] = {}
    if spec.source is None or source is None:
        h = record_stack(root, spec.stack, batch, result="h", tables=tables)  # B×N×D
    else:
        encoded = record_stack(root.under("encoder"), spec.source.stack, source, result="z", tables=tables)  # B×M×D
        decoder = root.under("decoder")
        h = record_stack(decoder, spec.stack, batch, result="h", tables=tables, source=(encoded, source))  # B×N×D
    if spec.pooler:
        width = Axis("D", spec.width)
        root.stage("pooler", Pool(), h, *root.matrix("pooler", h, width, "pool", bias=True))  # B×D
    if spec.head is not None:
        probabilities = record_head(root, h, spec.head, batch)  # B×N×V
        if spec.kind != "encoder" and batch.length > 1:
            record_loss(root, trace["tokens" if spec.source is None else "decoder.tokens"], probabilities, batch)


def record_head(root: Recorder, h: Stage, spec: HeadSpec, batch: Batch) -> Stage:
    """From the last vectors, B×N×D, to a distribution over the vocabulary at every position, B×N×V."""
    width, vocabulary = h.axes[-1], Axis("V", spec.vocabulary, (batch.vocabulary,))
    if spec.activation is not None:
        here = root.under("head")
        h = here.linear("dense", h, width, "head", bias=True)  # B×N×D
        h = here.stage("activated", Activation(spec.activation), h)  # B×N×D
        if spec.norm is not None:
            h = here.norm("norm", h, spec.norm, symbol="h")  # B×N×D
    logits = root.linear("logits", h, vocabulary, "out", bias=spec.bias)  # B×N×V
    if spec.added_bias:
        bias = root.weight("logits_biased.bias", "b", vocabulary.resized(vocabulary.size))  # V
        logits = root.stage("logits_biased", Add(), logits, bias)  # B×N×V
    if spec.softcap is not None:
        logits = root.stage("softcapped", SoftCap(spec.softcap), logits)  # B×N×V
    return root.stage("probabilities", Softmax(), logits)  # B×N×V


def record_loss(root: Recorder, tokens: Stage, probabilities: Stage, batch: Batch) -> None:
    """How well each token, B×N, was foreseen at the one before it, and the mean of each text, B×1."""
    counted = batch.succeeded
    targets = root.stage("targets", Successors(), tokens)  # B×(N−1)
    losses = root.stage("losses", Losses(counted), probabilities, targets)  # B×(N−1)
    root.stage("loss", MeanLoss(counted), losses)  # B×1
