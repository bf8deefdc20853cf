"""Worked examples: what a file gives, what the engine makes of it, and how it says what is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.errors import FileError
from engine.ops import Given, GivenMask, GivenWeight
from engine.worked import Worked, load_worked, shipped_worked
from engine.worked.paper import SETTINGS, STAGES, WEIGHTS

SHIPPED = {
    "cat-dog",
    "cat-dog-positions",
    "masked-softmax",
    "next-token-loss",
    "question-and-report",
    "root-d",
    "root-d-left-out",
    "rope-pair",
    "self-attention-3x3",
    "shapes",
    "sinusoidal-positions",
}
ROUNDING = 3e-6
ATTENTION = "q k v q_heads k_heads scores scaled masked weights v_heads heads concat output"
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> Path:
        file = tmp_path / "own.toml"
        file.write_text(text, "utf-8")
        return file

    return written


def rows(worked: Worked, name: str) -> list[list[float]]:
    """The last two axes of a stage's first text and head."""
    value = worked.trace[name].value
    found: list[list[float]] = value.reshape(-1, *value.shape[-2:])[0].tolist()
    return found


# What ships


def test_what_ships() -> None:
    assert set(shipped_worked()) == SHIPPED


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_each_has_its_words_and_all_its_numbers(name: str) -> None:
    worked = load_worked(name)
    assert worked.name == name
    assert set(worked.title) == set(worked.notes) == {"zh", "en"}
    assert worked.titled("zh") != worked.titled("en")
    assert load_worked(worked.path).titled("en") == worked.titled("en")
    for stage in worked.trace:
        assert stage.value.dtype == np.float32
        assert stage.value.shape == stage.shape
        assert stage.formula.startswith(f"{stage.symbol}")
        assert len(stage.op.signs(stage.inputs)) == len(stage.inputs) + 1


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_every_number_can_be_derived(name: str) -> None:
    random = np.random.default_rng(0)
    for stage in load_worked(name).trace:
        for _ in range(12):
            cell = tuple(int(random.integers(size)) for size in stage.shape)
            derivation = stage.derivation(cell)
            assert abs(derivation.gap) <= ROUNDING * max(1.0, abs(derivation.total)), (stage, cell)
            assert derivation.value == float(stage.value[cell])


@pytest.mark.parametrize("name", sorted(SHIPPED - {"masked-softmax"}))
def test_what_is_printed_is_what_is_computed_rounded(name: str) -> None:
    assert all(comparison.agrees for comparison in load_worked(name).comparisons)


def test_the_picture_of_self_attention() -> None:
    worked = load_worked("self-attention-3x3")
    weights = worked.trace["attention.weights"]
    assert rows(worked, "attention.weights")[0][1] == pytest.approx(0.90)
    assert rows(worked, "attention.weights")[1] == pytest.approx([0.45, 0.10, 0.45])
    assert rows(worked, "attention.weights")[2][1] == pytest.approx(0.80)
    assert weights.value.sum(axis=-1) == pytest.approx(1.0)
    assert weights.shape_text == "B×H×N×M = 1×1×3×3"
    assert list(weights.axes[3].labels or ()) == ["我", "爱", "你"]
    # With unit vectors as values, a weighted average is the row of weights itself.
    assert rows(worked, "attention.concat") == rows(worked, "attention.weights")


def test_the_question_and_the_report() -> None:
    worked = load_worked("question-and-report")
    weights = worked.trace["cross_attention.weights"]
    assert weights.shape_text == "B×H×N×M = 1×1×3×8"
    keys = weights.axes[3]
    assert keys.side == "source"
    assert [token.label for token in worked.trace.tokens_along(keys)[0]] == list(keys.labels or ())
    first = rows(worked, "cross_attention.weights")[0]
    best = sorted(range(8), key=lambda key: -first[key])[:2]
    assert {keys.label(key) for key in best} == {"昨日", "3月5日"}


