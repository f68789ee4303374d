"""A member of ``bench.pauses``.  It reads ``go``, then ``close`` from its standard input, and writes lines.

    A <ns> <partition>,...                  assigned; R: revoked, L: lost
    D <ns> <partition>:<first>-<last> ...   delivered by one poll
    E <ns>                                  closed

Times are those of the monotonic clock.  On Linux all processes share it, and Java's ``nanoTime`` reads it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Collection
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.coordinator.assignors import cooperative_sticky
from kafka.coordinator.assignors.range import RangePartitionAssignor

from kafka_assignors import ContinuousConsumer, CooperativeStickyAssignor

KINDS: dict[str, tuple[type, type]] = {
    "range": (KafkaConsumer, RangePartitionAssignor),
    "cooperative": (KafkaConsumer, CooperativeStickyAssignor),
    "kafka-python": (KafkaConsumer, cooperative_sticky.CooperativeStickyAssignor),
    "continuous": (ContinuousConsumer, CooperativeStickyAssignor),
}


def say(letter: str, text: str = "") -> None:
    """Write one line, at once."""
    os.write(1, f"{letter} {time.monotonic_ns()} {text}\n".encode())


class Report(ConsumerRebalanceListener):  # type: ignore[misc]
    """Writes a line for each call of the consumer's listener."""

    def on_partitions_assigned(self, assigned: Collection[Any]) -> None:
        say("A", ",".join(str(tp.partition) for tp in assigned))

    def on_partitions_revoked(self, revoked: Collection[Any]) -> None:
        say("R", ",".join(str(tp.partition) for tp in revoked))

    def on_partitions_lost(self, lost: Collection[Any]) -> None:
        say("L", ",".join(str(tp.partition) for tp in lost))


def main() -> None:
    """Consume with the settings in the first argument, which is JSON."""
    order = json.loads(sys.argv[1])
    logging.basicConfig(level=order.get("log", "ERROR"), format="%(asctime)s %(message)s")
    consumer_type, strategy = KINDS[order["kind"]]
    if not sys.stdin.readline():
        return
    stop = threading.Event()
    threading.Thread(target=await_close, args=(stop,), daemon=True).start()
    consumer = consumer_type(partition_assignment_strategy=[strategy], **order["config"])
    consumer.subscribe([order["topic"]], listener=Report())
    while not stop.is_set():
        records = consumer.poll(timeout_ms=100)
        if records:
            say(
                "D",
                " ".join(
                    f"{tp.partition}:{some[0].offset}-{some[-1].offset}" for tp, some in records.items()
                ),
            )
            stop.wait(order["batch_s"])
    consumer.close()
    say("E")


def await_close(stop: threading.Event) -> None:
    """Wait for ``close``; end at once if standard input ends first."""
    if not sys.stdin.readline():
        os._exit(1)  # the measurement has ended
    stop.set()


if __name__ == "__main__":
    main()
