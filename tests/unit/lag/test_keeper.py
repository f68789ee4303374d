"""A member's lag: measured in the background, fetched with a deadline."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

import numpy as np
import pytest

from kafka_assignors.lag.keeper import LagKeeper
from kafka_assignors.lag.sources import FunctionLag, LagAnswer
from kafka_assignors.plan import TopicPartition
from tests.support.waiting import until

A, B, C = (TopicPartition("t", p) for p in range(3))


class Cluster:
    """A source that answers from a dict, records its calls, and can hang or fail."""

    def __init__(self, lags: Mapping[TopicPartition, int]) -> None:
        self.lags_of = dict(lags)
        self.asked: list[frozenset[TopicPartition]] = []
        self.closed = 0
        self.hangs = threading.Event()
        self.goes_on = threading.Event()
        self.error: Exception | None = None

    def lags(self, partitions: Collection[TopicPartition], timeout_s: float) -> LagAnswer:
        self.asked.append(frozenset(partitions))
        if self.hangs.is_set():
            self.goes_on.wait(20)
        if self.error is not None:
            raise self.error
        lags = {partition: self.lags_of[partition] for partition in partitions if partition in self.lags_of}
        return LagAnswer(lags, ends={partition: 1_000 + lag for partition, lag in lags.items()})

    def close(self) -> None:
        self.closed += 1
        self.goes_on.set()


MakeKeeper = Callable[..., LagKeeper]


@pytest.fixture
def keeper_of() -> Iterator[MakeKeeper]:
    """Makes keepers of a source, which measure every 10 ms by default."""
    keepers: list[LagKeeper] = []

    def make(source: Cluster, refresh_s: float = 0.01, **options: Any) -> LagKeeper:
        keepers.append(LagKeeper(source, refresh_s=refresh_s, timeout_s=1, **options))
        return keepers[-1]

    yield make
    for keeper in keepers:
        keeper.close()


def assert_quiet(keeper: LagKeeper, cluster: Cluster) -> None:
    """Assert that measuring has stopped, but for one under way; a turn took 10 ms."""
    over = threading.Event()
    keeper.later(0.02, over.set)
    assert over.wait(20)
    seen = len(cluster.asked)
    over.clear()
    keeper.later(0.1, over.set)
    assert over.wait(20)
    assert len(cluster.asked) == seen


def test_owned_partitions_are_measured_periodically(keeper_of: MakeKeeper) -> None:
    cluster = Cluster({A: 5, B: 6})
    keeper = keeper_of(cluster)
    assert keeper.report()[0] == {}
    keeper.keep([A])
    until(lambda: keeper.report()[0] == {A: 5})
    cluster.lags_of[A] = 50
    until(lambda: keeper.report()[0] == {A: 50})
    keeper.keep([B])
    until(lambda: keeper.report()[0] == {B: 6})


def test_answer_of_every_fetch_is_passed_on(keeper_of: MakeKeeper) -> None:
    """Of owned partitions in the background, and of the leader's fetches."""
    seen: list[tuple[LagAnswer, float]] = []
    keeper = keeper_of(
        Cluster({A: 1, B: 2}), 3600, now=lambda: 7.0, on_answer=lambda *answer: seen.append(answer)
    )
    keeper.keep([A])
    until(lambda: seen)
    keeper.ask([B], 10)
    assert [(answer.ends, at_s) for answer, at_s in seen] == [({A: 1_001}, 7.0), ({B: 1_002}, 7.0)]


def test_report_has_the_time_of_the_measurement(keeper_of: MakeKeeper) -> None:
    """Measured at 100 s; the next measurement is not due."""
    now = [100.0]
    keeper = keeper_of(Cluster({A: 5}), refresh_s=1000, now=lambda: now[0])
    keeper.keep([A])
    until(lambda: keeper.report()[0])
    now[0] = 107.5
    assert keeper.report() == ({A: 5}, 100.0)
    assert keeper.age_s() == 7.5


def test_age_needs_a_measurement_of_a_partition_that_is_owned(keeper_of: MakeKeeper) -> None:
    """A member owns nothing at first, then loses a measured partition and gains one it cannot measure."""
    now = [100.0]
    cluster = Cluster({A: 5})
    keeper = keeper_of(cluster, refresh_s=1000, now=lambda: now[0])
    keeper.keep([])
    now[0] = 500.0
    assert math.isnan(keeper.age_s())
    keeper.keep([A])
    until(lambda: keeper.age_s() == 0)
    now[0] = 501.0
    cluster.error = OSError("no route")
    keeper.keep([A, B])
    assert keeper.age_s() == 1
    for owned in ([B], []):
        keeper.keep(owned)
        assert math.isnan(keeper.age_s())