def test_sinusoidal_positions() -> None:
    worked = load_worked("sinusoidal-positions")
    printed = [
        [0, 1, 0, 1],
        [0.84147, 0.54030, 0.01000, 0.99995],
        [0.90930, -0.41615, 0.02000, 0.99980],
        [0.14112, -0.98999, 0.03000, 0.99955],
    ]
    found = np.array(rows(worked, "positions"))
    assert np.abs(found - printed).max() <= 5e-6
    wanted = [[(math.sin, math.cos)[j % 2](n / 10000 ** (2 * (j // 2) / 4)) for j in range(4)] for n in range(4)]
    assert np.abs(found - wanted).max() < 1e-7
    (comparison,) = worked.comparisons
    assert (comparison.stage.name, comparison.key) == ("positions", "position_vectors")
    assert comparison.agrees
    assert comparison.gap <= 5e-6


def test_rope_depends_on_distance_alone() -> None:
    worked = load_worked("rope-pair")
    scores = np.array(rows(worked, "attention.scores"))
    wanted = [[math.cos(n - m) for m in range(4)] for n in range(4)]
    assert np.abs(scores - wanted).max() < 1e-6


def test_without_positions_the_order_of_the_text_only_reorders_the_table() -> None:
    plain = load_worked("cat-dog").trace["attention.weights"].value[:, 0]
    assert np.abs(plain[0] - plain[1][::-1, ::-1]).max() < 1e-6
    placed = load_worked("cat-dog-positions").trace["attention.weights"].value[:, 0]
    assert np.abs(placed[0] - placed[1][::-1, ::-1]).max() > 0.05


def test_cat_dog_by_hand() -> None:
    # 猫 is (2, 0): its query (2, 0) meets the keys (0, 2), (1, 2), (2, 2); √d = √2.
    powers = [math.exp(x / math.sqrt(2)) for x in (0, 2, 4)]
    assert rows(load_worked("cat-dog"), "attention.weights")[0] == pytest.approx([x / sum(powers) for x in powers])


def test_the_same_scores_with_and_without_the_division() -> None:
    divided, left_out = load_worked("root-d"), load_worked("root-d-left-out")
    assert rows(divided, "attention.scores")[0] == rows(left_out, "attention.scores")[0] == [8, 4, 0]
    assert "attention.scaled" not in left_out.trace
    for worked, scale in ((divided, 4), (left_out, 1)):
        powers = [math.exp(x / scale) for x in (8, 4, 0)]
        wanted = [x / sum(powers) for x in powers]
        found = rows(worked, "attention.weights")
        assert found[0] == pytest.approx(wanted)
        # Each row has the numbers of the one before, a place on.
        assert found[1] == pytest.approx([wanted[2], *wanted[:2]])
        assert found[2] == pytest.approx([*wanted[1:], wanted[0]])


def test_the_masked_softmax_and_what_is_printed_of_it() -> None:
    worked = load_worked("masked-softmax")
    like = rows(worked, "attention.weights")[2]
    assert [round(x, 4) for x in like] == [0.0540, 0.2190, 0.7270, 0, 0]
    assert like[3:] == [0.0, 0.0]
    assert rows(worked, "attention.masked")[2][3:] == [-math.inf, -math.inf]
    (comparison,) = worked.comparisons
    assert comparison.stage.name == "attention.weights"
    assert not comparison.agrees
    assert comparison.where == (0, 0, 2, 0)
    assert comparison.gap == pytest.approx(0.0260, abs=5e-5)
    assert comparison.given[0, 0, 2].tolist() == [0.08, 0.21, 0.71, 0, 0]
    assert np.isnan(comparison.given[0, 0, [0, 1, 3, 4]]).all()
    assert comparison.agreement[0, 0, 2].tolist() == [False, False, False, True, True]


def test_the_loss_of_a_next_token() -> None:
    worked = load_worked("next-token-loss")
    shares = worked.trace["probabilities"]
    assert [round(x, 3) for x in rows(worked, "probabilities")[0]] == [0.665, 0.245, 0.090]
    assert [shares.axes[2].label(entry) for entry in range(3)] == ["黑便", "呕血", "呼吸困难"]
    assert round(worked.trace["losses"].number((0, 0)), 3) == 0.408
    assert worked.trace["loss"].number((0, 0)) == worked.trace["losses"].number((0, 0))


def test_the_shapes_of_a_vocabulary() -> None:
    worked = load_worked("shapes")
    weight = worked.trace["logits"].inputs[1]
    assert weight.shape_text == "D×V = 512×50000"
    assert worked.trace["logits"].shape_text == "B×N×V = 1×1×50000"
    assert weight.part((slice(None), slice(7, 9))).shape == (512, 2)
    assert weight.value.base is not None
    assert weight.value.strides == (0, 0)
    assert worked.trace["loss"].number((0, 0)) == pytest.approx(math.log(50000), rel=1e-6)


# What follows from what


def test_all_of_attention_as_numpy_has_it(write: Write) -> None:
    random = np.random.default_rng(1)
    names = ("embeddings", "W_Q", "W_K", "W_V", "W_O", "b_Q")
    made = {
        name: random.integers(-3, 4, (3, 4) if name == "embeddings" else 4 if name == "b_Q" else (4, 4))
        for name in names
    }
    lines = [f"{name} = {array.tolist()}" for name, array in made.items()]
    worked = load_worked(write('tokens = ["a", "b", "c"]\nheads = 2\nmask = "causal"\n' + "\n".join(lines)))
    x, w_q, w_k, w_v, w_o, b_q = (made[name].astype(float) for name in names)
    joined = []
    for part in (slice(0, 2), slice(2, 4)):
        q, k, v = (x @ w_q + b_q)[:, part], (x @ w_k)[:, part], (x @ w_v)[:, part]
        scores = np.where(np.tri(3), q @ k.T / math.sqrt(2), -np.inf)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        joined.append(powers / powers.sum(axis=1, keepdims=True) @ v)
    assert np.abs(worked.trace["attention.output"].value[0] - np.hstack(joined) @ w_o).max() < 1e-5
    assert [stage.name for stage in worked.trace] == [
        "tokens",
        "embedding",
        *(f"attention.{name}" for name in ATTENTION.split()),
    ]
    weight = worked.trace["attention.q"].inputs[1]
    assert isinstance(weight, GivenWeight)
    assert weight.name == "attention.q.weight"
    assert weight.source == "own.toml · W_Q"


def test_cross_attention_from_vectors(write: Write) -> None:
    text = """
    tokens = ["q"]
    keys = ["a", "b"]
    embeddings = [[1, 0]]
    key_embeddings = [[1, 1], [0, 2]]
    W_Q = [[1, 0], [0, 1]]
    W_K = [[1, 0], [0, 1]]
    W_V = [[1, 0], [0, 1]]
    scale = false
    """
    trace = load_worked(write(text)).trace
    assert trace["cross_attention.k"].shape_text == "B×M×D = 1×2×2"
    assert trace["cross_attention.scores"].value.tolist() == [[[[1, 0]]]]
    assert trace["encoder.embedding"].kind == "embedding.given"
    share = math.e / (math.e + 1)
    assert trace["cross_attention.concat"].value[0, 0] == pytest.approx([share, share + 2 * (1 - share)], rel=1e-6)


def test_what_attention_gives_is_scored_where_there_is_no_h(write: Write) -> None:
    text = """
    tokens = ["a", "b"]
    weights = [[1, 0], [0.5, 0.5]]
    V = [[2, 0], [0, 4]]
    W_out = [[1, 0, 1], [0, 1, 1]]
    b_out = [0, 0, 1]
    vocabulary = ["a", "b", "c"]
    target = ["b", "c"]
    """
    worked = load_worked(write(text))
    assert worked.trace["logits"].value[0].tolist() == [[2, 0, 3], [1, 2, 4]]
    assert worked.trace["logits"].formula == "logits = concat·W_out + b_out"
    assert worked.trace["targets"].value.tolist() == [[1, 2]]
    assert worked.trace["losses"].shape == (1, 2)


def test_what_is_given_and_computed_is_compared(write: Write) -> None:
    text = """
    tokens = ["a", "b"]
    Q = [[1, 0], [0, 1]]
    K = [[1, 2], [3, 4]]
    scores = [[1.00, 3], [2, 5]]
    scaled = [[0.7, 2.1], [1.4, 2.8]]
    """
    scores, scaled = load_worked(write(text)).comparisons
    assert (scores.stage.name, scores.gap, scores.where, scores.agrees) == (
        "attention.scores",
        1.0,
        (0, 0, 1, 1),
        False,
    )
    assert scores.agreement.tolist() == [[[[True, True], [True, False]]]]
    assert scaled.agrees
    assert scaled.gap == pytest.approx(2.828427 - 2.8, abs=1e-5)


def test_shares_that_are_rounded_need_not_add_up_to_1_exactly(write: Write) -> None:
    for given in ("[0.33, 0.33, 0.33]", "[0.333, 0.333, 0.333]", "[0.3, 0.3, 0.3]", "[0.67, 0.17, 0.17]", "[0, 1, 0]"):
        worked = load_worked(write(f'tokens = ["a", "b", "c"]\nweights = [{given}, [1, 0, 0], [0.0, 0.5, 0.5]]'))
        assert worked.trace["attention.weights"].value[0, 0, 1].tolist() == [1, 0, 0]
    # As float32 softmaxes are printed.
    load_worked(write('tokens = ["a"]\nprobabilities = [[0.09003057, 0.24472848, 0.66524094]]'))
    load_worked(write('tokens = ["a"]\nprobabilities = [[0.33333334, 0.33333334, 0.33333334]]'))


def test_shares_of_many_texts_and_heads(write: Write) -> None:
    text = """
    tokens = [["a", "b"], ["c", "d"]]
    heads = 2
    weights = [
        [[[1, 0], [0.5, 0.5]], [[1, 0], [0, 1]]],
        [[[1, 0], [0.5, 0.5]], [[1, 0], [0.7, 0.5]]],
    ]
    """
    with pytest.raises(FileError) as caught:
        load_worked(write(text))
    assert "own.toml:4: weights[1,1,1], the row of d, adds up to 1.2; as it is written it must be 1 ± 0.1" in str(
        caught.value
    )


def test_wrong_weights_are_compared_where_they_can_be_computed(write: Write) -> None:
    text = 'tokens = ["a", "b"]\nscores = [[0, 0], [0, 0]]\nweights = [[0.9, 0.9], [-0.5, 0.5]]'
    (weights,) = load_worked(write(text)).comparisons
    assert not weights.agrees
    assert weights.gap == 1.0
    assert weights.stage.value.tolist() == [[[[0.5, 0.5], [0.5, 0.5]]]]


def test_what_is_given_says_where(write: Write) -> None:
    stage = load_worked(write('tokens = ["a"]\nscores = [[1.5]]')).trace["attention.scores"]
    assert isinstance(stage.op, Given)
    assert stage.kind == "attention.scores.given"
    assert stage.formula == "scores = own.toml · scores"
    (step,) = stage.derivation((0, 0, 0, 0)).steps
    assert step.pieces == ("own.toml · scores[0,0,0,0]",)
    assert step.value == 1.5


def test_scores_are_divided_only_where_it_is_known_by_what(write: Write) -> None:
    given = load_worked(write('tokens = ["a"]\nscores = [[8]]')).trace
    assert "attention.scaled" not in given
    divided = load_worked(write('tokens = ["a"]\nscores = [[8]]\nscale = 4')).trace
    assert divided["attention.scaled"].value.tolist() == [[[[2]]]]


# What is written about it


@pytest.fixture
def page() -> str:
    (path,) = {path.parent / "README.md" for path in shipped_worked().values()}
    return path.read_text("utf-8")


def test_the_page_about_the_format_names_every_key(page: str) -> None:
    for key in (*SETTINGS, *STAGES, *WEIGHTS):
        assert f"`{key}`" in page or (key.startswith("b_") and "`b_…`" in page), key


def test_the_example_on_that_page_works(page: str, write: Write) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (weights,) = load_worked(write(example)).comparisons
    assert weights.agrees
    assert weights.stage.name == "attention.weights"


# What is wrong

BASE = 'tokens = ["我", "爱", "你"]\n'


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ("tokens = [", "worked-not-toml", "is not TOML"),
        ('tokens = ["a"]\ntokens = ["b"]\n', "worked-not-toml", "line 2"),
        (BASE + "\nwieghts = [[1]]", "worked-key", "own.toml:3: there is no key wieghts; there are weights"),
        (BASE + "[wieghts]\na = 1", "worked-key", "own.toml:2"),
        ("title = 'x'", "worked-value", "tokens"),
        ("tokens = []", "worked-value", "[]"),
        ("tokens = [1]", "worked-value", "[1]"),
        ('tokens = ["a", ""]', "worked-value", "tokens"),
        ('tokens = [["a"], ["b", "c"]]', "worked-lengths", "1 and 2"),
        (BASE + 'keys = [["a"], ["b"]]', "worked-fit", "keys is B×M = 2×1; to fit tokens B×N = 1×3 it"),
        (BASE + 'mask = "upper"', "worked-unused", "mask"),
        (
            BASE + 'scores = 5\nmask = "upper"',
            "worked-single",
            "scores is a single number, 5; to fit tokens B×N = 1×3 it must be N×M = 3×3",
        ),
        ('tokens = ["a"]\nscores = [[1]]\nmask = "upper"', "worked-value", '"none", "causal", [[1, 0], [1, 1]]'),
        (BASE + "weights = [[1, 0, 0], [0, 1], [0, 0, 1]]", "worked-ragged", "weights[1] has 2 numbers"),
        (BASE + "weights = [[1, 0, 0], 3, [0, 0, 1]]", "worked-ragged", "weights[1] has 1"),
        (BASE + "weights = [[1, 0], [0, 1]]", "worked-fit", "N×M = 2×2; to fit tokens B×N = 1×3 it must be N×M = 3×3"),
        (
            BASE + "\nweights = [[1, 0, 0], [0.45, 0.10, 0.35], [0, 0, 1]]",
            "worked-row-sum",
            "own.toml:3: weights[0,0,1], the row of 爱, adds up to 0.9; as it is written it must be 1 ± 0.015",
        ),
        (BASE + "weights = [[1, 0, 0], [0.45, 0.10, 0.466], [0, 0, 1]]", "worked-row-sum", "1.016;"),
        (
            BASE + "weights = [[1, 0, 0], [0, 1, 0], [0, 1, 1]]",
            "worked-row-sum",
            "of 你, adds up to 2; as it is written it must be 1",
        ),
        (BASE + "weights = [[1, 0, 0], [0, 0, 0], [0, 0, 1]]", "worked-row-sum", "of 爱, adds up to 0;"),
        (
            BASE + "weights = { shape = [3, 3], fill = 0.2 }",
            "worked-row-sum",
            "of 我, adds up to 0.6; as it is written",
        ),
        (
            BASE + "weights = [[1, 0, 0], [1.5, -0.5, 0], [0, 0, 1]]",
            "worked-negative-share",
            "weights[0,0,1,1] is -0.5, in the row of 爱;",
        ),
        (
            'tokens = ["a"]\nprobabilities = [[0.5, 0.2]]',
            "worked-row-sum",
            "probabilities[0,0], the row of a, adds up to 0.7",
        ),
        ('tokens = ["a"]\nprobabilities = [[1.2, -0.2]]', "worked-negative-share", "probabilities[0,0,1] is -0.2"),
        (BASE + 'weights = [["a", 0, 0], [0, 1, 0], [0, 0, 1]]', "worked-number", "holds a;"),
        (BASE + "weights = [[true, 0, 0], [0, 1, 0], [0, 0, 1]]", "worked-number", "True"),
        (BASE + "V = [[nan], [1], [2]]", "worked-number", "NaN"),
        (BASE + "V = [[inf], [1], [2]]", "worked-number", "Infinity"),
        (BASE + "V = [[1e39], [1], [2]]", "worked-number", "1E+39"),
        (BASE + f"V = [[1{'0' * 400}], [1], [2]]", "worked-number", "1000"),
        (BASE + "V = []", "worked-no-matrix", "an empty list"),
        (BASE + "V = [[[[[1]]]]]", "worked-no-matrix", "5 deep"),
        (BASE + "weights = { shape = [3, 3], fill = 0, also = 1 }", "worked-token", "shape"),
        (BASE + "weights = { shape = [3, -3], fill = 0 }", "worked-no-matrix", "[3, -3]"),
        (BASE + "h = { shape = [99999, 99999], fill = 0 }", "worked-too-large", "9999800001"),
        (
            BASE + "Q = [[1, 2], [3, 4], [5, 6]]\nK = [[1], [2], [3]]",
            "worked-fit",
            "K is M×D = 3×1; to fit Q B×N×D = 1×3×2",
        ),
        (
            BASE + "embeddings = [[1, 2], [3, 4], [5, 6]]\nW_Q = [[1, 0]]\nK = [[1], [2], [3]]",
            "worked-fit",
            "D×D = 1×2",
        ),
        (BASE + "W_Q = [[1]]", "worked-unused", "W_Q"),
        (BASE + "V = [[1], [2], [3]]", "", ""),
        (BASE + "target = 0", "worked-unused", "target"),
        (BASE + "theta = 100.0", "worked-unused", "theta"),
        (BASE + 'positions = "rope"', "worked-unused", "positions"),
        (BASE + 'positions = "sinusoidal"', "worked-width", "own.toml:2"),
        (BASE + "Q = [[1], [2], [3]]\nK = [[1], [2], [3]]\nheads = 2", "worked-heads", "Q B×N×D = 1×3×1"),
        (BASE + "Q = [[1], [2], [3]]\nK = [[1], [2], [3]]\npositions = 'rope'", "worked-rope", "Q B×H×N×d = 1×1×3×1"),
        (BASE + "heads = 0", "worked-value", "1 … 64"),
        ('tokens = ["a"]\nscores = [[1]]\nscale = true', "worked-scale", "scale"),
        ('tokens = ["a"]\nscores = [[1]]\nscale = 0', "worked-value", "> 0"),
        ('tokens = ["a"]\nkeys = ["b"]\nscores = [[1]]\nmask = "causal"', "worked-mask", "own.toml:4"),
        ('tokens = ["a", "b"]\n[scores]\na = [1, 2]', "worked-partial", "scores"),
        ('tokens = ["a", "b"]\n[scores]\nc = [1, 2]', "worked-token", "no c; it has a, b"),
        (
            'tokens = ["a", "b"]\n[scores]\na = [1]',
            "worked-row",
            "the row of a in scores is M = 1; to fit tokens B×N = 1×2 it must be M = 2",
        ),
        (
            'tokens = ["a", "b"]\n[embeddings]\na = [1, 2]\nb = [1]',
            "worked-row",
            "the row of b in embeddings is D = 1; to fit embeddings.a D = 2 it must be D = 2",
        ),
        (BASE + "[embeddings]\n'我' = [1]", "worked-token", "爱"),
        (BASE + 'vocabulary = ["a", "a"]', "worked-twice", "a"),
        ('tokens = ["a"]\nvocabulary = ["x", "y"]\nlogits = [[1, 2]]\ntarget = "z"', "worked-token", "x, y"),
        ('tokens = ["a"]\nlogits = [[1, 2]]\ntarget = 2', "worked-token", "1"),
        (
            'tokens = ["a"]\nlogits = [[1, 2]]\ntarget = [0, 1]',
            "worked-fit",
            "target is N = 2; to fit tokens B×N = 1×1",
        ),
        (
            'tokens = ["a"]\nvocabulary = ["x"]\nlogits = [[1, 2]]',
            "worked-fit",
            "logits is N×V = 1×2; to fit vocabulary V = 1 it must be N×V = 1×1",
        ),
        ("tokens = [" + '"a",' * 513 + "]", "worked-too-many", "513"),
    ],
)
def test_what_is_wrong_is_one_line(write: Write, text: str, key: str, said: str) -> None:
    file = write(text)
    if not key:
        load_worked(file)
        return
    with pytest.raises(FileError) as caught:
        load_worked(file)
    message = str(caught.value)
    assert caught.value.key == key, message
    assert said in message
    assert "own.toml" in message
    assert "\n" not in message


TWO, H = 'tokens = ["a", "b"]\n', "h = [[1, 2], [3, 4]]\n"
OTHER = TWO + 'keys = ["x", "y", "z"]\n'
QK = "Q = [[1, 2], [3, 4]]\nK = [[1, 2], [3, 4]]\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            TWO + "weights = [[1, 0], [0, 1]]\nV = [[1, 2], [3, 4], [5, 6]]",
            "V is M×D = 3×2; to fit weights N×M = 2×2 it must be M×D = 2×D",
        ),
        (
            OTHER + "weights = [[1, 0, 0], [1, 0, 0]]\nV = [[1], [2]]",
            "V is M×D = 2×1; to fit weights N×M = 2×3 it must be M×D = 3×D",
        ),
        (TWO + "V = [[1], [2], [3]]", "V is M×D = 3×1; to fit tokens B×N = 1×2 it must be M×D = 2×D"),
        (
            TWO + "scores = [[1, 2, 3], [4, 5, 6]]",
            "scores is N×M = 2×3; to fit tokens B×N = 1×2 it must be N×M = 2×2",
        ),
        (OTHER + "scores = [[1, 2], [3, 4]]", "scores is N×M = 2×2; to fit keys B×M = 1×3 it must be N×M = 2×3"),
        (
            TWO + QK + "scores = [[1, 2, 3], [1, 2, 3]]",
            "to fit Q B×H×N×d = 1×1×2×2, K B×H×M×d = 1×1×2×2 it must be N×M = 2×2",
        ),
        (
            TWO + "scores = [[1, 2], [3, 4]]\nmask = [[1, 0, 0], [1, 1, 1]]",
            "mask is N×M = 2×3; to fit tokens B×N = 1×2 it must be N×M = 2×2",
        ),
        (TWO + "h = [[1, 2]]", "h is N×D = 1×2; to fit tokens B×N = 1×2 it must be N×D = 2×D"),
        (
            TWO + H + "W_out = [[1, 2], [3, 4]]\nb_out = [1, 2, 3]",
            "b_out is V = 3; to fit W_out D×V = 2×2 it must be V = 2",
        ),
        (
            TWO + H + 'vocabulary = ["x", "y", "z"]\nW_out = [[1, 2], [3, 4]]',
            "W_out is D×V = 2×2; to fit vocabulary V = 3 it must be D×V = 2×3",
        ),
        (
            TWO + H + "W_out = [[1, 2], [3, 4], [5, 6]]",
            "W_out is D×V = 3×2; to fit h B×N×D = 1×2×2 it must be D×V = 2×2",
        ),
        (
            OTHER + "key_embeddings = [[1], [2]]",
            "key_embeddings is M×D = 2×1; to fit keys B×M = 1×3 it must be M×D = 3×D",
        ),
        (
            'tokens = ["a"]\nlogits = [[1, 2]]\ntarget = 0\nloss = [0.5, 0.4]',
            "loss is B = 2; to fit losses B×N = 1×1 it must be B = 1",
        ),
    ],
)
def test_what_does_not_fit_names_what_it_must_fit_with_both_shapes(write: Write, text: str, said: str) -> None:
    with pytest.raises(FileError) as caught:
        load_worked(write(text))
    assert said in str(caught.value)
    assert "?" not in str(caught.value)


