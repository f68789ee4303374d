"""A reading of a whole cluster: its groups, its topics, and brokers that do not answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from kafka.errors import (
    ClusterAuthorizationFailedError,
    CoordinatorNotAvailableError,
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    KafkaError,
    KafkaTimeoutError,
    LeaderNotAvailableError,
    NodeNotReadyError,
    SaslAuthenticationFailedError,
    TopicAuthorizationFailedError,
)
from kafka.protocol.consumer import FetchRequest

from kafka_assignors.cli import connection
from kafka_assignors.cli.exporter import fetch
from kafka_assignors.cli.exporter.fetch import ClusterReader
from kafka_assignors.cli.exporter.reading import ClusterReading
from kafka_assignors.errors import LagDeniedError
from kafka_assignors.lag.fetch import group_offsets
from kafka_assignors.lag.fetch.group_offsets import GroupsReading
from kafka_assignors.plan import TopicPartition
from tests.unit.lag.cluster import errors
from tests.unit.lag.fetch.record_batches import marker
from tests.unit.lag.whole_cluster import WholeCluster

T0 = TopicPartition("t", 0)
SILENT, REFUSED = KafkaTimeoutError("no response"), SaslAuthenticationFailedError("refused")


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> WholeCluster:
    """Groups ``a``, ``bb`` and ``other`` commit at the length of their name; ``t-0`` has 10 records."""
    link = WholeCluster("a", "bb", "other")
    monkeypatch.setattr(connection, "connect", link.connect)
    return link


def reader_of(*groups_like: str, topics_like: str = ".*") -> ClusterReader:
    """A reader of the groups that match."""
    return ClusterReader({}, [re.compile(p) for p in groups_like], [re.compile(topics_like)], 30)


def read(*groups_like: str, topics_like: str = ".*") -> ClusterReading:
    """Read the groups that match."""
    return reader_of(*groups_like, topics_like=topics_like).read()


def lags(reading: ClusterReading) -> dict[str, list[int | None]]:
    """Return the lags of each group."""
    return {name: [partition.lag for partition in each] for name, each in reading.groups.items()}


def deny_description(whole: WholeCluster, denied_id: str) -> None:
    code = GroupAuthorizationFailedError.errno
    whole.groups.codes = lambda kind, group_id, _: code * ((kind, group_id) == ("DescribeGroups", denied_id))


@pytest.mark.usefixtures("whole")
def test_groups_match_one_pattern_with_their_whole_name() -> None:
    reading = read("a", "b.*", "othe")
    assert lags(reading) == {"a": [9], "bb": [8]}
    assert (reading.is_complete, reading.left_out, reading.problems) == (True, {}, {})
    assert [each[0].seconds for each in reading.groups.values()] == pytest.approx([900, 800], abs=50)
    assert reading.offsets[T0].end == 10


@pytest.mark.usefixtures("whole")
def test_topics_match_a_pattern() -> None:
    assert lags(read("a", topics_like="orders")) == {"a": []}


@pytest.mark.usefixtures("whole")
def test_pattern_without_a_group_is_a_problem() -> None:
    reading = read("billing")
    assert (reading.groups, reading.is_complete) == ({}, True)
    assert [*reading.problems.values()] == ["no group matches --groups, or the user may not describe it"]


def test_denied_group_is_left_out(whole: WholeCluster) -> None:
    deny_description(whole, "bb")
    reading = read("a|bb")
    assert (lags(reading), reading.is_complete) == ({"a": [9]}, True)
    assert reading.left_out == {"bb": "not authorised to describe the group"}
    assert next(iter(reading.problems.values())) == "left out group bb: not authorised to describe the group"


def test_group_that_is_listed_no_more_is_left_out_if_the_right_to_describe_it_is_lost(
    whole: WholeCluster,
) -> None:
    """A broker lists only groups that the user may describe."""
    reader = reader_of(".*")
    assert lags(reader.read()).keys() == {"a", "bb", "other"}
    deny_description(whole, "bb")
    whole.listed = ["a", "other"]
    for _ in range(2):
        reading = reader.read()
        assert lags(reading).keys() == {"a", "other"}
        assert reading.left_out == {"bb": "not authorised to describe the group"}


def test_deleted_group_is_forgotten(whole: WholeCluster) -> None:
    reader = reader_of(".*")
    reader.read()
    missing = GroupIdNotFoundError.errno
    whole.groups.codes = lambda kind, group_id, _: missing * ("Describe" in kind and group_id == "bb")
    whole.groups.partitions = 0  # without its commits, too
    whole.listed = ["a", "other"]
    reading = reader.read()
    assert lags(reading).keys() == {"a", "other"}
    assert not reading.left_out
    assert reader._known == {"a", "other"}


@pytest.mark.usefixtures("whole")
def test_late_response_may_add_owners_while_a_reading_drops_others() -> None:
    """The connection's thread adds them, even after the deadline."""

    class Growing(dict[str, Any]):
        def items(self) -> Any:
            for item in super().items():
                self["late"] = {}
                yield item

    reader = reader_of(".*")
    reader._owners = Growing()
    assert lags(reader.read()).keys() == {"a", "bb", "other"}


