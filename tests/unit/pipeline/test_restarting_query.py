"""Restarts of a failed streaming query, without Spark."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from kafka_assignors.errors import OptionError, PipelineError
from kafka_assignors.pipeline.restarting_query import RestartingQuery
from tests.support.clock import Clock


class Stream:
    """One start of a query; ``fail`` ends it with an error."""

    def __init__(self, did: int) -> None:
        self.did = did
        self.stopped = False
        self.error: Exception | None = None
        self.query = SimpleNamespace(isActive=True, exception=lambda: self.error)

    def fail(self, text: str) -> None:
        """End with an error, as Spark ends a query."""
        self.error = RuntimeError(text)
        self.query.isActive = False

    def report(self) -> int:
        """Return the work done."""
        return self.did

    def stop(self) -> int:
        """End the query."""
        self.stopped = True
        return self.did


def starting(streams: list[Stream], failures: Sequence[str | Exception]) -> Callable[[], Stream]:
    """Start queries whose reports are 1, 2, 4 ...; fail with the first of the ``failures`` left."""

    def start() -> Stream:
        if failures:
            assert isinstance(failures, list)
            failure = failures.pop(0)
            raise failure if isinstance(failure, Exception) else PipelineError(failure)
        streams.append(Stream(2 ** len(streams)))
        return streams[-1]

    return start


def test_failure_of_the_first_start_is_raised() -> None:
    with pytest.raises(PipelineError, match="no broker answers"):
        RestartingQuery("commits", starting([], ["no broker answers"]))


def test_failed_query_is_restarted_after_a_pause_and_reports_add_up() -> None:
    clock, streams, failures = Clock(0.0), list[Stream](), list[str]()
    query = RestartingQuery("commits", starting(streams, failures), clock)
    query.check()
    assert len(streams) == 1
    streams[0].fail("gone")
    query.check()
    assert (len(streams), streams[0].stopped) == (1, True)
    clock.now = 0.9
    query.check()
    assert len(streams) == 1
    clock.now = 1.0
    query.check()
    assert len(streams) == 2
    assert query.report() == 1 + 2
    assert query.stop() == 1 + 2
    assert streams[1].stopped


def test_pauses_double_up_to_a_minute() -> None:
    clock, streams, failures = Clock(0.0), list[Stream](), list[str]()
    query = RestartingQuery("commits", starting(streams, failures), clock)
    failures += ["still gone"] * 9
    streams[0].fail("gone")
    pauses = []
    query.check()
    while failures:
        left, before = len(failures), clock.now
        while len(failures) == left:
            clock.now += 0.5
            query.check()
        pauses.append(clock.now - before)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert query.report() == 1


@pytest.mark.parametrize(("ran_for", "pause"), [(59.0, 4), (61.0, 1)])
def test_pause_is_short_again_after_a_run_of_more_than_a_minute(
    ran_for: float, pause: float, caplog: pytest.LogCaptureFixture
) -> None:
    clock, streams, failures = Clock(0.0), list[Stream](), list[str]()
    query = RestartingQuery("commits", starting(streams, failures), clock)
    failures.append("still gone")
    streams[0].fail("gone")
    for clock.now in (0.0, 1.0, 3.0):  # fails, does not start, starts
        query.check()
    clock.now += ran_for
    streams[1].fail("gone again")
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        query.check()
    assert caplog.messages == [
        f"commits: the query ended: RuntimeError: gone again; trying again in {pause} s"
    ]


@pytest.mark.parametrize(
    ("fault", "message"),
    [(OptionError("ssl_certfile", "cannot read it"), "cannot read it"), (OSError("by peer"), "by peer")],
)
def test_failed_restart_is_logged_and_tried_again(
    fault: Exception, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock, streams, failures = Clock(0.0), list[Stream](), list[Exception]()
    query = RestartingQuery("commits", starting(streams, failures), clock)
    assert query.down is None
    streams[0].fail("gone")
    failures.append(fault)
    query.check()
    assert "gone" in str(query.down)
    clock.now = 1.0
    query.check()
    assert message in str(query.down)
    assert message in caplog.text
    clock.now = 3.0
    query.check()
    assert (len(streams), query.down) == (2, None)


class Counted(int):
    """A report that counts the additions."""

    additions = 0

    def __add__(self, other: int) -> Counted:
        Counted.additions += 1
        return Counted(int(self) + int(other))


def test_cost_of_a_report_does_not_grow_with_the_failures() -> None:
    clock, streams = Clock(0.0), list[Stream]()
    query = RestartingQuery("commits", starting(streams, []), clock)
    for failures in range(1, 11):
        streams[-1].did = Counted(1)
        streams[-1].fail("gone")
        query.check()
        clock.now += 100
        query.check()
        streams[-1].did = Counted(1)
        Counted.additions = 0
        assert query.report() == failures + 1
        assert Counted.additions == 1


def test_running_query_is_restarted_at_once_on_request(caplog: pytest.LogCaptureFixture) -> None:
    clock, streams = Clock(0.0), list[Stream]()
    query = RestartingQuery("commits", starting(streams, []), clock)
    query.restart("the clock was set back by 9 s")
    assert (len(streams), streams[0].stopped, query.report(), query.down) == (2, True, 3, None)
    assert caplog.messages == ["commits: the clock was set back by 9 s; restarting"]
    streams[1].fail("gone")
    query.restart("the clock was set back by 9 s")
    query.check()
    assert "gone" in str(query.down), "the failure is not hidden"


def test_report_includes_earlier_work() -> None:
    query = RestartingQuery("commits", starting([], []), before=64)
    assert query.report() == 65
    assert query.stop() == 65


def test_failure_before_the_query_worked_is_raised() -> None:
    streams = list[Stream]()
    query = RestartingQuery("load", starting(streams, []), Clock(0.0), has_worked=lambda done: done > 1)
    query.check()
    streams[0].fail("another model's")
    with pytest.raises(PipelineError, match=r"^load: RuntimeError: another model's$"):
        query.check()
    assert streams[0].stopped
    assert query.stop() == 1


def test_query_is_restarted_six_times_if_a_worker_of_spark_is_slow_before_it_worked() -> None:
    clock, streams = Clock(0.0), list[Stream]()
    query = RestartingQuery("load", starting(streams, []), clock, has_worked=lambda done: done < 0)
    for _ in range(6):
        clock.now += 61  # however long each run took
        streams[-1].fail("Python worker failed to connect back.")
        query.check()
        clock.now += 60
        query.check()
    assert len(streams) == 7
    streams[-1].fail("Python worker failed to connect back.")
    with pytest.raises(PipelineError, match=r"^load: a Python worker of Spark did not start within 10 s"):
        query.check()


def test_query_that_never_worked_and_does_not_start_again_is_given_up_after_six_attempts() -> None:
    """A damaged checkpoint or a missing right ends the pipeline before the first batch."""
    clock, streams, failures = Clock(0.0), list[Stream](), list[str]()
    query = RestartingQuery("load", starting(streams, failures), clock, has_worked=lambda done: done < 0)
    streams[0].fail("Python worker failed to connect back.")
    failures += ["the checkpoint is damaged"] * 9
    for _ in range(6):
        query.check()
        clock.now += 60
    with pytest.raises(PipelineError, match="the checkpoint is damaged"):
        query.check()
    assert len(failures) == 3


def test_query_that_ends_by_itself_before_it_worked_is_named() -> None:
    streams = list[Stream]()
    query = RestartingQuery("load", starting(streams, []), Clock(0.0), has_worked=lambda done: done > 1)
    streams[0].query.isActive = False
    with pytest.raises(PipelineError, match=r"^load: the query ended without an error$"):
        query.check()


def test_query_that_has_worked_is_restarted_after_every_failure() -> None:
    clock, streams = Clock(0.0), list[Stream]()
    query = RestartingQuery("load", starting(streams, []), clock, has_worked=lambda done: done > 1)
    streams[0].did = 2
    streams[0].fail("no room")
    query.check()
    clock.now = 1.0
    query.check()
    streams[1].did = 0
    streams[1].fail("still no room")
    query.check()
    assert "still no room" in str(query.down)
