"""``FailoverAssignor``: its options, its user data, and the claims it accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from kafka_assignors import ConfigurationError, FailoverAssignor, PlanReport
from kafka_assignors.plan import NO_GENERATION
from kafka_assignors.wire import failover_user_data, history
from tests.support.group.joining import Plan, cluster, joined, own, plan_of, raw
from tests.support.logged import warnings

TOPICS = {"t": 3, "u": 2}
Owned = Mapping[str, Sequence[int]]


def sends(priority: int | None, owned: Owned | None = None, generation: int = NO_GENERATION) -> object:
    """The subscription of a member with this last assignment."""
    assignor = FailoverAssignor(priority=priority)
    if owned is not None:
        own(assignor, owned, generation)
    return assignor.metadata(TOPICS)


def active(plan: Plan) -> str:
    """The member that owns all partitions."""
    (name,) = (name for name, topics in plan.items() if topics)
    assert plan[name] == {topic: list(range(count)) for topic, count in TOPICS.items()}
    return name


def chosen(members: Mapping[str, object], *, preempt: bool = True) -> str:
    """Return the member that a leader makes active."""
    leader = FailoverAssignor(preempt=preempt)
    return active(
        plan_of(leader.assign(cluster(TOPICS), [joined(name, sent) for name, sent in members.items()]))
    )


# --- options -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ({}, 2**31 - 1),
        ({"priority": 10}, 10),
        ({"priority": 0}, 0),
        ({"priority": -(2**31)}, -(2**31)),
        ({"assignment_consumer_priority": 10}, 10),
        ({"assignment_consumer_priority": 0}, 0),
        ({"priority": 3, "assignment_consumer_priority": 3}, 3),
    ],
)
def test_priority_can_be_set_by_either_name(options: dict[str, int], sent: int) -> None:
    data = FailoverAssignor.configured(**options)().metadata(TOPICS).user_data
    assert (len(data), failover_user_data.decode_priority(data)) == (4, sent)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"priority": 2**31}, "priority"),
        ({"priority": -(2**31) - 1}, "priority"),
        ({"priority": "ten"}, "priority"),
        ({"priority": True}, "priority"),
        ({"priority": 1.5}, "priority"),
        ({"assignment_consumer_priority": 2**31}, "assignment_consumer_priority"),
        ({"priority": 1, "assignment_consumer_priority": 2}, "assignment_consumer_priority"),
        ({"preempt": 0}, "preempt"),
        ({"preempt": None}, "preempt"),
        ({"rack": ""}, "rack"),
    ],
)
def test_wrong_options_are_refused_by_name(options: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        FailoverAssignor.configured(**options)
    assert error.value.option == named


def test_two_names_that_differ_are_refused_when_configured_one_after_the_other() -> None:
    with pytest.raises(ConfigurationError, match="but is 2 while priority is 1"):
        FailoverAssignor.configured(priority=1).configured(assignment_consumer_priority=2)


# --- the active member --------------------------------------------------------------------------------------


def test_the_highest_priority_is_active_and_the_default_is_the_highest_there_is() -> None:
    assert chosen({"a": sends(1), "b": sends(2)}) == "b"
    assert chosen({"a": sends(2**31 - 2), "b": sends(None)}) == "b"
    assert chosen({"a": sends(1), "java": raw(TOPICS, b"\x00\x00\x00\x02")}) == "java"


@pytest.mark.parametrize("preempt", [True, False])
def test_active_member_stays_without_preemption(preempt: bool) -> None:
    members = {"a": sends(1, {"t": [0, 1, 2], "u": [0, 1]}, 4), "b": sends(9, {}, 4), "c": sends(9)}
    assert chosen(members, preempt=preempt) == ("b" if preempt else "a")


def test_zombie_does_not_become_active() -> None:
    """It was active and lost its membership; generations decide."""
    everything = {"t": [0, 1, 2], "u": [0, 1]}
    members = {"zombie": sends(9, everything, 4), "a": sends(1, everything, 6)}
    assert chosen(members, preempt=False) == "a"


def test_active_member_is_known_from_an_assignment_of_another_strategy() -> None:
    """It sends revoked partitions behind its priority, and claims none."""
    assignor = FailoverAssignor(priority=7)
    own(assignor, {"t": [0, 2]}, 5)
    sent = assignor.metadata(TOPICS)
    assert not sent.owned_partitions
    assert failover_user_data.decode_priority(sent.user_data) == 7
    assert failover_user_data.decode_history(sent.user_data) == ({"t": [0, 2]}, 5)


# --- unreadable priorities ----------------------------------------------------------------------------------


@pytest.mark.parametrize("user_data", [None, b"", b"\x7f\xff\xff"])
@pytest.mark.parametrize("preempt", [True, False])
def test_member_without_a_readable_priority_ranks_last_with_one_warning(
    user_data: bytes | None, preempt: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """It ranks behind the lowest priority, but it can become active."""
    broken = raw(TOPICS, user_data)
    assert chosen({"broken": broken, "z": sends(-(2**31))}, preempt=preempt) == "z"
    (warning,) = warnings(caplog)
    assert (
        "failover: member broken sent user data that cannot be read (failover user data: needs 4" in warning
    )
    assert chosen({"broken": broken}, preempt=preempt) == "broken"


@pytest.mark.parametrize(
    "behind",
    [b"\x00", b"\x00\x07" + bytes(8), history.encode({"t": [0, 1]}, 4)[:-1], b"\x5a" * 900_000],
    ids=["short", "another version", "cut", "junk"],
)
def test_priority_counts_even_if_the_history_cannot_be_read(
    behind: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    broken = raw(TOPICS, failover_user_data.encode(9) + behind)
    assert chosen({"a": sends(1), "broken": broken}) == "broken"
    (warning,) = warnings(caplog)
    assert "failover: member broken sent user data of which a part cannot be read (history: " in warning
    owner = sends(1, {"t": [0, 1, 2], "u": [0, 1]}, 4)
    assert chosen({"a": owner, "broken": broken}, preempt=False) == "a"


def test_claims_of_two_active_members_cancel_out(caplog: pytest.LogCaptureFixture) -> None:
    everything = {"t": [0, 1, 2], "u": [0, 1]}
    members = {"a": sends(1, everything, 4), "b": sends(2, everything, 4), "c": sends(3)}
    assert chosen(members, preempt=False) == "c"
    (warning,) = warnings(caplog)
    assert "member b claims 5 partitions that others (a) claim in the same generation" in warning


@pytest.mark.parametrize("broken", ["strategies.failover.plan_failover", "assignor.base.resolve"])
def test_fallback_makes_one_active_member(
    broken: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The fallback of other strategies is ranges, which make several members active."""

    def fails(*_args: object, **_options: object) -> None:
        raise ZeroDivisionError

    members = {name: sends(1) for name in "bac"}
    monkeypatch.setattr(f"kafka_assignors.{broken}", fails)
    assert chosen(members) == "a"
    assert "falling back to the most senior member" in caplog.text
    leader = FailoverAssignor()
    group = [joined("a", sends(1)), joined("b", sends(1), "static")]
    assert active(plan_of(leader.assign(cluster(TOPICS), group))) == "b", "static members are senior"


