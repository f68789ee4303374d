"""A member with two tasks: real stores, a double of the cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.structs import MemberState, TopicPartition

from kafka_assignors.plan import TopicPartition as OurPartition
from kafka_assignors.stateful import StateDir, Store, Stores
from kafka_assignors.stateful.changelog.writer import WrittenRange
from kafka_assignors.stateful.runtime.commits import BeforeCommit, Commits
from kafka_assignors.stateful.runtime.lease import Lease
from kafka_assignors.stateful.runtime.processing import Processing
from kafka_assignors.stateful.runtime.tasks import ActiveTask, MemberTasks
from kafka_assignors.stateful.shutdown import Shutdown
from kafka_assignors.stateful.state.copy import Changelog, Copy

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Cluster:
    """A changelog writer and a consumer, which record the order of their calls.

    Attributes:
        did: their calls.
        log: the changelog: partition -> keys and values.
        write_fails, commit_fails: raised by the next writes, or commits.
        on_read: answers the next read in the place of `last_values`.
    """

    def __init__(self) -> None:
        self.did: list[str] = []
        self.log: dict[int, list[tuple[bytes, bytes | None]]] = {0: [], 1: []}
        self.write_fails: Exception | None = None
        self.commit_fails: Exception | None = None
        self.on_read: Callable[..., dict[bytes, bytes | None]] | None = None
        self.sought: dict[TopicPartition, int] = {}
        self.assigned = {T0, T1}
        self.flows: set[TopicPartition] = set()
        self.committed: dict[TopicPartition, int] = {}
        self.commit_ms: list[int] = []
        self.write_s: list[float] = []
        self.heard_s = 0.1
        self.polled_s = 0.1
        self.has_to_rejoin = False
        self.is_stable = True
        self.is_static = False
        self.is_fenced = False
        self.member_id = "m-1"
        self.max_poll_interval_ms = 300_000

    # a consumer
    @property
    def _coordinator(self) -> Any:
        now = time.monotonic()
        return SimpleNamespace(
            _lock=threading.RLock(),
            _generation=SimpleNamespace(member_id=self.member_id, generation_id=1),
            _heartbeat_enabled=not self.is_fenced,
            config={
                "session_timeout_ms": 6_000,
                "max_poll_interval_ms": self.max_poll_interval_ms,
                "heartbeat_interval_ms": 1_000,
            },
            generation_if_stable=lambda: 1 if self.is_stable else None,
            heartbeat=SimpleNamespace(
                last_send=now - self.heard_s, last_receive=now, last_poll=now - self.polled_s
            ),
            is_dynamic_member=lambda: not self.is_static,
            rejoin_needed=self.has_to_rejoin,
            rejoining=not self.is_stable,
            state=MemberState.STABLE if self.is_stable else MemberState.REBALANCING,
        )

    def commit(self, offsets: Mapping[TopicPartition, Any], timeout_ms: int) -> None:
        assert timeout_ms > 0
        self.commit_ms.append(timeout_ms)
        self.did.append("offsets")
        if self.commit_fails is not None:
            raise self.commit_fails
        self.committed |= {partition: offset.offset for partition, offset in offsets.items()}

    def assignment(self) -> set[TopicPartition]:
        return set(self.assigned)

    def seek(self, at: TopicPartition, offset: int) -> None:
        if at not in self.assigned:
            raise ValueError(f"Unassigned partition: {at}")
        self.sought[at] = offset

    def pause(self, *partitions: TopicPartition) -> None:
        if unknown := set(partitions) - self.assigned:
            raise KeyError(unknown)
        self.flows -= set(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        if unknown := set(partitions) - self.assigned:
            raise KeyError(unknown)
        self.flows |= set(partitions)

    # a writer
    def write(
        self,
        changes: Mapping[OurPartition, Mapping[bytes, bytes | None]],
        allowed: Callable[[], bool],
        timeout_s: float = float("inf"),
    ) -> dict[OurPartition, WrittenRange]:
        assert allowed()
        self.did.append("changelog")
        self.write_s.append(timeout_s)
        if self.write_fails is not None:
            raise self.write_fails
        ranges = {}
        for partition, keys in changes.items():
            first = len(self.log[partition.partition])
            self.log[partition.partition] += keys.items()
            ranges[partition] = WrittenRange(first, len(keys), len(self.log[partition.partition]))
        return ranges

    # a reader
    def last_values(
        self, partition: OurPartition, first: int, end: int, left_s: Callable[[], float]
    ) -> dict[bytes, bytes | None]:
        assert left_s() > 0
        self.did.append("read")
        if (read := self.on_read) is not None:
            self.on_read = None
            return read(partition, first, end, left_s)
        return dict(self.log[partition.partition][first:end])


class Records:
    """Consecutive records of a partition."""

    def __init__(self, at: TopicPartition) -> None:
        self._at = at
        self.next = 0

    def take(self, *keys: bytes) -> list[Any]:
        records = [
            SimpleNamespace(
                topic=self._at.topic,
                partition=self._at.partition,
                offset=self.next + n,
                key=k,
                leader_epoch=1,
            )
            for n, k in enumerate(keys)
        ]
        self.next += len(keys)
        return records


def count(record: Any, store: Any) -> None:
    if record.key == b"bad":
        store.put(b"trace", b"1")
        raise ValueError("bad")
    store.put(record.key, b"%d" % (int(store.get(record.key) or 0) + 1))


def break_store(monkeypatch: pytest.MonkeyPatch, store: Store, method: str, error: Exception) -> None:
    """Make a method of one store raise."""
    really = getattr(Store, method)

    def fail(self: Store, *args: Any) -> Any:
        if self is store:
            raise error
        return really(self, *args)

    monkeypatch.setattr(Store, method, fail)


class Bench:
    """A member with two tasks, without a cluster."""

    def __init__(
        self,
        root: Path,
        most: int = 10**6,
        interval_s: float = float("inf"),
        before_commit: BeforeCommit | None = None,
    ) -> None:
        self.now = 0.0  # seconds
        self.cluster = Cluster()
        self.state_dir = StateDir(root, "g")
        stores = Stores()
        self.actives: dict[TopicPartition, ActiveTask] = {}
        self.tasks = MemberTasks()
        for at in (T0, T1):
            changelog = Changelog(OurPartition("log", at.partition))
            copy = Copy(("s", at.partition), changelog, self.state_dir, stores)
            active = ActiveTask(("s", at.partition), count, "m-1", frozenset({at}), copy, ready=True)
            self.tasks.actives[active.task] = self.actives[at] = active
        consumer: Any = self.cluster
        writer: Any = self.cluster
        self.lease = Lease(consumer)
        self.stop = Shutdown(1.0, lambda: self.now)
        read = self.cluster.last_values
        self.commits = Commits(consumer, writer, self.lease, self.stop, before_commit, read=read)
        self.processing = Processing(
            consumer,
            self.tasks,
            self.commits,
            max_uncommitted_bytes=most,
            commit_interval_s=interval_s,
            shutdown=self.stop,
            clock=lambda: self.now,
        )
        self.processing.commit_if_due()
        self.records = {at: Records(at) for at in (T0, T1)}

    def process(self, at: TopicPartition, *keys: bytes) -> None:
        self.processing.process([(self.actives[at], at, self.records[at].take(*keys))])

    def complete(self, at: TopicPartition, *keys: bytes) -> None:
        """Process records, and commit."""
        self.process(at, *keys)
        assert self.processing.commit()

    def copy(self, at: TopicPartition) -> Copy:
        copy = self.actives[at].copy
        assert copy is not None
        return copy

    def store(self, at: TopicPartition) -> Any:
        return self.copy(at).store

    def close(self) -> None:
        for active in self.actives.values():
            if active.copy is not None:
                active.copy.drop()
        self.state_dir.close()

    def in_log(self, partition: int) -> dict[bytes, bytes | None]:
        return dict(self.cluster.log[partition])
