"""``Lease``: how long a member may write after a sign of its membership."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.stateful.runtime.lease import Lease
from kafka_assignors.stateful.shutdown import Shutdown
from tests.unit.stateful.bench import Cluster

IS_STATIC = pytest.mark.parametrize("cluster", [{"is_static": True}], indirect=True)
SHORT_POLL_INTERVAL = pytest.mark.parametrize("cluster", [{"max_poll_interval_ms": 22_000}], indirect=True)


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Cluster:
    cluster = Cluster()
    vars(cluster).update(getattr(request, "param", {}))
    return cluster


@pytest.fixture
def lease(cluster: Any) -> Lease:
    return Lease(cluster)


@pytest.mark.parametrize(("heard_s", "is_valid"), [(2.9, True), (3.1, False)])
def test_sign_of_membership_counts_for_half_a_session(
    cluster: Cluster, lease: Lease, heard_s: float, is_valid: bool
) -> None:
    cluster.heard_s = heard_s
    assert lease.patience_s == 3.0
    assert lease.is_valid() is is_valid


def test_committed_offsets_are_a_sign_of_membership(cluster: Cluster, lease: Lease) -> None:
    cluster.heard_s = 10.0
    lease.renew(time.monotonic() - 2.0)
    assert lease.is_valid()
    lease.renew(time.monotonic() - 3.1)
    assert not lease.is_valid()


def test_joining_member_has_no_lease_despite_committed_offsets(cluster: Cluster, lease: Lease) -> None:
    lease.renew(time.monotonic())
    cluster.is_stable = False
    assert not lease.is_valid()


@pytest.mark.parametrize(("ago_s", "is_valid"), [(18.9, True), (19.1, False)])
@SHORT_POLL_INTERVAL
def test_lease_ends_before_the_broker_stops_waiting_for_a_join(
    cluster: Cluster, lease: Lease, ago_s: float, is_valid: bool
) -> None:
    """It expels a member that sends heartbeats, and does not join.

    The rebalance began after the last heartbeat that reported none.  A write takes 3 s of the 22 s.
    The last poll does not count: kafka-python has looked for its coordinator since.
    """
    cluster.heard_s = ago_s
    assert not lease.is_valid(), "a heartbeat from before is no sign of membership"
    cluster.heard_s, cluster.polled_s, cluster.has_to_rejoin = 0.1, 0.0, True
    assert lease.is_valid() is is_valid
    cluster.has_to_rejoin = False
    assert lease.is_valid(), "it has joined, and a later heartbeat reports no other rebalance"


def test_member_that_first_writes_during_a_join_has_the_lease_it_observed_before(
    cluster: Cluster, lease: Lease
) -> None:
    lease.observe()
    cluster.has_to_rejoin = True
    assert lease.is_valid()


@pytest.mark.parametrize(("polled_s", "is_valid"), [(18.9, True), (19.1, False)])
@SHORT_POLL_INTERVAL
def test_lease_ends_before_kafka_python_leaves_by_itself(
    cluster: Cluster, lease: Lease, polled_s: float, is_valid: bool
) -> None:
    """It leaves after a long time without a poll, and other members then own the tasks at once."""
    cluster.polled_s = polled_s
    assert lease.is_valid() is is_valid


def test_short_poll_interval_shortens_patience(cluster: Any) -> None:
    """Otherwise the member could never write."""
    cluster.max_poll_interval_ms = 4_000
    lease = Lease(cluster)
    assert lease.patience_s == 1.0
    assert lease.is_valid()
    cluster.max_poll_interval_ms = 3_900
    with pytest.raises(OptionError) as caught:
        Lease(cluster)
    assert caught.value.option == "max_poll_interval_ms"


def test_lease_waits_for_a_sign_of_membership(
    cluster: Cluster, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.heard_s = 9.0

    def sleep(_seconds: float) -> None:
        cluster.heard_s -= 4.0

    monkeypatch.setattr("kafka_assignors.stateful.runtime.lease.time.sleep", sleep)
    assert lease.is_valid(wait_s=60.0)


@IS_STATIC
def test_closing_member_waits_no_longer_than_its_deadline(cluster: Any) -> None:
    """Neither for a sign of membership, nor for the process that had its id before."""
    shutdown = Shutdown(0.01)
    lease = Lease(cluster, shutdown)
    cluster.heard_s = 10.0
    shutdown.set()
    assert not lease.is_valid(wait_s=10_000.0)
    assert not lease.wait_until_alone(), "the other process may still write"


# --- static members ----------------------------------------------------------------------------------------


@IS_STATIC
def test_fenced_member_has_no_lease_despite_committed_offsets(cluster: Cluster, lease: Lease) -> None:
    """kafka-python only stops its heartbeats."""
    lease.renew(time.monotonic())
    assert lease.is_valid()
    cluster.is_fenced = True
    assert not lease.is_valid()


@IS_STATIC
def test_static_member_needs_more_recent_signs(cluster: Cluster, lease: Lease) -> None:
    """A new member with its instance id owns its tasks at once; no broker waits for the session to end."""
    assert lease.patience_s == 2.0
    cluster.heard_s = 2.1
    assert not lease.is_valid()


@IS_STATIC
def test_static_member_waits_after_each_new_member_id(
    cluster: Cluster, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that had its id before may write for that long."""
    now = 100.0
    monkeypatch.setattr("kafka_assignors.stateful.runtime.lease.time.monotonic", lambda: now)
    first = {100.0: False, 103.9: False, 104.1: True}
    second = {110.0: False, 114.1: True}
    for cluster.member_id, is_alone_at in (("m-1", first), ("m-2", second)):
        for now, is_alone in is_alone_at.items():
            assert lease.is_alone() is is_alone, now


@IS_STATIC
def test_revocation_waits_for_the_process_with_the_same_instance_id(
    lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next owner does not know that the tasks were taken over a moment ago."""
    now = [100.0]

    def sleep(seconds: float) -> None:
        now[0] += max(seconds, 0.5)

    monkeypatch.setattr("kafka_assignors.stateful.runtime.lease.time.monotonic", lambda: now[0])
    monkeypatch.setattr("kafka_assignors.stateful.runtime.lease.time.sleep", sleep)
    assert lease.wait_until_alone()
    assert now == [104.0]
    assert lease.wait_until_alone()
    assert now == [104.0]


def test_dynamic_member_does_not_wait(lease: Lease) -> None:
    assert lease.is_alone()
