"""The feed beside the model: faults that pass, without a Spark."""

from __future__ import annotations

import logging
import threading

import pytest

from kafka_assignors.errors import KafkaAssignorsError, OptionError, PipelineError
from kafka_assignors.pipeline.feed.feeding import Feeding

ROOT = "here"


class Topic:
    """Publishers for one topic: what they are given, and the faults they have, first the first."""

    def __init__(self, *faults: Exception | None) -> None:
        self.faults = list(faults)
        self.written: list[object] = []
        self.publishers = 0

    def begin(self) -> Topic:
        """Make one more."""
        self.publishers += 1
        return self

    def publish(self, load: object) -> int:
        """Three records of a batch."""
        return self._write(load, 3)

    def publish_all(self, root: str) -> int:
        """Ten of all."""
        return self._write(root, 10)

    def _write(self, what: object, records: int) -> int:
        if self.faults and (fault := self.faults.pop(0)) is not None:
            raise fault
        self.written.append(what)
        return records


@pytest.fixture(autouse=True)
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What is said, from warnings on."""
    caplog.set_level(logging.WARNING)
    return caplog


def test_a_run_begins_with_what_the_last_one_did_not_publish_any_more() -> None:
    topic = Topic()
    feeding = Feeding(topic.begin, ROOT, None)
    for batch in ("one", "two"):
        feeding.batch(batch)
    assert topic.written == [ROOT, "two"]
    assert (feeding.fed, feeding.unfed, feeding.down, topic.publishers) == (13, 0, None, 1)


@pytest.mark.parametrize("fault", [PipelineError, RuntimeError])
def test_what_could_not_be_written_is_made_up_for_and_told_once(
    fault: type[Exception], told: pytest.LogCaptureFixture
) -> None:
    topic = Topic(None, fault("nobody answers"), fault("still nobody"), None, None)
    feeding = Feeding(topic.begin, ROOT, threading.Event())
    for batch in ("one", "two", "three"):
        feeding.batch(batch)
    assert "still nobody" in str(feeding.down)
    assert (feeding.fed, feeding.unfed) == (10, 2)
    for batch in ("four", "five"):
        feeding.batch(batch)
    assert topic.written == [ROOT, ROOT, "five"]
    assert (feeding.fed, feeding.unfed, feeding.down) == (23, 2, None)
    assert [line for line in told.messages if "nobody answers; trying again" in line] == told.messages
    assert len(told.messages) == 1
    assert topic.publishers == 3, "after a fault another one, with settings as they are then"


def test_each_outage_is_told(told: pytest.LogCaptureFixture) -> None:
    fault = PipelineError("gone")
    topic = Topic(fault, fault, None, None, fault)
    feeding = Feeding(topic.begin, ROOT, threading.Event())
    for batch in range(5):
        feeding.batch(batch)
    assert len(told.messages) == 2
    assert feeding.unfed == 3


def test_settings_that_go_bad_later_are_a_fault_like_any_other() -> None:
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


def test_settings_that_cannot_be_are_an_error_at_once() -> None:
    def begin() -> Topic:
        raise OptionError("ssl_certfile", "cannot read it")

    with pytest.raises(OptionError, match="cannot read it"):
        Feeding(begin, ROOT, None)


def test_what_the_end_cuts_short_is_no_fault(told: pytest.LogCaptureFixture) -> None:
    stop = threading.Event()
    feeding = Feeding(Topic(PipelineError("interrupted")).begin, ROOT, stop)
    stop.set()
    feeding.batch("one")
    assert (feeding.fed, feeding.unfed, feeding.down, told.messages) == (0, 0, None, [])


def test_making_up_once_says_what_is_wrong() -> None:
    feeding = Feeding(Topic(PipelineError("nobody answers")).begin, ROOT, None)
    with pytest.raises(PipelineError, match="nobody answers"):
        feeding.make_up()
