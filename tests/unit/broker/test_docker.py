"""The Docker backend, with a stand-in for the ``docker`` command: what is asked of it, and when."""

from __future__ import annotations

import json
import re
import stat
import sys
from pathlib import Path

import psutil
import pytest

from kafka_assignors.broker import development_broker, state
from kafka_assignors.broker.docker import VERSION, compose_command, compose_file
from kafka_assignors.broker.jars.lock import kafka_version
from kafka_assignors.errors import BrokerError, ToolMissingError
from tests.support.waiting import kill

# Notes its arguments; as "up" it serves like a broker that is ready, until SIGTERM.
DOCKER = """#!{python}
import json, os, pathlib, socket, sys
here = pathlib.Path(__file__).parent
with (here / "asked").open("a") as notes:
    print(*sys.argv[1:], file=notes)
if sys.argv[1] == "info":
    sys.exit((here / "no-engine").exists())
if sys.argv[1:3] == ["compose", "version"]:
    sys.exit((here / "no-compose").exists())
if "down" in sys.argv and (here / "refuses").exists():
    sys.exit("Error response from daemon: busy")
if "up" in sys.argv:
    if (here / "no-image").exists():
        sys.exit("Error response from daemon: pull access denied for apache/kafka")
    files = [sys.argv[i + 1] for i, word in enumerate(sys.argv) if word == "-f"]
    (here / "extra").write_text(pathlib.Path(files[1]).read_text())
    (here / "version").write_text(os.environ["KAFKA_ASSIGNORS_KAFKA_VERSION"])
    with socket.create_server(("127.0.0.1", int(os.environ["KAFKA_ASSIGNORS_PORT"]))) as server:
        while True:
            connection, _ = server.accept()
            with connection:
                connection.recv(64)  # for ApiVersions
                connection.sendall(bytes([0, 0, 0, 10]) + bytes(10))
                connection.recv(64)  # for Metadata: no broker, the id, no controller, no topic
                extra = json.loads((here / "extra").read_text())
                own = extra["services"]["kafka"]["environment"]["CLUSTER_ID"].encode()
                body = bytes(8) + len(own).to_bytes(2, "big") + own + bytes(8)
                connection.sendall(len(body).to_bytes(4, "big") + body)
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the stand-in on PATH, alone; return its directory."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "docker"
    script.write_text(DOCKER.format(python=sys.executable))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def asked(docker: Path) -> list[str]:
    return (docker / "asked").read_text().splitlines()


@pytest.mark.parametrize("fault", ["no-engine", "no-compose"])
def test_docker_without_an_engine_is_not_used(docker: Path, fault: str) -> None:
    (docker / fault).touch()
    assert compose_command() is None
    with (
        pytest.raises(ToolMissingError, match=r"^no Docker engine with Compose answers: start Docker, or "),
        development_broker("docker"),
    ):
        pass


def test_auto_runs_docker_and_removes_everything(docker: Path) -> None:
    with development_broker(properties={"num.partitions": 7, "a-b": "${x}$"}) as broker:
        assert broker.backend == "docker"
        assert broker.bootstrap == f"127.0.0.1:{broker.port}"
        up = asked(docker)[-1]
        assert f"-f {compose_file()}" in up
        assert {"up", "--no-log-prefix"} <= set(up.split())  # `error_line` needs the lines as they are
        extra = json.loads((docker / "extra").read_text())
        environment = extra["services"]["kafka"]["environment"]
        assert len(environment.pop("CLUSTER_ID")) == 22
        assert extra == {
            "services": {"kafka": {"environment": {"KAFKA_NUM_PARTITIONS": "7", "KAFKA_A___B": "$${x}$$"}}}
        }
        assert (docker / "version").read_text() == kafka_version()
    assert not broker.data_dir.exists()
    down = asked(docker)[-1].split()
    assert {"down", "--volumes"} <= set(down)
    assert down[:3] == up.split()[:3] == ["compose", "-p", broker.data_dir.name]  # of the same project
    assert re.fullmatch(r"[a-z0-9][a-z0-9_-]*", down[2])  # what Compose takes for a name
    assert VERSION.startswith("KAFKA_ASSIGNORS_")


def test_failing_pull_is_one_line_and_cleaned_up(docker: Path) -> None:
    (docker / "no-image").touch()
    with (
        pytest.raises(
            BrokerError, match=r"did not start: Error response from daemon: pull access denied"
        ) as caught,
        development_broker("docker"),
    ):
        pass
    assert "down" in asked(docker)[-1].split()
    log = Path(str(caught.value).rpartition("(log: ")[2].rstrip(")"))
    assert log.exists()  # the error names it
    assert [log] == list(log.parent.iterdir())
    log.unlink()
    log.parent.rmdir()


def downs(docker: Path) -> list[list[str]]:
    return [line.split() for line in asked(docker) if "down" in line.split()]


def test_program_removes_the_container_of_a_killed_supervisor(docker: Path) -> None:
    with development_broker("docker") as broker:
        kill(psutil.Process(broker.pid))
        assert downs(docker) == []
    assert [down[:3] for down in downs(docker)] == [["compose", "-p", broker.data_dir.name]]


def test_next_command_removes_the_container_of_a_dead_program(docker: Path, note: Path) -> None:
    with development_broker("docker") as broker:
        running = state.save(broker, temporary=True)
        assert running.project == broker.data_dir.name
        kill(psutil.Process(broker.pid))
        assert state.recover() is None
        assert [down[:3] for down in downs(docker)] == [["compose", "-p", running.project]]
        assert not note.exists()


def test_stop_ends_the_container_and_the_supervisor(docker: Path, note: Path) -> None:
    with development_broker("docker") as broker:
        running = state.save(broker, temporary=True)
        assert state.stop() == running
        assert not broker.running
        assert {down[2] for down in downs(docker)} == {running.project}


@pytest.mark.parametrize(
    ("fault", "why"),
    [("no-engine", "no Docker engine with Compose answers"), ("refuses", "Error response from daemon: busy")],
)
def test_container_that_cannot_be_removed_is_one_error_with_advice(
    docker: Path, note: Path, fault: str, why: str
) -> None:
    with development_broker("docker") as broker:
        running = state.save(broker, temporary=True)
        kill(psutil.Process(broker.pid))
        (docker / fault).touch()
        with pytest.raises(BrokerError) as caught:
            state.recover()
        assert str(caught.value) == (
            f"cannot remove the broker's container ({why}): when Docker answers, run "
            f"docker compose -p {running.project} down --volumes"
        )
        assert not note.exists()
        assert state.recover() is None


def test_data_dir_is_refused_for_docker(docker: Path, tmp_path: Path) -> None:
    with (
        pytest.raises(BrokerError, match="use 'jars' with a data_dir"),
        development_broker("docker", data_dir=tmp_path),
    ):
        pass
