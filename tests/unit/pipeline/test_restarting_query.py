"""A stream that is started again when it fails, without a Spark."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from kafka_assignors.errors import OptionError, PipelineError
from kafka_assignors.pipeline.kept import Kept


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """What it says."""
        return self.now


class Stream:
    """One start of a stream; ``fail`` ends it with an error."""

    def __init__(self, did: int) -> None:
        self.did = did
        self.stopped = False
        self.error: Exception | None = None
        self.query = SimpleNamespace(isActive=True, exception=lambda: self.error)

    def fail(self, text: str) -> None:
        """End as Spark ends a stream."""
        self.error = RuntimeError(text)
        self.query.isActive = False

    def report(self) -> int:
        """What it did."""
        return self.did

    def stop(self) -> int:
        """End it."""
        self.stopped = True
        return self.did


def starting(streams: list[Stream], failures: Sequence[str | Exception]) -> Callable[[], Stream]:
    """Start streams that do 1, 2, 4 ... things; while there are ``failures``, fail with the first of them."""

    def start() -> Stream:
        if failures:
            assert isinstance(failures, list)
            failure = failures.pop(0)
            raise failure if isinstance(failure, Exception) else PipelineError(failure)
        streams.append(Stream(2 ** len(streams)))
        return streams[-1]

    return start


def test_a_stream_that_does_not_start_at_first_is_an_error() -> None:
    with pytest.raises(PipelineError, match="nobody answers"):
        Kept("commits", starting([], ["nobody answers"]))


def test_a_stream_that_fails_is_started_again_after_a_pause_and_their_reports_add_up() -> None:
    clock, streams, failures = Clock(), list[Stream](), list[str]()
    kept = Kept("commits", starting(streams, failures), clock)
    kept.keep()
    assert len(streams) == 1
    streams[0].fail("gone")
    kept.keep()
    assert (len(streams), streams[0].stopped) == (1, True)
    clock.now = 0.9
    kept.keep()
    assert len(streams) == 1
    clock.now = 1.0
    kept.keep()
    assert len(streams) == 2
    assert kept.report() == 1 + 2
    assert kept.stop() == 1 + 2
    assert streams[1].stopped


def test_pauses_double_up_to_a_minute_while_it_goes_on_failing() -> None:
    clock, streams, failures = Clock(), list[Stream](), list[str]()
    kept = Kept("commits", starting(streams, failures), clock)
    failures += ["still gone"] * 9
    streams[0].fail("gone")
    pauses = []
    kept.keep()
    while failures:
        left, before = len(failures), clock.now
        while len(failures) == left:
            clock.now += 0.5
            kept.keep()
        pauses.append(clock.now - before)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert kept.report() == 1


@pytest.mark.parametrize(("ran_for", "pause"), [(59.0, 4), (61.0, 1)])
def test_a_stream_that_ran_for_a_while_before_it_failed_is_not_blamed_for_earlier_faults(
    ran_for: float, pause: float, caplog: pytest.LogCaptureFixture
) -> None:
    clock, streams, failures = Clock(), list[Stream](), list[str]()
    kept = Kept("commits", starting(streams, failures), clock)
    failures.append("still gone")
    streams[0].fail("gone")
    for clock.now in (0.0, 1.0, 3.0):  # fails, does not start, starts
        kept.keep()
    clock.now += ran_for
    streams[1].fail("gone again")
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        kept.keep()
    assert caplog.messages == [f"commits: it ended: RuntimeError: gone again; trying again in {pause} s"]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (OptionError("ssl_certfile", "cannot read it"), "cannot read it"),
        (OSError("by peer"), "by peer"),
    ],
)
def test_whatever_keeps_it_from_starting_again_is_told_and_tried_again(
    fault: Exception, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock, streams, failures = Clock(), list[Stream](), list[Exception]()
    kept = Kept("commits", starting(streams, failures), clock)
    assert kept.down is None
    streams[0].fail("gone")
    failures.append(fault)
    kept.keep()
    assert "gone" in str(kept.down)
    clock.now = 1.0
    kept.keep()
    assert says in str(kept.down)
    assert says in caplog.text
    clock.now = 3.0
    kept.keep()
    assert (len(streams), kept.down) == (2, None)


def test_what_was_done_before_it_began_is_in_its_report() -> None:
    kept = Kept("commits", starting([], []), before=64)
    assert kept.report() == 65
    assert kept.stop() == 65


def test_one_that_fails_before_it_ever_worked_is_an_error() -> None:
    streams = list[Stream]()
    kept = Kept("load", starting(streams, []), Clock(), has_worked=lambda done: done > 1)
    kept.keep()
    streams[0].fail("another model's")
    with pytest.raises(PipelineError, match=r"^load: RuntimeError: another model's$"):
        kept.keep()
    assert streams[0].stopped
    assert kept.stop() == 1


def test_one_that_has_worked_is_kept_though_it_fails_before_it_works_again() -> None:
    clock, streams = Clock(), list[Stream]()
    kept = Kept("load", starting(streams, []), clock, has_worked=lambda done: done > 1)
    streams[0].did = 2
    streams[0].fail("no room")
    kept.keep()
    clock.now = 1.0
    kept.keep()
    streams[1].did = 0
    streams[1].fail("still no room")
    kept.keep()
    assert "still no room" in str(kept.down)
