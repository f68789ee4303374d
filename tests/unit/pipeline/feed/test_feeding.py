"""The feed beside the model, with temporary failures, without Spark."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Any

import pytest

from kafka_assignors.errors import KafkaAssignorsError, OptionError, PipelineError
from kafka_assignors.pipeline.feed.feeding import Feeding
from tests.support.waiting import PATIENCE_S, until

Records = Mapping[str, tuple[int, str]]


def records(**minutes: int) -> Records:
    """Return a record of each partition at this minute."""
    return {key: (minute, f"{key} at {minute}") for key, minute in minutes.items()}


LANDED = records(a=0, b=0)


def newest(rows: Records) -> Records:
    """Return the records of a batch; a batch is given as its records."""
    return rows


def landed() -> Records:
    """Return the newest of all landed forecasts."""
    return LANDED


class Topic:
    """Makes writers for one topic, with a list of faults, and keeps the written records."""

    def __init__(self, *faults: Exception | None) -> None:
        self.faults = list(faults)
        self.written: list[Records] = []
        self.writers = 0

    def begin(self) -> Any:
        """Make a writer, which stands for a ``Feed``."""
        self.writers += 1
        return self

    def write(self, given: Records) -> int:
        """Write records, or fail with the next fault."""
        if self.faults and (fault := self.faults.pop(0)) is not None:
            raise fault
        self.written.append(given)
        return len(given)


class Away(Topic):
    """A topic of a cluster that does not answer: each write waits until the test ends it."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: SimpleQueue[Records] = SimpleQueue()
        self.ends: SimpleQueue[Exception | None] = SimpleQueue()

    def write(self, given: Records) -> int:
        self.begun.put(given)
        self.faults = [self.ends.get()]
        return super().write(given)


