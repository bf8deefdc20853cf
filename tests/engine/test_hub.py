"""Models by their name on the Hub: cached, downloaded, refused. No test leaves 127.0.0.1."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from engine.checkpoints.hub import name_of
from engine.checkpoints.hub_library import HubName
from engine.model import samples
from tests.engine.hub import COMMIT, Hub, Repository, Request

ROOT = Path(__file__).parents[2]
NAME = "someone/tiny-gpt"
WANTED = ("added_tokens.json", "config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")

LOCATE = """
import json, sys
from engine.checkpoints.hub import locate
from engine.errors import FileError
told = []
try:
    folder = locate(sys.argv[1], lambda *step: told.append(step))
    print(json.dumps({"folder": str(folder), "told": told}))
except FileError as error:
    print(json.dumps({"key": error.key, "text": str(error)}))
"""

RUN = """
import sys
from engine.model import load
model = load(sys.argv[1])
print(model.name, model.trace("我爱你")["logits"].value.sum())
"""


@dataclass
class Machine:
    """A user's machine: a home of the Hub cache, and an address for the Hub."""

    home: Path
    hub: Hub

    def environment(self, **settings: str) -> dict[str, str]:
        own = {"HF_ENDPOINT": self.hub.address, "HF_HOME": str(self.home), "NO_PROXY": "127.0.0.1,localhost"}
        kept = {
            name: value
            for name, value in os.environ.items()
            if not re.match(r"HF_|HUGG|TRANSFORMERS_|.*proxy", name, re.I)
        }
        return kept | own | settings

    def run(self, code: str, name: str = NAME, **settings: str) -> str:
        command = [sys.executable, "-W", "error", "-c", code, name]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment(**settings), capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    def locate(self, name: str = NAME, **settings: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run(LOCATE, name, **settings))
        return found

    def refusal(self, name: str = NAME, **settings: str) -> tuple[str, str]:
        """The key and the sentence of the error, which is one line without leftovers."""
        found = self.locate(name, **settings)
        assert "\n" not in found["text"]
        assert "{" not in found["text"]
        assert len(found["text"]) < 400
        return found["key"], found["text"]

    def cached(self) -> list[str]:
        """The names of what the snapshots hold."""
        return sorted(path.name for path in self.home.glob("hub/models--*/snapshots/*/*"))

    def blobs(self) -> list[Path]:
        return sorted(self.home.glob("hub/models--*/blobs/*"))


@pytest.fixture
def files() -> dict[str, bytes]:
    """The files of the sample, and more that nobody needs."""
    folder = samples() / "models" / "tiny-gpt"
    return {name: (folder / name).read_bytes() for name in WANTED[1:]} | {
        "added_tokens.json": b"{}",
        "README.md": b"# tiny",
        "expected.npz": b"PK",
        "pytorch_model.bin": b"\x80\x04.",
        "onnx/model.onnx": b"onnx",
        "original/consolidated.safetensors": b"twice",
        "../../../escaped.json": b"{}",
        ".gitattributes": b"",
        "modeling_tiny.py": b"raise SystemExit",
    }


@pytest.fixture
def hub(files: dict[str, bytes]) -> Iterator[Hub]:
    with Hub() as hub:
        hub.repositories[NAME] = Repository(files)
        yield hub


@pytest.fixture
def machine(hub: Hub, tmp_path: Path) -> Machine:
    return Machine(tmp_path / "home", hub)


def test_a_model_is_downloaded_and_runs(machine: Machine) -> None:
    name, total = machine.run(RUN).split()
    assert name == NAME
    assert ["tiny-gpt", total] == machine.run(RUN, "tiny-gpt").split()


def test_only_the_files_of_a_model_are_downloaded(machine: Machine, tmp_path: Path) -> None:
    found = machine.locate()
    assert machine.cached() == sorted(WANTED)
    assert sorted(machine.hub.fetched()) == sorted(WANTED)
    assert machine.hub.fetched()[-1] == "model.safetensors"
    assert name_of(Path(found["folder"])) == NAME
    assert {path.name for path in tmp_path.iterdir()} == {"home"}


def test_progress_is_told_in_bytes_of_all_files(machine: Machine, files: dict[str, bytes]) -> None:
    told = machine.locate()["told"]
    size = sum(len(files[name]) for name in WANTED)
    assert told[-1] == ["model.safetensors", size, size]
    assert all(total == size for _, _, total in told)
    done = [done for _, done, _ in told]
    assert done == sorted(done)
    assert {name for name, _, _ in told} == set(WANTED)
    # On a slow line something is seen to come.
    assert max(after - before for before, after in pairwise([0, *done])) <= 256 << 10
    assert size > 1 << 20