def test_a_number_that_is_the_only_one_stands_alone(write: Write) -> None:
    single = 'tokens = ["a"]\nlogits = [[0, 0]]\ntarget = 0\n'
    for given in ("loss = 0.693", "loss = [0.693]", "loss = [[0.693]]", "losses = 0.693"):
        (comparison,) = load_worked(write(single + given)).comparisons
        assert comparison.agrees
        assert comparison.given.tolist() == [[0.693]]
    both = 'tokens = [["a"], ["b"]]\nlogits = [[[0, 0]], [[0, 0]]]\ntarget = [0, 1]\nloss = [0.693, 0.5]'
    (comparison,) = load_worked(write(both)).comparisons
    assert comparison.agreement.tolist() == [[True], [False]]


@pytest.mark.parametrize("keys", ["", 'keys = ["x", "y"]\n'])
def test_a_mask_that_the_file_writes_out(write: Write, keys: str) -> None:
    worked = load_worked(write(TWO + keys + "scores = [[0, 1], [2, 3]]\nmask = [[0, 1], [1, 1]]"))
    part = "cross_attention" if keys else "attention"
    masked = worked.trace[f"{part}.masked"]
    assert masked.value.tolist() == [[[[-math.inf, 1], [2, 3]]]]
    assert masked.kind == f"{part}.masked.own"
    assert rows(worked, f"{part}.weights")[0] == [0, 1]
    mask = masked.inputs[1]
    assert isinstance(mask, GivenMask)
    assert mask.shape_text == "1×N×M = 1×2×2"
    assert mask.value.dtype == np.float32
    for query, key, seen in ((0, 0, 0), (0, 1, 1), (1, 0, 1)):
        derivation = mask.derivation((0, query, key))
        assert derivation is not None
        (step,) = derivation.steps
        assert step.value == derivation.value == seen
        assert step.pieces == (f"own.toml · mask[{query},{key}] → {seen}",)


