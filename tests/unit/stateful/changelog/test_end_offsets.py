"""``EndOffsets`` and ``TaskEndOffsets``: a silent changelog delays no other."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.structs import TopicPartition

from kafka_assignors.plan import TopicPartition as OurPartition
from kafka_assignors.stateful.changelog.end_offsets import EndOffsets, TaskEndOffsets
from kafka_assignors.stateful.state.copy import Changelog
from tests.unit.stateful.changelogs import Consumer

A, B = (TopicPartition("log", partition) for partition in range(2))
OTHER = TopicPartition("other", 0)


class Bench:
    """A double of the consumer, and a clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.consumer = Consumer()
        self.consumer.ends = {A: 1, B: 2, OTHER: 4}
        consumer: Any = self.consumer
        self.ends = EndOffsets(consumer, lambda: self.now)
        self.all = TaskEndOffsets(self.ends, lambda: self.now)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_partitions_without_a_leader_cost_one_request(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """kafka-python names one of them in its error."""
    partitions = [TopicPartition("log", number) for number in range(300)]
    bench.consumer.leaderless = {*partitions[:200]}
    assert bench.ends.last(partitions).keys() == {*partitions[200:]}
    assert bench.consumer.asked == 2
    assert [bench.ends.is_silent(partitions[n]) for n in (0, 200)] == [True, False]
    assert "changelog log-0, log-1, log-2 and 197 more: no offset (no leader)" in caplog.text


def test_closing_member_asks_no_more_topics(bench: Bench) -> None:
    """Each topic may take the whole timeout."""
    consumer: Any = bench.consumer
    ends = EndOffsets(consumer, lambda: bench.now, lambda: True)
    assert ends.last([A, OTHER]) == {A: 1}
    assert bench.consumer.asked == 1


def test_topic_without_an_answer_is_skipped_for_some_seconds(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.consumer.gone = {"log"}
    assert bench.ends.last([A, OTHER]) == {OTHER: 4}
    line = "changelog log-0: no offset (KafkaTimeoutError: no response); skipped for 5 s"
    assert line in caplog.text
    asked = bench.consumer.asked
    assert bench.ends.last([A]) == {}
    assert bench.consumer.asked == asked
    bench.now += 5.0
    bench.consumer.gone = set()
    assert bench.ends.last([A]) == {A: 1}
    assert not bench.ends.is_silent(A)
    bench.consumer.gone = {"log"}
    bench.ends.last([A])
    assert caplog.text.count("changelog log-0: no offset") == 2, "each outage is logged"


def test_first_offsets_skip_silent_partitions_too(bench: Bench) -> None:
    bench.consumer.begins = {A: 7}
    bench.consumer.leaderless = {B}
    assert bench.ends.first([A, B]) == {A: 7}


def test_unrelated_key_error_is_raised(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def end_offsets(some: object, timeout_ms: int) -> None:
        raise KeyError("something else")

    monkeypatch.setattr(bench.consumer, "end_offsets", end_offsets)
    with pytest.raises(KeyError):
        bench.ends.last([A])


def test_end_offsets_of_all_changelogs_are_updated_every_ten_seconds(bench: Bench) -> None:
    """A changelog that does not answer keeps its old offset."""
    s0, s1 = ("s", 0), ("s", 1)
    bench.all.update()
    assert bench.consumer.asked == 0, "there are no changelogs"
    bench.all.changelogs = {task: Changelog(OurPartition("log", task[1])) for task in (s0, s1)}
    bench.all.update()
    assert bench.all.known == {s0: 1, s1: 2}
    bench.consumer.ends[A] = 9
    bench.now += 9.9
    bench.all.update()
    assert (bench.all.known, bench.consumer.asked) == ({s0: 1, s1: 2}, 1)
    bench.now += 0.1
    bench.consumer.leaderless = {B}
    bench.consumer.ends[B] = 9
    bench.all.update()
    assert bench.all.known == {s0: 9, s1: 2}
    bench.all.changelogs = {s0: bench.all.changelogs[s0]}
    bench.now += 10.0
    bench.all.update()
    assert bench.all.known == {s0: 9}
