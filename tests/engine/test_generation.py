"""What comes next: predictions after a position, and greedy continuation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from engine.generation import greedy, predictions
from engine.model import Model, load
from engine.trace import Trace

# The first sentences of the sample that was published with stories260K.
PUBLISHED = (
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. "
    "One day, she saw a big, red ball."
)
EOS = 2


def writer(checkpoint: Callable[..., Path], following: dict[int, int]) -> Model:
    """A model of 11 tokens that after each token writes the one that ``following`` names.

    Its attention and feed-forward add nothing, so that logits are the token's own vector times the head.
    """
    embedding, head = np.eye(11, dtype=np.float32), np.zeros((11, 11), np.float32)
    for token, successor in following.items():
        head[successor, token] = 1.0
    still = {
        f"model.layers.{layer}.{name}.weight": np.zeros(shape, np.float32)
        for layer in (0, 1)
        for name, shape in {"self_attn.o_proj": (11, 4), "mlp.down_proj": (11, 12)}.items()
    }
    ones = {"model.norm.weight": np.ones(11, np.float32)}
    folder = checkpoint(
        hidden_size=11,
        head_dim=2,
        tokens=["<unk>", "<s>", "</s>", *(f"w{number}" for number in range(3, 11))],
        tensors={"model.embed_tokens.weight": embedding, "lm_head.weight": head, **still, **ones},
    )
    (folder / "tokenizer_config.json").write_text('{"bos_token": "<s>", "eos_token": "</s>"}')
    return load(folder)


def test_stories_are_continued_as_published(stories: Model) -> None:
    bos = stories.tokenizer.bos
    assert bos == 1
    written: list[int] = []
    for token in greedy(stories, [bos], 120):
        written.append(token)
        if len(stories.tokenizer.decode(written)) >= len(PUBLISHED):
            break
    assert stories.tokenizer.decode(written).startswith(PUBLISHED)


def test_after_i_love_comes_you(sample: Model) -> None:
    best = predictions(sample.trace("我爱"))[0]
    assert (best.label, best.id) == ("你", 507)
    assert next(greedy(sample, sample.tokenizer.encode("我爱"), 1)) == 507


def test_after_i_like_to_comes_code(sample: Model) -> None:
    assert predictions(sample.trace("I like to"))[0].label == "␣code"


def test_predictions_are_the_largest_probabilities_in_order(sample: Model) -> None:
    trace = sample.trace("我爱")
    row = trace["probabilities"].value[0, 1]
    found = predictions(trace, count=5)
    order = sorted(range(4096), key=lambda id: -row[id])[:5]
    assert [each.id for each in found] == order
    assert [each.probability for each in found] == [float(row[id]) for id in order]
    assert [each.label for each in found] == [sample.tokenizer.token(id).label for id in order]
    assert len(predictions(trace, count=10**6)) == 4096


def test_predictions_after_each_text_of_a_batch_and_each_position(sample: Model) -> None:
    trace = sample.trace(["我爱", "I like to"])
    assert [predictions(trace, text)[0].label for text in (0, 1)] == ["你", "␣code"]
    alone = predictions(sample.trace("I like"))
    assert [each.id for each in predictions(trace, 1, position=1)] == [each.id for each in alone]


def test_each_token_follows_all_before_it(checkpoint: Callable[..., Path]) -> None:
    model = writer(checkpoint, {3: 4, 4: 5, 5: 6, 6: 3})
    assert list(greedy(model, [3], 6)) == [4, 5, 6, 3, 4, 5]
    assert list(greedy(model, [4, 6], 2)) == [3, 4]


@pytest.mark.parametrize("count", [3, 100])
def test_it_stops_at_the_end_of_the_text(checkpoint: Callable[..., Path], count: int) -> None:
    model = writer(checkpoint, {3: 4, 4: 5, 5: EOS, EOS: 3})
    assert model.tokenizer.eos == EOS
    assert list(greedy(model, [3], count)) == [4, 5, EOS]


def test_it_stops_at_the_last_position(checkpoint: Callable[..., Path]) -> None:
    model = writer(checkpoint, {3: 4, 4: 3})
    assert model.spec.positions == 16
    assert len([3, *greedy(model, [3], 100)]) == 16
    assert list(greedy(model, [3] * 15, 100)) == [4]
    assert list(greedy(model, [3] * 16, 100)) == []


def test_a_continuation_is_computed_as_it_is_asked_for(sample: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    trace = sample.trace

    def counted(*, ids: Sequence[int]) -> Trace:
        lengths.append(len(ids))
        return trace(ids=ids)

    monkeypatch.setattr(sample, "trace", counted)
    continuation = greedy(sample, sample.tokenizer.encode("我"), 50)
    assert lengths == []
    next(continuation)
    next(continuation)
    assert lengths == [1, 2]
