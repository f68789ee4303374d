"""The feed beside the model, with temporary failures, without Spark."""

from __future__ import annotations

import logging
import threading

import pytest

from kafka_assignors.errors import KafkaAssignorsError, OptionError, PipelineError
from kafka_assignors.pipeline.feed.feeding import Feeding

ROOT = "here"


class Topic:
    """Makes publishers for one topic, with a list of faults, and keeps the written batches."""

    def __init__(self, *faults: Exception | None) -> None:
        self.faults = list(faults)
        self.written: list[object] = []
        self.publishers = 0

    def begin(self) -> Topic:
        """Make a publisher."""
        self.publishers += 1
        return self

    def publish(self, load: object) -> int:
        """Write three records."""
        return self._write(load, 3)

    def publish_all(self, root: str) -> int:
        """Write ten records."""
        return self._write(root, 10)

    def _write(self, batch: object, records: int) -> int:
        if self.faults and (fault := self.faults.pop(0)) is not None:
            raise fault
        self.written.append(batch)
        return records


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Capture warnings."""
    caplog.set_level(logging.WARNING)
    return caplog


def test_run_starts_by_publishing_all_landed_forecasts() -> None:
    topic = Topic()
    feeding = Feeding(topic.begin, ROOT, None)
    for batch in ("one", "two"):
        feeding.batch(batch)
    assert topic.written == [ROOT, "two"]
    assert (feeding.fed, feeding.unfed, feeding.down, topic.publishers) == (13, 0, None, 1)


@pytest.mark.parametrize("fault", [PipelineError, RuntimeError])
def test_failed_batches_are_caught_up_and_the_outage_is_logged_once(
    fault: type[Exception], log: pytest.LogCaptureFixture
) -> None:
    topic = Topic(None, fault("no broker answers"), fault("still none"), None, None)
    feeding = Feeding(topic.begin, ROOT, threading.Event())
    for batch in ("one", "two", "three"):
        feeding.batch(batch)
    assert "still none" in str(feeding.down)
    assert (feeding.fed, feeding.unfed) == (10, 2)
    for batch in ("four", "five"):
        feeding.batch(batch)
    assert topic.written == [ROOT, ROOT, "five"]
    assert (feeding.fed, feeding.unfed, feeding.down) == (23, 2, None)
    assert [line for line in log.messages if "no broker answers; trying again" in line] == log.messages
    assert len(log.messages) == 1
    assert topic.publishers == 3, "a new publisher after each failure, as settings may have changed"


def test_each_outage_is_logged(log: pytest.LogCaptureFixture) -> None:
    fault = PipelineError("gone")
    topic = Topic(fault, fault, None, None, fault)
    feeding = Feeding(topic.begin, ROOT, threading.Event())
    for batch in range(5):
        feeding.batch(batch)
    assert len(log.messages) == 2
    assert feeding.unfed == 3


def test_settings_that_become_invalid_are_an_outage() -> None:
    topic, faults = Topic(PipelineError("gone")), list[KafkaAssignorsError]()

    def begin() -> Topic:
        if faults:
            raise faults.pop()
        return topic.begin()

    feeding = Feeding(begin, ROOT, None)
    feeding.batch("one")
    faults.append(OptionError("ssl_certfile", "cannot read it"))
    feeding.batch("two")
    assert isinstance(feeding.down, OptionError)
    feeding.batch("three")
    assert (topic.written, feeding.unfed) == ([ROOT], 2)


def test_invalid_settings_at_the_start_are_raised() -> None:
    def begin() -> Topic:
        raise OptionError("ssl_certfile", "cannot read it")

    with pytest.raises(OptionError, match="cannot read it"):
        Feeding(begin, ROOT, None)


def test_failure_after_the_stop_is_ignored(log: pytest.LogCaptureFixture) -> None:
    stop = threading.Event()
    feeding = Feeding(Topic(PipelineError("interrupted")).begin, ROOT, stop)
    stop.set()
    feeding.batch("one")
    assert (feeding.fed, feeding.unfed, feeding.down, log.messages) == (0, 0, None, [])


def test_catching_up_raises_a_failure() -> None:
    feeding = Feeding(Topic(PipelineError("no broker answers")).begin, ROOT, None)
    with pytest.raises(PipelineError, match="no broker answers"):
        feeding.catch_up()
