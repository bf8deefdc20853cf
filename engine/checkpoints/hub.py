"""Models of the Hugging Face Hub: found in the local cache, or downloaded into it by huggingface_hub.

That library reads HF_ENDPOINT, HF_HOME, HF_HUB_OFFLINE and HF_TOKEN; it is imported when it is needed. What the server
says is untrusted: only files of known names at the top of the repository are asked for, pickles never, and no name or
header that could lead out of the cache is followed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.checkpoints.files import names_in, shortened
from engine.checkpoints.hub_library import HubName, check_library, explained, no_room, watched
from engine.checkpoints.tensors import INDEX, PICKLED, SINGLE, SUFFIX, shard_names
from engine.errors import FileError

# Told which file is being downloaded, and how many bytes of all files are there and are wanted. It may raise to stop.
Progress = Callable[[str, int, int], None]

CONFIG, TOKENIZER, TOKENIZER_SUFFIX = "config.json", "tokenizer.json", ".spm"
BESIDE = (
    CONFIG,
    "generation_config.json",
    TOKENIZER,
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "target_vocab.json",
)

SNAPSHOT = re.compile(r"models--(?P<owner>.+?)--(?P<name>.+)")

PATIENCE = 10.0
HASHED_AT_ONCE = 4 << 20


@dataclass(frozen=True)
class RemoteFile:
    """A file of a repository: its size in bytes (0 where the server does not say) and, of large files, its SHA-256."""

    name: str
    size: int
    sha256: str | None


def locate(name: str, progress: Progress | None = None) -> Path:
    """The folder of a Hub model: what the local cache holds, without asking the network; else a download into it.

    Args:
        name: ``owner/name`` or ``owner/name@revision``.
        progress: told what a download does.

    Raises:
        FileError: it is no such name, or cannot be had; the message says why and what to do.
    """
    wanted = HubName.read(name)
    if wanted is None:
        raise FileError(
            "hub-name", "{name} is not the name of a model on the Hub; one reads owner/name", name=shortened(name)
        )
    check_library(wanted)
    folder = _cached(wanted)
    if folder is not None and _has_weights(folder) and _has_tokenizer(folder):
        return folder
    try:
        return _downloaded(wanted, progress)
    except FileError as error:
        # A model without a tokenizer can still be given ids.
        if folder is not None and _has_weights(folder) and error.key in ("hub-offline", "hub-unreachable"):
            return folder
        raise


def name_of(folder: Path) -> str | None:
    """The repository's name, ``owner/name``, where a folder is a snapshot of the Hub cache."""
    home = folder.resolve()
    found = SNAPSHOT.fullmatch(home.parent.parent.name) if home.parent.name == "snapshots" else None
    return f"{found['owner']}/{found['name']}" if found else None


def _cached(wanted: HubName) -> Path | None:
    """The snapshot that the cache holds of a revision, whole or not."""
    from huggingface_hub import try_to_load_from_cache

    with explained(wanted):
        config = try_to_load_from_cache(wanted.repository, CONFIG, revision=wanted.revision)
    return Path(config).parent if isinstance(config, str) else None


def _has_weights(folder: Path) -> bool:
    names = [name for name in names_in(folder) if os.path.exists(folder / name)]
    if SINGLE not in names and INDEX in names:
        return set(shard_names(folder / INDEX)).issubset(names)
    return any(name.endswith(SUFFIX) for name in names)


def _has_tokenizer(folder: Path) -> bool:
    return any(name == TOKENIZER or name.endswith(TOKENIZER_SUFFIX) for name in names_in(folder))


def _downloaded(wanted: HubName, progress: Progress | None) -> Path:
    files = _listed(wanted)
    if not any(name.endswith(SUFFIX) for name in files) or CONFIG not in files:
        raise _unusable(wanted, files)
    download = _Download(wanted, progress)
    small = [CONFIG, *(name for name in files if name != CONFIG and _stands_beside(name))]
    weights = _weights_named(wanted, files)
    download.expect(files[name] for name in (*small, *weights))
    for name in small:
        download.fetch(files[name])
    if weights == [INDEX]:
        index = download.fetch(files[INDEX])
        weights = shard_names(index)
        missing = [name for name in weights if name not in files]
        if missing:
            raise FileError(
                "hub-shards-missing",
                "{name}: {index} names {shard}, which the repository does not hold; look for another copy of the model",
                name=wanted,
                index=INDEX,
                shard=shortened(missing[0]),
            )
        download.expect(files[name] for name in weights)
    for name in weights:
        download.fetch(files[name])
    return download.folder


def _listed(wanted: HubName) -> dict[str, RemoteFile]:
    """The files at the top of the repository, by name."""
    from huggingface_hub import HfApi

    with explained(wanted), watched(wanted):
        found = HfApi().model_info(wanted.repository, revision=wanted.revision, files_metadata=True, timeout=PATIENCE)
        return {
            file.rfilename: RemoteFile(file.rfilename, int(file.size or 0), file.lfs.sha256 if file.lfs else None)
            for file in found.siblings or ()
            if _is_bare(file.rfilename)
        }