def test_a_cached_model_needs_no_network(machine: Machine) -> None:
    folder = machine.locate()["folder"]
    machine.hub.close()
    asked = len(machine.hub.requests)
    assert machine.locate() == {"folder": folder, "told": []}
    assert machine.locate(HF_HUB_OFFLINE="1") == {"folder": folder, "told": []}
    assert len(machine.hub.requests) == asked


def test_offline_mode_forbids_a_download(machine: Machine) -> None:
    key, text = machine.refusal(HF_HUB_OFFLINE="1")
    assert key == "hub-offline"
    assert str(machine.home / "hub") in text
    assert machine.hub.requests == []


def test_no_network(machine: Machine) -> None:
    machine.hub.close()
    key, text = machine.refusal()
    assert key == "hub-unreachable"
    assert machine.hub.address in text


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ftp://127.0.0.1", "http://127.0.0.1:99999", "https://[", ""])
def test_an_address_that_is_none(machine: Machine, address: str) -> None:
    key, _ = machine.refusal(HF_ENDPOINT=address)
    assert key in ("hub-unreachable", "hub-settings")


def test_a_setting_that_makes_no_sense(machine: Machine) -> None:
    assert machine.refusal(HF_HUB_ETAG_TIMEOUT="soon")[0] == "hub-settings"


def test_no_such_model(machine: Machine) -> None:
    key, text = machine.refusal("someone/nothing")
    assert key == "hub-not-found"
    assert "someone/nothing" in text
    assert machine.refusal("someone/nothing", HF_TOKEN="hf_wrong")[0] == "hub-not-found"


def test_no_such_revision(machine: Machine) -> None:
    key, text = machine.refusal(f"{NAME}@v9")
    assert key == "hub-no-revision"
    assert "v9" in text


def test_a_revision_by_branch_and_by_commit(machine: Machine) -> None:
    machine.hub.repositories[NAME].revisions = ("refs/pr/1", COMMIT)
    folder = machine.locate(f"{NAME}@refs/pr/1")["folder"]
    assert Path(folder).name == COMMIT
    machine.hub.close()
    assert machine.locate(f"{NAME}@refs/pr/1")["folder"] == folder
    assert machine.locate(f"{NAME}@{COMMIT}")["folder"] == folder
    assert machine.refusal()[0] == "hub-unreachable"


@pytest.mark.parametrize("token", ["", "hf_mine"])
def test_a_gated_model(machine: Machine, token: str) -> None:
    machine.hub.repositories[NAME].gated = True
    key, text = machine.refusal(HF_TOKEN=token)
    assert key == "hub-gated"
    assert "HF_TOKEN" in text
    assert f"{machine.hub.address}/{NAME}" in text
    assert machine.cached() == []


def test_the_token_is_sent(machine: Machine) -> None:
    machine.hub.repositories[NAME].token = "hf_mine"
    assert machine.refusal()[0] == "hub-not-found"
    key, text = machine.refusal(HF_TOKEN="hf_other")
    assert key == "hub-token"
    assert "hf_other" not in text
    assert "folder" in machine.locate(HF_TOKEN="hf_mine")


def test_the_token_stays_with_the_hub(machine: Machine) -> None:
    with Hub() as store:
        store.repositories[NAME] = Repository(machine.hub.repositories[NAME].files)
        machine.hub.repositories[NAME].store = store.address.replace("127.0.0.1", "localhost")
        machine.locate(HF_TOKEN="hf_mine")
        assert store.fetched() == ["model.safetensors"]
        assert {request.token for request in store.requests} == {None}
    assert "hf_mine" in {request.token for request in machine.hub.requests}


def test_pickled_weights_are_not_downloaded(machine: Machine, files: dict[str, bytes]) -> None:
    del files["model.safetensors"]
    key, text = machine.refusal()
    assert key == "hub-pickled"
    assert "pytorch_model.bin" in text
    assert machine.hub.fetched() == []
    assert machine.cached() == []


@pytest.mark.parametrize(
    ("contents", "key"),
    [
        ({"model-Q4_0.gguf": b"GGUF", "README.md": b""}, "hub-gguf"),
        ({"README.md": b""}, "hub-no-model"),
        ({}, "hub-no-model"),
        ({"model.safetensors": b""}, "hub-no-model"),
        ({"config.json": b"{}", "a.safetensors": b"", "b.safetensors": b""}, "hub-weights-ambiguous"),
    ],
)
def test_a_repository_that_is_no_model(machine: Machine, contents: dict[str, bytes], key: str) -> None:
    machine.hub.repositories[NAME].files = contents
    assert machine.refusal()[0] == key
    assert machine.hub.fetched() == []


