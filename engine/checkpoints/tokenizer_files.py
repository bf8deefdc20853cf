"""The files beside tokenizer.json: which tokens have an office, which there are besides, and what else they change.

transformers makes parts of a tokenizer from tokenizer_config.json, whatever tokenizer.json says of them; which parts
depends on the class that the folder names or its model has. As in transformers 5: tokenization_utils_base.py,
tokenization_utils_tokenizers.py, models/auto/tokenization_auto.py, and the classes for BERT, GPT-2, GPT-NeoX and Llama.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.checkpoints.files import read_json, shortened, shown
from engine.errors import FileError

if TYPE_CHECKING:
    import tokenizers

NAMED = ("bos", "eos", "pad", "mask", "unk")
OFFICES = tuple(f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))

CONFIG, MAP, ADDED, MODEL = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json"

# The class of a model's tokenizer where the folder names none.
CLASSES = {
    "bert": "BertTokenizer",
    "gpt2": "GPT2Tokenizer",
    "gpt_neo": "GPT2Tokenizer",
    "gpt_neox": "GPTNeoXTokenizer",
    "phi": "GPT2Tokenizer",
}
# Of these, transformers knows that published folders name the wrong class.
CLASS_IS_NOT_READ = ("mistral", "phi3", "qwen2")

FLAGS = ("lstrip", "rstrip", "normalized", "single_word", "special")


class TokenizerFiles:
    """What stands beside tokenizer.json in a folder."""

    def __init__(self, folder: Path) -> None:
        """Reads the files that are there.

        Raises:
            FileError: one of them cannot be read.
        """
        self._folder = folder
        self._config = self._read(CONFIG)
        self._declared = self._config.get("added_tokens_decoder")
        # Newer folders have all tokens in the one file, and the others that they carry for older programs are not read.
        self._map = self._read(MAP) if self._declared is None else {}
        self._tokens = {key: (CONFIG, entry) for key, entry in self._config.items()}
        self._tokens |= {key: (MAP, entry) for key, entry in self._map.items()}

    @property
    def named(self) -> dict[str, str]:
        """The contents of the tokens that have an office.

        Raises:
            FileError: an entry is no token.
        """
        named = {}
        for name in NAMED:
            file, entry = self._tokens.get(f"{name}_token", (CONFIG, None))
            if entry is not None:
                named[name] = self._content(file, f"{name}_token", entry)
        return named

    def complete(self, library: tokenizers.Tokenizer, rows: int | None) -> None:
        """Make of what tokenizer.json holds what transformers makes of the folder.

        ``rows`` is how many tokens the model has an embedding for; further tokens that go beyond are left out.

        Raises:
            FileError: an entry makes no sense.
        """
        kind = self._class()
        if kind == "BertTokenizer":
            self._spell_as_bert(library)
        elif kind in ("GPT2Tokenizer", "GPTNeoXTokenizer"):
            self._start_as_gpt2(library)
        elif kind == "LlamaTokenizer" and not self._flag("add_prefix_space", True):
            _start_without_space(library)
        self._add(library, rows)

    def _read(self, name: str) -> dict[str, Any]:
        file = self._folder / name
        return read_json(file) if os.path.lexists(file) else {}

    def _class(self) -> str:
        model = self._read(MODEL)
        kind = model.get("model_type")
        if kind in CLASS_IS_NOT_READ:
            return ""
        default = CLASSES.get(kind, "") if isinstance(kind, str) else ""
        return str(self._config.get("tokenizer_class") or model.get("tokenizer_class") or default).removesuffix("Fast")

    def _spell_as_bert(self, library: tokenizers.Tokenizer) -> None:
        """Capitals, accents and Chinese characters as tokenizer_config.json says."""
        from tokenizers.normalizers import BertNormalizer

        lowercase, accents = self._flag("do_lower_case", True), self._flag("strip_accents", None)
        chinese = self._flag("tokenize_chinese_chars", True)
        if isinstance(library.normalizer, BertNormalizer):
            library.normalizer = BertNormalizer(True, bool(chinese), accents, bool(lowercase))

    def _start_as_gpt2(self, library: tokenizers.Tokenizer) -> None:
        """A space before the text where tokenizer_config.json says so, and only there."""
        from tokenizers.pre_tokenizers import ByteLevel

        cutter, space = library.pre_tokenizer, self._flag("add_prefix_space", False)
        if isinstance(cutter, ByteLevel):
            cutter.add_prefix_space = bool(space)
            library.pre_tokenizer = cutter

    def _add(self, library: tokenizers.Tokenizer, rows: int | None) -> None:
        """Add the tokens that the files name and tokenizer.json does not, or names with other properties.

        The ids in the files are only their order: a token that the vocabulary does not have gets the next one.
        """
        known = library.get_added_tokens_decoder().values()
        same, contents = {repr(token) for token in known}, {token.content for token in known}
        offices = list(self._offices())
        special, names = [*offices, *self._others()], {token.content for token in offices}
        wanted = {token.content: token for token in self._further(library, special) if repr(token) not in same}
        for token in wanted.values():
            token.special |= token.content in names
        for token in special:
            if token.content not in contents:
                wanted.setdefault(token.content, token)
        added, size = [], library.get_vocab_size()
        for token in wanted.values():
            if library.token_to_id(token.content) is None:
                if rows is not None and size >= rows:
                    continue
                size += 1
            added.append(token)
        library.add_tokens(added)

    def _further(
        self, library: tokenizers.Tokenizer, special: list[tokenizers.AddedToken]
    ) -> list[tokenizers.AddedToken]:
        """The tokens that are declared with their properties, or that added_tokens.json gives an id."""
        from tokenizers import AddedToken

        found: dict[int, tokenizers.AddedToken] = {}
        if self._declared is None:
            contents, taken = {token.content for token in special}, library.get_added_tokens_decoder()
            for content, number in self._read(ADDED).items():
                if isinstance(number, bool) or not isinstance(number, int):
                    raise self._wrong(ADDED, content, number, "a token id")
                if number not in taken:
                    is_special = content in contents
                    found[number] = AddedToken(content, normalized=not is_special, special=is_special)
        elif isinstance(self._declared, dict):
            for key, entry in self._declared.items():
                if not (key.isascii() and key.isdecimal() and len(key) < 10):
                    raise self._wrong(CONFIG, "added_tokens_decoder", key, "a token id as the key of each token")
                found[int(key)] = self._token(CONFIG, f"added_tokens_decoder[{key}]", entry, False)
        else:
            raise self._wrong(CONFIG, "added_tokens_decoder", self._declared, "an object with a token for each id")
        return [found[number] for number in sorted(found)]

    def _offices(self) -> Iterator[tokenizers.AddedToken]:
        """Tokens with an office, those of the model's own among them, such as ``image_token``."""
        own = [key for key, (_, entry) in self._tokens.items() if key.endswith("_token") and isinstance(entry, str)]
        for key in dict.fromkeys((*OFFICES, *own)):
            file, entry = self._tokens.get(key, (CONFIG, None))
            if entry is not None:
                yield self._token(file, key, entry, True)
        file, extra = self._tokens.get("extra_special_tokens", (CONFIG, None))
        for key, entry in extra.items() if isinstance(extra, dict) else ():
            yield self._token(file, key, entry, True)

    def _others(self) -> Iterator[tokenizers.AddedToken]:
        """Special tokens without an office, from a list with a newer name or an older."""
        for file, entries in ((CONFIG, self._config), (MAP, self._map)):
            key = "extra_special_tokens" if entries.get("extra_special_tokens") else "additional_special_tokens"
            listed = entries.get(key) or []
            if not isinstance(listed, list | dict):
                raise self._wrong(file, key, listed, "a list of tokens")
            for number, entry in enumerate(listed if isinstance(listed, list) else ()):
                yield self._token(file, f"{key}[{number}]", entry, True)

    def _token(self, file: str, key: str, entry: object, special: bool) -> tokenizers.AddedToken:
        """A token as its text alone, or as an object with its properties; ``special`` where that is known."""
        from tokenizers import AddedToken

        content = self._content(file, key, entry)
        given = entry if isinstance(entry, dict) else {}
        flags = {name: given[name] for name in FLAGS if name in given}
        for name, value in flags.items():
            if not isinstance(value, bool):
                raise self._wrong(file, f"{key}.{name}", value, "true or false")
        return AddedToken(content, **flags | {"special": True} if special else flags)

    def _content(self, file: str, key: str, entry: object) -> str:
        content = entry.get("content") if isinstance(entry, dict) else entry
        if not isinstance(content, str):
            text = '{file}: {entry} is {value}; a text or an object with the text as "content" is needed'
            raise FileError(
                "special-token-invalid",
                text,
                file=self._folder / file,
                entry=shortened(key, 80),
                value=shown(entry, 60),
            )
        return content

    def _flag(self, key: str, default: bool | None) -> bool | None:
        value = self._config.get(key)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(CONFIG, key, value, "true or false")
        return default if value is None else value

    def _wrong(self, file: str, key: str, value: object, wanted: str) -> FileError:
        text = "{file}: {entry} is {value}; {wanted} is expected"
        where = {"entry": shortened(key, 80), "value": shown(value), "wanted": wanted}
        return FileError("config-value", text, file=self._folder / file, **where)


def _start_without_space(library: tokenizers.Tokenizer) -> None:
    """Take away the space that a SentencePiece vocabulary puts before a text, and the one that decoding takes away."""
    for name in ("normalizer", "pre_tokenizer", "decoder"):
        component = getattr(library, name)
        if component is not None:
            state = json.loads(component.__getstate__(), object_hook=_without_space)
            component.__setstate__(json.dumps(state).encode())
            setattr(library, name, component)


def _without_space(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") == "Metaspace":
        return part | {"prepend_scheme": "never"}
    for key, kind in {"normalizers": "Prepend", "decoders": "Strip"}.items():
        if isinstance(part.get(key), list):
            part = part | {key: [inner for inner in part[key] if inner.get("type") != kind]}
    return part
