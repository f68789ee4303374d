"""The causes of a rebalance, as the leader reports and logs them."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

import pytest
from kafka.metrics import Metrics
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors import Assignor, CooperativeStickyAssignor, PlanReport, RangeAssignor, StickyAssignor
from kafka_assignors.assignor import causes as causes_module
from kafka_assignors.assignor import convert
from kafka_assignors.assignor.coordinator_access.access import CoordinatorAccess
from kafka_assignors.metrics import Recorder
from kafka_assignors.plan.cause import Cause
from tests.support.examples import ROOT
from tests.support.group.joining import cluster, joined, own, raw
from tests.unit.conftest import MakeConsumer

UUIDS = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(10)]
EAGER: list[type[Assignor]] = [RangeAssignor, StickyAssignor]


class GroupOfMembers:
    """Members of one group in one process; ``round`` returns the causes that its leader reports.

    Attributes:
        members: member id -> (assignor, topics, instance id).
        topics: topic -> number of partitions.
    """

    def __init__(self, kind: type[Assignor] = CooperativeStickyAssignor) -> None:
        self.kind = kind
        self.reports: list[PlanReport] = []
        self.members: dict[str, tuple[Assignor, tuple[str, ...], str | None]] = {}
        self.topics: dict[str, int] = {"t": 4}
        self.generation = 0
        self.leader = "a"

    def join(self, member_id: str, *topics: str, instance_id: str | None = None) -> Assignor:
        """Add a member."""
        assignor = self.kind(on_plan=self.reports.append)
        self.members[member_id] = assignor, topics or ("t",), instance_id
        return assignor

    def lead(self) -> Assignor:
        """Return the leader's assignor, which knows its own member id and the leader of each generation."""
        return self.members[self.leader][0]

    def plan(self) -> list[str]:
        """Let all members join and the leader plan; no member gets its assignment."""
        joining = [
            joined(member_id, assignor.metadata(topics), instance_id)
            for member_id, (assignor, topics, instance_id) in self.members.items()
        ]
        self.lead()._access.member_id = lambda: self.leader  # type: ignore[method-assign]
        self.given = self.lead().assign(cluster(self.topics), joining)
        return [str(cause) for cause in self.reports[-1].causes] if self.reports else []

    def round(self) -> list[str]:
        """Run one round."""
        causes, leader = self.plan(), self.leader
        self.generation += 1
        for member_id, (assignor, _topics, _instance_id) in self.members.items():
            assignor._access.leader_id = lambda: leader  # type: ignore[method-assign]
            part = ConsumerProtocolAssignment.decode(self.given[member_id].encode())
            assignor.on_assignment(part, self.generation)
        return causes

    def settled(self, *member_ids: str) -> GroupOfMembers:
        """Let members join, and run rounds until a rebalance would have no cause."""
        for member_id in member_ids:
            self.join(member_id)
        while self.round() != ["unknown"]:
            pass
        return self


def ids(*names: str) -> list[str]:
    return [f"{name}-{uuid}" for name, uuid in zip(names, UUIDS, strict=False)]


@pytest.fixture
def group() -> GroupOfMembers:
    return GroupOfMembers().settled("a", "b")


def test_member_joined_and_then_the_second_round(group: GroupOfMembers) -> None:
    group.join("c")
    assert group.round() == ["joined (c)"]
    assert group.round() == ["second-round"]
    assert group.round() == ["unknown"]


def test_member_that_joins_in_the_second_round_comes_first(group: GroupOfMembers) -> None:
    group.join("c")
    group.round()
    group.join("d")
    assert group.round() == ["joined (d)", "second-round"]


@pytest.mark.parametrize(
    ("session_s", "poll_interval_s", "since_s", "expected"),
    [
        (45.0, 300.0, 44.0, "left (b)"),
        (45.0, 300.0, 46.0, "gone (b)"),
        (45.0, 0.5, 1.0, "gone (b)"),
        (None, None, 1.0, "gone (b)"),
    ],
)
def test_missing_member_has_left_while_no_membership_can_have_ended(
    session_s: float | None, poll_interval_s: float | None, since_s: float, expected: str
) -> None:
    """The session and the poll interval end one."""
    group = GroupOfMembers()
    now = [100.0]
    leader = group.join("a")
    leader._causes._clock = lambda: now[0]
    leader._access.session_timeout_s = lambda: session_s  # type: ignore[method-assign]
    leader._access.max_poll_interval_s = lambda: poll_interval_s  # type: ignore[method-assign]
    group.settled("b")
    del group.members["b"]
    now[0] += since_s
    assert group.round() == [expected]


def test_static_member_restarted_and_then_was_lost() -> None:
    group = GroupOfMembers()
    group.join("b", instance_id="one")
    group.settled("a")
    del group.members["b"]
    group.join("b2", instance_id="one")
    assert group.round()[0] == "restarted (one)"
    del group.members["b2"]
    assert group.round()[0] == "lost (one)"


