"""The lag that ``watch`` reads: from the commits of a look and the ends of its partitions."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_assignors.cli import connection
from kafka_assignors.cli.watch_group import source
from kafka_assignors.cli.watch_group.source import GroupLag, GroupSource, Observation
from kafka_assignors.lag import Offsets
from kafka_assignors.lag.fetch.sending import FEW
from kafka_assignors.lag.reading import Reading
from kafka_assignors.plan import TopicPartition
from tests.unit.cli.watch_group.watched import START, TWO, look, snapshot, tps
from tests.unit.lag.whole_cluster import T0, WholeCluster

SETTINGS = {"bootstrap_servers": ["localhost:9092"]}


def test_lag_counts_from_the_commits_of_the_look(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(_link: object, _settings: object, partitions: list[TopicPartition], *_: float, **__: int) -> Any:
        (known,) = tps("orders-0")
        missing = {tp: "no leader" for tp in partitions if tp != known}
        reading = Reading({known: 0}, {known: Offsets(2, 10, None)}, missing)
        return SimpleNamespace(reading=lambda: reading, connection_failed=False)

    monkeypatch.setattr(connection, "connect", lambda *_: SimpleNamespace())
    monkeypatch.setattr(source, "attempt_fetch", lambda *_: None)
    monkeypatch.setattr(source, "EndsFetch", ends)
    view = snapshot(3, *TWO)
    view = replace(view, group=replace(view.group, commits=dict.fromkeys(tps("orders-0"), 4)))
    lag = GroupSource(SETTINGS, "billing", "earliest").read_lag(look(view))
    assert (lag.time_s, lag.lags) == (START + 3, dict.fromkeys(tps("orders-0"), 6))
    assert lag.problem == "lag of 5 partitions unknown, such as orders-1: no leader"


def test_partition_without_a_leader_is_looked_up_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lag of the others does not wait for the deadline."""
    link, without_leader = WholeCluster(), TopicPartition("t", 1)
    link.logs.logs[without_leader] = (0, 5)
    link.logs.leaders[without_leader] = -1
    monkeypatch.setattr(connection, "connect", link.connect)
    view = snapshot(3, *TWO)
    view = replace(view, group=replace(view.group, commits={T0: 4}))
    lag = GroupSource(SETTINGS, "billing", "earliest").read_lag(Observation(view, [T0, without_leader]))
    assert lag.lags == {T0: 6}
    assert lag.problem == "lag of 1 partition unknown, such as t-1: LeaderNotAvailable"
    assert sum(kind == "Metadata" for kind, _ in link.logs.sent) <= FEW + 3


def test_group_without_partitions_has_a_lag_without_a_connection() -> None:
    empty = look(snapshot(0, state="Empty"))
    assert GroupSource(SETTINGS, "billing", "earliest").read_lag(empty) == GroupLag(START)


def test_lag_of_partitions_that_do_not_count_any_more_is_dropped() -> None:
    lag = GroupLag(START, dict.fromkeys(tps("orders-0", "old-0"), 5))
    assert look(snapshot(0, *TWO)).with_lag(lag).lag == GroupLag(START, dict.fromkeys(tps("orders-0"), 5))
