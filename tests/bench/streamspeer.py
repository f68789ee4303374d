"""Kafka Streams' assignor, measured through ``java/StreamsBench.java`` where a JDK is there."""

from __future__ import annotations

from pathlib import Path

from kafka_assignors.broker import fetch_jars
from kafka_assignors.broker.lock import parse
from kafka_assignors.errors import KafkaAssignorsError
from tests.bench.javapeer import JavaPeer, NoJavaError, compiled
from tests.bench.programs import Facts, listen

SOURCE = Path(__file__).parent / "java" / "StreamsBench.java"
LOCK = Path(__file__).parent / "java" / "streams.lock"
CLASS = "org.apache.kafka.streams.processor.internals.assignment.StreamsBench"


def streams_peer(folder: Path) -> JavaPeer:
    """Compile the harness into ``folder``.

    Raises:
        NoJavaError: there is no JDK 17 or newer, or the jars cannot be had.
    """
    try:
        jars = fetch_jars("streams-peer", jars=parse(LOCK.read_text(encoding="utf-8"))["streams"])
    except KafkaAssignorsError as error:
        raise NoJavaError(str(error)) from error
    return JavaPeer(*compiled(folder, SOURCE, beside=jars))


def play(peer: JavaPeer, tasks: int, members: int, event: str, *, seconds: float) -> Facts:
    """Time a plan and play the rounds, for so many seconds at most, with 1 standby and 2 warm-ups."""
    command: list[str | Path] = [peer.java, "-Xmx4g", "-cp", peer.class_path, CLASS]
    return listen([*command, str(tasks), str(members), "1", "2", event, f"{seconds:g}"], 20 * seconds + 600)
