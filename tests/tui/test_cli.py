"""The command line as a shell sees it: what goes to which stream, exit codes, one line for each error."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tui import cli
from tui.language import LANGUAGES, language
from tui.terminal import INPUT_LIMIT, texts_to_see

ROOT = Path(cli.__file__).parent.parent
# What the console script does, in whichever environment the tests run.
PROGRAM = [sys.executable, "-c", "import sys; sys.argv[0] = 'llm-explore'; from tui.cli import main; main()"]


@dataclass(frozen=True)
class Done:
    """What a run left behind."""

    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """The one line of an error, without the program's name."""
        assert self.out == ""
        assert "Traceback" not in self.err
        found = re.fullmatch(r"llm-explore: ([^\n]+)\n", self.err)
        assert found, self.err
        return found[1]


def run(*arguments: str | bytes, stdin: bytes = b"", **environment: str) -> Done:
    """The real program, with no terminal to draw on."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "COLUMNS"))}
    done = subprocess.run(
        [*PROGRAM, *arguments],
        input=stdin,
        capture_output=True,
        env={**clean, "LANG": "C.UTF-8", "TERM": "dumb", **environment},
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(params=LANGUAGES)
def invoke(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Runs a command line in this process, in each language."""
    monkeypatch.setattr(cli, "say", language(request.param))
    monkeypatch.setenv("TERM", "dumb")

    def invoked(*arguments: str, stdin: bytes = b"") -> Done:
        result = CliRunner().invoke(cli.options(), list(arguments), input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        if request.param == "zh" and result.exit_code:
            assert re.search(r"[\u3400-\u9fff]", result.stderr), result.stderr
        return Done(result.exit_code, result.stdout, result.stderr)

    return invoked


def test_help_is_quick_to_say() -> None:
    script = """
import sys
sys.argv = ["llm-explore", "--help"]
from tui.cli import options
try:
    options()()
except SystemExit as done:
    heavy = {"textual", "numpy", "rich", "tokenizers", "safetensors", "engine"} & set(sys.modules)
    sys.exit(f"{done.code} {heavy}" if done.code or heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--list-models" in done.stdout


@pytest.mark.parametrize(("arguments", "locale"), [(["--lang", "zh"], "C"), (["--lang=zh"], "C"), ([], "zh_CN.UTF-8")])
def test_help_is_in_the_readers_language(arguments: list[str], locale: str) -> None:
    done = run(*arguments, "--help", LANG=locale)
    assert done.code == 0
    assert language("zh")("cli.theme") in done.out
    assert language("en")("cli.theme") not in done.out


def test_version_and_models() -> None:
    version = run("--version")
    assert version.code == 0
    assert re.fullmatch(r"llm-explore \d+\.\d+\.\d+\n", version.out)
    models = run("--list-models")
    assert (models.code, models.err) == (0, "")
    assert any(line.startswith("tiny-gpt ") and "4096" in line for line in models.out.splitlines())


def test_text_from_a_pipe() -> None:
    piped = run("--report", stdin="我爱你\n".encode())
    assert (piped.code, piped.err) == (0, "")
    assert piped == run("我爱你", "--report")
    assert run("--report", stdin="\ufeff我爱你\r\n".encode()) == piped


def test_text_from_a_pipe_without_any_argument() -> None:
    piped = run(stdin="我爱你\n".encode())
    assert (piped.code, piped.err) == (0, "")
    assert piped == run("我爱你")


def test_without_a_terminal_there_is_the_report() -> None:
    for terminal in ("dumb", "xterm-256color"):
        assert run("我爱你", TERM=terminal) == run("我爱你", "--report")


@pytest.mark.skipif(shutil.which("script") is None, reason="needs script(1) to make a terminal")
def test_a_dumb_terminal_gets_the_report() -> None:
    command = " ".join(map(repr, [*PROGRAM, "tokens?", "--stage", "tokens"]))
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, "TERM": "dumb", "LANG": "C.UTF-8"},
        cwd=ROOT,
        timeout=60,
        check=True,
    )
    assert b"\x1b" not in done.stdout
    assert "tokens = tokenizer(text)" in done.stdout.decode()


@pytest.mark.parametrize("data", [b"\xe6\x88", b"abc\xff", b"\xff\xfe\x11\x62"])
def test_bytes_that_are_no_text(invoke: Callable[..., Done], data: bytes) -> None:
    done = invoke("--report", stdin=data)
    assert done.code == 2
    assert "UTF-8" in done.message
    assert re.search("0x(e6|ff)", done.message)


class Endless(io.RawIOBase):
    """A pipe that never ends; whoever reads on after a while is stopped."""

    given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.given += len(buffer)
        assert self.given <= INPUT_LIMIT + (64 << 10), "it is read without end"
        buffer[:] = b"y" * len(buffer)
        return len(buffer)


@pytest.mark.parametrize("code", LANGUAGES)
def test_an_endless_pipe(code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Endless())))
    with pytest.raises(SystemExit) as ended:
        texts_to_see([], language(code), interactive=False)
    assert ended.value.code == 2
    assert f"{INPUT_LIMIT} " in Done(2, *capsys.readouterr()).message


def test_a_pipe_of_just_so_many_bytes_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for size, taken in ((INPUT_LIMIT, True), (INPUT_LIMIT + 1, False)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"y" * size)))
        if taken:
            assert texts_to_see([], language("en"), interactive=False) == ["y" * size]
        else:
            with pytest.raises(SystemExit):
                texts_to_see([], language("en"), interactive=False)


@pytest.mark.parametrize("data", ["a\r\n\r\nb\r\n", "a\n\nb\n", "a\n\nb"])
def test_lines_from_a_pipe_end_as_lines_do(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data.encode())))
    assert texts_to_see([], language("en"), interactive=False) == ["a\n\nb"]


@pytest.mark.parametrize(
    ("arguments", "chinese"),
    [
        (["--memory", "abc"], "--memory"),
        (["--memory", "1.5"], "应为整数"),
        (["--layer", "9" * 5000], "应为整数"),
        (["--speed", "fast"], "应为数"),
        (["--lang", "fr"], "'fr'；应为其中之一：'zh', 'en'"),
        (["--format", "xml"], "'text', 'json', 'csv', 'npz'"),
        (["--nope"], "没有 --nope 这个选项"),
        (["--mod", "x"], "--model"),
        (["-x"], "没有 -x 这个选项"),
        (["--memory"], "--memory"),
        (["--report=3"], "不带值"),
    ],
)
def test_usage_is_said_in_chinese(arguments: list[str], chinese: str) -> None:
    done = run(*arguments, LANG="zh_CN.UTF-8")
    assert done.code == 2
    said = done.message.replace("llm-explore --help", "")
    assert chinese in said
    # What is left in Latin letters is an option, or what the user wrote, or can choose.
    assert re.sub(r"--?[a-z]+|'[^']*'", "", said).isascii() is False
    assert re.search("[A-Za-z]", re.sub(r"--?[a-z]+|'[^']*'", "", said)) is None, said


def test_usage_is_one_sentence_in_english() -> None:
    done = run("--theme", "blue")
    assert done.message == "Invalid value for '--theme': 'blue' is not one of 'dark', 'light' (see llm-explore --help)"


@pytest.mark.parametrize("text", ["", "  ", "\t\u3000\n"])
def test_blank_text(invoke: Callable[..., Done], text: str) -> None:
    for done in (invoke(text), invoke("我爱你", text), invoke("--report", stdin=text.encode())):
        assert done.code == 2
        assert "llm-explore" in done.message


@pytest.mark.parametrize(
    ("arguments", "there_is"),
    [
        (["--stage", "layers.0.attention.score"], ["layers.0.attention.score", "layers.0.attention.scores"]),
        (["--stage", "layers.5.attention.scores"], ["5", "0", "1"]),
        (["--stage", "scores"], ["layers.0.attention.scores", "layers.1.attention.scores"]),
        (["--stage", "nonesuch"], ["nonesuch", "norm"]),
        (["--layer", "2"], ["2", "0", "1"]),
        (["--layer", "-1"], ["-1", "0", "1"]),
        (["--head", "4"], ["4", "0", "3"]),
        (["--head", "-1"], ["-1", "0", "3"]),
        (["--stage", "mlp.up", "--layer", "0", "--head", "1"], ["layers.0.mlp.up", "1×3×168"]),
        (["--format", "npz"], ["npz", "--output"]),
    ],
)
def test_wrong_choices_are_answered_with_what_there_is(
    invoke: Callable[..., Done], arguments: list[str], there_is: list[str]
) -> None:
    done = invoke("我爱你", "--report", *arguments)
    assert done.code == 2
    for part in there_is:
        assert part in done.message


def test_too_long_a_text(invoke: Callable[..., Done]) -> None:
    done = invoke("我" * 257)
    assert done.code == 2
    assert "257" in done.message
    assert "256" in done.message


def test_folders_that_are_no_models(invoke: Callable[..., Done], tmp_path: Path) -> None:
    missing = invoke("我", "--model", str(tmp_path / "nowhere"))
    assert missing.code == 1
    assert "nowhere" in missing.message
    empty = invoke("我", "--model", str(tmp_path))
    assert empty.code == 1
    assert "config.json" in empty.message
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "nonesuch"}))
    unknown = invoke("我", "--model", str(tmp_path))
    assert unknown.code == 1
    assert "llama" in unknown.message


def test_a_folder_with_pickles_only(invoke: Callable[..., Done], checkpoint: Callable[..., Path]) -> None:
    folder = checkpoint()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    done = invoke("我", "--model", str(folder))
    assert done.code == 1
    assert "pytorch_model.bin" in done.message


def test_a_folder_without_a_tokenizer_takes_no_text(
    invoke: Callable[..., Done], checkpoint: Callable[..., Path]
) -> None:
    done = invoke("我", "--model", str(checkpoint()))
    assert done.code == 1
    assert "tokenizer.json" in done.message


def test_names_that_would_act_on_the_terminal_are_shown(invoke: Callable[..., Done]) -> None:
    for arguments in (["--model", "a\x1b[31mb\n\u202e"], ["--stage", "a\x1b[31mb\n\u202e"]):
        done = invoke("我", "--report", *arguments)
        assert done.code in (1, 2)
        assert "a␛[31mb␊⟨202e⟩" in done.message


def test_arguments_that_are_no_text_and_names_that_are_no_path() -> None:
    done = run(b"abc\xff", "--report")
    assert done.code == 2
    assert "UTF-8" in done.message
    assert run("我", "--model", "x" * 5000).code == 1
    assert run("我", "--model", "~nobody-of-this-name").code == 1


@pytest.mark.parametrize(
    "arguments",
    [["--nonesuch"], ["--layer", "x"], ["--format", "xml"], ["--lang", "fr"], ["--memory", "0"], ["--model"]],
)
def test_options_that_are_wrong(arguments: list[str]) -> None:
    done = run("我", *arguments)
    assert done.code == 2
    assert arguments[0] in done.message


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["我", "--worked", "masked-softmax"], "--worked"),
        (["我", "--demo", "tour"], "--demo"),
        (["我", "--verify", "expected.npz"], "--verify"),
        (["我", "--check"], "--check"),
        (["我", "--loop"], "--loop"),
        (["--worked", "shapes", "--model", "tiny-gpt"], "--model"),
        (["--worked", "shapes", "--target", "I"], "--target"),
        (["--demo", "tour", "--head", "0"], "--head"),
        (["--demo", "tour", "--check", "--speed", "1"], "--speed"),
        (["我", "--report", "--theme", "dark"], "--theme"),
        (["--demo", "tour", "--check", "--target", "I"], "tiny-gpt"),
        (["我", "--report", "--stage", "layers.0.attention.scores", "--layer", "1"], "1"),
    ],
)
def test_options_that_do_not_go_with_what_stands_beside_them(
    invoke: Callable[..., Done], arguments: list[str], option: str
) -> None:
    done = invoke(*arguments)
    assert done.code == 2
    assert option in done.message


def test_a_demo_on_another_model(invoke: Callable[..., Done]) -> None:
    fits = invoke("--demo", "graph", "--check", "--model", "tiny-bert")
    assert (fits.code, fits.err) == (0, "")
    # Nothing is cut in a model that sees what comes later.
    assert re.search(r"graph.*1", fits.out)
    unfit = invoke("--demo", "cross-attention", "--check", "--model", "tiny-gpt")
    assert unfit.code == 1
    assert "cross-attention.toml" in unfit.message
    assert "encoder.tokens" in unfit.message


def test_a_demo_works_as_it_is(invoke: Callable[..., Done]) -> None:
    done = invoke("--demo", "mask", "--check")
    assert (done.code, done.err, done.out.count("\n")) == (0, "", 1)
    assert "mask" in done.out


@pytest.mark.parametrize("arguments", [[], ["--format", "csv"], ["--format", "json"]])
def test_a_reader_that_has_seen_enough(arguments: list[str]) -> None:
    command = [*PROGRAM, "我爱你" * 20, "--report", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) in (0, 141)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_no_room_for_the_report() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*PROGRAM, "我"], stdout=full, stderr=subprocess.PIPE, cwd=ROOT, timeout=60, check=False)
    assert done.returncode == 1
    assert re.fullmatch(rb"llm-explore: stdout[^\n]+\n", done.stderr)