def feeding_to(begin: Callable[[], Any], read: Callable[[Records], Records] = newest) -> Feeding:
    """Return a feed that nobody stops."""
    return Feeding(begin, read, landed, threading.Event())


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Capture warnings."""
    caplog.set_level(logging.WARNING)
    return caplog


def write(feeding: Feeding, *batches: Records) -> None:
    """Give batches one after the other, and wait for the write of each."""
    for batch in batches:
        before = feeding.fed, feeding.unfed
        feeding.batch(batch)
        until(lambda before=before: (feeding.fed, feeding.unfed) != before)  # type: ignore[misc]


def test_run_starts_by_writing_all_landed_forecasts() -> None:
    topic = Topic()
    feeding = feeding_to(topic.begin)
    write(feeding, records(a=1), records(a=2))
    feeding.close()
    assert topic.written == [LANDED, records(a=2)]
    assert (feeding.fed, feeding.unfed, feeding.down, topic.writers) == (3, 0, None, 1)


def test_cluster_that_does_not_answer_holds_up_no_batch() -> None:
    """Of each partition only the newest record waits for it."""
    topic = Away()
    feeding = feeding_to(topic.begin)
    feeding.batch(records(a=1))
    assert topic.begun.get(timeout=PATIENCE_S) == LANDED
    for batch in (records(a=2, b=1), records(a=3), records(c=1)):
        feeding.batch(batch)
    assert (feeding.fed, topic.begun.empty()) == (0, True)
    topic.ends.put(None)
    assert topic.begun.get(timeout=PATIENCE_S) == records(a=3, b=1, c=1)
    topic.ends.put(None)
    feeding.close()
    assert (feeding.fed, feeding.unfed) == (5, 0)


def test_records_of_a_failed_write_are_in_the_next_unless_there_are_newer_ones() -> None:
    topic = Away()
    feeding = feeding_to(topic.begin)
    feeding.batch(records(a=1))
    assert topic.begun.get(timeout=PATIENCE_S) == LANDED
    feeding.batch(records(a=1))
    topic.ends.put(PipelineError("no broker answers"))
    assert topic.begun.get(timeout=PATIENCE_S) == records(a=1, b=0)
    topic.ends.put(None)
    feeding.close()
    assert (topic.written, feeding.unfed) == ([records(a=1, b=0)], 1)


@pytest.mark.parametrize("fault", [PipelineError, RuntimeError])
def test_failed_writes_are_caught_up_and_the_outage_is_logged_once(
    fault: type[Exception], log: pytest.LogCaptureFixture
) -> None:
    topic = Topic(None, fault("no broker answers"), fault("still none"), None, None)
    feeding = feeding_to(topic.begin)
    write(feeding, records(a=1), records(a=2), records(b=3))
    assert "still none" in str(feeding.down)
    assert (feeding.fed, feeding.unfed) == (2, 2)
    write(feeding, records(b=4), records(b=5))
    feeding.close()
    assert topic.written == [LANDED, records(a=2, b=4), records(b=5)]
    assert (feeding.fed, feeding.unfed, feeding.down) == (5, 2, None)
    assert [line for line in log.messages if "no broker answers; trying again" in line] == log.messages
    assert len(log.messages) == 1
    assert topic.writers == 3, "a new writer after each failure, as settings may have changed"


def test_each_outage_is_logged(log: pytest.LogCaptureFixture) -> None:
    fault = PipelineError("gone")
    feeding = feeding_to(Topic(fault, fault, None, None, fault).begin)
    write(feeding, *(records(a=minute) for minute in range(5)))
    feeding.close()
    assert len(log.messages) == 2
    assert feeding.unfed == 3


def test_batch_that_cannot_be_read_is_made_up_for_by_all_that_landed() -> None:
    def read(rows: Records) -> Records:
        raise RuntimeError("a worker died")

    topic = Topic()
    feeding = feeding_to(topic.begin, read)
    write(feeding, records(a=1), records(a=2))
    assert "a worker died" in str(feeding.down)
    write(feeding, records(a=3))
    feeding.close()
    assert topic.written == [LANDED, LANDED]
    assert (feeding.unfed, feeding.down) == (1, None)


def test_settings_that_become_invalid_are_an_outage() -> None:
    topic, faults = Topic(PipelineError("gone")), list[KafkaAssignorsError]()

    def begin() -> Any:
        if faults:
            raise faults.pop()
        return topic.begin()

    feeding = feeding_to(begin)
    write(feeding, records(a=1))
    faults.append(OptionError("ssl_certfile", "cannot read it"))
    write(feeding, records(a=2))
    assert isinstance(feeding.down, OptionError)
    write(feeding, records(a=3))
    feeding.close()
    assert (topic.written, feeding.unfed) == ([records(a=3, b=0)], 2)


def test_invalid_settings_at_the_start_are_raised() -> None:
    def begin() -> Any:
        raise OptionError("ssl_certfile", "cannot read it")

    with pytest.raises(OptionError, match="cannot read it"):
        feeding_to(begin)


def test_failure_after_the_stop_is_ignored(log: pytest.LogCaptureFixture) -> None:
    stop = threading.Event()
    feeding = Feeding(Topic(PipelineError("interrupted")).begin, newest, landed, stop)
    stop.set()
    feeding.batch(records(a=1))
    feeding.close()
    assert (feeding.fed, feeding.unfed, feeding.down, log.messages) == (0, 0, None, [])


def test_thread_that_cannot_start_fails_no_batch(
    monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture
) -> None:
    """The container is at its limit of processes."""
    topic = Topic()
    feeding = feeding_to(topic.begin)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        feeding.batch(records(a=1))
    assert "can't start new thread" in str(feeding.down)
    assert "can't start new thread" in log.text
    feeding.batch(records(a=2))
    until(lambda: feeding.down is None)
    feeding.close()
    assert topic.written


def test_feed_is_down_until_the_batch_that_failed_is_caught_up() -> None:
    """The write of the batch before it succeeds meanwhile."""
    topic = Away()

    def read(rows: Records) -> Records:
        if "fault" in rows:
            raise PipelineError("no memory")
        return rows

    feeding = feeding_to(topic.begin, read)
    feeding.batch(records(a=1))
    topic.begun.get(timeout=PATIENCE_S)
    feeding.batch(records(fault=2))
    topic.ends.put(None)
    until(lambda: topic.written)
    feeding.close()
    assert str(feeding.down) == "no memory"
