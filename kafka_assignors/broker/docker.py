"""The broker in a container, by Docker Compose."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from kafka_assignors.broker.lock import kafka_version
from kafka_assignors.broker.settings import environment, new_cluster_id
from kafka_assignors.broker.supervised import Spec
from kafka_assignors.broker.supervisor import run_briefly
from kafka_assignors.errors import BrokerError

__all__ = ["PORT", "compose_command", "compose_file", "launch", "project", "take_away"]

PORT = "KAFKA_ASSIGNORS_PORT"  # the variable compose.yml takes its port from
VERSION = "KAFKA_ASSIGNORS_KAFKA_VERSION"  # and the image's tag

_ANSWER_S = 10
_STOP_S = 5  # from SIGTERM to SIGKILL in the container; less than the supervisor's grace with the client
_DOWN_S = 60


def compose_file() -> Path:
    """Return the compose file that ships with this package; ``docker/compose.yml`` includes it."""
    return Path(str(resources.files("kafka_assignors.broker").joinpath("compose.yml")))


def compose_command() -> tuple[str, ...] | None:
    """Return the compose command of an engine that answers, else None.

    A ``docker`` on PATH proves nothing; ``docker info`` talks to the engine.
    """
    if not (shutil.which("docker") and _works("docker", "info")):
        return None
    for command in (("docker", "compose"), ("docker-compose",)):
        if shutil.which(command[0]) and _works(*command, "version"):
            return command
    return None


def launch(
    compose: tuple[str, ...], root: Path, port: int, properties: Mapping[str, str]
) -> tuple[Spec, dict[str, str]]:
    """Make what runs the container in the foreground, and takes it away afterwards.

    Args:
        compose: as :func:`compose_command` found it.
        root: scratch directory, for the log and the extra properties.
        port: of the broker, inside and outside.
        properties: broker settings on top of those in the compose file.
    """
    # JSON is YAML; a second file with -f is merged into the first.
    extra = root / "properties.json"
    cluster_id = new_cluster_id()
    merged = {"services": {"kafka": {"environment": {**environment(properties), "CLUSTER_ID": cluster_id}}}}
    extra.write_text(json.dumps(merged), encoding="utf-8")
    base = [*compose, "-p", project(root), "-f", str(compose_file())]
    up = [*base, "-f", str(extra), "up", "--no-color", "--abort-on-container-exit", "--timeout", str(_STOP_S)]
    spec = Spec(
        commands=[up],
        afterwards=[_down(compose, project(root))],
        cwd=str(root),
        log=str(root / "broker.log"),
        scratch=str(root),
        cluster_id=cluster_id,
    )
    return spec, {**os.environ, PORT: str(port), VERSION: kafka_version()}


def project(root: Path) -> str:
    """Name the compose project of the broker in ``root``: that directory's name, which is as unique.

    ``tempfile`` makes names of what Compose allows: lower-case letters, digits, ``-`` and ``_``.
    """
    return root.name


def take_away(name: str) -> None:
    """Remove the container of the project ``name``; that there is none is fine.

    Raises:
        BrokerError: no engine answers, or it refuses; says what to run when it does.
    """
    compose = compose_command()
    why = run_briefly(_down(compose, name), _DOWN_S) if compose else "no Docker engine answers"
    if why:
        raise BrokerError(
            f"cannot take away the broker's container ({why}): when Docker answers, "
            f"docker compose -p {name} down --volumes"
        )


def _down(compose: tuple[str, ...], name: str) -> list[str]:
    # Without the extra properties: their file may be gone by now.
    down = ["down", "--volumes", "--timeout", str(_STOP_S)]
    return [*compose, "-p", name, "-f", str(compose_file()), *down]


def _works(*command: str) -> bool:
    try:
        return (
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_ANSWER_S,
                check=False,
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
