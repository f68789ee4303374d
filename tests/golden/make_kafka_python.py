"""Write the bytes that kafka-python's own assignors send.

Run as ``python -m tests.golden.make_kafka_python OUT.json``. kafka-python 3.0.12 prefixes the user data of
its ``sticky`` with a 2-byte version, which Java neither writes nor reads.
"""

import json
import sys
from pathlib import Path
from typing import Any

import kafka
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

VERSION = "3.0.12"

Owned = dict[str, list[int]]
Case = dict[str, object]

# The partitions a member owns and their generation; None: it never had an assignment.
HISTORIES: dict[str, tuple[Owned | None, int | None]] = {
    "never assigned": (None, None),
    "nothing owned": ({}, 5),
    "one partition, generation 0": ({"t": [0]}, 0),
    "two partitions": ({"t": [2, 3]}, 5),
    "partitions out of order": ({"t": [7, 0, 3]}, 5),
    "two topics": ({"t": [2, 3], "u": [0]}, 5),
    "two topics, given in reverse": ({"u": [0], "t": [2, 3]}, 5),
    "largest generation": ({"t": [0]}, 2**31 - 1),
}


def main() -> None:
    """Write the JSON to the path given on the command line."""
    if kafka.__version__ != VERSION:
        raise SystemExit(f"these bytes are those of kafka-python {VERSION}, not {kafka.__version__}")
    sections = {
        "sticky_user_data": [sticky_user_data(name) for name in HISTORIES],
        "subscriptions": [
            subscription(assignor, name)
            for assignor in (StickyPartitionAssignor, CooperativeStickyAssignor, RangePartitionAssignor)
            for name in HISTORIES
        ],
    }
    lines = [f'  "kafka_python": "{VERSION}"']
    for name, cases in sections.items():
        one_a_line = ",\n".join(f"    {json.dumps(case)}" for case in cases)
        lines.append(f'  "{name}": [\n{one_a_line}\n  ]')
    Path(sys.argv[1]).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def sticky_user_data(name: str) -> Case:
    """The user data of ``sticky`` alone; without history kafka-python sends it empty, not null."""
    owned, generation = HISTORIES[name]
    return {
        "name": name,
        "owned": owned,
        "generation": generation,
        "hex": user_data(member(StickyPartitionAssignor, name)).hex(),
    }


def subscription(assignor: type[Any], name: str) -> Case:
    """A whole subscription as in JoinGroup, and its values."""
    owned, generation = HISTORIES[name]
    written = member(assignor, name)
    encoded: bytes = written.encode()
    read = ConsumerProtocolSubscription.decode(encoded)
    return {
        "assignor": assignor.name,
        "name": name,
        "owned": owned,
        "generation": generation,
        "version": read.version,
        "topics": read.topics,
        "user_data": read.user_data.hex(),
        "owned_partitions": {tp.topic: tp.partitions for tp in read.owned_partitions or ()},
        "hex": encoded.hex(),
    }


def member(assignor: type[Any], name: str) -> Any:
    """The metadata of an assignor with this history, subscribed to t and u."""
    owned, generation = HISTORIES[name]
    instance = assignor()
    if owned is not None:
        instance.on_assignment(ConsumerProtocolAssignment(0, list(owned.items()), b""), generation)
    return instance.metadata(["t", "u"])


def user_data(metadata: Any) -> bytes:
    """The bytes of the user data, which ``sticky`` returns as an object to encode."""
    data = metadata.user_data
    return data if isinstance(data, bytes) else bytes(data.encode())


if __name__ == "__main__":
    main()