def sharded(files: dict[str, bytes]) -> dict[str, bytes]:
    """The same repository with its weights in two parts, and once more as one file of another name."""
    from safetensors.numpy import load, save

    weights = load(files["model.safetensors"])
    names = sorted(weights)
    parts = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    index = {"weight_map": {name: part for part, held in parts.items() for name in held}}
    kept = {name: data for name, data in files.items() if name != "model.safetensors"}
    return (
        kept
        | {part: save({name: weights[name] for name in held}) for part, held in parts.items()}
        | {"model.safetensors.index.json": json.dumps(index).encode(), "consolidated.safetensors": b"the same again"}
    )


def test_the_shards_that_the_index_names_are_downloaded(machine: Machine, files: dict[str, bytes]) -> None:
    machine.hub.repositories[NAME].files = sharded(files)
    machine.run(RUN)
    assert "consolidated.safetensors" not in machine.cached()
    assert len([name for name in machine.cached() if name.endswith(".safetensors")]) == 2


def test_a_missing_shard_is_fetched_the_next_time(machine: Machine, files: dict[str, bytes]) -> None:
    machine.hub.repositories[NAME].files = sharded(files)
    folder = Path(machine.locate()["folder"])
    (folder / "model-00002-of-00002.safetensors").unlink()
    before = len(machine.hub.fetched())
    machine.run(RUN)
    assert (folder / "model-00002-of-00002.safetensors").exists()
    # Its blob is still there: nothing is sent twice.
    assert machine.hub.fetched()[before:] == []


def test_a_shard_that_the_repository_does_not_hold(machine: Machine, files: dict[str, bytes]) -> None:
    machine.hub.repositories[NAME].files = sharded(files)
    del machine.hub.repositories[NAME].files["model-00002-of-00002.safetensors"]
    key, text = machine.refusal()
    assert key == "hub-shards-missing"
    assert "model-00002-of-00002.safetensors" in text
    assert "model-00001-of-00002.safetensors" not in machine.hub.fetched()


def test_an_index_that_points_outside(machine: Machine, files: dict[str, bytes]) -> None:
    held = sharded(files) | {"model.safetensors.index.json": b'{"weight_map": {"a": "../../../a.safetensors"}}'}
    machine.hub.repositories[NAME].files = held
    assert machine.refusal()[0] == "shard-name"


def test_a_download_that_breaks_off_goes_on_from_there(machine: Machine) -> None:
    machine.hub.repositories[NAME].cut = (50_000, 1)
    # By itself the library writes, and so keeps, no less than ten megabytes at a time.
    machine.run("from huggingface_hub import constants; constants.DOWNLOAD_CHUNK_SIZE = 10_000\n" + RUN)
    ranges = [request.range for request in machine.hub.requests if request.range]
    assert ranges == ["bytes=50000-"]


def test_a_download_that_keeps_breaking_off(machine: Machine) -> None:
    machine.hub.repositories[NAME].cut = (0, 99)
    key, text = machine.refusal()
    assert key == "hub-broken-off"
    assert "model.safetensors" in text
    assert machine.cached() == sorted(set(WANTED) - {"model.safetensors"})
    machine.hub.repositories[NAME].cut = (0, 0)
    before = len(machine.hub.fetched())
    machine.run(RUN)
    assert machine.hub.fetched()[before:] == ["model.safetensors"]


def test_a_stopped_download_leaves_nothing_half_done(machine: Machine, files: dict[str, bytes]) -> None:
    def stall(request: Request) -> None:
        if request.method == "GET" and request.path.endswith("model.safetensors"):
            time.sleep(5)

    machine.hub.answer = stall
    process = subprocess.Popen(
        [sys.executable, "-c", LOCATE, NAME],
        cwd=ROOT,
        env=machine.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Whoever runs the tests in the background has it ignored, and so would every process it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while "model.safetensors" not in machine.hub.fetched():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) != 0
    machine.hub.answer = lambda request: None
    assert "model.safetensors" not in machine.cached()
    assert [path for path in machine.blobs() if path.name.endswith(".incomplete")] == []
    machine.run(RUN)


def test_contents_that_are_not_what_the_repository_says(machine: Machine, files: dict[str, bytes]) -> None:
    true = files["model.safetensors"]
    machine.hub.repositories[NAME].contents = {"model.safetensors": true[:-1] + bytes([true[-1] ^ 1])}
    key, text = machine.refusal()
    assert key == "hub-damaged"
    assert "model.safetensors" in text
    assert "model.safetensors" not in machine.cached()
    machine.hub.repositories[NAME].contents = {"model.safetensors": true[:-1]}
    assert machine.refusal()[0] == "hub-broken-off"
    machine.hub.repositories[NAME].contents = {}
    machine.run(RUN)


