from __future__ import annotations

import pytest
from kafka.errors import (
    GroupAuthorizationFailedError,
    KafkaConnectionError,
    KafkaTimeoutError,
    NotCoordinatorError,
    UnknownBrokerIdError,
)

from kafka_assignors.errors import LagDeniedError, LagError, LagTimeoutError, LagUnreachableError
from kafka_assignors.lag import Offsets
from kafka_assignors.plan import TopicPartition
from tests.unit.lag.cluster import COORDINATOR, Cluster, errors, raises

A0, A1, A2, B0 = (TopicPartition(*tp) for tp in [("a", 0), ("a", 1), ("a", 2), ("b", 0)])
NOT_LEADER, DENIED, UNSTABLE = 6, 29, 88


LAGS = {A0: 60, A1: 0, A2: 7, B0: 4}


def three(brokers: int = 1) -> Cluster:
    cluster = Cluster({A0: (0, 100), A1: (10, 50), A2: (0, 7), B0: (5, 9)}, brokers)
    cluster.commits = {A0: 40, A1: 50, B0: 2}
    return cluster


@pytest.fixture
def cluster() -> Cluster:
    return three()


def test_reading_has_lags_and_their_offsets(cluster: Cluster) -> None:
    reading = cluster.fetch()
    assert reading.lags == LAGS
    assert reading.offsets[A0] == Offsets(0, 100, 40)
    assert reading.offsets[A2] == Offsets(0, 7, None)
    assert reading.missing == {}


@pytest.mark.parametrize("version", [99, 7, 3])
def test_one_request_per_kind_and_broker(version: int) -> None:
    cluster = three(brokers=2)
    cluster.version = version
    assert cluster.fetch().lags == LAGS
    assert sorted(cluster.sent, key=str) == [
        ("FindCoordinator", None),
        ("ListOffsets", 1),
        ("ListOffsets", 1),
        ("ListOffsets", 2),
        ("ListOffsets", 2),
        ("Metadata", None),
        ("OffsetFetch", COORDINATOR),
    ]


def test_commits_come_before_ends(cluster: Cluster) -> None:
    """The other way round, progress in between would look like a topic created again."""
    cluster.fetch()
    kinds = [kind for kind, _ in cluster.sent]
    assert kinds.index("OffsetFetch") < kinds.index("ListOffsets")


def test_begins_are_fetched_only_if_they_matter(cluster: Cluster) -> None:
    reading = cluster.fetch()
    assert (cluster.asked["end"], cluster.asked["begin"]) == (4, 3)
    assert reading.offsets[A1] == Offsets(None, 50, 50)
    assert cluster.fetch(all_begins=True).offsets[A1] == Offsets(10, 50, 50)


def test_leaders_are_looked_up_once(cluster: Cluster) -> None:
    cluster.fetch()
    cluster.sent.clear()
    assert cluster.fetch().lags == LAGS
    assert "Metadata" not in {kind for kind, _ in cluster.sent}


def test_moved_leader_is_looked_up_again() -> None:
    cluster = three(brokers=2)
    cluster.fetch()
    cluster.leaders = {tp: 3 - leader for tp, leader in cluster.leaders.items()}
    assert cluster.fetch().lags == LAGS


def test_election_is_retried(cluster: Cluster) -> None:
    cluster.leaders[A0] = -1

    def elected(kind: str, node: int | None, number: int) -> None:
        if kind == "Metadata" and number == 4:
            cluster.leaders[A0] = 1

    cluster.faults = elected
    assert cluster.fetch().lags == LAGS


def test_long_election_costs_only_its_partition(cluster: Cluster) -> None:
    cluster.leaders[A0] = -1
    reading = cluster.fetch(timeout_ms=1000)
    assert reading.lags == {A1: 0, A2: 7, B0: 4}
    assert reading.missing == {A0: "LeaderNotAvailable"}
    assert cluster.now <= 1.0
    assert sum(kind == "Metadata" for kind, _ in cluster.sent) < 20  # it is not asked without a pause


