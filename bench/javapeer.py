"""Measures Java's assignors with ``java/AssignBench.java``, if there is a JDK."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.programs import Facts, listen
from kafka_assignors.broker import fetch_jars, find_java
from kafka_assignors.broker.jars.lock import locked
from kafka_assignors.errors import KafkaAssignorsError

SOURCE = Path(__file__).parent / "java" / "AssignBench.java"

RUNS_S = 5.0  # no run of the warm-up begins later than this, and no run of the median


class NoJavaError(Exception):
    """Java cannot be measured here; the message is the reason."""


class JavaBrokenError(NoJavaError):
    """The compiler refuses the source."""


@dataclass(frozen=True, slots=True)
class JavaPeer:
    """The compiled harness and its class path."""

    java: Path
    class_path: str

    def measure(self, assignor: str, group: Path, plan: Path, patience: float) -> Facts:
        """Run one assignor on a group in a new JVM, with a time limit for each line of its output."""
        command: list[str | Path] = [self.java, "-cp", self.class_path, SOURCE.stem, assignor, group, plan]
        return listen([*command, str(min(RUNS_S, patience / 4)), str(0.75 * patience)], patience)


def java_peer(folder: Path) -> JavaPeer:
    """Compile the harness into ``folder``.

    Raises:
        NoJavaError: there is no JDK 17 or newer, or the jars cannot be fetched.
    """
    return JavaPeer(*compiled(folder, SOURCE))


def compiled(folder: Path, *sources: Path, beside: Sequence[Path] = ()) -> tuple[Path, str]:
    """Compile Java sources into ``folder``, with kafka-clients of the broker's lock and the jars ``beside``.

    Returns:
        The launcher and the class path.

    Raises:
        NoJavaError: as `java_peer`.
    """
    try:
        java = find_java()
        wanted = tuple(jar for jar in locked("broker") if jar.artifact in {"kafka-clients", "slf4j-api"})
        jars = fetch_jars("java-peer", jars=wanted)
    except KafkaAssignorsError as error:
        raise NoJavaError(str(error)) from error
    # The java on PATH is often a link into its JDK, without a link to the compiler beside it.
    places = [java.path.with_name("javac"), java.path.resolve().with_name("javac")]
    if (javac := next(filter(Path.exists, places), None)) is None:
        raise NoJavaError(
            f"{java.path} has no compiler (javac) beside it: a JDK is needed, this is a runtime only"
        )
    class_path = os.pathsep.join(map(str, [*jars, *beside, folder]))
    done = subprocess.run(
        [javac, "-cp", class_path, "-d", folder, *sources], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise JavaBrokenError(f"{javac} failed: {done.stderr.strip()[-500:]}")
    return java.path, class_path