@pytest.mark.parametrize(
    "headers",
    [
        {"ETag": '"../../../../../escaped"'},
        {"ETag": '"/tmp/escaped"'},
        {"ETag": '".."'},
        {"X-Linked-Etag": '"../../../../../escaped"'},
        {"X-Repo-Commit": "../../../../../escaped"},
        {"X-Repo-Commit": ""},
    ],
)
def test_headers_that_lead_out_of_the_cache(machine: Machine, headers: dict[str, str], tmp_path: Path) -> None:
    machine.hub.repositories[NAME].headers = headers
    assert machine.refusal()[0] == "hub-unsafe"
    assert [path for path in tmp_path.rglob("*") if "escaped" in path.name] == []


def test_a_redirect_that_never_ends(machine: Machine) -> None:
    machine.hub.repositories[NAME].store = machine.hub.address
    assert machine.refusal()[0] == "hub-broken-off"


@pytest.mark.parametrize("store", ["file:///etc/passwd?", "ftp://127.0.0.1", "http://"])
def test_a_redirect_to_what_is_no_web_address(machine: Machine, store: str) -> None:
    machine.hub.repositories[NAME].store = store
    assert machine.refusal()[0] in ("hub-broken-off", "hub-answer")
    assert "model.safetensors" not in machine.cached()


@pytest.mark.parametrize(
    ("status", "key"), [(500, "hub-failing"), (503, "hub-failing"), (429, "hub-failing"), (418, "hub-failing")]
)
def test_a_hub_that_fails(machine: Machine, status: int, key: str) -> None:
    machine.hub.answer = lambda request: status if request.path.startswith("/api/models") else None
    found, text = machine.refusal()
    assert found == key
    assert str(status) in text


def test_a_server_that_is_no_hub(machine: Machine) -> None:
    machine.hub.answer = lambda request: 200
    assert machine.refusal()[0] == "hub-answer"


def test_no_room_on_the_disk(machine: Machine) -> None:
    crowded = "import shutil; shutil.disk_usage = lambda path: shutil._ntuple_diskusage(9, 9, 5)\n"
    found = json.loads(machine.run(crowded + LOCATE))
    assert found["key"] == "hub-no-room"
    assert "HF_HOME" in found["text"]
    assert machine.hub.fetched() == []


def test_a_disk_that_fills_up(machine: Machine) -> None:
    full = (
        "import errno, huggingface_hub.file_download as library\n"
        "def full(*_, **__): raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "library.http_get = full\n"
    )
    found = json.loads(machine.run(full + LOCATE))
    assert found["key"] == "hub-no-room"
    assert machine.cached() == []


def test_a_cache_that_cannot_be_written(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    key, text = machine.refusal(HF_HOME=str(tmp_path / "file"))
    assert key == "hub-cache"
    assert "HF_HOME" in text


@pytest.mark.parametrize("name", ["a/b", "Qwen/Qwen3-0.6B", "a/b@main", "a_b/c.d", "a/b@refs/pr/12", "a/b@v1.0"])
def test_names_of_the_hub(name: str) -> None:
    found = HubName.read(name)
    assert found is not None
    assert str(found) == name.removesuffix("@main")


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "a",
            "/",
            "a/",
            "/b",
            "a/b/c",
            "./a/b",
            "../b",
            "a/..",
            "~/b",
            "a/.b",
            "-a/b",
            "a/b-",
            "a/b.git",
            "a/b.gguf",
        ),
        *("a--b/c", "a..b/c", "a/b@", "a/b@../x", "a/b@/x", "a/b@x/", "a/b@x//y", "a/b@.x", "a/b@x.lock"),
        *(
            "a /b",
            "a/b\n",
            "我/你",
            "a/b@我",
            "https://huggingface.co/a/b",
            "a" * 97 + "/b",
            "a\\b",
            "[red]/b",
            "a/b@-x",
        ),
    ],
)
def test_names_that_are_none(name: str, machine: Machine) -> None:
    assert HubName.read(name) is None


def test_what_is_a_name_here_is_one_to_the_library() -> None:
    from huggingface_hub.utils._validators import validate_repo_id

    for name in ("a/b", "Qwen/Qwen3-0.6B", "a_b/c.d", "_a/_b", "a" * 96 + "/" + "b" * 96):
        assert HubName.read(name) is not None
        validate_repo_id(name)


def test_what_is_no_name_asks_nobody(machine: Machine) -> None:
    assert machine.refusal("a/b/c")[0] == "hub-name"
    assert machine.hub.requests == []


def test_the_library_is_imported_when_it_is_needed() -> None:
    code = "import sys, engine.model, engine.checkpoints.hub; print('huggingface_hub' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
