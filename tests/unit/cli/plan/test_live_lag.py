"""The lag of a live group, without a cluster: requests, results and notes."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from kafka_assignors.cli.plan import live_lag
from kafka_assignors.cli.plan.live_lag import TIMEOUT_MS, with_live_lag
from kafka_assignors.errors import LagDeniedError, LagError
from kafka_assignors.lag import Offsets, Reading
from kafka_assignors.plan import UNKNOWN_LAG, Group, TopicPartition
from tests.support.plan.builders import member

GROUP = Group((member("m1", owned={"t0": [0, 1]}), member("m2")), {"t0": 2, "t1": 1})
A, B, C = TopicPartition("t0", 0), TopicPartition("t0", 1), TopicPartition("t1", 0)


@pytest.fixture(autouse=True)
def fetcher(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """Stands for the class of the real one."""
    fetcher = Mock()
    monkeypatch.setattr(live_lag, "LagFetcher", fetcher)
    return fetcher


def reading(lags: dict[TopicPartition, int], missing: dict[TopicPartition, str] | None = None) -> Reading:
    return Reading(lags, {tp: Offsets(0, 100, 100 - lag) for tp, lag in lags.items()}, missing or {})


def fetched(
    fetcher: Mock, answer: Reading | LagError, reset: str | None = None, group: Group = GROUP
) -> tuple[Group, list[str]]:
    fetcher.return_value.fetch.side_effect = [answer]
    planned = with_live_lag(group, {"bootstrap_servers": ["h:1"]}, "g", reset)
    fetcher.return_value.close.assert_called_once()
    fetcher.return_value.close.reset_mock()
    return planned


def test_every_partition_is_fetched_once(fetcher: Mock) -> None:
    group, notes = fetched(fetcher, reading({A: 5, B: 0, C: 7}))
    fetcher.assert_called_once_with(
        {"bootstrap_servers": ["h:1"]}, group_id="g", auto_offset_reset="earliest"
    )
    fetcher.return_value.fetch.assert_called_once_with([A, B, C], TIMEOUT_MS)
    assert notes == []
    assert group == Group(GROUP.members, GROUP.topics, lags={"t0": [5, 0], "t1": [7]})


def test_unknown_lags_are_counted_by_reason(fetcher: Mock) -> None:
    group, notes = fetched(fetcher, reading({C: 7}, {A: "no leader", B: "no leader"}))
    assert group.lags == {"t0": [UNKNOWN_LAG, UNKNOWN_LAG], "t1": [7]}
    assert notes == ["no lag for 2 of 3 partitions (no leader: 2); each counts as its topic's mean"]


def test_only_the_most_frequent_reasons_are_noted(fetcher: Mock) -> None:
    many = Group(GROUP.members, {"t": 9})
    why = ["e", "a", "a", "a", "b", "b", "c", "c", "d"]
    missing = {TopicPartition("t", p): reason for p, reason in enumerate(why)}
    _group, notes = fetched(fetcher, reading({}, missing), group=many)
    assert notes == ["no lag for 9 of 9 partitions (a: 3, b: 2, c: 2 and 2 more)"]


def test_without_lag_the_group_is_unchanged(fetcher: Mock) -> None:
    group, notes = fetched(fetcher, LagDeniedError("the cluster denies access: GroupAuthorizationFailed"))
    assert group is GROUP
    assert notes == ["no lag: the cluster denies access: GroupAuthorizationFailed"]


def test_missing_commits_are_noted_unless_reset_is_given(fetcher: Mock) -> None:
    offsets = {A: Offsets(0, 5, None), B: Offsets(None, 0, None), C: Offsets(0, 9, 2)}
    never = Reading({A: 5, B: 0, C: 7}, offsets, {})
    assert fetched(fetcher, never)[1] == [
        "no commit in 1 of 3 partitions: all their records count as lag, as with auto_offset_reset=earliest; "
        "if none should, give --reset latest"
    ]
    assert fetched(fetcher, never, reset="latest")[1] == []
    assert fetcher.call_args.kwargs["auto_offset_reset"] == "latest"