def test_every_failed_fetch_is_counted(keeper_of: MakeKeeper) -> None:
    cluster = Cluster({A: 5})
    failures: list[str] = []
    keeper = keeper_of(cluster, refresh_s=10, on_failure=lambda: failures.append("failed"))
    assert not keeper.ask([A], 5).problem
    keeper.fetch([A])
    assert not failures
    cluster.error = OSError("the broker is down")
    assert keeper.ask([A], 5).problem
    assert len(failures) == 1
    with pytest.raises(OSError, match="down"):
        keeper.fetch([A])
    assert len(failures) == 2


def test_member_without_partitions_measures_nothing(keeper_of: MakeKeeper) -> None:
    cluster = Cluster({A: 5})
    keeper = keeper_of(cluster)
    keeper.keep([A])
    until(lambda: len(cluster.asked) > 2)
    keeper.keep([])
    assert_quiet(keeper, cluster)


def test_failed_measurement_keeps_the_last_one_and_is_repeated(keeper_of: MakeKeeper) -> None:
    cluster = Cluster({A: 5})
    failures: list[str] = []
    keeper = keeper_of(cluster, on_failure=lambda: failures.append("failed"))
    keeper.keep([A])
    until(lambda: keeper.report()[0])
    assert not failures
    cluster.error = OSError("the broker is down")
    until(lambda: len(failures) > 2)
    assert keeper.report()[0] == {A: 5}
    cluster.error, cluster.lags_of = None, {}
    seen = len(cluster.asked)
    until(lambda: len(cluster.asked) > seen + 2)
    assert keeper.report()[0] == {A: 5}, "an empty answer is none, too"
    cluster.lags_of[A] = 7
    until(lambda: keeper.report()[0] == {A: 7})


def test_fetched_lag_is_recent_for_refresh_s(keeper_of: MakeKeeper) -> None:
    """The second round of a rebalance follows at once, and should see the same lag."""
    now = [100.0]
    keeper = keeper_of(Cluster({A: 5, B: 6}), refresh_s=10, now=lambda: now[0])
    keeper.ask([A], 10)
    now[0] = 104
    keeper.fetch([B])
    now[0] = 105
    assert keeper.recent(60) == {A: 5, B: 6}
    assert keeper.recent(5) == {B: 6}
    now[0] = 110
    assert keeper.recent(60) == {B: 6}


def test_ask_waits_for_a_hanging_source_until_the_deadline(keeper_of: MakeKeeper) -> None:
    cluster = Cluster({A: 5})
    cluster.hangs.set()
    keeper = keeper_of(cluster, refresh_s=10)
    assert keeper.ask([A], 0.05) == LagAnswer({}, "no answer within 0.05 s")
    assert keeper.ask([A], 1000).problem == "the previous request is still running"  # at once
    cluster.hangs.clear()
    cluster.goes_on.set()
    until(lambda: keeper.ask([A], 5).lags == {A: 5})