def test_a_mask_holds_only_1_and_0(write: Write) -> None:
    scores = TWO + "scores = [[0, 1], [2, 3]]\n"
    for given, said in (
        ("mask = [[1, 0], [1, 2]]", "mask[1,1] is 2; a mask holds 1 for what may be seen and 0"),
        ("mask = [[1, 0.5], [1, 1]]", "mask[0,1] is 0.5;"),
        ("mask = [[1, -inf], [1, 1]]", "only finite numbers"),
        ("[mask]\na = [1, 0]", "mask gives only some rows"),
    ):
        with pytest.raises(FileError) as caught:
            load_worked(write(scores + given))
        assert said in str(caught.value)
    whole = load_worked(write(scores + "[mask]\na = [1, 0]\nb = [1, 1]"))
    assert rows(whole, "attention.masked") == [[0, -math.inf], [2, 3]]


def test_no_such_file(tmp_path: Path) -> None:
    for name in ("no-such", "a\x00b", "x" * 5000):
        with pytest.raises(FileError) as caught:
            load_worked(name)
        assert caught.value.key == "no-such-worked"
        assert "self-attention-3x3" in str(caught.value)
    with pytest.raises(FileError) as caught:
        load_worked(tmp_path)
    assert caught.value.key == "file-is-folder"


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(b'tokens = ["\xff"]')
    with pytest.raises(FileError) as caught:
        load_worked(file)
    assert caught.value.key == "worked-not-utf8"


def test_deep_nesting(tmp_path: Path) -> None:
    file = tmp_path / "deep.toml"
    file.write_text("V = " + "[" * 5000 + "]" * 5000)
    with pytest.raises(FileError) as caught:
        load_worked(file)
    assert caught.value.key == "worked-not-toml"


def test_control_characters_are_made_visible(write: Write) -> None:
    worked = load_worked(write('title = "a\\u001b[31m"\nnotes = "one\\ntwo\\u0007"\ntokens = ["\\u001b", " x"]'))
    assert worked.titled("zh") == "a␛[31m"
    assert worked.noted("en") == "one\ntwo␇"
    assert [token.label for token in worked.trace.tokens[0]] == ["␛", "␣x"]
