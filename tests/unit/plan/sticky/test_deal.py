"""Convert partitions to counts and back."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_assignors.plan import Group, model, plan_sticky, resolve
from kafka_assignors.plan.sticky.deal import Lots, deal
from tests.support.plan.builders import member


def test_a_member_keeps_the_lowest_of_its_partitions() -> None:
    group = Group((member("a", owned={"t0": [5, 1, 3]}), member("b")), {"t0": 6})
    lots = Lots(group, resolve(group).owner)
    owners = deal(lots, np.array([[2, 4]]))
    assert owners.tolist() == [1, 0, 1, 0, 1, 1]


def test_turns_skip_members_with_full_shares() -> None:
    """Three rounds: all members, then those whose share is not full."""
    group = Group(tuple(member(m) for m in "abc"), {"t0": 6})
    owners = deal(Lots(group), np.array([[1, 3, 2]]))
    assert owners.tolist() == [0, 1, 2, 1, 2, 1]


def test_a_member_without_existing_topics_is_no_column() -> None:
    group = Group((member("a", ["gone"]), member("b"), member("c", [])), {"t0": 2, "unwanted": 3, "empty": 0})
    lots = Lots(group)
    assert lots.members.tolist() == [1]
    assert [group.names[topic] for topic in lots.topic_of_lot] == ["t0"]
    assert [group.at(p) for p in lots.partitions.tolist()] == [("t0", 0), ("t0", 1)]


def test_too_many_lots_make_the_plan_ignore_racks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader must not run out of memory for locality, so it plans as without racks."""
    racks = {"t0": [frozenset("x"), frozenset("y")] * 3}
    members = tuple(member(m, owned={"t0": [i]}, rack="xy"[i]) for i, m in enumerate("ab"))
    with_racks, without = Group(members, {"t0": 6}, racks), Group(members, {"t0": 6})
    assert Lots(with_racks).away is not None
    monkeypatch.setattr(model, "MOST_CELLS", 4)  # two pairs of a topic and a set of racks, times two members
    assert Lots(Group(members, {"t0": 6}, racks)).away is not None
    monkeypatch.setattr(model, "MOST_CELLS", 3)
    with_racks = Group(members, {"t0": 6}, racks)
    assert Lots(with_racks).away is None
    assert plan_sticky(with_racks, resolve(with_racks)) == plan_sticky(without, resolve(without))
