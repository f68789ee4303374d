"""The lag of a live group, without a cluster: requests, results and notes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from kafka_assignors.cli.plan import live_lag
from kafka_assignors.cli.plan.live_lag import TIMEOUT_MS, with_live_lag
from kafka_assignors.errors import LagDeniedError, LagError
from kafka_assignors.lag import Offsets, Reading
from kafka_assignors.plan import UNKNOWN_LAG, Group, TopicPartition
from tests.support.plan.builders import member

GROUP = Group((member("m1", owned={"t0": [0, 1]}), member("m2")), {"t0": 2, "t1": 1})
A, B, C = TopicPartition("t0", 0), TopicPartition("t0", 1), TopicPartition("t1", 0)


class Fetcher:
    """Stands for the real one; the class remembers what was done to its last instance."""

    answer: Reading | LagError = Reading({}, {}, {})
    last: Fetcher

    def __init__(self, settings: Mapping[str, Any], *, group_id: str, auto_offset_reset: str) -> None:
        self.made_with: tuple[object, ...] = (dict(settings), group_id, auto_offset_reset)
        self.closed = False
        Fetcher.last = self

    def fetch(self, partitions: Collection[TopicPartition], timeout_ms: float) -> Reading:
        self.asked: tuple[object, ...] = (list(partitions), timeout_ms)
        if isinstance(self.answer, LagError):
            raise self.answer
        return self.answer

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_lag, "LagFetcher", Fetcher)


def fetched(answer: Reading | LagError, reset: str | None = None) -> tuple[Group, list[str]]:
    Fetcher.answer = answer
    group, notes = with_live_lag(GROUP, {"bootstrap_servers": ["h:1"]}, "g", reset)
    assert Fetcher.last.closed
    return group, notes


def reading(lags: dict[TopicPartition, int], missing: dict[TopicPartition, str] | None = None) -> Reading:
    return Reading(lags, {tp: Offsets(0, 100, 100 - lag) for tp, lag in lags.items()}, missing or {})


def test_every_partition_is_fetched_once() -> None:
    group, notes = fetched(reading({A: 5, B: 0, C: 7}))
    assert Fetcher.last.made_with == ({"bootstrap_servers": ["h:1"]}, "g", "earliest")
    assert Fetcher.last.asked == ([A, B, C], TIMEOUT_MS)
    assert notes == []
    assert group == Group(GROUP.members, GROUP.topics, lags={"t0": [5, 0], "t1": [7]})


def test_unknown_lags_are_counted_by_reason() -> None:
    group, notes = fetched(reading({C: 7}, {A: "no leader", B: "no leader"}))
    assert group.lags == {"t0": [UNKNOWN_LAG, UNKNOWN_LAG], "t1": [7]}
    assert notes == ["no lag for 2 of 3 partitions (no leader: 2); each counts as its topic's mean"]


def test_only_the_most_frequent_reasons_are_noted() -> None:
    many = Group(GROUP.members, {"t": 9})
    why = ["e", "a", "a", "a", "b", "b", "c", "c", "d"]
    Fetcher.answer = reading({}, {TopicPartition("t", p): reason for p, reason in enumerate(why)})
    _group, notes = with_live_lag(many, {}, "g", None)
    assert notes == ["no lag for 9 of 9 partitions (a: 3, b: 2, c: 2 and 2 more)"]


def test_without_lag_the_group_is_unchanged() -> None:
    group, notes = fetched(LagDeniedError("the cluster denies access: GroupAuthorizationFailed"))
    assert group is GROUP
    assert notes == ["no lag: the cluster denies access: GroupAuthorizationFailed"]


def test_missing_commits_are_noted_unless_reset_is_given() -> None:
    never = Reading(
        {A: 5, B: 0, C: 7},
        {A: Offsets(0, 5, None), B: Offsets(None, 0, None), C: Offsets(0, 9, 2)},
        {},
    )
    assert fetched(never)[1] == [
        "no commit in 1 of 3 partitions: all their records count as lag, as with auto_offset_reset=earliest; "
        "if none should, give --reset latest"
    ]
    assert fetched(never, reset="latest")[1] == []
    assert Fetcher.last.made_with[2] == "latest"
