"""A stateful consumer in a process of its own: counts records by key, and reports events.

``python -m tests.integration.stateful.stateful_member SETTINGS``, settings as JSON; events are JSON lines on
stdout, orders come by stdin: ``close``, ``limit BYTES`` (no file may grow beyond that), ``fast`` (process
without delay from now on), ``freeze`` (stand still at the next record, with it in memory, until a SIGCONT),
``freeze joining`` (the same in the next rebalance, after it joined, before its assignment).
When stdin ends, it ends.  With ``output`` it sends the place of each record to that topic, by a producer that
keeps all in memory until it is flushed; with ``flushes`` that is before each commit.  With ``ledger`` it
writes what it reads and commits to that file (``tests.integration.chaos.event_log``).  With ``persistent`` it
begins again while the cluster cannot be reached.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kafka import KafkaProducer
from kafka.errors import RetriableError

from kafka_assignors.errors import ChangelogError
from kafka_assignors.stateful import RuntimeOptions, StatefulConsumer, StoreOptions, Subtopology, Topology
from tests.integration.chaos.event_log import EventKind, EventWriter

POISON = b"poison"


def report(kind: str, **facts: Any) -> None:
    """Report an event."""
    line = json.dumps({"kind": kind, "at": time.monotonic_ns(), **facts})
    with _ONE_AT_A_TIME:
        print(line, flush=True)


class LogEvents(logging.Handler):
    """Turns log records into events."""

    def emit(self, record: logging.LogRecord) -> None:
        """Report it."""
        report("log", level=record.levelname, message=record.getMessage())


class FreezesJoining(logging.Handler):
    """Freezes when kafka-python logs that it has joined, before it asks for its assignment."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._log = logging.getLogger("kafka.coordinator")
        self._log.setLevel(logging.INFO)
        self._log.propagate = False
        self._log.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Freeze at that line, once."""
        if "Successfully joined group" in record.getMessage():
            self._log.removeHandler(self)
            freeze()


def freeze() -> None:
    """Freeze until a SIGCONT.  A signal to the whole process would stop it milliseconds later."""
    report("frozen")
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


class Counting:
    """The application: counts each key, and lists its records.

    The second list has each record once, so that a test can count lost and double records.
    """

    def __init__(self, delay_s: float, filler: int, send: Callable[[Any], object] | None = None) -> None:
        self.delay_s = delay_s
        self._send = send
        self.freeze = False
        self.records = 0
        self._filler = b"." * filler

    def __call__(self, record: Any, store: Any) -> None:
        """Count a record."""
        if self.delay_s:
            time.sleep(self.delay_s)
        count = int(store.get(b"n:" + record.key) or b"0") + 1
        store.put(b"n:" + record.key, b"%d" % count)
        store.put(b"r:%d" % record.offset, self._filler or b"1")
        if record.value == POISON:
            raise ValueError(f"record {record.offset} is poison")
        if self._send is not None:
            self._send(record)
        if self.freeze:
            self.freeze = False
            freeze()
        self.records += 1


def watch(consumer: StatefulConsumer, counting: Counting) -> None:
    """Report the member's state whenever it changes."""
    last: object = None
    while True:
        duties = consumer.duties
        now = {
            "ready": sorted(p for _, p in consumer.ready),
            "standbys": sorted(p for _, p in duties.standbys),
            "warmups": sorted(p for _, p in duties.warmups),
            "probing": duties.probe_at is not None,
            "generation": duties.generation,
            "lags": sorted([p, lag] for (_, p), lag in consumer.lags.items()),
            "restored": sum(consumer.restored.values()),
            "processed": counting.records,
        }
        if now != last:
            report("state", **now)
            last = now
        time.sleep(0.02)


