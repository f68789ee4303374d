"""A function as a source of forecasts: polled in the background, never waited for."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Collection, Iterator

import pytest

from kafka_assignors.lag.feed.sources import PolledLoad
from kafka_assignors.plan import TopicPartition
from tests.support.threads import thread_limit_reached
from tests.support.waiting import PATIENCE_S

ALL = [TopicPartition("t", p) for p in range(2)]
ARRIVALS = {ALL[0]: 5.0, ALL[1]: 7.4}
MAX_AGE_S = 60.0


class Function:
    """Records its calls; also the clock.

    Attributes:
        asked: one release for each question that has come.
        may_answer: a question waits for that.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.arrivals: dict[TopicPartition, float] = dict(ARRIVALS)
        self.error: Exception | SystemExit | None = None
        self.questions: list[set[TopicPartition]] = []
        self.asked = threading.Semaphore(0)
        self.may_answer = threading.Event()
        self.may_answer.set()

    def __call__(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, float]:
        self.questions.append(set(partitions))
        self.asked.release()
        self.may_answer.wait()
        if self.error is not None:
            raise self.error
        return self.arrivals


@pytest.fixture
def function() -> Iterator[Function]:
    made = Function()
    yield made
    made.may_answer.set()


@pytest.fixture
def source(function: Function) -> Iterator[PolledLoad]:
    made = PolledLoad(function, 10.0, MAX_AGE_S, lambda: function.now)
    yield made
    function.may_answer.set()
    made.close()


def answered(source: PolledLoad) -> None:
    """Wait until due jobs have run."""
    source._thread.submit(lambda: None).result(60)


def wake(source: PolledLoad, function: Function, seconds: float) -> None:
    """Advance the clock; the thread reads it when a job is submitted."""
    function.now += seconds
    answered(source)


def test_first_look_is_empty_and_the_next_has_the_answer(source: PolledLoad) -> None:
    first = source.look(ALL)
    answered(source)
    assert (first.problem, first.is_logged) == ("load_source has not answered yet", True)
    expected = source.look(ALL)
    assert expected.arrivals == {ALL[0]: 5, ALL[1]: 7}  # rounded, as FunctionLag does
    assert expected.problem == ""


def test_function_is_polled_periodically(source: PolledLoad, function: Function) -> None:
    source.look(ALL)
    answered(source)
    function.arrivals = {ALL[0]: 1.0, ALL[1]: 2.0}
    wake(source, function, 9)
    assert source.look(ALL).arrivals[ALL[0]] == 5
    wake(source, function, 2)
    assert source.look(ALL).arrivals == {ALL[0]: 1, ALL[1]: 2}
    assert len(function.questions) == 2


def test_new_partitions_are_requested_at_once(source: PolledLoad, function: Function) -> None:
    source.look(ALL[:1])
    answered(source)
    expected = source.look(ALL)
    problem = "load_source has not answered yet for 1 new partition"
    assert (expected.arrivals, expected.problem, expected.is_logged) == ({ALL[0]: 5}, problem, True)
    answered(source)
    assert source.look(ALL).arrivals == {ALL[0]: 5, ALL[1]: 7}
    source.look(ALL[:1])
    wake(source, function, 11)
    assert function.questions == [{ALL[0]}, set(ALL), set(ALL)]  # one chain of questions, not two


def test_function_that_exits_is_asked_again(source: PolledLoad, function: Function) -> None:
    function.error = SystemExit(2)
    source.look(ALL)
    answered(source)
    assert source.look(ALL).problem == "SystemExit: 2"
    function.error = None
    wake(source, function, 11)
    assert source.look(ALL).arrivals == {ALL[0]: 5, ALL[1]: 7}


def test_hanging_function_blocks_no_caller(source: PolledLoad, function: Function) -> None:
    source.look(ALL)
    answered(source)
    function.may_answer.clear()
    function.now += 11
    source._thread.submit(lambda: None)  # looks at the clock
    function.asked.acquire()
    assert function.asked.acquire(timeout=PATIENCE_S)
    assert source.look(ALL).arrivals == {ALL[0]: 5, ALL[1]: 7}
    function.now += 30
    expected = source.look(ALL)
    assert expected.arrivals == {ALL[0]: 5, ALL[1]: 7}
    assert expected.problem == "load_source has not answered for 30 s"
    function.now += MAX_AGE_S
    expected = source.look(ALL)
    assert (expected.arrivals, expected.problem) == ({}, "load_source has not answered for 90 s")
    function.arrivals = {ALL[0]: 9.0}
    function.may_answer.set()
    answered(source)
    assert source.look(ALL).arrivals == {ALL[0]: 9}


def test_last_answer_is_valid_after_a_failure_until_it_is_old(source: PolledLoad, function: Function) -> None:
    source.look(ALL)
    answered(source)
    function.error = OSError("down")
    wake(source, function, 11)
    expected = source.look(ALL)
    assert (expected.arrivals, expected.problem) == ({ALL[0]: 5, ALL[1]: 7}, "OSError: down")
    for _ in range(6):
        wake(source, function, 10)
    assert source.look(ALL).arrivals == {}
    function.error = None
    wake(source, function, 11)
    assert source.look(ALL).arrivals == {ALL[0]: 5, ALL[1]: 7}


def test_close_ends_the_thread_and_its_polling(function: Function) -> None:
    before = set(threading.enumerate())
    source = PolledLoad(function, 10.0, MAX_AGE_S)
    source.look(ALL)
    answered(source)
    (thread,) = set(threading.enumerate()) - before
    assert (thread.name, thread.daemon) == ("kafka-assignors-load", True)
    source.close()
    assert not thread.is_alive()
    source.begin()
    source.look([TopicPartition("u", 0)])
    assert set(threading.enumerate()) <= before
    assert len(function.questions) == 1


def test_close_does_not_wait_for_a_hanging_function(
    function: Function, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("kafka_assignors.lag.feed.sources._END_S", 0.01)
    function.may_answer.clear()
    source = PolledLoad(function, 10.0, MAX_AGE_S)
    source.look(ALL)
    assert function.asked.acquire(timeout=PATIENCE_S)
    with caplog.at_level(logging.WARNING, "kafka_assignors"):
        source.close()
    assert "load_source has not ended within 0.01 s of close()" in caplog.text


def test_forked_process_polls_on_its_own_thread(
    source: PolledLoad, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.look(ALL)
    answered(source)
    parents = source._thread
    monkeypatch.setattr(os, "getpid", lambda: -1)
    source.close()  # the child never began
    assert not parents._stopped
    source._closed = False
    source.begin()
    assert source._thread is not parents
    answered(source)
    assert len(function.questions) == 2
    source.close()
    parents.stop()
    assert parents.join(60)


def test_next_look_polls_if_the_thread_could_not_start(source: PolledLoad, function: Function) -> None:
    with thread_limit_reached():
        source.look(ALL)
    source.look(ALL)
    answered(source)
    assert function.questions == [set(ALL)]


def test_next_look_polls_if_the_thread_of_a_forked_process_could_not_start(
    source: PolledLoad, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.look(ALL)
    answered(source)
    source._thread.stop()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with thread_limit_reached():
        source.begin()
    source.look(ALL)
    answered(source)
    assert function.questions == [set(ALL)] * 2
    source.close()  # while it is the forked process
