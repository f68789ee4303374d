"""``Ends`` and ``AllEnds``: what cannot be asked holds up nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.structs import TopicPartition

from kafka_assignors.plan import TopicPartition as OurPartition
from kafka_assignors.stateful.changelog.ends import AllEnds, Ends
from kafka_assignors.stateful.state.copy import Changelog
from tests.unit.stateful.changelogs import Consumer

A, B, C = (TopicPartition("log", partition) for partition in range(3))
OTHER = TopicPartition("other", 0)


class Bench:
    """A consumer that is asked, and a clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.consumer = Consumer()
        self.consumer.ends = {A: 1, B: 2, C: 3, OTHER: 4}
        consumer: Any = self.consumer
        self.ends = Ends(consumer, lambda: self.now)
        self.all = AllEnds(self.ends, lambda: self.now)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_all_that_have_a_leader_answer(bench: Bench) -> None:
    bench.consumer.leaderless = {A, C}
    assert bench.ends.last([A, B, C, OTHER]) == {B: 2, OTHER: 4}
    assert bench.ends.are_silent(A)
    assert not bench.ends.are_silent(B)


def test_no_more_topics_are_asked_by_who_is_to_end(bench: Bench) -> None:
    """Each of them may take as long as an answer is waited for."""
    consumer: Any = bench.consumer
    ends = Ends(consumer, lambda: bench.now, lambda: True)
    assert ends.last([A, OTHER]) == {A: 1}
    assert bench.consumer.asked == 1


def test_a_topic_that_does_not_answer_is_left_alone_for_a_while(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.consumer.gone = {"log"}
    assert bench.ends.last([A, OTHER]) == {OTHER: 4}
    assert "cannot see where changelog log-0 ends: KafkaTimeoutError: no answer; trying again" in caplog.text
    asked = bench.consumer.asked
    assert bench.ends.last([A]) == {}
    assert bench.consumer.asked == asked
    bench.now += 5.0
    bench.consumer.gone = set()
    assert bench.ends.last([A]) == {A: 1}
    assert not bench.ends.are_silent(A)
    bench.consumer.gone = {"log"}
    bench.ends.last([A])
    assert caplog.text.count("cannot see where changelog log-0 ends") == 2, "it is said each time it begins"


def test_first_offsets_are_asked_for_in_the_same_way(bench: Bench) -> None:
    bench.consumer.begins = {A: 7}
    bench.consumer.leaderless = {B}
    assert bench.ends.first([A, B]) == {A: 7}


def test_an_error_of_another_kind_is_not_taken_for_a_missing_leader(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end_offsets(some: object, timeout_ms: int) -> None:
        raise KeyError("something else")

    monkeypatch.setattr(bench.consumer, "end_offsets", end_offsets)
    with pytest.raises(KeyError):
        bench.ends.last([A])


def test_the_ends_of_all_changelogs_are_known_and_looked_at_now_and_then(bench: Bench) -> None:
    """Of tasks that are not here, too; and what was known stays while the cluster does not answer."""
    s0, s1 = ("s", 0), ("s", 1)
    bench.all.look()
    assert bench.consumer.asked == 0, "there is nothing to ask"
    bench.all.changelogs = {task: Changelog(OurPartition("log", task[1])) for task in (s0, s1)}
    bench.all.look()
    assert bench.all.known == {s0: 1, s1: 2}
    bench.consumer.ends[A] = 9
    bench.now += 9.9
    bench.all.look()
    assert (bench.all.known, bench.consumer.asked) == ({s0: 1, s1: 2}, 1)
    bench.now += 0.1
    bench.consumer.leaderless = {B}
    bench.consumer.ends[B] = 9
    bench.all.look()
    assert bench.all.known == {s0: 9, s1: 2}
    bench.all.changelogs = {s0: bench.all.changelogs[s0]}
    bench.now += 10.0
    bench.all.look()
    assert bench.all.known == {s0: 9}