def hear(consumer: StatefulConsumer, counting: Counting) -> None:
    """Follow orders."""
    for line in sys.stdin:
        match line.split():
            case ["close"]:
                consumer.close()
            case ["fast"]:
                counting.delay_s = 0.0
            case ["freeze"]:
                counting.freeze = True
            case ["freeze", "joining"]:
                FreezesJoining()
                report("will freeze")
            case ["limit", size]:
                resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), resource.RLIM_INFINITY))
                report("limited")
    os._exit(1)  # the test is gone


def send_place(producer: KafkaProducer, output: str, record: Any) -> None:
    """Send the place of a record."""
    producer.send(output, b"%d:%d" % (record.partition, record.offset))


def record_read(ledger: EventWriter, record: Any) -> None:
    """Write that a record was processed."""
    ledger.write(EventKind.READ, [(record.topic, record.partition, record.offset)])


def record_commit(ledger: EventWriter, offsets: Mapping[Any, Any], _timeout_s: float) -> None:
    """Write which offsets are about to be committed."""
    ledger.write(EventKind.COMMIT, [(tp.topic, tp.partition, to.offset) for tp, to in offsets.items()])


def log_commits(consumer: Any, ledger: EventWriter) -> None:
    """Write which offsets the broker has committed."""
    commit = consumer._consumer.commit

    def commit_and_log(offsets: Mapping[Any, Any], **more: Any) -> None:
        offsets = dict(offsets)
        commit(offsets, **more)
        ledger.write(EventKind.COMMITTED, [(tp.topic, tp.partition, to.offset) for tp, to in offsets.items()])

    consumer._consumer.commit = commit_and_log


def attempt(make: Callable[..., StatefulConsumer], settings: Mapping[str, Any]) -> StatefulConsumer | None:
    """Create the consumer; None: the cluster cannot be reached now."""
    try:
        return make(**settings)
    except (ChangelogError, RetriableError) as error:
        if not isinstance(error, RetriableError) and not isinstance(error.__cause__, RetriableError):
            raise
        report("log", level="WARNING", message=f"cannot start yet: {error}")
        return None


def main() -> None:
    """Be a member until it is asked to close."""
    settings = json.loads(sys.argv[1])
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then writing raises, as on a full disk
    logging.basicConfig(level=logging.WARNING, handlers=[LogEvents()])
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    logging.getLogger("kafka_assignors").setLevel(logging.INFO)
    options = dict(settings.pop("options"))
    send = None
    if output := settings.pop("output", None):
        producer = KafkaProducer(
            bootstrap_servers=settings["bootstrap_servers"],
            linger_ms=600_000,
            delivery_timeout_ms=700_000,
            batch_size=2**20,
        )
        send = partial(send_place, producer, output)
        if settings.pop("flushes"):
            options["before_commit"] = lambda _, timeout_s: producer.flush(timeout=timeout_s)
    if ledger := settings.pop("ledger", None):
        writer = EventWriter(ledger)
        send = partial(record_read, writer)
        options["before_commit"] = partial(record_commit, writer)
    counting = Counting(settings.pop("delay_s", 0.0), settings.pop("filler", 0), send)
    if store := options.pop("store", None):
        options["store"] = StoreOptions(**store)
    topology = Topology((Subtopology("count", tuple(settings.pop("topics"))),))
    try:
        make = partial(
            StatefulConsumer,
            topology,
            counting,
            settings.pop("store_dir"),
            options=RuntimeOptions(**options),
        )
        persistent, consumer = settings.pop("persistent", False), None
        while persistent and consumer is None:  # tries again, as a supervisor would
            consumer = attempt(make, settings)
        consumer = consumer or make(**settings)
        if ledger:
            log_commits(consumer, writer)
        signal.signal(signal.SIGTERM, lambda *_: consumer.close())
        threading.Thread(target=watch, args=(consumer, counting), daemon=True).start()
        threading.Thread(target=hear, args=(consumer, counting), daemon=True).start()
        consumer.run()
    except Exception as error:
        report("raised", type=type(error).__name__, message=str(error))
        os._exit(3)
    report("ended")
    os._exit(0)


_ONE_AT_A_TIME = threading.Lock()

if __name__ == "__main__":
    main()