def test_group_without_a_coordinator_makes_the_reading_incomplete(whole: WholeCluster) -> None:
    code = CoordinatorNotAvailableError.errno
    whole.groups.codes = lambda _kind, group_id, _: code * (group_id == "bb")
    reading = read("a|bb")
    assert (lags(reading), reading.is_complete) == ({"a": [9]}, False)
    assert reading.left_out.keys() == {"bb"}


def failing(failed_kind: str, error: KafkaError) -> Callable[..., None]:
    """Return faults of all requests of a kind."""

    def fail(kind: str, *_: object) -> None:
        if kind == failed_kind:
            raise error

    return fail


@pytest.mark.parametrize(
    ("faults", "is_open"),
    [
        (failing("Fetch", SILENT), False),
        (failing("Fetch", REFUSED), False),
        (errors("Fetch", {T0: TopicAuthorizationFailedError.errno}), True),
    ],
    ids=["silent", "refused", "denied"],
)
def test_timestamp_that_a_broker_does_not_return_leaves_the_offsets_complete(
    whole: WholeCluster, faults: Callable[..., Any], is_open: bool
) -> None:
    whole.logs.faults = faults
    reading = read("a")
    assert (lags(reading), reading.is_complete, reading.groups["a"][0].seconds) == ({"a": [9]}, True, None)
    assert whole.is_open is is_open


def test_reading_without_seconds_reads_no_record(whole: WholeCluster) -> None:
    reading = ClusterReader({}, [re.compile("a")], [re.compile(".*")], 30, with_seconds=False).read()
    assert (lags(reading), reading.is_complete, reading.problems) == ({"a": [9]}, True, {})
    assert reading.groups["a"][0].seconds is None
    assert whole.logs.asked["Fetch"] == 0


