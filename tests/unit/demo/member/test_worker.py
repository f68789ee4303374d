"""A member of replay and backlog, with a consumer that plays a script."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from kafka.errors import CommitFailedError, KafkaError, RebalanceInProgressError
from kafka.structs import MemberState, OffsetAndMetadata, TopicPartition
from msgspec.structs import replace

from demo.group.logs import Entry, LogWriter, read_log
from demo.member import worker
from demo.member.worker import Worker
from kafka_assignors.errors import BrokerError
from tests.unit.demo.story import worker_config

TP = TopicPartition("t", 3)


class Record(NamedTuple):
    """As kafka-python's, as far as the member looks."""

    offset: int
    value: bytes = b"{}"
    topic: str = "t"
    partition: int = 3
    leader_epoch: int = -1


Batch = dict[TopicPartition, list[Record]]


class FakeConsumer:
    """Plays a script of polls; each is what happens in it."""

    def __init__(self, **_: object) -> None:
        self.calls: list[str] = []
        self.generation = -1
        self.owned: set[TopicPartition] = set()
        self.stopped: set[TopicPartition] = set()
        self.refuse: KafkaError | None = None
        self.leave = threading.Event()
        self.polls: list[Callable[[], Batch]] = [self.join, self.nothing, self.work, self.end]

    def subscribe(self, _topics: list[str], *, listener: worker._Listener) -> None:
        self.listener = listener

    def partitions_for_topic(self, _topic: str) -> set[int]:
        return {3}

    def poll(self, timeout_ms: int) -> Batch:
        return self.polls.pop(0)()

    def join(self) -> Batch:
        self.owned, self.generation = {TP}, 7
        asyncio.run(self.listener.on_partitions_assigned({TP}))
        return {}

    def nothing(self) -> Batch:
        return {}

    def work(self) -> Batch:
        return {TP: [Record(10), Record(11)]}

    def end(self) -> Batch:
        self.leave.set()
        return {}

    def group_metadata(self) -> SimpleNamespace:
        state = MemberState.REBALANCING if self.generation == -1 else MemberState.STABLE
        return SimpleNamespace(generation_id=self.generation, state=state)

    def assignment(self) -> set[TopicPartition]:
        return self.owned

    def pause(self, *partitions: TopicPartition) -> None:
        self.stopped |= set(partitions)

    def paused(self) -> set[TopicPartition]:
        return set(self.stopped)

    def resume(self, partition: TopicPartition) -> None:
        self.stopped.remove(partition)

    def commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        self.calls.append(f"commit {offsets[TP].offset}")
        if self.refuse is not None:
            raise self.refuse

    def close(self, **_: object) -> None:
        self.calls.append("close")


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> FakeConsumer:
    fake = FakeConsumer()
    monkeypatch.setattr(worker, "ContinuousConsumer", lambda **_: fake)
    monkeypatch.setattr("kafka_assignors.consumer.listener.runs_cooperative", lambda _: True)
    monkeypatch.setattr("kafka_assignors.consumer.listener.generation_of", lambda _: 7)
    return fake


@pytest.fixture
def log(tmp_path: Path) -> LogWriter:
    return LogWriter(tmp_path / "m1.jsonl")


def entries(folder: Path) -> list[Entry]:
    return read_log(folder / "m1.jsonl")


def test_member_works_logs_commits_and_closes_in_this_order(
    consumer: FakeConsumer, log: LogWriter, tmp_path: Path
) -> None:
    Worker(worker_config(tmp_path), log).run(consumer.leave)
    assert consumer.calls == ["commit 12", "close"]
    logged = entries(tmp_path)
    assert [(e.event, e.partitions, e.first, e.generation) for e in logged] == [
        ("assigned", (3,), -1, -1),
        ("joined", (3,), -1, 7),
        ("opened", (3,), -1, -1),
        ("done", (3,), 10, -1),
        ("done", (3,), 11, -1),
    ]
    assert logged[3].began == logged[4].began < logged[3].t < logged[4].t


def test_record_is_logged_before_it_counts_as_processed_and_before_the_next_ones_work(
    consumer: FakeConsumer, log: LogWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    write = log.write

    def note(entry: Entry) -> None:
        if entry.event == "done":
            order.append(f"logged {entry.first}")
        write(entry)

    monkeypatch.setattr(log, "write", note)
    monkeypatch.setattr(worker, "work_on", lambda *_: order.append("work"))
    monkeypatch.setattr(
        worker._Listener, "processed", lambda _, record: order.append(f"done {record.offset}")
    )
    Worker(worker_config(tmp_path), log).run(consumer.leave)
    assert order[:6] == ["work", "logged 10", "done 10", "work", "logged 11", "done 11"]


def test_refused_commit_is_tried_again_until_it_is_taken_though_no_record_comes(
    consumer: FakeConsumer, log: LogWriter, tmp_path: Path
) -> None:
    def moved_on() -> Batch:
        consumer.refuse = CommitFailedError("moved on")
        return {}

    def rejoining() -> Batch:
        consumer.generation = -1
        return {}

    def back() -> Batch:
        consumer.generation, consumer.refuse = 8, None
        return {}

    consumer.refuse = RebalanceInProgressError()
    consumer.polls = [consumer.join, consumer.work, moved_on, rejoining, back, consumer.end]
    Worker(worker_config(tmp_path), log).run(consumer.leave)
    assert consumer.calls == ["commit 12", "commit 12", "commit 12", "close"]
    refusals = [entry.note.partition(":")[0] for entry in entries(tmp_path) if entry.event == "uncommitted"]
    assert refusals == ["RebalanceInProgressError", "CommitFailedError"]


def test_commit_that_fails_for_another_reason_ends_the_member(
    consumer: FakeConsumer, log: LogWriter, tmp_path: Path
) -> None:
    consumer.refuse = KafkaError("no broker")
    with pytest.raises(BrokerError, match="cannot commit"):
        Worker(worker_config(tmp_path), log).run(consumer.leave)


def test_held_member_reads_nothing_before_go(consumer: FakeConsumer, log: LogWriter, tmp_path: Path) -> None:
    member = Worker(replace(worker_config(tmp_path), held=True), log)
    consumer.join()
    go = threading.Event()
    waiting = threading.Thread(target=member.begin_on, args=(go,))
    waiting.start()
    assert consumer.stopped == {TP}
    go.set()
    waiting.join()
    assert consumer.stopped == set()


def test_member_that_is_asked_to_leave_warms_up_for_nothing_more(
    consumer: FakeConsumer, log: LogWriter, tmp_path: Path
) -> None:
    def gain_and_leave() -> Batch:
        consumer.leave.set()
        return consumer.join()

    consumer.polls = [gain_and_leave]
    Worker(worker_config(tmp_path), log).run(consumer.leave)
    assert [entry.event for entry in entries(tmp_path)] == ["assigned", "joined"]
