"""What of a target is given out now."""

from __future__ import annotations

from kafka_assignors.plan import Group, resolve, this_round
from tests.builders import member


def test_a_partition_waits_until_its_holder_let_go() -> None:
    """It is missing from both assignments: the holder revokes it and joins again."""
    group = Group((member("a", owned={"t0": [0, 1]}, holds=True), member("b")), {"t0": 2})
    given, held = this_round(group, resolve(group), {"a": {"t0": [0]}, "b": {"t0": [1]}})
    assert given == {"a": {"t0": [0]}, "b": {}}
    assert held == [("t0", 1)]


def test_what_an_eager_member_had_is_free_at_once() -> None:
    """It revoked everything before it joined; to wait for it would be to wait for ever."""
    group = Group((member("a", owned={"t0": [0, 1]}), member("b")), {"t0": 2})
    target = {"a": {"t0": [0]}, "b": {"t0": [1]}}
    assert this_round(group, resolve(group), target) == (target, [])


def test_a_contested_partition_may_stay_with_one_who_has_it() -> None:
    """The other one sees it missing and lets go; a third member would have to wait for both."""
    group = Group((*(member(m, owned={"t0": [0]}, holds=True) for m in "ab"), member("c")), {"t0": 1})
    claims = resolve(group)
    assert this_round(group, claims, {"a": {}, "b": {"t0": [0]}, "c": {}})[0]["b"] == {"t0": [0]}
    assert this_round(group, claims, {"a": {}, "b": {}, "c": {"t0": [0]}})[1] == [("t0", 0)]
