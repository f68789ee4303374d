from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from demo.group.logs import Entry, LogWriter, read_log
from demo.member import worker
from demo.member.start import WorkerConfig
from demo.member.worker import Worker
from tests.unit.demo.group.test_fleet import config


class Record(NamedTuple):
    """As kafka-python's, as far as the member looks."""

    offset: int
    value: bytes


class FakeConsumer:
    """Plays a script of polls; each is what happens in it."""

    def __init__(self, config: WorkerConfig, report: Callable[..., None]) -> None:
        self.report = report
        self.held = config.held
        self.said: list[str] = []
        self.now = -1
        self.fresh: list[int] = []
        self.refuse = ""
        self.leave = threading.Event()
        self.polls: list[Callable[[], dict[int, list[Record]]]] = [
            self.join,
            self.nothing,
            self.work,
            self.end,
        ]

    def poll(self, timeout_ms: int) -> dict[int, list[Record]]:
        return self.polls.pop(0)()

    def join(self) -> dict[int, list[Record]]:
        self.report("assigned", (3,))
        self.now, self.fresh = 7, [3]
        return {}

    def nothing(self) -> dict[int, list[Record]]:
        return {}

    def work(self) -> dict[int, list[Record]]:
        return {3: [Record(10, b"{}"), Record(11, b"{}")]}

    def end(self) -> dict[int, list[Record]]:
        self.leave.set()
        return {}

    def generation(self) -> int:
        return self.now

    def owned(self) -> frozenset[int]:
        return frozenset({3})

    def take_gained(self) -> list[int]:
        found, self.fresh = self.fresh, []
        return found

    def processed(self, record: Record) -> None:
        self.said.append(f"done {record.offset}")

    def commit(self) -> str:
        self.said.append("commit")
        return self.refuse

    def release(self) -> None:
        self.said.append("released")

    def close(self) -> None:
        self.said.append("close")


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> list[FakeConsumer]:
    made: list[FakeConsumer] = []

    def make(config: WorkerConfig, report: Callable[..., None]) -> FakeConsumer:
        made.append(FakeConsumer(config, report))
        return made[-1]

    monkeypatch.setattr(worker, "GroupConsumer", make)
    return made


def test_a_member_works_logs_commits_and_closes_in_this_order(
    consumer: list[FakeConsumer], tmp_path: Path
) -> None:
    log = LogWriter(tmp_path / "m1.jsonl")
    member = Worker(config(tmp_path), log)
    member.run(consumer[0].leave)
    assert consumer[0].said == ["done 10", "done 11", "commit", "close"]
    entries = read_log(tmp_path / "m1.jsonl")
    assert [entry.event for entry in entries] == ["assigned", "joined", "opened", "done", "done"]
    assert entries[1].generation == 7
    assert [(e.partitions, e.first, e.last) for e in entries[3:5]] == [((3,), 10, 10), ((3,), 11, 11)]
    assert entries[3].began == entries[4].began < entries[3].t < entries[4].t


def test_a_record_is_logged_before_it_counts_as_processed_and_before_the_next_ones_work(
    consumer: list[FakeConsumer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogWriter(tmp_path / "m1.jsonl")
    member = Worker(config(tmp_path), log)
    order = consumer[0].said
    write = log.write

    def note(entry: Entry) -> None:
        if entry.event == "done":
            order.append(f"logged {entry.first}")
        write(entry)

    monkeypatch.setattr(log, "write", note)
    monkeypatch.setattr(worker, "work_on", lambda *_: order.append("work"))
    member.run(consumer[0].leave)
    assert order[:6] == ["work", "logged 10", "done 10", "work", "logged 11", "done 11"]


def test_a_refused_commit_is_logged_and_no_end(consumer: list[FakeConsumer], tmp_path: Path) -> None:
    member = Worker(config(tmp_path), LogWriter(tmp_path / "m1.jsonl"))
    consumer[0].refuse = "CommitFailedError"
    member.run(consumer[0].leave)
    assert refusals(tmp_path) == ["CommitFailedError", "CommitFailedError"]


def refusals(folder: Path) -> list[str]:
    return [entry.note for entry in read_log(folder / "m1.jsonl") if entry.event == "uncommitted"]


def test_a_refused_commit_is_tried_again_until_it_is_taken_though_no_record_comes(
    consumer: list[FakeConsumer], tmp_path: Path
) -> None:
    member = Worker(config(tmp_path), LogWriter(tmp_path / "m1.jsonl"))
    fake = consumer[0]

    def rejoining() -> dict[int, list[Record]]:
        fake.now = -1
        return {}

    def back() -> dict[int, list[Record]]:
        fake.now, fake.refuse = 8, ""
        return {}

    fake.refuse = "RebalanceInProgressError"
    fake.polls = [fake.join, fake.work, rejoining, back, fake.nothing, fake.end]
    member.run(fake.leave)
    assert fake.said == ["done 10", "done 11", "commit", "commit", "close"]
    assert refusals(tmp_path) == ["RebalanceInProgressError"]


def test_a_member_that_is_held_lets_records_come_on_the_word(
    consumer: list[FakeConsumer], tmp_path: Path
) -> None:
    held = dataclasses.replace(config(tmp_path), held=True)
    member = Worker(held, LogWriter(tmp_path / "m1.jsonl"))
    assert consumer[0].held
    go = threading.Event()
    waiting = threading.Thread(target=member.begin_on, args=(go,))
    waiting.start()
    assert consumer[0].said == []
    go.set()
    waiting.join()
    assert consumer[0].said == ["released"]


def test_member_that_is_asked_to_leave_warms_up_for_nothing_more(
    consumer: list[FakeConsumer], tmp_path: Path
) -> None:
    member = Worker(config(tmp_path), LogWriter(tmp_path / "m1.jsonl"))
    fake = consumer[0]

    def gain_and_leave() -> dict[int, list[Record]]:
        fake.leave.set()
        return fake.join()

    fake.polls = [gain_and_leave]
    member.run(fake.leave)
    assert [entry.event for entry in read_log(tmp_path / "m1.jsonl")] == ["assigned", "joined"]
