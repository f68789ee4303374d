"""The broker in a container, by Docker Compose."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from kafka_assignors.broker.lock import kafka_version
from kafka_assignors.broker.settings import environment
from kafka_assignors.broker.supervised import Spec

__all__ = ["PORT", "compose_command", "compose_file", "launch"]

PORT = "KAFKA_ASSIGNORS_PORT"  # the variable compose.yml takes its port from
VERSION = "KAFKA_ASSIGNORS_KAFKA_VERSION"  # and the image's tag

_ANSWER_S = 10


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
    merged = {"services": {"kafka": {"environment": environment(properties)}}}
    extra.write_text(json.dumps(merged), encoding="utf-8")
    project = f"kafka-assignors-{uuid.uuid4().hex[:12]}"
    base = [*compose, "-p", project, "-f", str(compose_file()), "-f", str(extra)]
    spec = Spec(
        commands=[[*base, "up", "--no-color", "--abort-on-container-exit"]],
        afterwards=[[*base, "down", "--volumes", "--timeout", "5"]],
        cwd=str(root),
        log=str(root / "broker.log"),
        scratch=str(root),
    )
    return spec, {**os.environ, PORT: str(port), VERSION: kafka_version()}


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
