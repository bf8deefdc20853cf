r"""How byte-level BPE cuts a text up before it looks for pieces, by the names that GGUF files have for it.

``tokenizer.ggml.pre`` names what is a regular expression in a model's own tokenizer.json. Names and expressions as in
llama.cpp, src/llama-vocab.cpp, in the original form where that rewrites them for what its own engine lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Cut:
    """One way of cutting a text up.

    Attributes:
        patterns: one after the other cuts what those before it have left: what it matches, and what lies between.
        composed: whether the text is put into NFC before.
        whole: whether what is a piece as it stands is never put together from others.
        bos: whether texts begin with the start token where the file does not say.
    """

    patterns: tuple[str, ...]
    composed: bool = False
    whole: bool = False
    bos: bool = False


DIGIT, DIGITS, UP_TO_THREE = r"\p{N}", r"\p{N}+", r"\p{N}{1,3}"
PLAIN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
HAN = "[一-龥ࠀ-一가-\ud7ff]+"


def words(digits: str) -> str:
    """What cl100k and those after it cut out: endings, words with what stands before them, numbers, signs, spaces."""
    return rf"{ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{SPACES}"


def cased_words(digits: str, ending: str = "") -> str:
    """As `words`, and a word ends where a capital follows a small letter."""
    upper, lower = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    before = r"[^\r\n\p{L}\p{N}]?"
    word = rf"{before}{upper}*{lower}+{ending}|{before}{upper}+{lower}*{ending}"
    return rf"{word}|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{SPACES}"


GPT2 = Cut((PLAIN,))
SINGLE_DIGITS = Cut((DIGIT, PLAIN))
LLAMA3 = Cut((words(UP_TO_THREE),), whole=True, bos=True)
QWEN2 = Cut((words(DIGIT),), composed=True)
GPT4O = Cut((cased_words(UP_TO_THREE, f"{ENDINGS}?"),))
# Letters that are capital or small, save for the scripts that DeepSeek's own list leaves out.
CASED = r"[[\p{Lu}\p{Ll}\p{Lt}]&&[^ՠ-ֈა-ჿᲀ-ᲈⴀ-ⴭꞐ-ꟿꬰ-ꭨ\x{10570}-\x{105bc}\x{16e40}-\x{16e7f}\x{1d400}-\x{1dfff}]]"
DEEPSEEK = Cut(("[\r\n]", rf"\s?{CASED}+", r"\s?[!-/:-~！-／：-～‘-‟\u3000-。]+", r"\s+$", HAN, DIGITS))
DEEPSEEK3 = Cut(
    (
        UP_TO_THREE,
        "[一-龥぀-ゟ゠-ヿ]+",
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
        rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{SPACES}",
    )
)

CUTS: Mapping[str, Cut] = {
    "default": Cut((r"[\p{P}\$\+<=>\^~\|]+", PLAIN, DIGITS, "[0-9][0-9][0-9]")),
    **dict.fromkeys(("gpt-2", "phi-2", "mpt", "olmo", "gigachat", "a.x-4.0", "mellum", "exaone4"), GPT2),
    **dict.fromkeys(("trillion", "granite-docling"), GPT2),
    **dict.fromkeys(("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone"), SINGLE_DIGITS),
    **dict.fromkeys(("minerva-7b", "mellum2"), SINGLE_DIGITS),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "midm-2.0"), LLAMA3),
    **dict.fromkeys(("smaug-bpe", "dbrx"), Cut(LLAMA3.patterns)),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "f2llmv2"), QWEN2),
    **dict.fromkeys(("megrez", "kormo", "stablelm2", "hunyuan"), Cut(QWEN2.patterns)),
    "deepseek-llm": DEEPSEEK,
    "deepseek-coder": Cut(("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", HAN, DIGIT)),
    "deepseek-v3": DEEPSEEK3,
    **dict.fromkeys(("gpt-4o", "llama4", "kanana2"), GPT4O),
    "tekken": replace(LLAMA3, patterns=(cased_words(DIGIT),)),
    "seed-coder": Cut((words(DIGIT).replace(r"[^\s\p{L}\p{N}]+[\r\n]*", r"[^\s\p{L}\p{N}\r\n]+"),)),
    "viking": Cut((" ?[^(\\s|.,!?…。，、।۔،)]+", DIGIT)),
}
