"""A member that runs librdkafka until its standard input ends: ``TOPIC SETTINGS``, with settings as JSON."""

from __future__ import annotations

import json
import sys
import threading

from confluent_kafka import Consumer

_POLL_S = 0.05


def main() -> None:
    """Poll, and leave in order."""
    consumer = Consumer(json.loads(sys.argv[2]))
    consumer.subscribe([sys.argv[1]])
    closing = threading.Event()
    threading.Thread(target=_await_end, args=(closing,), daemon=True).start()
    while not closing.is_set():
        consumer.poll(_POLL_S)
    consumer.close()


def _await_end(closing: threading.Event) -> None:
    sys.stdin.read()
    closing.set()


if __name__ == "__main__":
    main()
