"""Measures Kafka Streams' assignor with ``java/StreamsBench.java``, if there is a JDK."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.javapeer import NoJavaError, compiled
from bench.programs import Facts, listen
from kafka_assignors.broker import fetch_jars
from kafka_assignors.broker.jars.lock import parse_lock
from kafka_assignors.errors import KafkaAssignorsError

SOURCE = Path(__file__).parents[1] / "java" / "StreamsBench.java"
LOCK = Path(__file__).parents[1] / "java" / "streams.lock"
CLASS = "org.apache.kafka.streams.processor.internals.assignment.StreamsBench"

HEAP = "4g"  # each instance has a map of all tasks' lags: 5 million entries at 10,000 x 500


@dataclass(frozen=True, slots=True)
class StreamsPeer:
    """The compiled harness, its class path, and the version of Kafka Streams."""

    java: Path
    class_path: str
    version: str

    def play(
        self, tasks: int, members: int, event: str, *, standbys: int, warmups: int, patience: float
    ) -> Facts:
        """Time a plan, then run rounds, in a new JVM.

        No plan of a median begins after ``patience`` seconds.  No round begins after six times as long, and a
        process without output for thirty times as long is ended.
        """
        numbers = [tasks, members, standbys, warmups, event, patience, 6 * patience]
        command: list[str | Path] = [self.java, f"-Xmx{HEAP}", "-cp", self.class_path, CLASS]
        facts = listen([*command, *map(str, numbers)], 30 * patience)
        return facts | {"seconds": 6 * patience}


def streams_peer(folder: Path) -> StreamsPeer:
    """Compile the harness into ``folder``.

    Raises:
        NoJavaError: there is no JDK 17 or newer, or the jars cannot be fetched.
    """
    try:
        wanted = parse_lock(LOCK.read_text(encoding="utf-8"))["streams"]
        jars = fetch_jars("streams-peer", jars=wanted)
    except KafkaAssignorsError as error:
        raise NoJavaError(str(error)) from error
    version = next(jar.version for jar in wanted if jar.artifact == "kafka-streams")
    return StreamsPeer(*compiled(folder, SOURCE, beside=jars), version)
