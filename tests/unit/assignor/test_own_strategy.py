"""The leader with a user's own strategy: dictionaries are a plan, and an invalid plan costs one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kafka_assignors import (
    Assignor,
    Claims,
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    Group,
    Planned,
    PlanReport,
    RebalanceProtocol,
)
from kafka_assignors.assignor.members import MemberReport
from kafka_assignors.plan import Assignment, Ownership, plan_range
from kafka_assignors.strategies import STRATEGIES
from tests.support.group.joining import cluster, joined, own, plan_of, raw
from tests.support.group.own_strategies import ToAStranger, ToTheFirst
from tests.support.logged import warnings

TOPICS = {"t": 2}


class CooperativeToAStranger(ToAStranger):
    """The same, cooperative."""

    protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)


def test_plain_dictionaries_are_a_plan(caplog: pytest.LogCaptureFixture) -> None:
    reports: list[PlanReport] = []
    leader = ToTheFirst(on_plan=reports.append)
    plan = plan_of(leader.assign(cluster(TOPICS), [joined(m, raw(["t"])) for m in "ab"]))
    assert plan == {"a": {"t": [0, 1]}, "b": {}}
    assert reports[0].target == plan
    assert not warnings(caplog)


def test_invalid_plan_costs_one_line_and_the_group_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    plan = plan_of(ToAStranger().assign(cluster(TOPICS), [joined(m, raw(["t"])) for m in "ab"]))
    assert plan == {"a": {"t": [0]}, "b": {"t": [1]}}
    assert warnings(caplog) == [
        "to-a-stranger: invalid plan: stranger is no member of the group; falling back to ranges"
    ]
    assert not any(record.exc_info for record in caplog.records)


def test_fallback_of_a_cooperative_strategy_waits_for_revocations() -> None:
    """No partition has two owners, though the plan is not the strategy's."""
    holder = CooperativeToAStranger()
    own(holder, {"t": [0, 1]}, 1)
    members = [joined("a", holder.metadata(["t"])), joined("b", raw(["t"]))]
    assert plan_of(CooperativeToAStranger().assign(cluster(TOPICS), members)) == {"a": {"t": [0]}, "b": {}}


def test_invalid_plan_of_contested_partitions_costs_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """Ranges give t-0 to a, but a claimant keeps it, so the fallback plans twice."""
    b, c = CooperativeToAStranger(), CooperativeToAStranger()
    for claimant in (b, c):
        own(claimant, {"t": [0]}, 1)
    members = [joined("a", raw(["t"])), joined("b", b.metadata(["t"])), joined("c", c.metadata(["t"]))]
    plan = plan_of(CooperativeToAStranger().assign(cluster(TOPICS), members))
    assert plan == {"a": {}, "b": {"t": [0, 1]}, "c": {}}
    assert len([line for line in warnings(caplog) if "falling back" in line]) == 1


@pytest.mark.parametrize(
    "planner",
    [
        lambda _: None,
        lambda _: {"a": {"t": object()}},
        lambda group: Assignment(group, plan_range(group).owners[:1]),
    ],
    ids=["none", "objects", "short array"],
)
def test_any_fault_of_a_plan_is_survived(
    planner: Callable[[Group], Any], caplog: pytest.LogCaptureFixture
) -> None:
    class Mine(Assignor):
        name = "mine"

        def plan(self, group: Group, claims: Claims) -> Planned:
            made: Planned = planner(group)
            return made

    assert plan_of(Mine().assign(cluster(TOPICS), [joined("a", raw(["t"]))])) == {"a": {"t": [0, 1]}}
    assert len(warnings(caplog)) == 1


class InJson(CooperativeStickyAssignor):
    """Its members send JSON."""

    name = "in-json"

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        return b'{"priority": 1}'

    def decode_user_data(self, user_data: bytes) -> MemberReport:
        sent = json.loads(user_data)
        return sent and MemberReport(priority=sent["priority"])


@pytest.mark.parametrize(
    ("user_data", "error"), [(b"no JSON", "JSONDecodeError: Expecting value"), (b"null", "AttributeError: ")]
)
def test_member_whose_user_data_raises_any_error_costs_one_warning_and_the_group_is_planned(
    user_data: bytes, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Ranges would move t-1 to b."""
    a = InJson()
    own(a, {"t": [1]}, 1)
    members = [joined("a", a.metadata(["t"])), joined("b", raw(["t"], user_data))]
    assert plan_of(InJson().assign(cluster(TOPICS), members)) == {"a": {"t": [1]}, "b": {"t": [0]}}
    (warning,) = warnings(caplog)
    assert f"member b sent user data that cannot be read ({error}" in warning


def test_member_joins_without_user_data_if_these_cannot_be_encoded(caplog: pytest.LogCaptureFixture) -> None:
    """An error would end the consumer's ``poll()``, at each join."""

    class Failing(InJson):
        def user_data(self, revoked: Ownership, generation: int) -> bytes:
            raise KeyError("no such zone")

    a = Failing()
    own(a, {"t": [1]}, 1)
    members = [joined("a", a.metadata(["t"])), joined("b", raw(["t"]))]
    assert "in-json: encoding the user data failed" in caplog.text
    assert plan_of(Failing().assign(cluster(TOPICS), members)) == {"a": {"t": [1]}, "b": {"t": [0]}}


def test_plan_that_writes_into_the_claims_leaves_the_leaders_claims_alone() -> None:
    """The leader holds back what a owns, and counts what moves."""

    class InPlace(CooperativeToAStranger):
        def plan(self, group: Group, claims: Claims) -> Planned:
            owners = claims.owner
            owners[0] = 1
            claims.holder[:] = -1
            return Assignment(group, owners)

    reports: list[PlanReport] = []
    a = InPlace()
    own(a, {"t": [0, 1]}, 1)
    members = [joined("a", a.metadata(["t"])), joined("b", raw(["t"]))]
    plan = plan_of(InPlace(on_plan=reports.append).assign(cluster(TOPICS), members))
    assert plan == {"a": {"t": [1]}, "b": {}}
    assert (reports[0].metrics.kept, reports[0].metrics.moved) == (1, 1)


def test_plan_that_writes_into_the_lags_leaves_the_measured_load_alone() -> None:
    """The skew watcher would take the difference for an improvement, again and again."""

    class IgnoresSmallLag(CooperativeLagAwareAssignor):
        def plan(self, group: Group, claims: Claims) -> Assignment:
            group.lag[group.lag < 100] = 0
            return super().plan(group, claims)

    reports: list[PlanReport] = []
    leader = IgnoresSmallLag(
        on_plan=reports.append, lag_source=lambda partitions: dict.fromkeys(partitions, 5)
    )
    leader.assign(cluster(TOPICS), [joined(m, raw(["t"])) for m in "ab"])
    leader.close()
    assert reports[0].metrics.max_load == 5


def test_plans_of_this_package_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests prove them; in a large group the check takes some milliseconds."""

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("kafka_assignors.assignor.hooks.as_assignment", refuse)
    for kind in STRATEGIES.values():
        plan = plan_of(kind().assign(cluster(TOPICS), [joined("a", kind().metadata(["t"]))]))
        assert plan == {"a": {"t": [0, 1]}}
