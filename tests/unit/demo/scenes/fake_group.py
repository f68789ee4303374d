"""A broker and its group for runs without either: members are log files that this module writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple
from unittest.mock import Mock

import kafka
import pytest

from demo.data.flight_samples import partition_of
from demo.group.logs import Entry, Event, LogWriter
from demo.member.start import MemberConfig, StatefulConfig, WorkerConfig
from demo.scenes import stage


class FakeGroup:
    """Shares partitions evenly at each change; an owner processes a record when it is sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.partitions = 0
        self.ends: list[int] = []
        self.configs: dict[str, MemberConfig] = {}
        self.logs: dict[str, LogWriter] = {}
        self.waiting: list[tuple[int, int]] = []  # records without an owner that reads
        self.held: set[str] = set()
        self.owner: dict[int, str] = {}
        self.generation = 0
        self.left: list[str] = []
        self.deleted: set[str] = set()
        self.stuck = False
        monkeypatch.setattr(stage, "TICK", 0.01)
        monkeypatch.setattr(stage, "Cluster", lambda _: FakeCluster(self))
        monkeypatch.setattr(stage, "Fleet", lambda _: FakeFleet(self))
        monkeypatch.setattr(kafka, "KafkaProducer", lambda **_: FakeProducer(self))

    def write(self, member: str, event: Event, *partitions: int, note: str = "", last: int = -1) -> None:
        entry = Entry(
            time.monotonic_ns(), event, partitions, last=last, generation=self.generation, note=note
        )
        self.logs[member].write(entry)

    def rebalance(self) -> None:
        before, self.generation = self.owner, self.generation + 1
        members = sorted(self.logs)
        self.owner = {p: members[p % len(members)] for p in range(self.partitions)} if members else {}
        for member in members:
            config = self.configs[member]
            owned = tuple(p for p, owner in self.owner.items() if owner == member)
            if isinstance(config, StatefulConfig):
                others = tuple(p for p in self.owner if p % len(members) != members.index(member))
                self.write(member, "state", *owned)
                kept = others[: self.partitions // len(members) * config.standbys]
                self.write(member, "standbys", *kept, last=0)
                continue
            self.write(member, "revoked", *(p for p, owner in before.items() if owner == member))
            self.write(member, "assigned", *owned)
            self.write(member, "joined", *owned)
            for partition in owned:
                self.write(member, "opened", partition)
        self.work()

    def work(self) -> None:
        waiting, self.waiting = self.waiting, []
        for partition, offset in waiting:
            member = self.owner.get(partition)
            if member is None or member in self.held or self.stuck:
                self.waiting.append((partition, offset))
            else:
                now = time.monotonic_ns()
                self.logs[member].write(Entry(now, "done", (partition,), offset, offset, now))


class RecordMetadata(NamedTuple):
    """As kafka-python's, as far as the replay looks."""

    partition: int
    offset: int


class FakeProducer:
    """Its records are acknowledged and processed at once."""

    flush = close = add_errback = Mock()

    def __init__(self, group: FakeGroup) -> None:
        self._group = group
        self._sent = RecordMetadata(0, 0)

    def send(self, topic: str, *, key: bytes, value: bytes) -> FakeProducer:
        partition = partition_of(key, self._group.partitions)
        self._sent = RecordMetadata(partition, self._group.ends[partition])
        self._group.ends[partition] += 1
        self._group.waiting.append(self._sent)
        return self

    def add_callback(self, acknowledge: Callable[[RecordMetadata], None]) -> None:
        acknowledge(self._sent)
        self._group.work()


class FakeFleet:
    """Members that exist only in the group; all run, and end at once."""

    check = Mock()

    def __init__(self, group: FakeGroup) -> None:
        self._group = group

    def __enter__(self) -> FakeFleet:
        return self

    def __exit__(self, *_: object) -> None:
        self._group.logs.clear()

    def start(self, member: str, config: MemberConfig) -> None:
        group = self._group
        group.configs[member], group.logs[member] = config, LogWriter(Path(config.log))
        if isinstance(config, WorkerConfig) and config.held:
            group.held.add(member)
        group.write(member, "started", note="7")
        group.rebalance()

    def go(self, member: str) -> None:
        self._group.held.discard(member)
        self._group.work()

    def leave(self, member: str) -> None:
        self._group.write(member, "left")
        self._group.left.append(member)
        self.kill(member)

    def kill(self, member: str) -> None:
        del self._group.logs[member]
        self._group.rebalance()

    def wait(self, timeout: float) -> bool:
        return True


class FakeCluster:
    """A broker that knows what the group knows."""

    close = Mock()

    def __init__(self, group: FakeGroup) -> None:
        self._group = group

    def create_topic(self, topic: str, partitions: int) -> None:
        self._group.partitions, self._group.ends = partitions, [0] * partitions

    def end_offsets(self, topic: str, partitions: int) -> dict[int, int]:
        return dict(enumerate(self._group.ends))

    def committed(self, group: str, topic: str) -> dict[int, int]:
        return dict(enumerate(self._group.ends))

    def log_bytes(self, topic: str) -> int:
        return 1_000

    def delete(self, topics: Collection[str], groups: Collection[str]) -> None:
        self._group.deleted |= {*topics, *groups}
