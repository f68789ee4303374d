"""Offsets of several groups over one connection, for samples."""

from __future__ import annotations

import re
import time

import pytest
from kafka.errors import (
    CoordinatorNotAvailableError,
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    KafkaTimeoutError,
)

from kafka_assignors.errors import LagError, LagUnreachableError
from kafka_assignors.lag import Offsets
from kafka_assignors.lag.fetch.group_offsets import GroupOffsets, fetch_groups, find_groups
from tests.unit.lag.whole_cluster import T0, WholeCluster


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> WholeCluster:
    link = WholeCluster("a", "bb", "empty")
    monkeypatch.setattr("kafka_assignors.lag.fetch.link.connect", link.connect)
    return link


def fetch(*names: str, topics_like: str = ".*") -> dict[str, GroupOffsets]:
    return {each.group_id: each for each in fetch_groups({}, names, 500, re.compile(topics_like))}


def test_offsets_of_groups_have_the_time_at_which_they_were_read(whole: WholeCluster) -> None:
    groups = fetch("a", "bb", "a")
    assert {name: each.offsets for name, each in groups.items()} == {
        "a": {T0: Offsets(0, 10, 1)},
        "bb": {T0: Offsets(0, 10, 2)},
    }
    assert groups["a"].seen_at[T0] == pytest.approx(time.time(), abs=60)
    assert (groups["a"].missing, groups["a"].problem) == ({}, None)
    assert not whole.is_open


@pytest.mark.usefixtures("whole")
def test_topics_match_a_pattern() -> None:
    assert fetch("a", topics_like="orders") == {"a": GroupOffsets("a")}


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (GroupAuthorizationFailedError.errno, "not authorised to describe the group"),
        (GroupIdNotFoundError.errno, "no such group"),
        (CoordinatorNotAvailableError.errno, "CoordinatorNotAvailableError"),
    ],
)
def test_group_that_is_not_known_has_a_problem(whole: WholeCluster, code: int, problem: str) -> None:
    whole.groups.codes = lambda kind, group_id, _: code * ((kind, group_id) == ("DescribeGroups", "empty"))
    groups = fetch("empty", "a")
    assert problem in str(groups["empty"].problem)
    assert groups["a"].problem is None


def test_silent_leader_is_a_problem_of_the_group(whole: WholeCluster) -> None:
    def silent(kind: str, *_: object) -> None:
        if kind == "ListOffsets":
            raise KafkaTimeoutError("no response")

    whole.logs.faults = silent
    assert "did not answer in time" in str(fetch("a")["a"].problem)


def test_another_cluster_is_a_problem_and_is_not_read(whole: WholeCluster) -> None:
    """Behind the same address, for example after the cluster was created again."""
    whole.cluster_id = "c2"
    assert fetch_groups({}, ["a"], 500, cluster="c2")[0].problem is None
    assert fetch_groups({}, ["a"], 500, cluster="c1") == [
        GroupOffsets("a", problem="another cluster answers: c2")
    ]
    assert whole.connected == 2, "it is asked once"
    with pytest.raises(LagError, match="another cluster answers: c2"):
        find_groups({}, re.compile("a"), 500, "c1")


def test_cluster_that_is_away_is_asked_until_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def connect(*_: object) -> None:
        asked.append(1)
        raise LagUnreachableError("away")

    monkeypatch.setattr("kafka_assignors.lag.fetch.link.connect", connect)
    assert fetch("a", "b") == {name: GroupOffsets(name, problem="away") for name in ("a", "b")}
    assert len(asked) > 1
