"""The feed-forward network, recorded as it reads in the papers. Shapes stand at the end of the lines."""

from __future__ import annotations

from engine.architectures.description import FeedForwardSpec
from engine.architectures.recorder import Recorder
from engine.axes import Axis
from engine.ops import Activation, Multiply
from engine.stages import Stage


def feed_forward(here: Recorder, x: Stage, spec: FeedForwardSpec) -> Stage:
    """A feed-forward network over each token's vector, B×N×D → B×N×D.

    Plain: Vaswani et al. 2017, arXiv:1706.03762, section 3.3. Gated: Shazeer 2020, arXiv:2002.05202.
    """
    width, inner = x.axes[-1], Axis("F", spec.width)
    if spec.gated:
        gate = here.linear("gate", x, inner, "gate", bias=spec.bias)  # B×N×F
        up = here.linear("up", x, inner, "up", bias=spec.bias)  # B×N×F
        activated = here.stage("activated", Activation(spec.activation), gate)  # B×N×F
        product = here.stage("product", Multiply(), activated, up)  # B×N×F
        return here.linear("down", product, width, "down", bias=spec.bias)  # B×N×D
    hidden = here.linear("hidden", x, inner, "up", bias=spec.bias, slot="up")  # B×N×F
    activated = here.stage("activated", Activation(spec.activation), hidden)  # B×N×F
    return here.linear("down", activated, width, "down", bias=spec.bias)  # B×N×D
