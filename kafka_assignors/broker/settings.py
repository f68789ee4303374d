"""The broker's settings, the same for every backend."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Mapping
from types import MappingProxyType

HEAP = "-Xmx256m"  # 325 MB resident; a broker of this size does not need the default of 1 GB

# Tuned for a fast start.  Without the last option, a killed JVM leaves a file in /tmp.
JVM_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData")

SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "auto.create.topics.enable": "true",
        "num.partitions": "4",
        # One node, so one replica.  Few internal partitions, because each is a directory to create.
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "4",
        # The default of 3 s lets members that start together join one rebalance, but slows down every test.
        "group.initial.rebalance.delay.ms": "0",
        # A cleaner's buffer is 128 MB by default, half the heap.
        "log.cleaner.dedupe.buffer.size": "2097152",
    }
)


def listeners(host: str, port: int, controller_port: int) -> dict[str, str]:
    """Return the settings of the broker's two listeners."""
    return {
        "listeners": f"PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{host}:{port}",
        "controller.quorum.voters": f"1@{host}:{controller_port}",
    }


def new_cluster_id() -> str:
    """Return a random cluster id in Kafka's format: 16 bytes in base64, without a leading dash."""
    random = uuid.uuid4().bytes
    return base64.urlsafe_b64encode(bytes([random[0] & 0x7F]) + random[1:]).decode().rstrip("=")


def java_properties(properties: Mapping[str, str]) -> str:
    """Return a Java properties file.  Java reads it as Latin-1, with backslash escapes."""
    return "".join(f"{_escape(name, ' :=#!')}={_escape(value, '')}\n" for name, value in properties.items())


def environment(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties as the container image's variables: ``a.b_c-d`` is ``KAFKA_A_B__C___D``."""
    spelling = str.maketrans({".": "_", "_": "__", "-": "___"})
    return {f"KAFKA_{name.translate(spelling).upper()}": value for name, value in properties.items()}


def _escape(text: str, special: str) -> str:
    known = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\b": "\\u0008"}
    known |= {c: f"\\{c}" for c in special}
    escaped = "".join(known.get(c, c) for c in text)
    if escaped.startswith(" "):  # Java would skip it as space around the "="
        escaped = f"\\{escaped}"
    # JSON escapes the other characters as Java does, also those with two units of UTF-16.
    return "".join(c if " " <= c <= "~" else json.dumps(c)[1:-1] for c in escaped)
