"""How ``lag`` reads groups: patterns, groups that are not there, rates, ages and retention."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from kafka.errors import (
    ClusterAuthorizationFailedError,
    CoordinatorNotAvailableError,
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    KafkaConnectionError,
    KafkaError,
)
from kafka.protocol.admin import DescribeConfigsRequest
from kafka.protocol.consumer import FetchRequest

from kafka_assignors.cli import connection
from kafka_assignors.cli.lag import reader
from kafka_assignors.cli.lag.reader import LagReader, lag_in_time, matching
from kafka_assignors.errors import BrokerError, GroupError, LagDeniedError
from kafka_assignors.lag import Offsets
from kafka_assignors.lag.fetch.group_offsets import read_groups
from kafka_assignors.lag.reading import OldestUnread, Reading, ReadPosition
from kafka_assignors.lag.retention import Retention
from kafka_assignors.plan import TopicPartition
from tests.unit.cli.lag.lagging_group import ORDERS
from tests.unit.lag.whole_cluster import T0, WholeCluster

MISSING = GroupIdNotFoundError.errno


class Lagging(WholeCluster):
    """Groups ``a`` and ``bb`` commit at the length of their name; ``empty`` does not exist.

    Attributes:
        fetch_s: how long a broker takes to return records.
        config_error: error code of each answer to DescribeConfigs.
        asked: number of DescribeConfigs requests.
        shuts: how often the link was shut.
    """

    def __init__(self) -> None:
        super().__init__("a", "bb", "empty")
        self.groups.codes = lambda kind, group_id, _: (
            MISSING * ((kind, group_id) == ("DescribeGroups", "empty"))
        )
        self.fetch_s = 0.0
        self.config_error: KafkaError = ClusterAuthorizationFailedError()
        self.asked = self.shuts = 0

    async def send(self, request: Any, node: int | None = None, *, request_timeout_ms: float) -> Any:
        if isinstance(request, DescribeConfigsRequest):
            self.asked += 1
            raise self.config_error
        if isinstance(request, FetchRequest):
            time.sleep(self.fetch_s)
        return await super().send(request, node, request_timeout_ms=request_timeout_ms)

    def shut(self) -> None:
        self.shuts += 1
        super().shut()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Lagging:
    link = Lagging()
    monkeypatch.setattr(connection, "connect", link.connect)
    return link


def test_groups_and_patterns_are_read_with_few_requests(cluster: Lagging) -> None:
    current = LagReader({}, "earliest").read(["a", "b*", "empty", "x*"])
    assert {report.group.group_id: report.lag for report in current.reports} == {"a": 9, "bb": 8}
    assert [(kind, groups) for kind, _, groups in cluster.groups.sent] == [
        ("FindCoordinator", ["a", "bb", "empty"]),
        ("DescribeGroups", ["a", "bb", "empty"]),
        ("OffsetFetch", ["a", "bb", "empty"]),
    ]
    assert current.problems == {"empty": "there is no group 'empty'", "x*": "no group matches 'x*'"}
    assert cluster.shuts == 0


def test_error_of_the_first_group_is_raised_if_none_is_known(cluster: Lagging) -> None:
    groups = LagReader({}, "earliest")
    with pytest.raises(GroupError, match="there is no group 'empty'"):
        groups.read(["empty"])
    denied = GroupAuthorizationFailedError.errno
    cluster.groups.codes = lambda kind, *_: denied * (kind == "DescribeGroups")
    with pytest.raises(BrokerError, match=r"group 'bb': not authorised to describe the group") as refusal:
        groups.read(["bb", "a"])
    assert isinstance(refusal.value.__cause__, LagDeniedError)


def test_look_that_fails_for_a_group_keeps_its_owners_and_rates(cluster: Lagging) -> None:
    groups = LagReader({}, "earliest")
    groups.read(["a", "bb"])
    owners, rates = groups._owners["bb"], groups._rates["bb"]
    code = CoordinatorNotAvailableError.errno
    cluster.groups.codes = lambda _kind, group_id, _: code * (group_id == "bb")
    assert groups.read(["a", "bb"]).problems.keys() == {"bb"}
    assert groups._owners["bb"] is owners
    assert groups._rates["bb"] is rates


@pytest.mark.parametrize("code", [0, -1], ids=["no leader", "silent"])
def test_sick_partition_and_group_leave_the_ages_of_the_others(
    cluster: Lagging, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """The link is closed after the last request, and only for a broker that does not answer."""
    cluster.groups.partitions = 2
    cluster.groups.codes = lambda kind, group_id, _: (
        code * ((kind, group_id) == ("DescribeGroups", "bb")) + MISSING * (group_id == "empty")
    )
    monkeypatch.setattr(reader, "FEW", 1)
    other = TopicPartition("t", 1)
    cluster.logs.logs[other], cluster.logs.leaders[other] = (0, 10), -1
    cluster.groups.coordinators["bb"] = 2
    first = LagReader({}, "earliest").read(["a", "bb"]).reports[0]
    assert [(p.lag, p.seconds_missing) for p in first.partitions] == [(9, None), (None, None)]
    assert first.time_lag_ms == pytest.approx(900_000, abs=50_000)
    assert cluster.is_open is (code == 0)


def test_dead_link_of_a_watch_is_replaced_and_new_brokers_are_known(cluster: Lagging) -> None:
    watched = LagReader({}, "earliest")
    watched.read(["*"])
    cluster.groups.coordinators["new"] = 2  # a broker that joins the cluster
    assert [each.group.group_id for each in watched.read(["n*"]).reports] == ["new"]
    assert cluster.connected == 1
    cluster.refresh_error = KafkaConnectionError("gone")
    watched.read(["*"])
    assert cluster.connected == 2


def test_watched_pattern_forgets_groups_that_are_gone(cluster: Lagging) -> None:
    watched = LagReader({}, "earliest")
    watched.read(["*"])
    del cluster.groups.coordinators["bb"]
    watched.read(["*"])
    assert watched._rates.keys() == watched._owners.keys() == {"a"}


def test_rates_do_not_depend_on_the_time_of_the_timestamps(cluster: Lagging) -> None:
    """Offsets count from the moment when they were read, not from the end of the look."""
    watched = LagReader({}, "earliest")
    cluster.fetch_s = 0.2
    watched.read(["a"])
    cluster.fetch_s = 0.0
    cluster.logs.logs[T0] = (0, 20)
    (report,) = watched.read(["a"]).reports
    assert report.rate is not None
    assert 0 < report.rate.records_in <= 10 / 0.2


def test_one_late_end_does_not_shrink_all_rates(cluster: Lagging, monkeypatch: pytest.MonkeyPatch) -> None:
    """The brokers return 100 records more after 10 s, and one end only after 20 s."""
    looks = iter([(0.0, 0), (10.0, 100)])
    tps = [TopicPartition("t", number) for number in range(3)]

    def read(*arguments: Any, **options: Any) -> Any:
        at_s, end = next(looks)
        reading = Reading(dict.fromkeys(tps, 0), dict.fromkeys(tps, Offsets(0, end, end)), {})
        times = {**dict.fromkeys(tps, at_s), tps[2]: 2 * at_s}
        groups = read_groups(*arguments, **options)
        return replace(groups, readings={"a": reading}, end_read_at={"a": times})

    monkeypatch.setattr(reader, "read_groups", read)
    watched = LagReader({}, "earliest")
    watched.read(["a"])
    (report,) = watched.read(["a"]).reports
    assert [partition.rate and partition.rate.records_in for partition in report.partitions] == [10, 10, 10]


def test_retention_without_the_right_is_noted_once(
    cluster: Lagging, capsys: pytest.CaptureFixture[str]
) -> None:
    watched = LagReader({}, "earliest")
    for _ in range(3):
        watched.read(["a"])
    assert cluster.asked == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("note: retention unknown: ")


def test_patterns_match_whole_names() -> None:
    names = ["payments-a", "payments-b", "old-payments-a", "orders"]
    assert matching("payments-*", names) == ["payments-a", "payments-b"]
    assert matching("*-?", names) == ["old-payments-a", "payments-a", "payments-b"]
    assert matching("[a-z]*", names) == []


def test_ages_and_shares_of_partitions() -> None:
    """A marker counts as a record, but not in time; an unknown age is missing."""
    tps = ORDERS[:4]
    offsets = dict.fromkeys(tps, Offsets(0, 100, 50)) | {tps[3]: Offsets(0, 100, 100)}
    starts = {tp: ReadPosition(tp, 50) for tp in tps[:3]}
    unread = OldestUnread(
        {ReadPosition(tps[0], 50): 1_000, ReadPosition(tps[1], 50): None}, {ReadPosition(tps[2], 50): "why"}
    )
    retention = {tps[0]: Retention(10_000), tps[2]: Retention(10_000, 1_000, 18)}
    in_time = lag_in_time(offsets, starts, unread, retention, 10_000)
    assert in_time.ages == {tps[0]: 9, tps[1]: 0, tps[3]: 0}
    assert in_time.missing == {tps[2]: "why"}
    assert in_time.retention_left == {tps[0]: pytest.approx(0.1), tps[2]: pytest.approx(0.1)}
