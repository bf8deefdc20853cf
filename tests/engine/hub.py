"""A server on 127.0.0.1 that speaks the part of the Hub's protocol that a download needs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "c0ffee" + "0" * 34
REVISION = re.compile(r"/api/models/([^/]+/[^/]+)/revision/([^/]+)")
RESOLVE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")


@dataclass
class Repository:
    """What the server holds under a name, and how it misbehaves.

    Attributes:
        files: the contents, by path.
        revisions: the names that lead to its one commit.
        token: the token without which it cannot be read.
        gated: whether its terms must be accepted; then no token here is good enough.
        store: where large files are redirected to; else they are sent at once.
        headers: sent with every file instead of the true ones.
        contents: sent instead of the true ones, under the true ones' names and sums.
        cut: how many bytes of a large file are sent before the connection breaks, and how often that happens.
    """

    files: dict[str, bytes]
    revisions: tuple[str, ...] = ("main", COMMIT)
    token: str | None = None
    gated: bool = False
    store: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    cut: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Request:
    """One request that the server has had."""

    method: str
    path: str
    token: str | None
    range: str | None


class Hub:
    """The server; ``with Hub() as hub`` runs it. ``answer`` takes requests away from it where it gives a status."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.requests: list[Request] = []
        self.answer: Callable[[Request], int | None] = lambda request: None
        hub = self

        class Handler(_Handler):
            server_hub = hub

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def fetched(self) -> list[str]:
        """The files whose contents were asked for, in order."""
        found = [RESOLVE.fullmatch(request.path) for request in self.requests if request.method == "GET"]
        return [match[3] for match in found if match]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Hub:
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_hub: Hub

    def do_HEAD(self) -> None:
        self.respond()

    def do_GET(self) -> None:
        self.respond()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def respond(self) -> None:
        path = urlsplit(self.path).path
        token = self.headers.get("Authorization", "").removeprefix("Bearer ") or None
        request = Request(self.command, path, token, self.headers.get("Range"))
        self.server_hub.requests.append(request)
        status = self.server_hub.answer(request)
        listed, file = REVISION.fullmatch(path), RESOLVE.fullmatch(path)
        if status is not None:
            self.fail(status)
        elif listed:
            self.open(listed[1], unquote(listed[2]), token, self.list_files)
        elif file:
            self.open(
                file[1],
                unquote(file[2]),
                token,
                lambda repository: self.send_file(repository, unquote(file[3]), request),
            )
        else:
            self.fail(404)

    def open(self, name: str, revision: str, token: str | None, then: Callable[[Repository], None]) -> None:
        repository = self.server_hub.repositories.get(name)
        if repository is None:
            self.fail(401 if token is None else 404, "RepoNotFound")
        elif repository.gated:
            self.fail(401 if token is None else 403, "GatedRepo")
        elif repository.token is not None and token != repository.token:
            self.fail(401, "RepoNotFound")
        elif revision not in repository.revisions:
            self.fail(404, "RevisionNotFound")
        else:
            then(repository)

    def list_files(self, repository: Repository) -> None:
        siblings = [
            {"rfilename": path, "size": len(data), "blobId": "0" * 40}
            | ({"lfs": _lfs(data)} if _is_large(path) else {})
            for path, data in repository.files.items()
        ]
        body = json.dumps({"id": "a/b", "modelId": "a/b", "sha": COMMIT, "siblings": siblings}).encode()
        self.send(200, body, {"Content-Type": "application/json"})

    def send_file(self, repository: Repository, path: str, request: Request) -> None:
        if path not in repository.files:
            self.fail(404, "EntryNotFound")
            return
        data = repository.files[path]
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha1(data).hexdigest()}"'}
        if _is_large(path):
            headers |= {"X-Linked-Etag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Linked-Size": str(len(data))}
        headers |= repository.headers
        data = repository.contents.get(path, data)
        if _is_large(path) and repository.store is not None:
            self.send(302, b"", headers | {"Location": repository.store + self.path})
            return
        start = int(request.range.removeprefix("bytes=").partition("-")[0]) if request.range else 0
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        kept, times = repository.cut
        if request.method == "GET" and _is_large(path) and times:
            repository.cut = (kept, times - 1)
            self.send(206 if start else 200, data[start:], headers, kept)
        else:
            self.send(206 if start else 200, data[start:], headers)

    def fail(self, status: int, code: str = "") -> None:
        self.send(status, b"", {"X-Error-Code": code} if code else {})

    def send(self, status: int, body: bytes, headers: dict[str, str], kept: int | None = None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[:kept])
        if kept is not None:
            self.close_connection = True


def _is_large(path: str) -> bool:
    return path.endswith((".safetensors", ".bin"))


def _lfs(data: bytes) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
