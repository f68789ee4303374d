"""``kafka-assignors broker`` start, status and stop, on a broker that outlives the command."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kafka_assignors.broker.ports import answers
from tests.support.command_line import COMMAND, ENV
from tests.support.waiting import PATIENCE_S, alive, running_below, until


class Cli:
    """Runs ``kafka-assignors broker`` with its own state directory."""

    def __init__(self, state: Path) -> None:
        self.env = ENV | {"KAFKA_ASSIGNORS_STATE": str(state)}

    def spawn(self, *words: str) -> subprocess.Popen[str]:
        """Start the command."""
        return subprocess.Popen(
            [*COMMAND, "broker", *words],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Run the command; return its exit code and what it wrote."""
        process = self.spawn(*words)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def facts(self) -> dict[str, object]:
        """Ask for the status."""
        facts: dict[str, object] = json.loads(self("status", "--output", "json")[1])
        return facts


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    ours = Cli(tmp_path / "state")
    yield ours
    ours("stop")


def port_of(bootstrap: str) -> int:
    return int(bootstrap.rpartition(":")[2])


def test_start_status_stop(cli: Cli) -> None:
    code, out, err = cli("start", "--backend", "jars")
    assert code == 0, err
    port = port_of(out)
    assert out == f"127.0.0.1:{port}\n"
    assert "stop it with: kafka-assignors broker stop" in err
    assert answers(port)

    code, table, _ = cli("status")
    assert code == 0
    assert f"127.0.0.1:{port}" in table
    facts = cli.facts()
    assert (facts["running"], facts["bootstrap"], facts["backend"]) == (True, f"127.0.0.1:{port}", "jars")

    code, again, err = cli("start")
    assert (code, again) == (0, out)
    assert "already running" in err
    code, _, err = cli("start", "--port", "1")
    assert code == 1
    assert f"with port {port} is running, not port 1" in err

    assert cli("stop") == (0, "", f"stopped the broker at 127.0.0.1:{port}\n")
    assert not answers(port)
    assert not Path(str(facts["data_dir"])).exists()
    assert cli("status")[0] == 1
    assert cli("stop") == (0, "", "no broker is running\n")


def test_concurrent_starts_make_one_broker(cli: Cli) -> None:
    first, second = cli.spawn("start", "--backend", "jars"), cli.spawn("start", "--backend", "jars")
    one, other = first.communicate(timeout=120)[0], second.communicate(timeout=120)[0]
    assert one == other
    assert answers(port_of(one))


@pytest.mark.long
def test_data_dir_survives_the_broker(cli: Cli, tmp_path: Path) -> None:
    assert cli("start", "--data-dir", str(tmp_path / "data"))[0] == 0
    assert cli.facts()["data_dir"] == str(tmp_path / "data")
    assert cli("stop")[0] == 0
    assert (tmp_path / "data" / "broker.log").exists()


def test_port_in_use_is_one_line_and_starts_no_broker(cli: Cli) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = cli("start", "--backend", "jars", "--port", str(port))
    assert (code, out) == (1, "")
    assert err.startswith(f"kafka-assignors: cannot listen on port {port} ")
    assert err.count("\n") == 1
    assert cli("status")[0] == 1


@pytest.mark.long
def test_ctrl_c_during_start_leaves_nothing(cli: Cli) -> None:
    process = cli.spawn("start", "--backend", "jars")
    started = psutil.Process(process.pid)
    until(lambda: running_below(started, "kafka.Kafka"), "the JVM")
    descendants = started.children(recursive=True)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (130, "")
    assert err.endswith("interrupted\n")
    assert not any(alive(p) for p in descendants)
    assert cli("status")[0] == 1


def test_foreground_broker_runs_until_ctrl_c(cli: Cli) -> None:
    process = cli.spawn("start", "--backend", "jars", "--foreground")
    assert process.stdout is not None
    port = port_of(process.stdout.readline())
    assert answers(port)
    assert cli.facts()["running"] is True
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert err.endswith("stopping the broker\n")
    assert not answers(port)
    assert cli("status")[0] == 1


@pytest.mark.long
def test_foreground_command_ends_with_the_broker(cli: Cli) -> None:
    process = cli.spawn("start", "--backend", "jars", "--foreground")
    assert process.stdout is not None
    process.stdout.readline()
    assert cli("stop")[0] == 0
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0


@pytest.mark.long
def test_dead_broker_is_not_reported_as_running(cli: Cli) -> None:
    assert cli("start", "--backend", "jars")[0] == 0
    facts = cli.facts()
    supervisor = psutil.Process(int(str(facts["pid"])))
    (jvm,) = supervisor.children()
    supervisor.kill()
    until(lambda: not alive(supervisor) and not alive(jvm), "both to die")
    assert cli("status")[0] == 1
    assert [path.name for path in Path(str(facts["data_dir"])).iterdir()] == ["broker.log"], "it tells why"
    shutil.rmtree(str(facts["data_dir"]))