def test_retries_without_backoff_have_pauses(cluster: Cluster) -> None:
    """Else they would take the processor until the deadline."""

    def faults(kind: str, node: int | None, number: int) -> dict[TopicPartition, int]:
        cluster.now += 0.001  # else a fetch without pauses never ends
        return {A0: NOT_LEADER} if kind == "ListOffsets" else {}

    cluster.faults = faults
    reading = cluster.fetch(timeout_ms=2000, retry_backoff_ms=0)
    assert (reading.lags, reading.missing) == ({A1: 0, A2: 7, B0: 4}, {A0: "NotLeaderForPartition"})
    assert sum(kind == "Metadata" for kind, _ in cluster.sent) < 20


def test_unknown_topics_and_partitions_are_not_retried(cluster: Cluster) -> None:
    nowhere, beyond = TopicPartition("c", 0), TopicPartition("a", 9)
    reading = cluster.fetch(A0, nowhere, beyond)
    assert reading.lags == {A0: 60}
    assert reading.missing == {nowhere: "no such partition", beyond: "no such partition"}
    assert cluster.now == 0


def test_only_unknown_topics_are_no_failure(cluster: Cluster) -> None:
    nowhere = TopicPartition("c", 0)
    assert cluster.fetch(nowhere).missing == {nowhere: "no such partition"}


def test_topic_deleted_between_two_requests_is_missing(cluster: Cluster) -> None:

    def deleted(kind: str, node: int | None, number: int) -> None:
        if kind == "ListOffsets":
            cluster.logs.pop(B0, None)

    cluster.faults = deleted
    reading = cluster.fetch(A0, B0)
    assert reading.lags == {A0: 60}
    assert reading.missing == {B0: "no such partition"}


def test_denied_topic_costs_only_itself(cluster: Cluster) -> None:
    cluster.topic_errors["a"] = DENIED
    cluster.faults = errors("OffsetFetch", dict.fromkeys((A0, A1, A2), DENIED))
    reading = cluster.fetch()
    assert reading.lags == {B0: 4}
    assert set(reading.missing) == {A0, A1, A2}
    assert set(reading.missing.values()) == {"not authorised to describe the topic"}


def test_unstable_commit_is_retried(cluster: Cluster) -> None:
    cluster.faults = errors("OffsetFetch", {A0: UNSTABLE}, times=1)
    assert cluster.fetch().lags == LAGS
    assert cluster.asked["OffsetFetch"] == 5


def test_moved_coordinator_is_looked_up_again(cluster: Cluster) -> None:
    cluster.faults = raises(NotCoordinatorError(), "OffsetFetch", times=2)
    assert cluster.fetch().lags == LAGS
    assert sum(kind == "FindCoordinator" for kind, _ in cluster.sent) == 3


def test_denied_group_raises(cluster: Cluster) -> None:
    cluster.faults = raises(GroupAuthorizationFailedError("group 'g'"), "OffsetFetch")
    with pytest.raises(LagDeniedError, match="group 'g'"):
        cluster.fetch()
    assert cluster.now == 0
    assert not cluster.gathering.connection_failed, "the broker answered"


@pytest.mark.parametrize("error", [KafkaConnectionError("gone"), UnknownBrokerIdError(2)])
def test_stopped_broker_costs_only_its_partitions(error: Exception) -> None:
    cluster = three(brokers=2)
    cluster.faults = raises(error, node=2)
    reading = cluster.fetch()
    assert reading.lags == {A0: 60, A2: 7}
    assert set(reading.missing) == {A1, B0}
    assert cluster.gathering.connection_failed


def test_restarted_broker_is_retried() -> None:
    cluster = three(brokers=2)

    def down(kind: str, node: int | None, number: int) -> None:
        if node == 2 and cluster.now < 0.5:
            raise KafkaConnectionError("gone")

    cluster.faults = down
    assert cluster.fetch().lags == LAGS


def test_hanging_broker_costs_only_its_partitions() -> None:
    cluster = three(brokers=2)
    cluster.faults = raises(KafkaTimeoutError("hangs"), node=1)
    cluster.leaders = {A0: 2, A1: 2, A2: 1, B0: 1}
    reading = cluster.fetch()
    assert reading.lags == {A0: 60, A1: 0}
    assert set(reading.missing) == {A2, B0}


