"""The producer: sends each flight when it is due, on its own thread, and logs each acknowledgement.

It sends the backlog too: all of it is due at once.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import kafka
from kafka.errors import KafkaError

from demo.data.events import Flight
from demo.group.cluster import ANSWER_MS, failing
from demo.group.logs import Entry, LogWriter
from kafka_assignors.errors import BrokerError, KafkaAssignorsError

MOST_UNDER_WAY = 10_000  # records; far fewer than fit into the producer, which blocks when it is full
LOG_EVERY = 0.05  # s; the precision of the send times in the log
FLUSH_TIMEOUT = 30.0  # s
DELIVERY_MS = 20_000  # a record that is not acknowledged by then has failed


class Ack(NamedTuple):
    """The broker acknowledged one record, at ``t`` ns."""

    partition: int
    offset: int
    t: int


def sent_entries(acks: Iterable[Ack]) -> Iterator[Entry]:
    """Yield one ``sent`` entry for each stretch of consecutive offsets of a partition."""
    for _, stretch in itertools.groupby(
        enumerate(sorted(acks)), lambda pair: (pair[1].partition, pair[1].offset - pair[0])
    ):
        merged = [ack for _, ack in stretch]
        t = max(ack.t for ack in merged)
        yield Entry(t, "sent", (merged[0].partition,), merged[0].offset, merged[-1].offset)


class Replay(threading.Thread):
    """Sends a schedule of flights.

    ``due`` yields seconds since the start, and the flight that is due then; ``log`` gets ``sent`` entries.
    """

    def __init__(
        self, bootstrap: str, topic: str, due: Iterator[tuple[float, Flight]], log: LogWriter
    ) -> None:
        super().__init__(name="replay", daemon=True)
        self._topic, self._due, self._log = topic, due, log
        self._acks: deque[Ack] = deque()
        self._acknowledged = 0
        self._failure: BaseException | None = None
        self._halt = threading.Event()
        self.finished = threading.Event()
        self.lateness = 0.0  # s; how late a record was sent, at most

        with failing(f"no Kafka broker answers at {bootstrap}"):
            self._producer = kafka.KafkaProducer(
                bootstrap_servers=bootstrap,
                acks="all",
                linger_ms=10,
                bootstrap_timeout_ms=ANSWER_MS,
                request_timeout_ms=ANSWER_MS,
                max_block_ms=ANSWER_MS,
                delivery_timeout_ms=DELIVERY_MS,
            )

    def _acknowledge(self, sent: Any) -> None:
        self._acks.append(Ack(sent.partition, sent.offset, time.monotonic_ns()))
        self._acknowledged += 1

    def _fail(self, error: BaseException) -> None:
        self._failure = error

    def run(self) -> None:
        """Send everything; `finished` is set once all is acknowledged and logged, or something failed."""
        try:
            self._send_all()
            if not self._halt.is_set():
                with failing(f"the broker did not acknowledge all records within {FLUSH_TIMEOUT:g} s"):
                    self._producer.flush(timeout=FLUSH_TIMEOUT)
            self._log_acks()
        except Exception as error:  # handed to check(), on the thread that can act on it
            self._failure = error
        finally:
            with suppress(KafkaError):
                self._producer.close(timeout=2)
            self.finished.set()

    def _send_all(self) -> None:
        began = next_log = time.monotonic()
        for sent, (due, flight) in enumerate(self._due):
            while True:
                now = time.monotonic()
                if now >= next_log:
                    self._log_acks()
                    next_log = now + LOG_EVERY
                ahead = began + due - now
                full = sent - self._acknowledged >= MOST_UNDER_WAY
                if self._failure is not None or (ahead <= 0 and not full):
                    break
                # A short wait, also if the next flight is due much later: acknowledgements must be logged.
                if self._halt.wait(LOG_EVERY if full else min(ahead, LOG_EVERY)):
                    return
            if self._failure is not None or self._halt.is_set():
                return
            self.lateness = max(self.lateness, -ahead)
            with failing("a record could not be sent"):
                future = self._producer.send(self._topic, key=flight.key, value=flight.value)
            future.add_callback(self._acknowledge)
            future.add_errback(self._fail)

    def _log_acks(self) -> None:
        acks = [self._acks.popleft() for _ in range(len(self._acks))]
        for entry in sent_entries(acks):
            self._log.write(entry)

    def check(self) -> None:
        """Raise the failure of the thread, if there is one."""
        if isinstance(self._failure, KafkaAssignorsError):
            raise self._failure
        if self._failure is not None:
            raise BrokerError(f"a record could not be sent: {self._failure!r}") from self._failure

    def stop(self) -> None:
        """Stop sending and wait for the thread; no effect once finished."""
        self._halt.set()
        if self.is_alive():
            self.join(FLUSH_TIMEOUT + 5)
