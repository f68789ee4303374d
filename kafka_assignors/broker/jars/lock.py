"""Reads ``jars.lock``: the jars of each configuration and their checksums."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from kafka_assignors.errors import BrokerError

_ROW = re.compile(r"(\w+) +([\w.-]+):([\w.-]+):([\w.-]+) +([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, order=True)
class Jar:
    """One published jar, by its Maven coordinates, and the sha256 (hex) of its bytes."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def filename(self) -> str:
        """File name in a Maven repository."""
        return f"{self.artifact}-{self.version}.jar"


def parse_lock(text: str) -> dict[str, tuple[Jar, ...]]:
    """Parse the text of ``jars.lock``; return the sorted jars of each configuration."""
    jars: dict[str, list[Jar]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if (row := _ROW.fullmatch(line.rstrip())) is None:
            raise BrokerError(f"jars.lock line {number}: not 'configuration group:artifact:version sha256'")
        configuration, group, artifact, version, sha256 = row.groups()
        jar = Jar(group, artifact, version, sha256)
        if any(jar.filename == other.filename for other in jars.setdefault(configuration, [])):
            raise BrokerError(f"jars.lock line {number}: {jar.filename} appears twice")
        jars[configuration].append(jar)
    return {configuration: tuple(sorted(listed)) for configuration, listed in jars.items()}


@cache
def _shipped() -> dict[str, tuple[Jar, ...]]:
    return parse_lock(
        resources.files("kafka_assignors.broker").joinpath("jars.lock").read_text(encoding="utf-8")
    )


def locked(configuration: str) -> tuple[Jar, ...]:
    """Return the jars of ``configuration`` (``broker``, ``spark40`` to ``spark42``) in the package's lock."""
    try:
        return _shipped()[configuration]
    except KeyError:
        known = ", ".join(sorted(_shipped()))
        raise BrokerError(f"jars.lock has no configuration {configuration!r}, only {known}") from None


def digest(jars: tuple[Jar, ...]) -> str:
    """Return a hex digest that changes with any of the jars."""
    return hashlib.sha256("\n".join(f"{jar.filename} {jar.sha256}" for jar in jars).encode()).hexdigest()


def kafka_version() -> str:
    """Return the broker's Kafka version, from the lock."""
    return next(jar.version for jar in locked("broker") if jar.artifact == "kafka-clients")