def _is_bare(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}", name) is not None


def _stands_beside(name: str) -> bool:
    return name in BESIDE or name.endswith(TOKENIZER_SUFFIX)


def _weights_named(wanted: HubName, files: Iterable[str]) -> list[str]:
    """What to fetch of several weights files: a repository may hold the same weights twice, whole and in parts."""
    held = [name for name in files if name.endswith(SUFFIX)]
    for name in (SINGLE, INDEX):
        if name in files:
            return [name]
    if len(held) > 1:
        raise FileError(
            "hub-weights-ambiguous",
            "{name}: holds {count} *.safetensors files and no {index} to say how they belong together",
            name=wanted,
            count=len(held),
            index=INDEX,
        )
    return held


def _unusable(wanted: HubName, files: Iterable[str]) -> FileError:
    pickled = sorted(name for name in files if name.endswith(PICKLED))
    if pickled and not any(name.endswith(SUFFIX) for name in files):
        return FileError(
            "hub-pickled",
            "{name}: its weights are a pickle ({file}), which can run code when it is read, and are not downloaded; "
            "look for a revision with *.safetensors, often {name}@refs/pr/1",
            name=wanted.repository,
            file=pickled[0],
        )
    packed = sorted(name for name in files if name.endswith(".gguf"))
    if packed:
        return FileError(
            "hub-gguf",
            "{name}: holds GGUF files ({file}, …) and no *.safetensors; download one and give its path",
            name=wanted,
            file=packed[0],
        )
    return FileError(
        "hub-no-model", "{name}: holds no {config} with *.safetensors; it is not a model", name=wanted, config=CONFIG
    )


class _Download:
    """The files of one revision, fetched one after another into its snapshot in the cache."""

    def __init__(self, wanted: HubName, progress: Progress | None) -> None:
        self._wanted, self._progress = wanted, progress
        self._done = self._total = 0
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """The snapshot that the fetched files are in."""
        assert self._folder is not None
        return self._folder

    def expect(self, files: Iterable[RemoteFile]) -> None:
        """Count these files among those to come.

        Raises:
            FileError: the disk has no room for them.
        """
        from huggingface_hub import constants

        size = sum(file.size for file in files)
        self._total += size
        cache = Path(constants.HF_HUB_CACHE).absolute()
        home = next(folder for folder in (cache, *cache.parents) if os.path.exists(folder))
        with explained(self._wanted):
            free = shutil.disk_usage(home).free
        if size > free:
            raise no_room(self._wanted, home, f"{size / 1e9:.1f} GB are needed, {free / 1e9:.1f} GB are free")

    def fetch(self, file: RemoteFile) -> Path:
        """The path of a file, downloaded if the cache does not hold it."""
        from huggingface_hub import hf_hub_download

        # The branch may move on meanwhile: all files are of the commit that the first one is of, its snapshot's name.
        revision = self._wanted.revision if self._folder is None else self._folder.name
        is_new = self._folder is None or not os.path.exists(self._folder / file.name)
        done = self._done + file.size
        with explained(self._wanted, file.name), watched(self._wanted):
            path = Path(
                hf_hub_download(
                    self._wanted.repository,
                    file.name,
                    revision=revision,
                    tqdm_class=self._teller(file),
                    etag_timeout=PATIENCE,
                )
            )
        if is_new and file.sha256 is not None:
            _check(self._wanted, path, file.sha256)
        self._folder = path.parent
        self._tell(file, done - self._done)
        return path

    def _teller(self, file: RemoteFile) -> Any:
        """What huggingface_hub takes for a class of tqdm's bars: it draws nothing and counts what arrives."""
        tell = self._tell

        class Bar:
            total = n = 0

            def __init__(self, *_: object, initial: int = 0, **__: object) -> None:
                tell(file, initial)

            def __enter__(self) -> Bar:
                return self

            def __exit__(self, *_: object) -> None:
                pass

            def update(self, count: float | None = 1) -> None:
                tell(file, int(count or 0))

            def update_transfer(self, count: float | None = 1) -> None:
                """Bytes from the network; `update` counts those written."""

            def __getattr__(self, name: str) -> Callable[..., None]:
                return lambda *_, **__: None

        return Bar

    def _tell(self, file: RemoteFile, count: int) -> None:
        self._done += count
        self._total = max(self._total, self._done)
        if self._progress is not None:
            self._progress(file.name, self._done, self._total)


def _check(wanted: HubName, path: Path, sha256: str) -> None:
    """Take a file out of the cache again whose contents are not what the repository says."""
    import hashlib  # which takes longer to import than all the rest here

    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(HASHED_AT_ONCE):
            digest.update(block)
    if digest.hexdigest() != sha256.lower():
        for damaged in (path.resolve(), path):
            damaged.unlink(missing_ok=True)
        raise FileError(
            "hub-damaged",
            "{name}: {file} arrived damaged (its SHA-256 is not the repository's) and was deleted; try again",
            name=wanted,
            file=path.name,
        )
