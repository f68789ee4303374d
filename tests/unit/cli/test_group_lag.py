"""Which partitions of a group count, for ``lag``, ``watch`` and ``exporter``."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_assignors.cli.group_lag import owners_of, partitions_of
from kafka_assignors.lag.fetch.group import GroupMember, GroupState
from kafka_assignors.plan import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
OLD = TopicPartition("old", 0)
MEMBER = GroupMember("m-1", None, "m", "10.0.0.7", (T0,))
STABLE = GroupState("g", "Stable", "range", (MEMBER,), {T0: 5, T1: 6, OLD: 7})
EMPTY = GroupState("g", "Empty", "", (), STABLE.commits)


def test_partition_without_an_owner_counts_if_its_topic_is_read() -> None:
    """A cooperative round holds a partition back; a topic that no member reads only grows its lag."""
    assert partitions_of(STABLE, owners_of(STABLE, {})) == {T0, T1}


def test_topic_without_an_owner_counts_if_a_member_subscribes_to_it() -> None:
    state = replace(STABLE, members=(replace(MEMBER, topics=frozenset({"old", "t"})),))
    assert partitions_of(state, owners_of(state)) == {T0, T1, OLD}


@pytest.mark.parametrize("state", [EMPTY, replace(STABLE, members=(replace(MEMBER, readable=False),))])
def test_all_commits_count_if_owners_are_not_known(state: GroupState) -> None:
    assert partitions_of(state, owners_of(state, {})) == {T0, T1, OLD}


@pytest.mark.parametrize("name", ["PreparingRebalance", "CompletingRebalance"])
def test_owners_stay_while_a_group_rebalances(name: str) -> None:
    before = owners_of(STABLE, {})
    during = replace(STABLE, state=name, members=(replace(MEMBER, owned=()),))
    assert owners_of(during, before) == before == {T0: MEMBER}
    assert owners_of(EMPTY, before) == {}
