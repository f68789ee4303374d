"""Runs the broker in a container, with Docker Compose."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from kafka_assignors.broker.jars.lock import kafka_version
from kafka_assignors.broker.settings import environment, new_cluster_id
from kafka_assignors.broker.supervised import Spec
from kafka_assignors.broker.supervisor import failure_of
from kafka_assignors.errors import BrokerError

PORT = "KAFKA_ASSIGNORS_PORT"  # compose.yml reads its port from this variable
VERSION = "KAFKA_ASSIGNORS_KAFKA_VERSION"  # compose.yml reads the image's tag from this variable

_ANSWER_S = 10  # timeout of ``docker info`` and of ``version``
# Seconds from SIGTERM to SIGKILL in the container; shorter than `Spec.grace_s`, after which the supervisor
# kills the compose command.
_STOP_S = 5
_DOWN_S = 60  # timeout of `remove_container`


def compose_file() -> Path:
    """Return the compose file that ships with this package; ``docker/compose.yml`` includes it."""
    return Path(str(resources.files("kafka_assignors.broker").joinpath("compose.yml")))


def compose_command() -> tuple[str, ...] | None:
    """Return the compose command; None if no Docker engine answers, or Compose is missing.

    ``docker`` may be installed without an engine that runs, so ``docker info`` checks for one.
    """
    if failure_of(["docker", "info"], _ANSWER_S):
        return None
    for command in (("docker", "compose"), ("docker-compose",)):
        if not failure_of([*command, "version"], _ANSWER_S):
            return command
    return None


def prepare(
    compose: tuple[str, ...], root: Path, port: int, properties: Mapping[str, str]
) -> tuple[Spec, dict[str, str]]:
    """Write the extra properties below ``root``; return the commands of the container, and their environment.

    The commands run the container in the foreground, and remove it afterwards.
    """
    # Compose reads JSON as YAML, merges a second file (-f) into the first, and takes $ for a variable.
    properties_file = root / "properties.json"
    cluster_id = new_cluster_id()
    literal = {name: value.replace("$", "$$") for name, value in environment(properties).items()}
    merged = {"services": {"kafka": {"environment": {**literal, "CLUSTER_ID": cluster_id}}}}
    properties_file.write_text(json.dumps(merged), encoding="utf-8")
    base = [*compose, "-p", project(root), "-f", str(compose_file())]
    up = [*base, "-f", str(properties_file), "up", "--abort-on-container-exit", "--timeout", str(_STOP_S)]
    up += ["--no-color", "--no-log-prefix"]  # `error_line` looks for a cause at the start of a line
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
    """Return the compose project of the broker in ``root``: the directory's name, which is unique.

    ``tempfile`` uses only characters that Compose allows: lower-case letters, digits, ``-`` and ``_``.
    """
    return root.name


def remove_container(name: str) -> None:
    """Remove the container of the project ``name``, if it exists."""
    compose = compose_command()
    why = failure_of(_down(compose, name), _DOWN_S) if compose else "no Docker engine with Compose answers"
    if why:
        raise BrokerError(
            f"cannot remove the broker's container ({why}): when Docker answers, run "
            f"docker compose -p {name} down --volumes"
        )


def _down(compose: tuple[str, ...], name: str) -> list[str]:
    # Without ``properties.json``, because that file may be deleted by now.
    down = ["down", "--volumes", "--timeout", str(_STOP_S)]
    return [*compose, "-p", name, "-f", str(compose_file()), *down]