@pytest.mark.parametrize(("name", "leader"), [("b", "a"), ("a", "a2")], ids=["follower", "leader"])
def test_running_member_with_a_new_id_rejoined(name: str, leader: str, group: GroupOfMembers) -> None:
    group.members[f"{name}2"] = group.members.pop(name)
    group.leader = leader
    assert group.round() == [f"rejoined ({name}2)", f"gone ({name})"]


def test_last_leader_is_gone_after_it_led_one_rebalance() -> None:
    """This leader led before it, and its generation was then two lower."""
    group = GroupOfMembers()
    for name in "ab":
        group.join(name)._access.generation = lambda: group.generation  # type: ignore[method-assign]
    group.settled()
    group.leader = "b"
    group.round()
    del group.members["b"]
    group.leader = "a"
    assert group.round()[:2] == ["gone (b)", "leader-changed (a)"]


def test_new_process_with_the_client_id_of_the_missing_member_rejoined() -> None:
    a, b, b2 = ids("a", "b", "b")
    group = GroupOfMembers()
    group.leader = a
    group.settled(a, b)
    del group.members[b]
    group.join(b2)
    assert group.round()[0] == f"rejoined ({b2})"


def test_member_changed_its_subscription(group: GroupOfMembers) -> None:
    group.topics["u"] = 2
    assignor, _topics, _instance_id = group.members["b"]
    group.members["b"] = assignor, ("t", "u"), None
    assert group.round() == ["subscription (b: +u)"]


def test_topic_grew_appeared_and_disappeared() -> None:
    group = GroupOfMembers()
    group.topics["v"] = 1
    for name in "ab":
        group.join(name, "t", "u", "v")
    group.settled()
    group.topics = {"t": 6, "u": 1}
    assert group.round() == ["topic-appeared (u)", "topic-grew (t: 4 to 6)", "topic-disappeared (v)"]
    assert group.round() == ["second-round"], "a member revoked the partition of the deleted topic"
    assert group.round() == ["unknown"]


def test_members_that_claim_the_same_partition_lead_to_a_second_round(group: GroupOfMembers) -> None:
    a, b = (group.members[name][0] for name in "ab")
    own(a, {"t": [0, 1]}, group.generation)
    own(b, {"t": [1, 2, 3]}, group.generation)
    group.round()
    assert group.round() == ["second-round"]
    assert group.round() == ["unknown"]


def test_interrupted_second_round_is_still_one(group: GroupOfMembers) -> None:
    group.join("c")
    group.round()
    assert group.plan() == ["second-round"]
    assert group.round() == ["second-round"]


@pytest.mark.parametrize("kind", EAGER, ids=lambda kind: kind.name)
def test_eager_members_revoke_before_they_join_so_there_is_no_second_round(kind: type[Assignor]) -> None:
    group = GroupOfMembers(kind).settled("a", "b")
    group.topics = {"t": 2}
    assert group.round() == ["topic-shrank (t: 4 to 2)"]
    assert group.round() == ["unknown"]


def test_member_of_a_foreign_client_joined(group: GroupOfMembers) -> None:
    """Its subscription has no generation."""
    joining = [joined("a", group.lead().metadata(["t"])), joined("x", raw(["t"], version=0))]
    group.lead().assign(cluster(group.topics), joining)
    assert [str(cause) for cause in group.reports[-1].causes] == ["joined (x)", "gone (b)"]


@pytest.mark.parametrize("cause", [Cause.SKEW, Cause.FORECAST, Cause.STATIC_WATCH])
def test_request_of_the_leader_is_the_cause_of_one_rebalance(
    cause: Cause, group: GroupOfMembers, consumer: MakeConsumer
) -> None:
    made = consumer(CooperativeStickyAssignor)  # a request needs a coordinator
    access = group.lead()._access
    access._coordinator = lambda: made._coordinator  # type: ignore[assignment]
    access.request_rejoin(cause)
    access._coordinator = None
    assert group.round() == [cause.value]
    assert group.round() == ["unknown"]


def test_request_of_a_former_leader_is_not_left_over(group: GroupOfMembers) -> None:
    group.lead()._access.rejoin_causes.add(Cause.SKEW)
    group.leader = "b"
    group.round()
    group.leader = "a"
    assert "skew" not in group.round()


