"""A stream that is started again when it fails, without a Spark."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from kafka_assignors.errors import PipelineError
from kafka_assignors.spark.kept import Kept


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


def starting(streams: list[Stream], failures: list[str]) -> Callable[[], Stream]:
    """Start streams that do 1, 2, 4 ... things; while there are ``failures``, fail with the first of them."""

    def start() -> Stream:
        if failures:
            raise PipelineError(failures.pop(0))
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