def test_thread_that_cannot_start_is_a_failed_fetch(
    keeper_of: MakeKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the leader plans with the lag that members reported."""

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    failures: list[str] = []
    keeper = keeper_of(Cluster({A: 5}), on_failure=lambda: failures.append("failed"))
    monkeypatch.setattr(threading.Thread, "start", start)
    assert "can't start new thread" in keeper.ask([A], 5).problem
    assert failures == ["failed"]


def test_late_answer_is_kept(keeper_of: MakeKeeper) -> None:
    """For the second round, which follows at once."""
    cluster = Cluster({A: 5})
    cluster.hangs.set()
    keeper = keeper_of(cluster, refresh_s=100)
    assert not keeper.ask([A], 0.05).lags
    cluster.goes_on.set()
    until(lambda: keeper.recent(100) == {A: 5})


def test_source_gets_less_time_than_the_leader_has(keeper_of: MakeKeeper) -> None:
    """So that a partial answer arrives in time.  A tenth is left."""

    class Partial(Cluster):
        def lags(self, partitions: Collection[TopicPartition], timeout_s: float) -> LagAnswer:
            return LagAnswer(self.lags_of, f"no more within {timeout_s:.2f} s")

    keeper = keeper_of(Partial({A: 5}), refresh_s=100, now=lambda: 100.0)
    assert keeper.ask([A, B], 5.0) == LagAnswer({A: 5}, "no more within 4.50 s")


def test_keeper_stops_when_the_partitions_are_no_longer_owned(keeper_of: MakeKeeper) -> None:
    """A lost membership is not reported to the keeper."""
    cluster, member = Cluster({A: 5}), [True]
    keeper = keeper_of(cluster)
    keeper.keep([A], lambda: member[0])
    until(lambda: len(cluster.asked) > 2)
    member[0] = False
    assert_quiet(keeper, cluster)


def test_leader_does_not_wait_for_a_hanging_background_fetch(keeper_of: MakeKeeper) -> None:
    cluster = Cluster({A: 5})
    cluster.hangs.set()
    keeper = keeper_of(cluster, refresh_s=10)
    keeper.keep([A])
    until(lambda: cluster.asked)
    cluster.hangs.clear()
    assert keeper.ask([A], 10).lags == {A: 5}


def test_error_becomes_a_problem_in_one_line(keeper_of: MakeKeeper) -> None:
    cluster = Cluster({})
    cluster.error = ValueError("first line\nsecond line")
    keeper = keeper_of(cluster, refresh_s=10)
    assert keeper.ask([A], 10) == LagAnswer({}, "ValueError: first line")
    cluster.error = TimeoutError("the database did not answer")
    assert keeper.ask([A], 10) == LagAnswer({}, "TimeoutError: the database did not answer")


def test_first_refresh_that_fails_is_logged(keeper_of: MakeKeeper, caplog: pytest.LogCaptureFixture) -> None:
    def fails(*_answer: object) -> None:
        raise ZeroDivisionError

    keeper_of(Cluster({A: 1}), on_answer=fails).keep([A])
    until(lambda: "lag refresh or skew check failed" in caplog.text, "the error to be logged")


class LateFuture(Future[LagAnswer]):
    """Its result comes at the end of a wait that runs out of time."""

    def exception(self, timeout: float | None = None) -> BaseException | None:
        if not self.done():
            self.set_result(LagAnswer({A: 7}))
            raise FutureTimeout
        return super().exception(timeout)


def test_answer_at_the_last_moment_is_used(keeper_of: MakeKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = keeper_of(Cluster({}))
    monkeypatch.setattr(keeper._for_leader, "submit", lambda _job: LateFuture())
    assert keeper.ask([A], 10) == LagAnswer({A: 7})


def test_close_ends_both_threads_and_their_jobs() -> None:
    before = set(threading.enumerate())
    cluster = Cluster({A: 5})
    keeper = LagKeeper(cluster, refresh_s=0.01, timeout_s=1)
    keeper.keep([A])
    keeper.ask([B], 10)
    cluster.hangs.set()
    seen = len(cluster.asked)
    until(lambda: len(cluster.asked) > seen)
    keeper.close()
    assert set(threading.enumerate()) <= before
    assert cluster.closed == 1
    assert keeper.ask([C], 10) == LagAnswer({}, "closed")
    keeper.keep([A])
    assert set(threading.enumerate()) <= before


def test_close_does_not_wait_forever_for_a_users_function(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("kafka_assignors.lag.keeper._END_S", 0.05)
    begun, go_on = threading.Event(), threading.Event()

    def hang(partitions: object) -> dict[TopicPartition, int]:
        begun.set()
        go_on.wait(60)
        return {}

    keeper = LagKeeper(FunctionLag(hang), refresh_s=10, timeout_s=1)
    keeper.ask([A], 0.01)
    assert begun.wait(60)
    keeper.close()
    go_on.set()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize(
    ("answer", "lags", "problem"),
    [
        ({A: 5, B: 6}, {A: 5, B: 6}, ""),
        ({("t", 0): 5, B: 6, C: 9}, {A: 5, B: 6}, ""),  # plain tuples are accepted; C was not requested
        ({A: 5}, {A: 5}, "lag_source returned nothing for t-1"),
        ({A: -1, B: 6}, {B: 6}, "lag_source returned -1 for t-0"),
        ({A: "5", B: 1.5}, {}, "lag_source returned '5' for t-0"),
        ({A: 2**70, B: np.int64(6)}, {A: 2**63 - 1, B: 6}, ""),
    ],
)
def test_answers_of_a_users_function_are_checked(
    answer: Any, lags: dict[TopicPartition, int], problem: str
) -> None:
    assert FunctionLag(lambda _partitions: answer).lags([A, B], 1) == LagAnswer(lags, problem)


def test_huge_number_leaves_the_other_answers() -> None:
    source = FunctionLag(lambda _partitions: {A: 10**400, B: 5}, whole=False)
    assert source.lags([A, B], 1) == LagAnswer({A: 2**63 - 1, B: 5})
