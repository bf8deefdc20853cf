"""huggingface_hub, held at arm's length: what may be asked of it, what it may be told, what its errors mean.

The library takes most of a second to import, reads its settings while it is imported, and writes to standard error.
"""

from __future__ import annotations

import errno
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from engine.checkpoints.files import is_panic, shortened
from engine.errors import EngineError, FileError

MAIN = "main"
# Letters, digits, `.`, `_` and `-`, as huggingface_hub's validate_repo_id has it.
PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,94}[A-Za-z0-9_])?"
NAME = re.compile(rf"(?P<repository>{PART}/{PART})(?:@(?P<revision>[A-Za-z0-9_][A-Za-z0-9_./-]{{0,199}}))?")

# What a server says in these becomes the name of a file in the cache.
ETAG = re.compile(r'(?:W/)?"?[A-Za-z0-9_+=][A-Za-z0-9_.:+=-]{0,199}"?')
ANSWERS = {"ETag": ETAG, "X-Linked-Etag": ETAG, "X-Repo-Commit": re.compile(r"[0-9A-Fa-f]{40,64}")}

TOLD_EVERY = 128 << 10

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR)


@dataclass(frozen=True)
class HubName:
    """A repository of the Hub, ``owner/name``, and the branch, tag or commit of it that is wanted."""

    repository: str
    revision: str = MAIN

    @staticmethod
    def read(text: str) -> HubName | None:
        """What ``owner/name`` or ``owner/name@revision`` names; None where the text is no such name, or ends as a file
        does."""
        found = NAME.fullmatch(text)
        if (
            found is None
            or ".." in text
            or "--" in found["repository"]
            or found["repository"].endswith((".git", ".gguf"))
        ):
            return None
        revision = found["revision"] or MAIN
        if "//" in revision or revision.endswith(("/", ".", ".lock")):
            return None
        return HubName(found["repository"], revision)

    def __str__(self) -> str:
        return self.repository if self.revision == MAIN else f"{self.repository}@{self.revision}"


def check_library(wanted: HubName) -> None:
    """Import huggingface_hub, which reads its settings while it is imported and stumbles over bad ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import huggingface_hub.hf_api  # noqa: F401
        except ValueError as error:
            text = "{name} cannot be looked up ({reason}); check HF_ENDPOINT and the other HF_… environment variables"
            raise FileError("hub-settings", text, name=wanted, reason=shortened(str(error))) from None


@contextmanager
def watched(wanted: HubName) -> Iterator[None]:
    """Silences the library, which writes to standard error, and looks at every answer's headers before it does.

    Meanwhile it tells of a download every `TOLD_EVERY` bytes; it has no setting for that, and its own 10 MB look stuck
    on a slow line.
    """
    from huggingface_hub import constants, get_session

    def check(response: Any) -> None:
        headers = response.headers
        for header, allowed in ANSWERS.items():
            value = headers.get(header)
            if value is not None and not allowed.fullmatch(value):
                raise _suspicious(wanted, header, value)
        target = headers.get("location")
        if target is not None and urlsplit(target).scheme == "http" and response.url.scheme == "https":
            raise _suspicious(wanted, "Location", target)

    logger, chunk = logging.getLogger("huggingface_hub"), getattr(constants, "DOWNLOAD_CHUNK_SIZE", None)
    level = logger.level
    hooks = get_session().event_hooks["response"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logger.setLevel(logging.CRITICAL + 1)
        hooks.append(check)
        if chunk is not None:
            constants.DOWNLOAD_CHUNK_SIZE = min(chunk, TOLD_EVERY)
        try:
            yield
        finally:
            if chunk is not None:
                constants.DOWNLOAD_CHUNK_SIZE = chunk
            hooks.remove(check)
            logger.setLevel(level)


@contextmanager
def explained(wanted: HubName, file: str | None = None) -> Iterator[None]:
    """Turns what the library, the network and the disk say into a FileError; ``file`` is what is being downloaded."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, EngineError) or not (isinstance(error, Exception) or is_panic(error)):
            raise
        raise _fault(error, wanted, file) from None


