"""States of many groups with few requests, from brokers of any version."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kafka.errors import (
    CoordinatorNotAvailableError,
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
)
from kafka.future import Future

from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.fetch.many_groups import EndsFetch, GroupNamesFetch, GroupsFetch
from kafka_assignors.lag.fetch.sending import FEW
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.plan import TopicPartition
from tests.unit.lag.cluster import Cluster, FakeLink, errors, run_now
from tests.unit.lag.coordinators import Brokers

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
DENIED = GroupAuthorizationFailedError.errno
MOVING = CoordinatorNotAvailableError.errno
MISSING = GroupIdNotFoundError.errno


def names(count: int) -> list[str]:
    return [f"g{i:03}" for i in range(count)]


def test_many_groups_take_few_requests() -> None:
    brokers = Brokers(names(250), brokers=2)
    fetch = brokers.fetch()
    assert (list(fetch.states), fetch.failures) == ([*names(250)[::2], *names(250)[1::2]], {})
    assert fetch.states["g001"].commits == {T0: 4}
    assert [(kind, node, len(ids)) for kind, node, ids in brokers.sent] == [
        ("FindCoordinator", None, 100),
        ("FindCoordinator", None, 100),
        ("FindCoordinator", None, 50),
        *[
            (kind, node, size)
            for node in (1, 2)
            for size in (100, 25)
            for kind in ("DescribeGroups", "OffsetFetch")
        ],
    ]


def test_old_broker_gets_a_request_for_each_group() -> None:
    brokers = Brokers(names(3), version=3)
    fetch = brokers.fetch()
    assert (list(fetch.states), fetch.failures) == (names(3), {})
    assert [(kind, len(ids)) for kind, _, ids in brokers.sent] == [
        *[("FindCoordinator", 1)] * 3,
        ("DescribeGroups", 3),
        *[("OffsetFetch", 1)] * 3,
    ]


@pytest.mark.parametrize("where", ["FindCoordinator", "DescribeGroups", "OffsetFetch"])
def test_denied_group_leaves_the_others(where: str) -> None:
    brokers = Brokers(names(3))
    brokers.codes = lambda kind, group_id, _: DENIED if (kind, group_id) == (where, "g001") else 0
    fetch = brokers.fetch()
    assert list(fetch.states) == ["g000", "g002"]
    assert [(name, type(error)) for name, error in fetch.failures.items()] == [
        ("g001", GroupAuthorizationFailedError)
    ]
    assert sum(kind == where for kind, *_ in brokers.sent) == 1  # a retry would not help


@pytest.mark.parametrize("where", ["FindCoordinator", "DescribeGroups", "OffsetFetch"])
@pytest.mark.parametrize("code", [MOVING, -1], ids=["moving", "silent"])
def test_failure_that_passes_is_retried(where: str, code: int) -> None:
    brokers = Brokers(names(3))
    brokers.codes = lambda kind, _group, number: code if kind == where and number < 2 else 0
    fetch = brokers.fetch()
    assert (sorted(fetch.states), fetch.failures) == (names(3), {})


def test_failure_that_stays_is_reported_when_time_is_up() -> None:
    brokers = Brokers(names(2))
    brokers.codes = lambda _kind, group_id, _: MOVING if group_id == "g001" else 0
    fetch = brokers.fetch(timeout_s=1)
    assert list(fetch.states) == ["g000"]
    assert isinstance(fetch.failures["g001"], CoordinatorNotAvailableError)
    assert brokers.now <= 1


def test_retries_are_few_and_further_and_further_apart() -> None:
    brokers = Brokers(names(2))
    brokers.codes = lambda _kind, group_id, _: MOVING if group_id == "g001" else 0
    fetch = brokers.fetch(60, retries=FEW)
    assert sum(kind == "FindCoordinator" for kind, *_ in brokers.sent) == FEW + 1
    assert brokers.now == pytest.approx(0.2 + 0.4 + 0.8 + 1 + 1)
    assert (fetch.read_at, fetch.connection_failed) == ({"g000": 0}, False)


def test_groups_of_a_coordinator_are_passed_on_before_others_are_retried() -> None:
    brokers = Brokers(names(2), brokers=2)
    passed: list[tuple[float, list[str]]] = []

    def pass_on(states: Iterable[Any]) -> None:
        passed.append((brokers.now, [state.group_id for state in states]))

    brokers.codes = lambda kind, group_id, number: (
        MOVING if (kind, group_id) == ("DescribeGroups", "g001") and number < 4 else 0
    )
    fetch = brokers.fetch(60, on_read=pass_on)
    assert [each for each in passed if each[1]] == [(0, ["g000"]), (pytest.approx(1.4), ["g001"])]
    assert fetch.read_at == {"g000": 0, "g001": pytest.approx(1.4)}


def test_group_deleted_meanwhile_is_no_failure() -> None:
    brokers = Brokers(["empty", "g"])
    brokers.codes = lambda kind, *_: MISSING if kind == "DescribeGroups" else 0
    fetch = brokers.fetch()
    assert fetch.failures == {}
    assert list(fetch.states) == ["g"]  # it has commits


@pytest.mark.parametrize(("code", "owned"), [(0, (T0,)), (DENIED, None)])
def test_groups_of_the_new_protocol_have_members(code: int, owned: tuple[TopicPartition, ...] | None) -> None:
    brokers = Brokers(["new-1", "new-2", "g"])
    brokers.codes = lambda kind, group_id, _: (
        code
        if kind == "ConsumerGroupDescribe"
        else MISSING * group_id.startswith("new")
        if kind == "DescribeGroups"
        else 0
    )
    fetch = brokers.fetch()
    assert fetch.failures == {}
    for group_id in ("new-1", "new-2"):
        state = fetch.states[group_id]
        assert (state.state, state.commits) == ("Consumer", {T0: 5})
        assert [(m.member_id, m.host, m.owned) for m in state.members] == (
            [] if owned is None else [("m", "10.0.0.1", owned)]
        )
    assert [ids for kind, _, ids in brokers.sent if kind == "ConsumerGroupDescribe"] == [["new-1", "new-2"]]


def test_group_without_an_answer_is_a_failure() -> None:
    fetch = GroupsFetch(cast(Link, FakeLink(Brokers([]))), ["g"], 1, clock=lambda: 0.0)
    assert isinstance(fetch.failures["g"], KafkaError)


# --- names ---


class Listing(FakeLink):
    """Three brokers with groups of all types; broker 2 never answers, broker 3 refuses ``refusals`` times."""

    def __init__(self, refusals: int = 0) -> None:
        super().__init__(Brokers(["g1", "g2", "g3"], brokers=3))
        self.asked: list[int | None] = []
        self.refusals = refusals

    async def send(self, request: Any, node: int | None = None, *, request_timeout_ms: float) -> Any:
        self.asked.append(node)
        if node == 2:
            await Future()
        if node == 3 and self.refusals:
            self.refusals -= 1
            raise KafkaConnectionError("refused")
        kinds = {f"g{node}": "consumer", "c": "connect", "s": "streams", "no-members": ""}
        rows = [SimpleNamespace(group_id=name, protocol_type=kind) for name, kind in kinds.items()]
        return SimpleNamespace(error_code=0, groups=rows)

    def call_soon(self, call: Callable[..., Any], *args: Any) -> Any:
        """Run a coroutine until it ends or waits."""
        future = Future()
        try:
            call(*args).send(None)
        except StopIteration:
            future.success(None)
        return future


@pytest.mark.parametrize("refusals", [0, 2])
def test_silent_broker_leaves_the_groups_of_the_others(refusals: int) -> None:
    """All are asked at once, and only a broker that failed is asked again."""
    link = Listing(refusals)
    fetch = GroupNamesFetch(cast(Link, link), 5, clock=lambda: 0.0)
    fetch.run().send(None)  # broker 2 is still awaited
    assert fetch.names == {"g1", "g3", "s", "no-members"}
    assert [(node, type(error)) for node, error in fetch.failures.items()] == [(2, KafkaTimeoutError)]
    assert link.asked == [1, 2, 3, *[3] * refusals]


def test_broker_that_refuses_until_the_deadline_is_a_failure() -> None:
    link = Listing(refusals=99)
    brokers = link._servers
    fetch = GroupNamesFetch(cast(Link, link), 1, clock=lambda: brokers.now)
    fetch.run().send(None)
    assert fetch.names == {"g1", "s", "no-members"}
    assert isinstance(fetch.failures[3], KafkaConnectionError)
    assert brokers.now == pytest.approx(0.6)  # time for one more pause is not left


# --- begins and ends ---


def ends(cluster: Cluster, timeout_s: float = 2, **options: Any) -> EndsFetch:
    settings = fetch_settings({}, "-", "earliest")
    fetch = EndsFetch(
        cluster.link, settings, tuple(cluster.logs), timeout_s, clock=lambda: cluster.now, **options
    )
    run_now(fetch.run())
    return fetch


def test_begins_and_ends_take_two_requests_a_leader_and_no_group() -> None:
    cluster = Cluster({TopicPartition("t", p): (p, 10 + p) for p in range(6)}, brokers=2)
    fetch = ends(cluster)
    assert fetch.is_complete
    assert {tp.partition: (o.begin, o.end) for tp, o in fetch.reading().offsets.items()} == {
        p: (p, 10 + p) for p in range(6)
    }
    assert sorted(cluster.sent, key=str) == [
        *[("ListOffsets", 1)] * 2,
        *[("ListOffsets", 2)] * 2,
        ("Metadata", None),
    ]


def test_partition_without_a_leader_is_looked_up_a_few_times() -> None:
    cluster = Cluster({T0: (0, 5), T1: (0, 5)})
    cluster.leaders[T1] = -1
    fetch = ends(cluster, 60, retries=FEW)
    assert sum(kind == "Metadata" for kind, _ in cluster.sent) <= FEW + 3
    assert cluster.now < 4
    assert (fetch.is_complete, fetch.connection_failed) == (False, False)


@pytest.mark.parametrize(("code", "is_complete"), [(29, True), (5, False)])
def test_partition_without_a_leader_makes_the_reading_incomplete(code: int, is_complete: bool) -> None:
    cluster = Cluster({T0: (0, 5), T1: (0, 5)})
    cluster.faults = errors("ListOffsets", {T1: code})
    fetch = ends(cluster)
    assert fetch.is_complete is is_complete
    assert list(fetch.reading().offsets) == [T0]
