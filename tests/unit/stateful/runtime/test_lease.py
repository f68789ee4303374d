"""For how long a member may write after it was heard of."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.stateful.ending import Ending
from kafka_assignors.stateful.runtime.lease import Lease
from tests.unit.stateful.bench import Cluster


def lease_of(cluster: Any) -> Lease:
    return Lease(cluster)


def static() -> Cluster:
    cluster = Cluster()
    cluster.is_static = True
    return cluster


@pytest.mark.parametrize(("heard_s", "holds"), [(2.9, True), (3.1, False)])
def test_the_last_sign_is_no_older_than_half_a_session(heard_s: float, holds: bool) -> None:
    cluster = Cluster()
    lease = lease_of(cluster)
    cluster.heard_s = heard_s
    assert lease.patience_s == 3.0
    assert lease.holds() is holds


def test_offsets_that_were_taken_are_a_sign() -> None:
    cluster = Cluster()
    lease = lease_of(cluster)
    cluster.heard_s = 10.0
    lease.renew(time.monotonic() - 2.0)
    assert lease.holds()
    lease.renew(time.monotonic() - 3.1)
    assert not lease.holds()


def test_who_joins_has_no_lease_whatever_was_taken() -> None:
    cluster = Cluster()
    lease = lease_of(cluster)
    lease.renew(time.monotonic())
    cluster.is_stable = False
    assert not lease.holds()


@pytest.mark.parametrize(("ago_s", "holds"), [(18.9, True), (19.1, False)])
def test_nothing_is_written_when_the_broker_may_have_waited_long_enough_for_a_join(
    ago_s: float, holds: bool
) -> None:
    """It expels a member that sends heartbeats, and does not join.

    The rebalance began after the last heartbeat that heard of none; for 3 s is written: 22 s less these.
    When kafka-python believes to have been polled says nothing of that: it looked for its coordinator since.
    """
    cluster = Cluster()
    cluster.max_poll_interval_ms = 22_000
    lease = lease_of(cluster)
    cluster.heard_s = ago_s
    assert not lease.holds(), "that is no sign of membership"
    cluster.heard_s, cluster.polled_s, cluster.has_to_rejoin = 0.1, 0.0, True
    assert lease.holds() is holds
    cluster.has_to_rejoin = False
    assert lease.holds(), "it has joined, and a heartbeat since then hears of no other"


@pytest.mark.parametrize(("polled_s", "holds"), [(18.9, True), (19.1, False)])
def test_nothing_is_written_when_kafka_python_may_leave_by_itself(polled_s: float, holds: bool) -> None:
    """It does when it has not been polled for so long, and then others have the tasks at once."""
    cluster = Cluster()
    cluster.max_poll_interval_ms = 22_000
    lease = lease_of(cluster)
    cluster.polled_s = polled_s
    assert lease.holds() is holds


def test_a_short_time_between_polls_shortens_patience() -> None:
    """Else it could never write."""
    cluster = Cluster()
    cluster.max_poll_interval_ms = 4_000
    lease = lease_of(cluster)
    assert lease.patience_s == 1.0
    assert lease.holds()
    cluster.max_poll_interval_ms = 3_900
    with pytest.raises(OptionError) as caught:
        lease_of(cluster)
    assert caught.value.option == "max_poll_interval_ms"


def test_a_sign_is_waited_for() -> None:
    cluster = Cluster()
    lease = lease_of(cluster)
    cluster.heard_s = 3.0
    looks = iter([1, 2])

    class Later(Cluster):
        @property
        def _coordinator(self) -> Any:
            self.heard_s = 0.1 if next(looks, None) is None else 10.0
            return super()._coordinator

    later: Any = Later.__new__(Later)
    later.__dict__ = cluster.__dict__
    lease._consumer = later
    assert lease.holds(wait_s=60.0)


def test_who_ends_waits_no_longer_than_there_is_time() -> None:
    """For a sign that does not come, nor for who had its id before."""
    cluster: Any = static()
    ending = Ending(0.01)
    lease = Lease(cluster, ending)
    cluster.heard_s = 10.0
    ending.set()
    assert not lease.holds(wait_s=10_000.0)
    assert not lease.wait_until_alone(), "that is not so, either"


# --- static members ----------------------------------------------------------------------------------------


def test_who_is_fenced_has_no_lease_whatever_was_taken() -> None:
    """kafka-python sends no more heartbeats, and otherwise goes on as a member."""
    cluster = static()
    lease = lease_of(cluster)
    lease.renew(time.monotonic())
    assert lease.holds()
    cluster.is_fenced = True
    assert not lease.holds()


def test_a_static_member_has_to_be_heard_of_more_often() -> None:
    """Its tasks are another's as soon as that one joins: no broker waits for a session to end."""
    cluster = static()
    lease = lease_of(cluster)
    assert lease.patience_s == 2.0
    cluster.heard_s = 2.1
    assert not lease.holds()


def test_a_static_member_waits_after_each_join_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever had its id before may write for as long as that."""
    now = 100.0
    monkeypatch.setattr("kafka_assignors.stateful.runtime.lease.time.monotonic", lambda: now)
    cluster = static()
    lease = lease_of(cluster)
    waits = []
    for seconds, member_id in (
        (100.0, "m-1"),
        (103.9, "m-1"),
        (104.1, "m-1"),
        (110.0, "m-2"),
        (114.1, "m-2"),
    ):
        now, cluster.member_id = seconds, member_id
        waits.append(not lease.is_alone())
    assert waits == [True, True, False, True, False]


def test_who_gives_tasks_back_waits_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whom they go to need not know that they were taken over a moment ago."""
    now = [100.0]

    def sleep(seconds: float) -> None:
        now[0] += max(seconds, 0.5)

    monkeypatch.setattr("kafka_assignors.stateful.runtime.lease.time.monotonic", lambda: now[0])
    monkeypatch.setattr("kafka_assignors.stateful.runtime.lease.time.sleep", sleep)
    lease = lease_of(static())
    assert lease.wait_until_alone()
    assert now == [104.0]
    assert lease.wait_until_alone()
    assert now == [104.0]


def test_a_dynamic_member_need_not_wait() -> None:
    assert lease_of(Cluster()).is_alone()