# --- reasons -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preempt", "reasons"),
    [
        (True, {"moved to the highest priority: a": 4, "no owner before": 1}),
        (False, {"stays with the active member": 4, "no owner before": 1}),
    ],
)
def test_report_uses_failovers_reasons(preempt: bool, reasons: dict[str, int]) -> None:
    """Racks never decide."""
    reports: list[PlanReport] = []
    leader = FailoverAssignor(preempt=preempt, on_plan=reports.append)
    a, b = FailoverAssignor(priority=1, rack="y"), FailoverAssignor(priority=2, rack="x")
    own(a, {"t": [0, 1], "u": [0, 1]}, 4)
    members = [joined("a", a.metadata(TOPICS)), joined("b", b.metadata(TOPICS))]
    leader.assign(cluster(TOPICS, ("x",)), members)
    reasons_given = [str(why) for why in reports[0].why()]
    assert {reason: reasons_given.count(reason) for reason in reasons_given} == reasons


def test_subscriptions_that_became_equal_move_to_one_active() -> None:
    reports: list[PlanReport] = []
    leader = FailoverAssignor(preempt=False, on_plan=reports.append)
    members = {"a": sends(1, {"t": [0, 1, 2]}, 4), "b": sends(9, {"u": [0, 1]}, 4)}
    leader.assign(cluster(TOPICS), [joined(name, sent) for name, sent in members.items()])
    reasons_given = [str(why) for why in reports[0].why()]
    assert reasons_given == ["stays with the active member"] * 3 + ["moved to the active member: b"] * 2