def test_ages_belong_to_the_moment_when_the_commits_were_read(
    whole: WholeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests for ends and records may take seconds, which are no lag."""
    plain = group_offsets.read_groups

    def slow(*args: Any, **options: Any) -> GroupsReading:
        reading = plain(*args, **options)
        return replace(reading, read_at={name: at - 20 for name, at in reading.read_at.items()})

    (fresh,) = read("a").groups["a"]
    monkeypatch.setattr(fetch, "read_groups", slow)
    whole.shut()
    (late,) = read("a").groups["a"]
    assert fresh.seconds is not None
    assert late.seconds == pytest.approx(fresh.seconds - 20, abs=10)


# --- from reading to reading ---


def test_complete_readings_share_a_connection(whole: WholeCluster) -> None:
    reader = reader_of("a|new")
    assert lags(reader.read()) == {"a": [9]}
    whole.groups.coordinators["new"] = 2  # a broker that joins the cluster
    assert lags(reader.read()) == {"a": [9], "new": [7]}
    assert (whole.connected, whole.is_open) == (1, True)


def test_connection_keeps_no_names_of_groups(whole: WholeCluster) -> None:
    reader_of(".*").read()
    assert whole.kept == {""}


def test_leaders_of_deleted_topics_are_forgotten(whole: WholeCluster) -> None:
    reader = reader_of("a")
    reader.read()
    whole.leaders[TopicPartition("deleted", 0)] = 1
    reader.read()
    assert whole.leaders.keys() == {T0}


def test_only_a_silent_or_denying_broker_ends_the_connection(whole: WholeCluster) -> None:
    reader = reader_of("a")
    whole.logs.faults = errors("ListOffsets", {T0: LeaderNotAvailableError.errno})
    reading = reader.read()
    assert (lags(reading), reading.is_complete, whole.is_open) == ({"a": [None]}, False, True)
    assert [*reading.problems.values()] == ["offsets unknown of t-0: LeaderNotAvailable"]
    whole.logs.faults = failing("ListOffsets", SILENT)
    assert (reader.read().is_complete, whole.is_open) == (False, False)
    whole.list_error = ClusterAuthorizationFailedError.errno
    with pytest.raises(LagDeniedError, match="denies access"):
        reader.read()
    assert (whole.connected, whole.is_open) == (2, False)


def test_connection_whose_brokers_are_away_is_replaced(whole: WholeCluster) -> None:
    reader = reader_of("a")
    reader.read()
    whole.refresh_error = NodeNotReadyError("metadata")
    assert reader.read().is_complete
    assert whole.connected == 2


def test_oldest_unread_record_is_read_once_for_each_offset(whole: WholeCluster) -> None:
    reader = reader_of("a|bb")

    def fetched() -> tuple[int, list[float | None]]:
        """Read; return the number of records that were fetched, and the ages in seconds."""
        before = whole.logs.asked["Fetch"]
        reading = reader.read()
        ages = [each[0].seconds for each in reading.groups.values()]
        return whole.logs.asked["Fetch"] - before, ages

    (first, ages), (second, later) = fetched(), fetched()
    assert (first, second) == (2, 0)
    assert later == pytest.approx(ages, abs=5)
    assert later > ages
    whole.logs.logs[T0] = (3, 10)  # the next records of both groups are deleted
    count, ages = fetched()
    assert count == 1
    assert ages == pytest.approx([700, 700], abs=5)
    whole.logs.logs[T0] = (0, 10)  # the topic is made again
    assert fetched()[0] == 2
    whole.logs.faults = errors("ListOffsets", {T0: LeaderNotAvailableError.errno})
    assert fetched() == (0, [None, None])
    whole.logs.faults = lambda *_: None
    assert fetched()[0] == 2, "nothing is kept of a partition that is gone"


def test_offset_without_a_record_is_read_again(whole: WholeCluster) -> None:
    """Only the marker of a transaction follows; a record may come."""
    reader = reader_of("a")
    whole.logs.logs[T0] = (0, 2)
    whole.logs.batches[T0] = [(1, marker(1, 7, commit=True))]
    for _ in range(2):
        assert reader.read().groups["a"][0].seconds == 0
    assert whole.logs.asked["Fetch"] == 2


def test_partition_without_seconds_is_read_first_in_the_next_reading(whole: WholeCluster) -> None:
    """Otherwise the last partitions never have seconds if there is no time for all."""
    other = TopicPartition("t", 1)
    whole.groups.partitions = 2
    whole.logs.logs[other], whole.logs.leaders[other] = (0, 10), 1
    whole.logs.batches[other] = whole.logs.batches[T0]
    order: list[list[int]] = []
    answer = whole.logs.answer

    def noting(request: Any, node: int | None, timeout_ms: float) -> Any:
        if isinstance(request, FetchRequest):
            order.append([each.partition for each in request.topics[0].partitions])
        return answer(request, node, timeout_ms)

    whole.logs.answer = noting  # type: ignore[method-assign]
    whole.logs.faults = errors("Fetch", {other: TopicAuthorizationFailedError.errno})
    reader = reader_of("a")
    reader.read()
    whole.logs.logs[T0] = (3, 10)  # so that this record is read again
    reader.read()
    assert order == [[0, 1], [1, 0]]