def test_requests_get_the_remaining_time(cluster: Cluster) -> None:
    cluster.fetch(timeout_ms=700)
    assert cluster.allowed_ms <= 700
    cluster.fetch(timeout_ms=5000, request_timeout_ms=1200)
    assert cluster.allowed_ms == 1200


def test_leader_lookup_leaves_time_for_another_broker() -> None:
    """Any broker can answer; if there are several, the next may."""
    cluster = three(brokers=2)
    cluster.faults = raises(KafkaTimeoutError("hangs"), "Metadata", times=1)
    assert cluster.fetch(timeout_ms=1000).lags == LAGS
    assert 0.5 <= cluster.now < 1


def test_last_answer_of_a_broker_is_the_reason(cluster: Cluster) -> None:
    """A broker restarts without being the leader: the partition is in trouble, the connection is not."""

    def back(kind: str, node: int | None, number: int) -> dict[TopicPartition, int] | None:
        if kind != "ListOffsets":
            return None
        if number == 1:
            raise KafkaConnectionError("gone")
        return dict.fromkeys(cluster.logs, NOT_LEADER)

    cluster.faults = back
    reading = cluster.fetch(timeout_ms=1000)
    assert set(reading.missing.values()) == {"NotLeaderForPartition"}
    assert not cluster.gathering.connection_failed


def test_broker_stopped_before_the_ends_is_a_failure(cluster: Cluster) -> None:
    """Commits alone make no lag."""
    cluster.faults = raises(KafkaConnectionError("gone"), "ListOffsets")
    with pytest.raises(LagUnreachableError, match="gone"):
        cluster.fetch()
    assert cluster.now <= 2


def test_hanging_coordinator_is_a_failure(cluster: Cluster) -> None:
    cluster.faults = raises(KafkaTimeoutError("hangs"), "OffsetFetch")
    with pytest.raises(LagTimeoutError):
        cluster.fetch()


def test_missing_begin_costs_only_lags_that_depend_on_it(cluster: Cluster) -> None:
    seen = 0

    def gone(kind: str, node: int | None, number: int) -> None:
        nonlocal seen
        seen += kind == "ListOffsets"
        if seen > 1:
            raise KafkaConnectionError("gone")

    cluster.faults = gone
    reading = cluster.fetch()
    assert reading.lags == {A1: 0}
    assert set(reading.missing) == {A0, A2, B0}


def test_malformed_answer_is_a_failure(cluster: Cluster) -> None:
    cluster.faults = raises(ValueError("bytes"))
    with pytest.raises(LagError, match="bytes"):
        cluster.fetch()


def test_repeated_partition_is_fetched_once() -> None:
    assert three().fetch(A0, A0).lags == {A0: 60}


@pytest.mark.parametrize(("level", "isolation"), [("read_committed", 1), ("read_uncommitted", 0)])
def test_isolation_level_selects_the_end(cluster: Cluster, level: str, isolation: int) -> None:
    seen = []
    answer = cluster.answer

    def spy(request: object, node: int | None, timeout_ms: float) -> object:
        seen.append(getattr(request, "isolation_level", None))
        return answer(request, node, timeout_ms)

    cluster.answer = spy  # type: ignore[method-assign]
    cluster.fetch(isolation_level=level)
    assert {sent for sent in seen if sent is not None} == {isolation}


def test_each_end_has_the_time_of_its_answer() -> None:
    """A broker that hangs must not make the other answers look old."""
    cluster = three(brokers=2)
    slow = {tp for tp, leader in cluster.leaders.items() if leader == 2}

    def faults(kind: str, node: int | None, number: int) -> None:
        if (kind, node) == ("ListOffsets", 2):
            cluster.now += 1.5

    cluster.faults = faults
    cluster.fetch()
    end_read_at = cluster.gathering.end_read_at
    assert set(end_read_at) == {A0, A1, A2, B0}
    assert {tp for tp, time in end_read_at.items() if time >= 1.5} >= slow
    assert len(set(end_read_at.values())) > 1