def test_round_after_a_wait_for_metadata(group: GroupOfMembers, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = group.lead()._metadata_wait

    def unlisted(*_args: object) -> dict[str, dict[str, list[int]]]:
        wait.is_waiting = True
        return {}

    with monkeypatch.context() as patched:
        patched.setattr(wait, "unlisted", unlisted)
        group.round()
    assert group.round() == ["metadata"]
    assert group.round() == ["unknown"]


def test_interrupted_round_keeps_its_causes(group: GroupOfMembers) -> None:
    """No member got the plan, so the next round serves the same causes, and new ones."""
    group.join("c")
    assert group.plan() == ["joined (c)"]
    group.join("d")
    assert group.round() == ["joined (c, d)"]


def test_member_that_got_the_plan_of_an_interrupted_round_has_not_rejoined(group: GroupOfMembers) -> None:
    """The leader's own answer was lost; the others have their assignments."""
    new = group.join("c")
    assert group.plan() == ["joined (c)"]
    part = ConsumerProtocolAssignment.decode(group.given["c"].encode())
    new.on_assignment(part, group.generation + 1)
    assert group.round() == ["joined (c)"]
    new.metadata(["t"])
    assert group.round() == ["second-round"]


def test_plan_that_the_members_have_is_not_repeated_as_a_cause(group: GroupOfMembers) -> None:
    """The leader's join ended between two polls, so kafka-python joins again without its assignment."""
    group.settled("c")
    del group.members["c"]
    access = group.lead()._access
    access.generation = lambda: 20  # type: ignore[method-assign]
    assert group.plan() == ["gone (c)"]
    access.synced_generation = lambda: 20  # type: ignore[method-assign]
    access.rejoin_causes.add(Cause.SKEW)
    access.generation = lambda: 21  # type: ignore[method-assign]
    assert group.plan() == ["skew", "repeated"]


def test_new_leader_after_the_former_one_has_gone(group: GroupOfMembers) -> None:
    group.settled("c")
    del group.members["a"]
    group.leader = "b"
    assert group.round() == ["gone (a)", "leader-changed (b)"]


def test_new_leader_of_the_same_group(group: GroupOfMembers) -> None:
    group.leader = "b"
    assert group.round() == ["leader-changed (b)"]
    assert group.round() == ["unknown"]


def test_leader_that_missed_a_generation_knows_as_little_as_a_new_one(group: GroupOfMembers) -> None:
    group.lead()._access.generation = lambda: group.generation + 1  # type: ignore[method-assign]
    assert group.round() == ["unknown"]
    group.generation += 1
    assert group.round() == ["leader-changed (a)"]


def test_new_member_that_leads_names_the_members_without_a_generation(group: GroupOfMembers) -> None:
    del group.members["a"]
    group.join("c")
    group.leader = "c"
    assert group.round() == ["joined (c)", "leader-changed (c)"]


def test_partitions_without_an_owner_explain_the_request_of_another_member(group: GroupOfMembers) -> None:
    """The leader sees neither a lost assignment nor the check of a static member."""
    own(group.members["b"][0], {"t": [3]}, group.generation)
    assert group.round() == ["unowned (t: 1 of 4)"]
    own(group.members["b"][0], {"t": [3]}, group.generation)
    group.join("c")
    assert group.round() == ["joined (c)"]


def test_static_leader_restarted_and_members_found_partitions_without_an_owner() -> None:
    group = static_leader_that_restarted()
    assert group.round() == ["restarted (one)"]
    group = static_leader_that_restarted()
    own(group.members["b"][0], {"t": [3]}, group.generation)
    assert group.round() == ["restarted (one)", "unowned (t: 1 of 4)"]


def static_leader_that_restarted() -> GroupOfMembers:
    """It got its assignment back without a plan; the broker names its old member id as the leader."""
    old, new = ids("one", "one")
    group = GroupOfMembers()
    group.leader = old
    group.join(old, instance_id="one")
    group.settled("b")
    del group.members[old]
    restarted = group.join(new, instance_id="one")
    restarted._access.leader_id = lambda: old  # type: ignore[method-assign]
    own(restarted, dict(group.given[old].assigned_partitions), group.generation)
    group.leader = new
    return group


def test_static_leader_that_is_late_for_a_round_did_not_restart() -> None:
    """The broker elects another leader, and keeps the late one under its old member id."""
    (old,) = ids("one")
    group = GroupOfMembers()
    group.leader = old
    group.join(old, instance_id="one")
    group.settled("b")
    group.leader = "b"
    assert group.round() == ["leader-changed (b)"]


def test_strategies_of_one_consumer_share_the_memory_of_the_group(consumer: MakeConsumer) -> None:
    """At an upgrade the group changes from one strategy of the list to the other."""
    reports: list[PlanReport] = []
    both = (CooperativeStickyAssignor, RangeAssignor)
    made = consumer(*(kind.configured(on_plan=reports.append) for kind in both))
    new, old = made._coordinator._assignors.values()

    def causes(leading: Assignor, generation: int, *others: str) -> list[str]:
        sent = {assignor: assignor.metadata(["t"]) for assignor in (new, old)}
        joining = [joined("a", sent[leading]), *(joined(name, raw(["t"])) for name in others)]
        given = leading.assign(cluster({"t": 4}), joining)
        leading.on_assignment(ConsumerProtocolAssignment.decode(given["a"].encode()), generation)
        return [str(cause) for cause in reports[-1].causes]

    assert causes(old, 1, "b") == ["joined (a, b)"]
    assert causes(old, 2, "b") == ["unknown"]
    old._access.rejoin_causes.add(Cause.SKEW)
    assert causes(new, 3, "b", "c") == ["skew", "joined (c)"]


def test_pattern_finds_a_new_topic(group: GroupOfMembers) -> None:
    group.lead()._access.subscribes_by_pattern = lambda: True  # type: ignore[method-assign]
    group.topics["other"] = 1
    group.settled()
    group.topics["t2"] = 2
    for member_id, (assignor, _topics, _instance_id) in group.members.items():
        group.members[member_id] = assignor, ("t", "t2"), None
    assert group.round() == ["topic-appeared (t2)"]


def test_access_knows_a_subscription_by_pattern(consumer: MakeConsumer) -> None:
    for how, is_pattern in (({"topics": ["t"]}, False), ({"pattern": "t.*"}, True)):
        made = consumer(CooperativeStickyAssignor)
        made.subscribe(**how)
        (assignor,) = made._coordinator._assignors.values()
        assert assignor._access.subscribes_by_pattern() is is_pattern


def test_request_that_led_to_the_fallback_is_not_repeated_as_a_cause(
    group: GroupOfMembers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The members have the fallback's plan, but kafka-python dropped the leader's own assignment."""
    access = group.lead()._access
    access.rejoin_causes.add(Cause.SKEW)
    access.generation = lambda: 20  # type: ignore[method-assign]
    with monkeypatch.context() as patched:
        patched.setattr(group.lead(), "_read", None)
        group.plan()
    access.synced_generation = lambda: 20  # type: ignore[method-assign]
    access.generation = lambda: 21  # type: ignore[method-assign]
    assert group.plan() == ["repeated"]


def test_failure_to_find_causes_does_not_fail_the_plan(
    group: GroupOfMembers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: object, **more: object) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(causes_module, "causes_between", broken)
    assert group.round() == ["unknown"]
    assert "finding the causes failed" in caplog.text
    assert set(group.given) == {"a", "b"}


def test_plan_that_cannot_be_encoded_has_no_second_round(
    group: GroupOfMembers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fallback's plan, which replaces it, has none."""
    group.join("c")
    with monkeypatch.context() as patched:
        patched.setattr(convert, "encode_assignment", None)
        group.round()
    assert "second-round" not in group.round()


@pytest.mark.parametrize("knows_group", [True, False])
def test_failed_plan_has_an_unknown_cause_and_its_static_leader_did_not_restart(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, *, knows_group: bool
) -> None:
    """It fails before the group is read, for a leader that knows the last group or has just started."""
    group = GroupOfMembers()
    (leader,) = ids("one")
    group.leader = leader
    group.join(leader, instance_id="one")
    group.join("b")
    if knows_group:
        group.settled()
    registry = Metrics()
    with monkeypatch.context() as patched, caplog.at_level(logging.INFO, "kafka_assignors"):
        patched.setattr(CoordinatorAccess, "recorder", Recorder(registry))
        patched.setattr(group.lead(), "_read", None)
        caplog.clear()
        group.round()
    line = 'rebalance strategy=cooperative-sticky fallback="ranges" members=2 cause="unknown"'
    assert caplog.messages[-1] == line
    counted = [m.value() for name, m in registry.metrics.items() if name.tags.get("cause") == "unknown"]
    assert counted == [1]
    assert not {"restarted (one)", f"leader-changed ({leader})"} & {*group.round()}


def test_log_line_ends_with_the_causes_in_quotes(
    group: GroupOfMembers, caplog: pytest.LogCaptureFixture
) -> None:
    group.join('c"')
    group.topics["t"] = 5
    with caplog.at_level(logging.INFO, logger="kafka_assignors"):
        group.round()
    (record,) = caplog.records
    assert record.getMessage().endswith(""" cause="joined (c'); topic-grew (t: 4 to 5)\"""")
    facts: Mapping[str, object] = getattr(record, "rebalance")  # noqa: B009  # mypy does not know the extra field
    assert facts["cause"] == 'joined (c"); topic-grew (t: 4 to 5)'
    assert [cause.label for cause in group.reports[-1].causes] == ["joined", "topic-grew"]


def test_page_explains_each_cause_in_order() -> None:
    page = (ROOT / "docs" / "explanation" / "rebalance.md").read_text(encoding="utf-8")
    table = page.split("| cause | meaning |")[1].split("\n\n")[0]
    first_cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    explained = re.findall(r"`(.*?)`", " ".join(first_cells))
    assert explained == [cause.value for cause in Cause]