def _fault(error: BaseException, wanted: HubName, file: str | None) -> FileError:
    from huggingface_hub import constants, errors, get_token

    while isinstance(error, errors.LocalEntryNotFoundError) and error.__cause__ is not None:
        error = error.__cause__
    names = {"name": wanted, "hub": constants.ENDPOINT}
    status = error.response.status_code if isinstance(error, errors.HfHubHTTPError) else None
    if isinstance(error, errors.OfflineModeIsEnabled):
        text = (
            "{name} is not in the local Hub cache, {cache}, and HF_HUB_OFFLINE forbids to download it; "
            "unset that, or give a folder"
        )
        return FileError("hub-offline", text, **names, cache=constants.HF_HUB_CACHE)
    if isinstance(error, errors.RevisionNotFoundError):
        text = "{name}: the repository has no revision {revision}; leave out @{revision} for the main one"
        return FileError("hub-no-revision", text, **names, revision=wanted.revision)
    if isinstance(error, errors.EntryNotFoundError):
        return FileError("hub-changed", "{name}: {file} is gone from {hub} by now; try again", **names, file=file)
    if isinstance(error, errors.GatedRepoError) or status == 403:
        text = (
            "{name}: access is restricted; accept its terms at {hub}/{repository} "
            "and set HF_TOKEN to a token of that account"
        )
        return FileError("hub-gated", text, **names, repository=wanted.repository)
    if status == 401 and get_token() is not None:
        text = "{name}: {hub} does not accept the token, or it may not read this model; set HF_TOKEN to one that may"
        return FileError("hub-token", text, **names)
    if status in (401, 404):
        text = (
            "{name} is neither a folder here nor a public model on {hub}; check the name, "
            "or set HF_TOKEN to a token that may read it"
        )
        return FileError("hub-not-found", text, **names)
    if status is not None:
        text = "{name}: {hub} answered with the error {status}; try again later"
        return FileError("hub-failing", text, **names, status=status)
    return _local_fault(error, wanted, file)


def _local_fault(error: BaseException, wanted: HubName, file: str | None) -> FileError:
    """What is wrong where no server has said so: the disk, the network, or an answer that makes no sense."""
    from huggingface_hub import constants, errors

    names = {"name": wanted, "hub": constants.ENDPOINT}
    reason = shortened(str(error).strip().partition("\n")[0] or type(error).__name__)
    number = error.errno if isinstance(error, OSError) else None
    if number in NO_ROOM:
        return no_room(wanted, Path(constants.HF_HUB_CACHE), reason)
    if number in NOT_WRITABLE:
        text = "{name}: the Hub cache, {cache}, cannot be written ({reason}); set HF_HOME to a folder that can"
        return FileError("hub-cache", text, **names, cache=constants.HF_HUB_CACHE, reason=reason)
    if isinstance(error, errors.FileMetadataError | ValueError | TypeError | KeyError | AttributeError):
        text = "{name}: {hub} does not answer as the Hub does ({reason}); check HF_ENDPOINT and the network"
        return FileError("hub-answer", text, **names, reason=reason)
    if file is not None:
        text = "{name}: the download of {file} broke off ({reason}); try again: files that are whole are kept"
        return FileError("hub-broken-off", text, **names, file=file, reason=reason)
    text = (
        "{name} is not in the local Hub cache, and {hub} cannot be reached to download it ({reason}); "
        "check the network, or give a folder"
    )
    return FileError("hub-unreachable", text, **names, reason=reason)


def _suspicious(wanted: HubName, header: str, value: str) -> FileError:
    text = "{name}: the server's answer has {value} for {header}, which is not safe to follow; check HF_ENDPOINT"
    return FileError("hub-unsafe", text, name=wanted, header=header, value=shortened(value, 80))


def no_room(wanted: HubName, folder: Path, reason: str) -> FileError:
    text = "{name}: the disk of the Hub cache, {folder}, has no room for it ({reason}); free some, or set HF_HOME"
    return FileError("hub-no-room", text, name=wanted, folder=folder, reason=reason)
