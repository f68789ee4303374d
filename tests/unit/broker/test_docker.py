"""The Docker backend, with a stand-in for the ``docker`` command: what is asked of it, and when."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from kafka_assignors.broker import development_broker
from kafka_assignors.broker.docker import VERSION, compose_command, compose_file
from kafka_assignors.broker.lock import kafka_version
from kafka_assignors.errors import BrokerError, ToolMissingError

# Notes its arguments; as "up" it serves like a broker that is ready, until SIGTERM.
DOCKER = """#!{python}
import os, pathlib, socket, sys
here = pathlib.Path(__file__).parent
with (here / "asked").open("a") as notes:
    print(*sys.argv[1:], file=notes)
if sys.argv[1] == "info":
    sys.exit((here / "no-engine").exists())
if sys.argv[1:3] == ["compose", "version"]:
    sys.exit((here / "no-compose").exists())
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
                connection.sendall(bytes([0, 0, 0, 6]) + bytes(6))
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


def test_an_engine_that_answers_is_found(docker: Path) -> None:
    assert compose_command() == ("docker", "compose")


@pytest.mark.parametrize("fault", ["no-engine", "no-compose"])
def test_a_docker_that_only_lies_on_path_is_not(docker: Path, fault: str) -> None:
    (docker / fault).touch()
    assert compose_command() is None
    with (
        pytest.raises(ToolMissingError, match=r"^no Docker engine with Compose answers: start Docker, or "),
        development_broker("docker"),
    ):
        pass


def test_auto_takes_docker_starts_it_and_takes_all_of_it_away(docker: Path) -> None:
    with development_broker(properties={"num.partitions": 7, "a-b": "x"}) as broker:
        assert broker.backend == "docker"
        assert broker.bootstrap == f"127.0.0.1:{broker.port}"
        up = asked(docker)[-1]
        assert f"-f {compose_file()}" in up
        assert "up" in up.split()
        extra = json.loads((docker / "extra").read_text())
        assert extra == {
            "services": {"kafka": {"environment": {"KAFKA_NUM_PARTITIONS": "7", "KAFKA_A___B": "x"}}}
        }
        assert (docker / "version").read_text() == kafka_version()
    assert not broker.data_dir.exists()
    down = asked(docker)[-1].split()
    assert {"down", "--volumes"} <= set(down)
    assert down[:3] == up.split()[:3]  # of the same project
    assert VERSION.startswith("KAFKA_ASSIGNORS_")


def test_a_failing_pull_is_told_in_one_line_and_tidied_up(docker: Path) -> None:
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


def test_a_data_dir_is_not_for_containers(docker: Path, tmp_path: Path) -> None:
    with (
        pytest.raises(BrokerError, match="for a data_dir use 'jars'"),
        development_broker("docker", data_dir=tmp_path),
    ):
        pass
