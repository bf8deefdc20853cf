"""Encoder and decoder: one text is read, another is written, and looks at the first through cross-attention."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.errors import FileError, InputError
from engine.generation import greedy, predictions
from engine.model import Model, load
from tests.engine.references import Run, rewritten, without

INPUT = "tokens embedding scaled_embedding positions embedded"
ATTENTION = "q k v q_heads k_heads v_heads scores scaled masked weights heads concat output residual residual_norm"
MLP = "hidden activated down residual residual_norm"


@pytest.fixture(
    scope="module", params=["marian", "marian-apart", "marian-own-decoder", "marian-own-tables", "tiny-translator"]
)
def run(request: pytest.FixtureRequest, oracles: Path) -> Run:
    name = str(request.param)
    return Run.of(Path(load(name).folder) if name == "tiny-translator" else oracles / name)


@pytest.fixture(scope="module")
def translator() -> Model:
    return load("tiny-translator")


def test_hidden_states(run: Run) -> None:
    run.assert_hidden("hidden", "encoder.")
    run.assert_hidden("decoder_hidden", "decoder.")


def test_attentions(run: Run) -> None:
    run.assert_attention("attention", "encoder.")
    run.assert_attention("decoder_attention", "decoder.")
    run.assert_attention("cross_attention", "decoder.", "cross_attention")


def test_logits(run: Run) -> None:
    run.assert_logits()


def test_every_number_can_be_derived(run: Run) -> None:
    run.assert_derivations()


def test_every_number_is_float32(run: Run) -> None:
    for stage in run.trace:
        assert stage.value.dtype == np.float32
        assert stage.value.shape == stage.shape


def test_stages(translator: Model) -> None:
    trace = translator.trace("我爱你。")
    wanted = [f"encoder.{name}" for name in INPUT.split()]
    for layer in (0, 1):
        wanted += [f"encoder.layers.{layer}.attention.{name}" for name in ATTENTION.split()]
        wanted += [f"encoder.layers.{layer}.mlp.{name}" for name in MLP.split()]
    wanted += [f"decoder.{name}" for name in INPUT.split()]
    for layer in (0, 1):
        for block in ("attention", "cross_attention"):
            wanted += [f"decoder.layers.{layer}.{block}.{name}" for name in ATTENTION.split()]
        wanted += [f"decoder.layers.{layer}.mlp.{name}" for name in MLP.split()]
    assert [stage.name for stage in trace] == [*wanted, "logits", "logits_biased", "probabilities"]


def test_what_a_stage_is_called_on_either_side(translator: Model) -> None:
    trace = translator.trace("我爱你。")
    found = {
        name: (trace[name].kind, trace[name].side, trace[name].layer, trace[name].block)
        for name in (
            "encoder.embedded",
            "encoder.layers.1.attention.masked",
            "decoder.layers.0.attention.masked",
            "decoder.layers.1.cross_attention.masked",
            "logits_biased",
        )
    }
    assert list(found.values()) == [
        ("embedded", "encoder", None, None),
        ("attention.masked.padding", "encoder", 1, "attention"),
        ("attention.masked", "decoder", 0, "attention"),
        ("cross_attention.masked", "decoder", 1, "cross_attention"),
        ("logits_biased", "", None, None),
    ]


def test_queries_are_the_target_and_keys_the_source(translator: Model) -> None:
    trace = translator.trace("我爱你。", targets="I love")
    source, target = ["我", "爱", "你", "。", "<eos>"], ["<pad>", "I", "␣love"]
    assert [token.label for token in trace.source_tokens[0]] == source
    assert [token.label for token in trace.tokens[0]] == target
    assert (trace.source_texts, trace.texts, trace.ends) == (("我爱你。",), ("I love",), (2,))
    cross = trace["decoder.layers.0.cross_attention.weights"]
    assert cross.shape_text == "B×H×N×M = 1×4×3×5"
    assert (cross.axes[2].labels, cross.axes[3].labels) == (target, source)
    assert [axis.side for axis in cross.axes] == ["", "", "", "source"]
    assert trace.tokens_along(cross.axes[2]) == trace.tokens
    assert trace.tokens_along(cross.axes[3]) == trace.source_tokens
    for name, shape in {
        "decoder.layers.0.cross_attention.q": "B×N×D = 1×3×64",
        "decoder.layers.0.cross_attention.k": "B×M×D = 1×5×64",
        "decoder.layers.0.cross_attention.v_heads": "B×H×M×d = 1×4×5×16",
        "decoder.layers.0.cross_attention.heads": "B×H×N×d = 1×4×3×16",
    }.items():
        assert trace[name].shape_text == shape
    own = trace["encoder.layers.0.attention.weights"]
    assert (own.axes[2].labels, own.axes[3].labels) == (source, source)
    assert own.axes[2].side == own.axes[3].side == "source"
    assert trace["decoder.layers.0.attention.weights"].axes[3].labels == target


def test_formulas(translator: Model) -> None:
    trace = translator.trace("我爱你。")
    for name, formula in {
        "decoder.layers.0.cross_attention.k": "K = z·W_K + b_K",
        "decoder.layers.0.cross_attention.q": "Q = residual_norm·W_Q + b_Q",
        "encoder.scaled_embedding": "scaled_embedding = embedding × √64, √64 = 8",
        "encoder.embedded": "embedded = scaled_embedding + positions",
        "logits": "logits = h·W_out",
        "logits_biased": "logits_biased = logits + b",
    }.items():
        assert trace[name].formula == formula
    constants = {
        operand.name: getattr(operand, "kind", "")
        for stage in trace
        for operand in stage.inputs
        if hasattr(operand, "make")
    }
    assert constants == {
        "positions.table": "positions",
        "encoder.mask.padding": "mask",
        "decoder.mask": "mask",
        "decoder.cross_mask": "mask",
    }


def test_positions_are_sines_and_then_cosines(translator: Model) -> None:
    trace = translator.trace("我爱你。")
    table = trace["encoder.positions"].inputs[0]
    assert table is trace["decoder.positions"].inputs[0]
    assert table.shape_text == "P×D = 128×64"
    assert table.value[0].tolist() == [0.0] * 32 + [1.0] * 32
    assert table.value[7, 3] == pytest.approx(np.sin(7 / 10000 ** (6 / 64)), rel=1e-6)
    assert table.value[7, 35] == pytest.approx(np.cos(7 / 10000 ** (6 / 64)), rel=1e-6)


def test_a_translation_grows_word_by_word(translator: Model) -> None:
    ids = [token.id for token in translator.trace("我爱你。").source_tokens[0]]
    written = list(greedy(translator, ids, 20))
    assert written[-1] == translator.tokenizer.eos
    assert translator.tokenizer.decode(written) == "I love you."
    assert list(greedy(translator, ids, 2)) == written[:2]
    start = [0, *written[:2]]
    assert list(greedy(translator, ids, 20, decoder_ids=start)) == written[2:]
    after = translator.trace("我爱你。", targets="I love")
    assert predictions(after)[0].label == "␣you"


def test_padding_is_never_written(oracles: Path, tmp_path: Path) -> None:
    bias = np.zeros((1, 96), np.float32)
    bias[0, 95] = 100.0
    model = load(rewritten(oracles / "marian", tmp_path / "eager", tensors={"final_logits_bias": bias}))
    assert predictions(model.trace(ids=[5, 6, 0]))[0].id == 95
    assert 95 not in list(greedy(model, [5, 6, 0], 5))


def test_without_a_target_there_is_the_start(translator: Model) -> None:
    trace = translator.trace(["我爱你。", "猫追狗。", "这件事发生在昨天。"])
    assert trace["decoder.tokens"].value.tolist() == [[0.0], [0.0], [0.0]]
    assert trace.texts == ("", "", "")
    assert trace.ends == trace.asked == (0, 0, 0)


def test_source_texts_end_as_the_model_was_trained(oracles: Path, translator: Model) -> None:
    tokens = translator.trace("我爱你。<eos>").source_tokens[0]
    assert [token.label for token in tokens].count("<eos>") <= 2
    assert translator.trace(ids=[1381, 1983]).source_tokens[0][-1].label == "爱"


def test_padded_sources_and_targets_do_not_touch_each_other(translator: Model) -> None:
    together = translator.trace(["我爱你。", "这件事发生在昨天。"], targets=["I love", "This happened"])
    alone = translator.trace("我爱你。", targets="I love")
    length = len(alone.tokens[0])
    assert np.abs(together["logits"].value[0, :length] - alone["logits"].value[0]).max() < 2e-5
    weights = together["decoder.layers.1.cross_attention.weights"].value
    assert (weights[0, :, :, 5:] == 0).all()
    assert together.ends == (2, len(together.tokens[1]) - 1)


def test_the_stages_of_the_source_need_no_target(translator: Model) -> None:
    trace = translator.trace("我爱你。", targets="I love")
    assert trace["encoder.layers.1.mlp.residual_norm"].value.shape == (1, 5, 64)
    assert not [name for name in trace.computed if name.startswith("decoder.")]


def test_given_targets_are_checked(translator: Model) -> None:
    for targets, key in {("I", "you"): "target-count"}.items():
        with pytest.raises(InputError) as caught:
            translator.trace("我爱你。", targets=list(targets))
        assert caught.value.key == key
    with pytest.raises(InputError) as caught:
        translator.trace("我爱你。", decoder_ids=[[0, 4096]])
    assert caught.value.key == "unknown-id"
    with pytest.raises(InputError) as caught:
        translator.trace("我爱你。", decoder_ids=[[0] * 129])
    assert caught.value.key == "text-too-long"
    with pytest.raises(TypeError):
        translator.trace("我爱你。", targets="I", decoder_ids=[[0]])


def test_target_vocabulary_and_source_vocabulary(oracles: Path) -> None:
    model = load(oracles / "marian-apart")
    assert (model.spec.vocabulary, model.spec.width, len(model.spec.layers)) == (48, 32, 1)
    assert model.spec.source is not None
    assert model.spec.source.stack.vocabulary == 64
    assert model.trace(ids=[63, 62])["probabilities"].axes[-1].size == 48
    with pytest.raises(InputError):
        model.trace(ids=[5], decoder_ids=[1, 48])


@pytest.mark.parametrize("prefix", ["model.", ""])
@pytest.mark.parametrize("first", ["shared", "encoder.embed_tokens"])
def test_embeddings_under_every_name(prefix: str, first: str, oracles: Path, tmp_path: Path) -> None:
    trace = Run.of(oracles / "marian").trace
    shared, sinusoids = (np.array(trace[f"decoder.{name}"].inputs[-1].value) for name in ("embedding", "positions"))
    sides = [f"{prefix}{side}" for side in ("encoder", "decoder")]
    further = {f"{side}.embed_tokens.weight": shared for side in sides}
    further |= {f"{side}.embed_positions.weight": sinusoids for side in sides}
    folder = rewritten(
        oracles / "marian",
        tmp_path / "copies",
        rename=lambda name: name.replace("model.shared", f"model.{first}").replace("model.", prefix),
        tensors=further | {"lm_head.weight": shared},
    )
    Run.of(folder, oracles / "marian").assert_logits()


@pytest.mark.parametrize("name", ["shared", "encoder.embed_tokens", "decoder.embed_tokens"])
def test_one_embedding_under_any_of_its_names(name: str, oracles: Path, tmp_path: Path) -> None:
    folder = rewritten(oracles / "marian", tmp_path / "one", rename=lambda full: full.replace("shared", name))
    run = Run.of(folder, oracles / "marian")
    run.assert_logits()
    assert run.model.spec.tied


def test_sides_with_tables_of_their_own(oracles: Path) -> None:
    def sources(name: str) -> dict[str, str]:
        trace = load(oracles / name).trace(ids=[5, 6])
        stages = ("encoder.embedding", "decoder.embedding", "logits", "encoder.positions", "decoder.positions")
        stored = {stage: getattr(trace[stage].inputs[-1], "source", "") for stage in stages}
        return {stage: source.split(" · ")[1] for stage, source in stored.items() if source}

    assert sources("marian-own-tables") == {
        "encoder.embedding": "model.encoder.embed_tokens.weight",
        "decoder.embedding": "model.decoder.embed_tokens.weight",
        "logits": "lm_head.weightᵀ",
        "encoder.positions": "model.encoder.embed_positions.weight",
        "decoder.positions": "model.decoder.embed_positions.weight",
    }
    # What the config ties to the shared embedding is it, even where the decoder has its own.
    assert sources("marian-own-decoder") == {
        "encoder.embedding": "model.shared.weight",
        "decoder.embedding": "model.decoder.embed_tokens.weight",
        "logits": "model.shared.weightᵀ",
    }
    assert not load(oracles / "marian-own-decoder").spec.tied


def test_positions_that_one_side_stores(oracles: Path, tmp_path: Path) -> None:
    table = {"encoder.embed_positions.weight": np.random.default_rng(0).normal(0, 1, (64, 32)).astype(np.float32)}
    trace = load(rewritten(oracles / "marian", tmp_path / "half", tensors=table)).trace(ids=[5, 6, 7])
    assert np.array_equal(trace["encoder.positions"].value[0], table["encoder.embed_positions.weight"][:3])
    assert trace["decoder.positions"].inputs[0].name == "positions.table"


def test_a_bias_that_is_left_out_is_none(oracles: Path, tmp_path: Path) -> None:
    def renamed(name: str) -> str:
        return name.replace("final_logits_bias", "model.layers.0.self_attn.rotary_emb.inv_freq")

    trace = load(rewritten(oracles / "marian", tmp_path / "unbiased", rename=renamed)).trace(ids=[5, 6])
    assert "logits_biased" not in trace
    assert trace["probabilities"].inputs[0] is trace["logits"]


PUBLISHED = {
    "_num_labels": 3,
    "add_bias_logits": False,
    "add_final_layer_norm": False,
    "bad_words_ids": [[95]],
    "classif_dropout": 0.0,
    "extra_pos_embeddings": 96,
    "force_bos_token_to_be_generated": False,
    "normalize_before": False,
    "normalize_embedding": False,
    "num_hidden_layers": 2,
    "static_position_embeddings": True,
}


def test_the_config_of_published_translators(oracles: Path, tmp_path: Path) -> None:
    folder = rewritten(oracles / "marian", tmp_path / "opus", config=without("decoder_vocab_size", **PUBLISHED))
    Run.of(folder, oracles / "marian").assert_logits()


@pytest.mark.parametrize(
    ("changed", "entry"),
    [
        ({"normalize_before": True}, "normalize_before"),
        ({"static_position_embeddings": False}, "static_position_embeddings"),
        ({"num_hidden_layers": 3}, "num_hidden_layers"),
        ({"decoder_vocab_size": 90}, "decoder_vocab_size"),
        ({"decoder_start_token_id": 96}, "decoder_start_token_id"),
        ({"eos_token_id": -1}, "eos_token_id"),
        ({"activation_function": "swiglu"}, "activation_function"),
        ({"encoder_attention_heads": 3}, "encoder_attention_heads"),
    ],
)
def test_settings_that_are_not_understood(
    changed: dict[str, object], entry: str, oracles: Path, tmp_path: Path
) -> None:
    with pytest.raises(FileError) as caught:
        load(rewritten(oracles / "marian", tmp_path / "marian", config=without(**changed)))
    assert (caught.value.key, caught.value.values["entry"]) == ("config-value", entry)


def test_defaults(oracles: Path, tmp_path: Path) -> None:
    config = without("share_encoder_decoder_embeddings", "decoder_vocab_size", "tie_word_embeddings", "eos_token_id")
    Run.of(rewritten(oracles / "marian", tmp_path / "marian", config=config), oracles / "marian").assert_logits()
    spec = load(rewritten(oracles / "marian", tmp_path / "plain", config=without("scale_embedding"))).spec
    assert spec.stack.embedding_factor == 1.0
    start = load(rewritten(oracles / "marian", tmp_path / "start", config=without("decoder_start_token_id"))).spec
    assert start.source is not None
    assert start.source.start == 95
