"""A librdkafka consumer that writes the lines of ``bench.pauses.member``."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from confluent_kafka import Consumer

from bench.pauses.member import await_close, say


def main() -> None:
    """Consume with the settings of the first argument, as JSON."""
    order = json.loads(sys.argv[1])
    if not sys.stdin.readline():
        return
    stop = threading.Event()
    threading.Thread(target=await_close, args=(stop,), daemon=True).start()

    def report(letter: str) -> Any:
        def called(consumer: Consumer, partitions: list[Any]) -> None:
            say(letter, ",".join(str(tp.partition) for tp in partitions))
            if letter == "A":
                consumer.incremental_assign(partitions)
            else:
                consumer.incremental_unassign(partitions)

        return called

    consumer = Consumer(
        {
            "bootstrap.servers": order["config"]["bootstrap_servers"],
            "group.id": order["config"]["group_id"],
            "session.timeout.ms": order["config"]["session_timeout_ms"],
            "heartbeat.interval.ms": order["config"]["heartbeat_interval_ms"],
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": "cooperative-sticky",
        }
    )
    consumer.subscribe([order["topic"]], on_assign=report("A"), on_revoke=report("R"), on_lost=report("L"))
    while not stop.is_set():
        for record in consumer.consume(100, timeout=0.05):
            if record.error() is None:
                say("D", f"{record.partition()}:{record.offset()}-{record.offset()}")
    consumer.close()
    say("E")


if __name__ == "__main__":
    main()
