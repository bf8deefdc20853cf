"""What follows from a file's matrices, recorded as a forward pass is. Shapes stand at the end of the lines.

Every stage is computed where it can be; else it is what the file gives; else it is not there. A value that the file
gives for a stage that is computed is kept to be compared with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.architectures.batch import Batch, attention_mask, rotation_angles
from engine.architectures.description import AttentionSpec, RopeSpec
from engine.axes import Axis, shape_text
from engine.errors import FileError
from engine.operand import Array, Weight
from engine.ops import (
    Add,
    ApplyMask,
    AttentionScores,
    Embedding,
    GivenTokens,
    Losses,
    MeanLoss,
    MergeHeads,
    Positions,
    Rope,
    Scale,
    Softmax,
    SplitHeads,
    WeightedSum,
)
from engine.stages import Stage
from engine.worked.deciding import Deciding
from engine.worked.fitting import misfit, named
from engine.worked.paper import MOST_HEADS
from engine.worked.recording import Recording
from engine.worked.tables import given_mask, sinusoids

THETA = 10000.0


@dataclass
class Example(Recording):
    """Records everything that follows from one file.

    Attributes:
        batch: the texts.
        seen: the texts that are looked at: the same, or others.
        vocabulary: how what is predicted is called; empty where it is only numbered.
    """

    batch: Batch
    seen: Batch
    vocabulary: Sequence[str]

    def __post_init__(self) -> None:
        self.positions = self.paper.choice("positions", "none", "sinusoidal", "rope")
        self.crossing = self.seen is not self.batch
        self.decided = Deciding(self.paper, self.batch, self.seen)
        self.here = self.root.under("cross_attention" if self.crossing else "attention")

    def record(self) -> None:
        """Record everything that follows.

        Raises:
            FileError: matrices do not fit each other, or a stage would be too large.
        """
        x = self.embedded()  # B×N×D
        read = self.read(x)  # B×M×D
        result = self.attention(x, read)  # B×N×D
        self.prediction(result)
        self.paper.finish()

    # The way in

    def embedded(self) -> Stage | None:
        """The tokens' embeddings, and their positions added where the file says so."""
        paper, tokens = self.paper, self.batch.axes
        source = paper.source("tokens")
        ids = GivenTokens(self.batch.ids.astype(np.float32), tokens, names=self.batch.vocabulary, source=source)
        numbers = self.root.stage("tokens", ids)  # B×N
        x = None
        rows = paper.rows("embeddings")
        if rows is not None:
            names = Axis("V", len(rows), (self.batch.vocabulary,))
            x = self.root.stage("embedding", Embedding(), numbers, self.table(names))  # B×N×D
        elif "embeddings" in paper:
            x = self.given(self.root, "embedding", "embeddings", (*tokens, Axis("D", 0)), self.decided.rows)  # B×N×D
        if self.positions == "sinusoidal":
            width = self.width(x)
            table = sinusoids(self.batch.length, width)  # N×D
            places = self.stage(self.root, "positions", Positions(tokens), table, key="position_vectors")  # B×N×D
            if x is not None:
                x = self.stage(self.root, "embedded", Add(), x, places, key="embedded")  # B×N×D
        return x

    def width(self, x: Stage | None) -> int:
        """D, for positions: that of the embeddings, or as the file says."""
        if x is not None:
            return x.axes[-1].size
        if "width" not in self.paper:
            text = "{file}: positions need embeddings, or width = D without them"
            raise FileError("worked-width", text, file=self.paper.at("positions"))
        return self.paper.whole("width", 1, 1 << 14)

    def table(self, names: Axis) -> Weight:
        """The embedding table, V×D, of the rows that the file gives by token."""
        paper, rows = self.paper, self.paper.rows("embeddings") or {}
        first, width = next(((token, len(row)) for token, row in rows.items() if isinstance(row, list)), ("", 0))
        axes = (Axis("1", 1), names, Axis("D", width))
        matrix, known = paper.matrix("embeddings", axes, ("", "", f"embeddings.{first} D = {width}"))
        return self.weight("embedding.weight", "E", known[1:], matrix.values[0], "embeddings")

    def read(self, x: Stage | None) -> Stage | None:
        """What keys and values are made from: the same text, or the other one."""
        if not self.crossing:
            return x
        if "key_embeddings" not in self.paper:
            return None
        axes, rows = (self.batch.axes[0], self.seen.keys, Axis("D", 0)), self.seen.axes[1]
        fits = (self.decided.tokens, self.decided.keys, "")
        return self.given(self.root.under("encoder"), "embedding", "key_embeddings", axes, fits, rows=rows)  # B×M×D

    # Attention

    def attention(self, x: Stage | None, read: Stage | None) -> Stage | None:
        """As far as the file goes: from x, Q, K and V, scores or weights to what attention gives, B×N×D."""
        paper, here = self.paper, self.here
        texts, queries = self.batch.axes
        heads = Axis("H", paper.whole("heads", 1, MOST_HEADS))
        q = self.projected("Q", x, queries)  # B×N×D
        k = self.projected("K", read, self.keys_as_rows, q)  # B×M×D
        v = self.projected("V", read, self.keys_as_rows)  # B×M×D
        if self.positions == "rope" and (q is None or k is None):
            raise paper.unused("positions")
        axes = (texts, heads, queries, self.seen.keys)
        fits = self.decided.attention(heads)
        scores = None
        if q is not None and k is not None:
            turned = self.rotated(self.split("q", q, heads, queries), self.split("k", k, heads, self.seen.keys))
            scores = self.stage(here, "scores", AttentionScores(), *turned, key="scores")  # B×H×N×M
        elif "scores" in paper:
            scores = self.given(here, "scores", "scores", axes, fits)  # B×H×N×M
        weights = None
        if scores is not None:
            weights = self.shared_out(scores, q, heads)  # B×H×N×M
        elif "weights" in paper:
            weights = self.given(here, "weights", "weights", axes, fits, shares=True)  # B×H×N×M
        if weights is None or v is None:
            return None
        values = self.split("v", v, heads, self.seen.keys)  # B×H×M×d
        mixed = self.stage(here, "heads", WeightedSum(), weights, values, key="mixed")  # B×H×N×d
        together = self.stage(here, "concat", MergeHeads(v.axes[-1].resized(v.shape[-1])), mixed, key="concat")  # B×N×D
        if "W_O" not in paper:
            return together
        return self.linear(here, "output", "O", together, key="output")  # B×N×D

    @property
    def keys_as_rows(self) -> Axis:
        """The tokens that are looked at: N where they are the text itself, M of another one."""
        return self.seen.keys if self.crossing else self.batch.axes[1]

    def projected(self, letter: str, x: Stage | None, rows: Axis, other: Stage | None = None) -> Stage | None:
        """Q, K or V: x·W where both are there, else as the file gives it; ``other`` must have the same width."""
        name = letter.lower()
        if x is not None and f"W_{letter}" in self.paper:
            renamed = rows if self.crossing and letter != "Q" else None
            made = self.linear(self.here, name, letter, x, key=letter, symbol=letter, rows=renamed)
        elif letter in self.paper:
            width = Axis("D", 0 if other is None else other.shape[-1])
            axes = (self.batch.axes[0], rows if letter == "Q" else self.seen.keys, width)
            decides = self.decided.tokens if letter == "Q" else self.decided.looked_at(letter)
            fits = (self.decided.tokens, decides, "" if other is None else named(other))
            return self.given(self.here, name, letter, axes, fits, symbol=letter, rows=rows)
        else:
            return None
        if other is not None and made.shape[-1] != other.shape[-1]:
            text = "{file}: {entry} makes {symbol} {shape}, which does not fit {other}: Q·Kᵀ needs rows of one length"
            values = {"symbol": letter, "shape": made.shape_text, "other": named(other)}
            raise FileError(
                "worked-lengths-of-rows", text, file=self.paper.at(f"W_{letter}"), entry=f"W_{letter}", **values
            )
        return made

    def split(self, name: str, x: Stage, heads: Axis, tokens: Axis) -> Stage:
        """x cut into heads, B×N×D → B×H×N×d."""
        if x.shape[-1] % heads.size:
            text = "{file}: {other} cannot be cut into {count} heads of the same width"
            raise FileError("worked-heads", text, file=self.paper.at("heads"), other=named(x), count=heads.size)
        return self.stage(self.here, f"{name}_heads", SplitHeads(heads, tokens), x, symbol=x.symbol)

    def rotated(self, q: Stage, k: Stage) -> tuple[Stage, Stage]:
        """Queries and keys turned by their positions, where the file says so."""
        if self.positions != "rope":
            return q, k
        width, theta = q.shape[-1], self.paper.real("theta", THETA)
        if width % 2 or self.crossing:
            text = "{file}: rope turns pairs of coordinates of one text; {other} cannot be turned so"
            raise FileError("worked-rope", text, file=self.paper.at("positions"), other=named(q))
        frequencies = np.float32(1.0) / np.float32(theta) ** (np.arange(0, width, 2, dtype=np.float32) / width)
        spec = RopeSpec(tuple(frequencies.tolist()), f"θ = n · {theta:g}^(−2i/{width})")
        angles = rotation_angles(spec, self.batch, "angles")  # N×(d/2)
        return (
            self.stage(self.here, "q_rotated", Rope(), q, angles, key="Q_rotated", symbol="Q′"),  # B×H×N×d
            self.stage(self.here, "k_rotated", Rope(), k, angles, key="K_rotated", symbol="K′"),  # B×H×M×d
        )

    def shared_out(self, scores: Stage, q: Stage | None, heads: Axis) -> Stage:
        """From scores to weights: divided, masked, and shared out along each row."""
        paper, here = self.paper, self.here
        divisor, written = self.divisor(q, heads)
        if divisor != 1.0:
            scores = self.stage(here, "scaled", Scale(divisor, written), scores, key="scaled")  # B×H×N×M
        if isinstance(paper.peek("mask"), list | dict):
            axes = (Axis("1", 1), self.batch.axes[1], self.seen.keys)
            written_out = given_mask(paper, axes, ("", self.decided.tokens, self.decided.keys))  # 1×N×M
            scores = self.stage(here, "masked", ApplyMask("own"), scores, written_out, key="masked")  # B×H×N×M
        elif paper.choice("mask", "none", "causal") == "causal":
            if self.crossing:
                text = "{file}: a causal mask hides later tokens of the same text; there are keys of another one here"
                raise FileError("worked-mask", text, file=paper.at("mask"))
            spec = AttentionSpec(heads=heads.size, kv_heads=heads.size, head_width=1)
            mask, variety = attention_mask(spec, self.batch, self.seen, "")  # 1×N×M
            scores = self.stage(here, "masked", ApplyMask(variety), scores, mask, key="masked")  # B×H×N×M
        return self.stage(here, "weights", Softmax(), scores, key="weights")  # B×H×N×M

    def divisor(self, q: Stage | None, heads: Axis) -> tuple[float, str]:
        """What scores are divided by: √d where they are computed, nothing where they are given, or as the file says."""
        paper, said = self.paper, self.paper.raw("scale") if "scale" in self.paper else q is not None
        if said is False:
            return 1.0, "1"
        if said is not True:
            number = paper.real("scale", 1.0)
            return number, f"{number:g}"
        if q is None:
            text = "{file}: √d is not known where the scores are given; say scale = 8.0"
            raise FileError("worked-scale", text, file=paper.at("scale"))
        width = q.shape[-1] // heads.size
        return math.sqrt(width), f"√{width}"

    # The way out

    def prediction(self, result: Stage | None) -> None:
        """From h, or what attention gives, to logits, probabilities, and the loss of a target, as far as it goes."""
        paper, tokens = self.paper, self.batch.axes
        entries = Axis("V", len(self.vocabulary), (self.vocabulary,) if self.vocabulary else ())
        vocabulary = f"vocabulary {shape_text([entries])}" if self.vocabulary else ""
        fits = (self.decided.tokens, self.decided.tokens, vocabulary)
        h = result  # B×N×D
        if "h" in paper:
            h = self.given(self.root, "h", "h", (*tokens, Axis("D", 0)), self.decided.rows)  # B×N×D
        logits = None
        if h is not None and "W_out" in paper:
            logits = self.linear(self.root, "logits", "out", h, key="logits", out=entries, fits=vocabulary)  # B×N×V
        elif "logits" in paper:
            logits = self.given(self.root, "logits", "logits", (*tokens, entries), fits)  # B×N×V
        if logits is not None:
            probabilities = self.stage(self.root, "probabilities", Softmax(), logits, key="probabilities")  # B×N×V
        elif "probabilities" in paper:
            axes = (*tokens, entries)
            probabilities = self.given(self.root, "probabilities", "probabilities", axes, fits, shares=True)  # B×N×V
        else:
            return
        if "target" in paper:
            ids = self.targets(probabilities.shape[-1]).reshape(self.batch.ids.shape)
            op = GivenTokens(ids, tokens, "", self.vocabulary, paper.source("target"))
            targets = self.root.stage("targets", op)  # B×N
            losses = self.stage(self.root, "losses", Losses(), probabilities, targets, key="losses")  # B×N
            self.stage(self.root, "loss", MeanLoss(), losses, key="loss")  # B×1

    def targets(self, size: int) -> Array:
        """The true next token of every position: its name in the vocabulary, or its number."""
        said = self.paper.raw("target")
        rows = said if isinstance(said, list) else [said]
        given = [token for row in rows for token in (row if isinstance(row, list) else [row])]
        if len(given) != self.batch.ids.size:
            shape = (len(rows), len(rows[0])) if rows and all(isinstance(row, list) for row in rows) else (len(given),)
            raise misfit(
                self.paper.at("target"), "target", shape, self.batch.axes, (self.decided.tokens, self.decided.tokens)
            )
        known = {token: number for number, token in enumerate(self.paper.entries("vocabulary"))}
        ids = []
        for token in given:
            if isinstance(token, str) and token in known:
                ids.append(known[token])
            elif type(token) is int and 0 <= token < size:
                ids.append(token)
            else:
                names = list(known) if isinstance(token, str) else ["0", "…", str(size - 1)]
                raise self.paper.unknown_token("target", str(token), names)
        return np.array(ids, np.float32)
