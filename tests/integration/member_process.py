"""The member's process: a real consumer that reports its events to the test."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any, cast

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.structs import MemberState

from kafka_assignors import Assignor
from kafka_assignors.assignor.lag.base import LagAssignor
from kafka_assignors.plan import NO_GENERATION, TopicPartition


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a member.

    Attributes:
        at: time (``monotonic_ns``).
        kind: from the member ``state``, ``assigned``, ``revoked``, ``lost``, ``closed``, ``log``,
            ``rebalance`` (it led one), ``processed``, ``commit``, and what a test's own listener reports;
            from outside ``died``, ``frozen``, ``thawed``.
        partitions: the partitions concerned.
        facts: other values.
    """

    at: int
    kind: str
    partitions: frozenset[TopicPartition] = frozenset()
    facts: Mapping[str, Any] = field(default_factory=dict)


class Reporter:
    """The member's end of the pipe; one for the process.

    Attributes:
        pipe: set before the first report.
    """

    pipe: Connection

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()

    def __call__(self, kind: str, about: Iterable[tuple[str, int]] = (), **facts: Any) -> None:
        """Report an event; kafka-python does on its I/O thread."""
        event = Event(time.monotonic_ns(), kind, frozenset(TopicPartition(*tp) for tp in about), facts)
        with self._one_at_a_time:
            self.pipe.send(event)


emit = Reporter()


class EventLog(ConsumerRebalanceListener):
    """Reports the consumer's rebalance callbacks."""

    def on_partitions_assigned(self, assigned: Collection[tuple[str, int]]) -> None:
        """Report it."""
        emit("assigned", assigned)

    def on_partitions_revoked(self, revoked: Collection[tuple[str, int]]) -> None:
        """Report it."""
        emit("revoked", revoked)

    def on_partitions_lost(self, lost: Collection[tuple[str, int]]) -> None:
        """Report it."""
        emit("lost", lost)


class LogEvents(logging.Handler):
    """Turns log records into events, so that a test sees both in one order."""

    def emit(self, record: logging.LogRecord) -> None:
        """Report it."""
        if (facts := getattr(record, "rebalance", None)) is not None:
            emit("rebalance", **facts)
        else:
            emit("log", logger=record.name, level=record.levelname, message=record.getMessage())


def will_rejoin(assignor: object) -> bool:
    """Whether this member, as the leader, will request another round if no other member does."""
    if not isinstance(assignor, Assignor):
        return False
    return assignor._second_round.rejoin_after_s is not None or assignor._metadata_wait.is_waiting


def run_member(pipe: Connection, settings: dict[str, Any]) -> None:
    """Wait for ``go``, then consume until ``close``.  Exit if the pipe breaks."""
    die_with_the_test()
    emit.pipe = pipe
    logging.basicConfig(level=logging.WARNING, handlers=[LogEvents()])
    logging.getLogger("kafka_assignors").setLevel(logging.INFO)
    if _hear(pipe) != "go":
        return
    stop = threading.Event()
    threading.Thread(target=_await_close, args=(pipe, stop), daemon=True).start()
    consume(stop, **settings)
    emit("closed")


def consume(
    stop: threading.Event,
    *,
    strategies: Sequence[type],
    listener_type: Callable[[KafkaConsumer], Any] | None,
    topics: Sequence[str],
    poll_ms: int = 50,
    options: Mapping[str, Any] | None = None,
    consumer_type: type[KafkaConsumer] = KafkaConsumer,
    enable_auto_commit: bool = False,
    **settings: Any,
) -> None:
    """Poll and report every change until ``stop`` is set, then close."""
    if options:  # configured here: classes made on the way cannot be sent to a process
        strategies = [cast("type[Assignor]", strategy).configured(**options) for strategy in strategies]
    consumer = consumer_type(
        partition_assignment_strategy=list(strategies), enable_auto_commit=enable_auto_commit, **settings
    )
    listener = listener_type(consumer) if listener_type else EventLog()
    consumer.subscribe(topics, listener=listener)
    coordinator = consumer._coordinator
    # The listener commits through this method.
    coordinator._commit_offsets_sync_async = _report_commits(coordinator._commit_offsets_sync_async)
    reported: object = None
    while not stop.is_set():
        records = [r for batch in consumer.poll(timeout_ms=poll_ms).values() for r in batch]
        if listener_type and records:
            for record in records:
                listener.processed(record)
            emit("processed", offsets=[(r.topic, r.partition, r.offset) for r in records])
        if not all(issubclass(strategy, Assignor) for strategy in strategies):
            _keep_joining(consumer)
        us = consumer.group_metadata()
        state = {
            "generation": us.generation_id,
            "member_id": us.member_id,
            # With fresh metadata a leader may want another rebalance.
            "joining": us.state is not MemberState.STABLE
            or consumer._coordinator.need_rejoin()
            or any(will_rejoin(assignor) for assignor in consumer._coordinator._assignors.values())
            or consumer._coordinator._cluster.need_update,
            **_reported(consumer),
        }
        if reported != (now := (state, consumer.assignment())):
            emit("state", now[1], **state)
            reported = now
    consumer.close()


def die_with_the_test() -> None:
    """Have the kernel kill this process with its parent, the fork server; a stopped process reads no pipe.

    The fork server ends when all copies of its pipe are closed, so the member closes its copy here.
    """
    os.close(getattr(forkserver, "_forkserver")._forkserver_alive_fd)  # noqa: B009  # typeshed hides it
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _report_commits(commit: Callable[..., Any]) -> Callable[..., Any]:
    def commit_and_report(offsets: Mapping[tuple[str, int], Any], **more: Any) -> Any:
        emit("commit", offsets, offsets=[(*tp, metadata.offset) for tp, metadata in offsets.items()])
        return commit(offsets, **more)

    return commit_and_report


def _reported(consumer: KafkaConsumer) -> dict[str, float]:
    """Return the total lag and the service rate in the member's user data; 0 under a strategy without lag."""
    kinds = [a for a in consumer._coordinator._assignors.values() if isinstance(a, LagAssignor)]
    reports = []
    for kind in kinds:
        kind._own.end_join()  # no join: a report that is read now says nothing about the next one
        reports.append(kind.decode_user_data(kind.user_data({}, NO_GENERATION)))
        kind._own.end_join()
    lag = sum(sum(report.lags.values()) for report in reports)
    return {"lag": lag, "service_rate": sum(report.service_rate or 0.0 for report in reports)}


def _keep_joining(consumer: KafkaConsumer) -> None:
    """Work around kafka-python 3.0: it forgets a join that a poll did not wait for to the end.

    A leader joins again when the metadata changed, and once it has assigned no longer sees why.  If ``poll``
    times out just then, no later one goes on with the join, and the member hangs without a heartbeat.
    """
    coordinator = consumer._coordinator
    if coordinator._join_task is not None and not coordinator.need_rejoin():
        coordinator.request_rejoin()


def _hear(pipe: Connection) -> str | None:
    try:
        return cast("str", pipe.recv())
    except (EOFError, OSError):
        return None


def _await_close(pipe: Connection, stop: threading.Event) -> None:
    if _hear(pipe) != "close":
        os._exit(1)  # the test is gone
    stop.set()
