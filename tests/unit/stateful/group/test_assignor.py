"""``StatefulAssignor``: members' reports, the leader's plan, and the duties of members."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors import ConfigurationError
from kafka_assignors.assignor import convert
from kafka_assignors.assignor.options import PlanReport
from kafka_assignors.plan import NO_GENERATION, Claims, Group
from kafka_assignors.stateful import (
    Duties,
    Holdings,
    StatefulAssignor,
    Subtopology,
    Topology,
)
from kafka_assignors.stateful.group import assignor as assignor_module
from kafka_assignors.stateful.group.partitions import PlannedTasks
from kafka_assignors.wire.assignment import CLASSIC_ONLY
from kafka_assignors.wire.stateful import assignment as stateful_assignment
from kafka_assignors.wire.stateful import owners_section
from kafka_assignors.wire.stateful import subscription as stateful_subscription
from kafka_assignors.wire.stateful.task_section import Task
from tests.support.group.joining import Plan, cluster, every, joined, owner_of, plan_of, raw

TOPOLOGY = Topology((Subtopology("s", ("t", "u")), Subtopology("free", ("v",), stateful=False)))
TOPICS = {"t": 4, "u": 4, "v": 2}
NOW = 1_000_000.0


class Member:
    """A member, and its duties."""

    def __init__(self, name: str, holdings: Holdings | None = None, **options: Any) -> None:
        self.name = name
        self.duties: list[Duties] = []
        self.holdings = holdings or Holdings()
        topology = options.pop("topology", TOPOLOGY)
        self.topics = topology.topics
        self.assignor: StatefulAssignor = options.pop("kind", StatefulAssignor)(
            topology=topology,
            process_id=options.pop("process_id", UUID(int=sum(name.encode()))),
            holdings=lambda: self.holdings,
            on_duties=self.duties.append,
            time=lambda: NOW,
            **options,
        )

    def joins(self) -> Any:
        """The member as the leader sees it."""
        return joined(self.name, self.assignor.metadata(self.topics))

    def hears(self, given: Mapping[str, ConsumerProtocolAssignment], generation: int) -> Duties:
        """Receive its assignment, through the wire format."""
        part = ConsumerProtocolAssignment.decode(given[self.name].encode())
        return self.receives(part, generation)

    def receives(self, part: ConsumerProtocolAssignment, generation: int = 1) -> Duties:
        self.assignor.on_assignment(part, generation)
        return self.duties[-1]


def round_of(*members: Member, generation: int = 1) -> dict[str, Duties]:
    """One rebalance, led by the first member."""
    given = members[0].assignor.assign(cluster(TOPICS), [member.joins() for member in members])
    return {member.name: member.hears(given, generation) for member in members}


def settled(*members: Member, rounds: int = 10) -> dict[str, Duties]:
    """Rebalance until nothing changes; copies catch up at once."""
    last: dict[str, Duties] = {}
    for generation in range(1, rounds):
        now = round_of(*members, generation=generation)
        for member in members:
            duties = now[member.name]
            copies = (*duties.standbys, *duties.warmups)
            held = {task: 0 for task in (*duties.actives, *copies) if task[0] == "s"}
            member.holdings = Holdings({**member.holdings.lags, **held}, copies)
            member.assignor.refresh_user_data()
        if last and {n: d.actives for n, d in last.items()} == {n: d.actives for n, d in now.items()}:
            return now
        last = now
    raise AssertionError("it does not settle")


def tasks(*partitions: int) -> set[Task]:
    return {("s", p) for p in partitions}


def logged(data: bytes, name: str = "x", topics: Iterable[str] = TOPICS) -> Any:
    """A member with this user data."""
    return joined(name, raw(topics, data))


# --- options -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"topology": None}, "topology"),
        ({"acceptable_recovery_lag": -1}, "acceptable_recovery_lag"),
        ({"num_standby_replicas": -1}, "num_standby_replicas"),
        ({"max_warmup_replicas": 0}, "max_warmup_replicas"),
        ({"balance_factor": 0}, "balance_factor"),
        ({"probing_rebalance_interval_ms": 0}, "probing_rebalance_interval_ms"),
        ({"probing_rebalance_interval_ms": True}, "probing_rebalance_interval_ms"),
        ({"probing_rebalance_interval_ms": 2**63}, "probing_rebalance_interval_ms"),
        ({"endpoint": "x" * 256}, "endpoint"),
        ({"endpoint": "\udcff"}, "endpoint"),
        ({"rack": "x" * 256}, "rack"),
        ({"rack": ""}, "rack"),
        ({"process_id": "0b8c9e1e-6f1a-4a53-9d0e-0c1b0c9a7c11"}, "process_id"),
        ({"time": None}, "time"),
        ({"holdings": 5}, "holdings"),
        ({"on_duties": 5}, "on_duties"),
    ],
)
def test_invalid_options_are_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        StatefulAssignor(**{"topology": TOPOLOGY, **options})
    assert caught.value.option == named


# --- as a member -------------------------------------------------------------------------------------------


def subscription_of(member: Member) -> stateful_subscription.Subscription:
    subscription = stateful_subscription.decode(bytes(member.assignor.metadata(TOPICS).user_data))
    assert isinstance(subscription, stateful_subscription.Subscription)
    return subscription


def test_member_reports_tasks_and_copies() -> None:
    a = Member("a", Holdings({("s", 1): 5}, (("s", 1),)), endpoint="here:1", rack="r")
    subscription = subscription_of(a)
    assert (subscription.lags, subscription.standbys) == ({("s", 1): 5}, (("s", 1),))
    assert (subscription.endpoint, subscription.rack) == ("here:1", "r")
    assert (subscription.actives, subscription.generation) == ((), NO_GENERATION)
    round_of(a)
    assert set(subscription_of(a).actives) == {*tasks(0, 1, 2, 3), ("free", 0), ("free", 1)}
    assert subscription_of(a).generation == 1


def test_client_rack_that_is_too_long_is_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    a = Member("a")
    monkeypatch.setattr(a.assignor._access, "client_rack", lambda: "x" * 256)
    for probe in range(2):
        assert (subscription_of(a).rack, subscription_of(a).probe) == ("", probe)
        a.assignor.refresh_user_data()
    assert caplog.text.count("client_rack is longer than 255 bytes") == 1


def test_retried_join_sends_the_same_bytes_and_a_probe_other_bytes() -> None:
    """A broker starts another rebalance for other bytes."""
    a = Member("a")
    first = a.assignor.metadata(TOPICS).user_data
    a.holdings = Holdings({("s", 0): 7})
    assert a.assignor.metadata(TOPICS).user_data == first
    a.assignor.refresh_user_data()
    assert a.assignor.metadata(TOPICS).user_data != first
    assert subscription_of(a).lags == {("s", 0): 7}
    before = a.assignor.metadata(TOPICS).user_data
    round_of(a)
    assert a.assignor.metadata(TOPICS).user_data != before


def test_error_of_the_holdings_callback_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> Holdings:
        raise OSError("broken")

    assignor = StatefulAssignor(topology=TOPOLOGY, holdings=fails)
    subscription = stateful_subscription.decode(bytes(assignor.metadata(TOPICS).user_data))
    assert isinstance(subscription, stateful_subscription.Subscription)
    assert subscription.lags == {}
    assert "reading the state on disk failed" in caplog.text


@pytest.mark.parametrize(
    ("data", "logged"),
    [
        (b"", ""),
        (CLASSIC_ONLY, ""),
        (b"\0\1", "cannot decode"),
        (b"\0\1\0\1" + b"\xff" * 30, "cannot decode"),
        (b"\0\3\0\3" + b"of another release", "has a newer version"),
    ],
)
def test_unreadable_assignment_leaves_copies_as_they_were(
    data: bytes, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The partitions decide the active tasks."""
    caplog.set_level(logging.INFO)
    a = Member("a")
    asked = stateful_assignment.TaskAssignment(standbys=(("s", 1), ("s", 2)))
    a.receives(ConsumerProtocolAssignment(0, [], stateful_assignment.encode(asked)))
    duties = a.receives(ConsumerProtocolAssignment(0, [("t", [1]), ("u", [1])], data), 2)
    assert duties == Duties((("s", 1),), standbys=(("s", 2),), generation=2)
    assert logged in caplog.text
    assert bytes(a.assignor.metadata(TOPICS).user_data)[:2] == b"\0\2", "it joins with our version"


def test_copy_of_an_unknown_subtopology_is_not_kept() -> None:
    a = Member("a")
    data = stateful_assignment.encode(stateful_assignment.TaskAssignment(standbys=(("other", 1), ("s", 2))))
    assert a.receives(ConsumerProtocolAssignment(0, [], data)).standbys == (("s", 2),)


def test_failing_callback_does_not_stop_the_assignment(caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: Duties) -> None:
        raise ValueError("no")

    assignor = StatefulAssignor(topology=TOPOLOGY, on_duties=fails)
    assignor.on_assignment(ConsumerProtocolAssignment(0, [("t", [1])], b""), 1)
    assert "on_duties failed" in caplog.text


# --- as the leader -----------------------------------------------------------------------------------------


def test_partitions_of_a_task_move_together() -> None:
    a, b, c = Member("a"), Member("b"), Member("c")
    given = a.assignor.assign(cluster(TOPICS), [m.joins() for m in (a, b, c)])
    owners = owner_of(plan_of(given))
    assert owners.keys() == every(TOPICS)
    for partition in range(4):
        assert owners["t", partition] == owners["u", partition]
    assert {len(d.actives) for d in round_of(a, b, c).values()} == {2}


def test_new_member_warms_up_before_it_gets_its_share_and_one_member_probes() -> None:
    a, b = Member("a", acceptable_recovery_lag=0), Member("b")
    alone = settled(a)["a"]
    assert alone.probe_at is None
    assert set(alone.actives) >= tasks(0, 1, 2, 3)
    first = round_of(a, b, generation=20)
    assert not {task for task in first["b"].actives if task[0] == "s"}
    assert len(first["b"].warmups) == 2
    # Without a coordinator no assignor knows whether it leads, so no member probes.
    assert [duties.probe_at for duties in first.values()] == [None, None]
    after = settled(a, b)
    assert {name: len(tasks(0, 1, 2, 3) & {*duties.actives}) for name, duties in after.items()} == {
        "a": 2,
        "b": 2,
    }
    assert not after["a"].warmups
    assert not after["b"].warmups


def test_newcomer_gets_stateless_tasks_in_two_rounds_while_it_warms_up() -> None:
    """The former owner gives them up in the first round, so no task has two owners."""
    a, b = Member("a"), Member("b")
    round_of(a)
    a.holdings = Holdings(dict.fromkeys(sorted(tasks(0, 1, 2, 3)), 0))
    free = {("free", 0), ("free", 1)}
    for generation, has_b in ((2, set()), (3, free), (4, free)):
        duties = round_of(a, b, generation=generation)
        assert set(duties["a"].actives) == tasks(0, 1, 2, 3)
        assert set(duties["b"].actives) == has_b
        assert set(duties["b"].warmups) == tasks(0, 1)
        b.holdings = Holdings(dict.fromkeys(duties["b"].warmups, 90_000), duties["b"].warmups)


def test_only_the_leader_gets_the_time_of_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = Member("a", acceptable_recovery_lag=0, probing_rebalance_interval_ms=5_000), Member("b")
    settled(a)
    monkeypatch.setattr(a.assignor._access, "member_id", lambda: "a")
    waiting = round_of(a, b, generation=20)
    assert (waiting["a"].probe_at, waiting["b"].probe_at) == (NOW + 5, None)
    settled(a, b)
    assert [d.probe_at for d in round_of(a, b, generation=40).values()] == [None, None]


def test_group_that_never_probes_still_gets_warm_ups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users of Kafka Streams set the largest long to turn probing rebalances off."""
    never = 2**63 - 1
    a, b = Member("a", acceptable_recovery_lag=0, probing_rebalance_interval_ms=never), Member("b")
    settled(a)
    monkeypatch.setattr(a.assignor._access, "member_id", lambda: "a")
    waiting = round_of(a, b, generation=20)
    assert waiting["b"].warmups
    assert waiting["a"].probe_at == never / 1000


def test_static_leader_that_restarts_still_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker returns the old assignment, with the time; its next join sends other bytes."""
    a, b = Member("a", acceptable_recovery_lag=0, probing_rebalance_interval_ms=5_000), Member("b")
    settled(a)
    monkeypatch.setattr(a.assignor._access, "member_id", lambda: "a")
    given = a.assignor.assign(cluster(TOPICS), [member.joins() for member in (a, b)])
    again = Member("a")
    restart = again.assignor.metadata(TOPICS).encode()
    assert again.hears(given, 20).probe_at == NOW + 5
    again.assignor.refresh_user_data()
    assert again.assignor.metadata(TOPICS).encode() != restart


@pytest.mark.parametrize("data", [b"", CLASSIC_ONLY, b"nonsense"])
def test_probing_member_keeps_its_probe_after_an_unreadable_assignment(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a group that waits for warm-ups would wait until membership changes."""
    a, b = Member("a", acceptable_recovery_lag=0, probing_rebalance_interval_ms=5_000), Member("b")
    settled(a)
    monkeypatch.setattr(a.assignor._access, "member_id", lambda: "a")
    assert round_of(a, b, generation=20)["a"].probe_at == NOW + 5
    for member in (a, b):
        member.assignor.options = replace(member.assignor.options, time=lambda: NOW + 7)
        member.assignor.on_assignment(ConsumerProtocolAssignment(0, [("t", [1])], data), 21)
    assert (a.duties[-1].probe_at, b.duties[-1].probe_at) == (NOW + 12, None)


@pytest.mark.parametrize(("end", "moves"), [(10, True), (11, False)])
def test_task_with_a_changelog_within_the_acceptable_lag_moves_without_a_warm_up(
    end: int, moves: bool
) -> None:
    """A member without state has no more to restore than a copy that counts as caught up."""
    a, b = Member("a", acceptable_recovery_lag=10), Member("b")
    settled(a)
    a.holdings = replace(a.holdings, ends=dict.fromkeys(tasks(0, 1, 2, 3), end))
    first = round_of(a, b, generation=20)
    assert len(tasks(0, 1, 2, 3) & set(first["a"].actives)) == (2 if moves else 4)


def test_new_owner_keeps_its_copy_warm_while_a_task_is_held_back() -> None:
    """It does not stop tailing in the round in which the old owner gives up the task."""
    a, b = Member("a"), Member("b")
    settled(a)
    b.holdings = Holdings(dict.fromkeys(tasks(0, 1, 2, 3), 0))
    now = round_of(a, b, generation=20)
    assert not {task for task in now["b"].actives if task[0] == "s"}
    assert len(now["b"].warmups) == 2
    assert not set(now["b"].warmups) & set(now["a"].actives)


def test_task_with_a_partition_held_back_is_held_back_as_a_whole() -> None:
    """Two owners would both write its changelog.  The report lists the partitions, too."""
    reports: list[PlanReport] = []
    a = Member("a", on_plan=reports.append)
    first, second = (
        joined(
            name,
            raw(
                TOPICS, stateful_subscription.encode(subscription_of(Member(name))), {topic: [0]}, generation
            ),
        )
        for name, topic, generation in (("h", "t", 7), ("i", "u", 6))
    )
    owners = owner_of(plan_of(a.assignor.assign(cluster(TOPICS), [a.joins(), first, second])))
    assert ("t", 0) not in owners
    assert ("u", 0) not in owners
    assert owners.keys() >= {("t", 1), ("u", 1)}
    (report,) = reports
    given = {(topic, p) for part in report.assignment.values() for topic, ps in part.items() for p in ps}
    assert given == owners.keys()
    waits = {(why.topic, why.partition): why.waits_for for why in report.why() if why.waits_for is not None}
    assert waits.keys() == {("t", 0), ("u", 0)}
    assert set(waits.values()) <= {"h", "i"}


def test_member_of_another_topology_gets_nothing() -> None:
    a = Member("a")
    other = joined("o", raw(["t"], stateful_subscription.encode(subscription_of(Member("o")))))
    plan = plan_of(a.assignor.assign(cluster(TOPICS), [a.joins(), other]))
    assert plan["o"] == {}
    assert owner_of(plan).keys() == every(TOPICS)


def test_members_with_one_process_id_count_as_separate_processes_and_are_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Each directory has one member, so the second has a copy of it, as cloned machines do."""
    same = UUID(int=7)
    a, b = (Member(name, num_standby_replicas=1, process_id=same) for name in "ab")
    now = settled(a, b)
    for member, other in (("a", "b"), ("b", "a")):
        assert set(now[member].standbys) == {task for task in now[other].actives if task[0] == "s"}
    assert caplog.text.count("members have the same process id: a, b. Was a store_dir copied?") == 1
    round_of(a, b, Member("c"), Member("d", process_id=same), generation=30)
    assert caplog.text.count("the same process id: a, b, d.") == 1


class Replanned(StatefulAssignor):
    """A user's subclass that looks at the plan."""

    def plan(self, group: Group, claims: Claims) -> PlannedTasks:
        return super().plan(group, claims)


def test_subclass_that_overrides_plan_keeps_standbys() -> None:
    a, b = (Member(name, kind=Replanned, num_standby_replicas=1) for name in "ab")
    assert all(duties.standbys for duties in settled(a, b).values())


def test_failing_warning_costs_no_standby(monkeypatch: pytest.MonkeyPatch) -> None:
    members = [Member(name, num_standby_replicas=1) for name in "abc"]
    before = settled(*members)

    def broken(*_: object) -> str:
        raise RuntimeError("a bug")

    monkeypatch.setattr(assignor_module, "process_warning", broken)
    after = round_of(*members, generation=30)
    assert {name: duties.standbys for name, duties in after.items()} == {
        name: duties.standbys for name, duties in before.items()
    }


def test_assignments_of_the_fallback_keep_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the plan cannot be encoded, its copies must not be sent with the fallback's partitions."""
    members = [Member(name, num_standby_replicas=1) for name in "ab"]
    before = settled(*members)

    def broken(*_: object) -> Any:
        raise RuntimeError("a bug")

    monkeypatch.setattr(convert, "encode_assignment", broken)
    joining = [*members, Member("c", num_standby_replicas=1)]
    given = members[0].assignor.assign(cluster(TOPICS), [member.joins() for member in joining])
    assert {bytes(assignment.user_data) for assignment in given.values()} == {CLASSIC_ONLY}
    for member in members:
        duties = member.hears(given, 30)
        assert set(duties.standbys) == set(before[member.name].standbys) - set(duties.actives)


ADDED = Topology((*TOPOLOGY.subtopologies, Subtopology("added", ("w",))))
WIDENED = Topology((Subtopology("s", ("t", "u", "w")), TOPOLOGY.subtopologies[1]))


def _with_w(*members: Member) -> dict[str, ConsumerProtocolAssignment]:
    """The assignments of members that subscribe to their topologies, made by the first."""
    return members[0].assignor.assign(cluster({**TOPICS, "w": 4}), [member.joins() for member in members])


def test_new_subtopology_takes_no_tasks_from_members_without_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In a rolling deploy the new members run its tasks, and all members run the others."""
    new, old, other = Member("n", topology=ADDED), Member("o"), Member("p")
    owners = owner_of(plan_of(_with_w(new, old, other)))
    assert owners.keys() == every({**TOPICS, "w": 4})
    assert {owner for (topic, _), owner in owners.items() if topic == "w"} == {"n"}
    assert {owner for (topic, _), owner in owners.items() if topic == "t"} == {"n", "o", "p"}
    assert "members do not subscribe to all source topics: o without w; p without w" in caplog.text


def test_member_without_a_topic_of_a_subtopology_gets_no_task_of_it_and_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    new, old = Member("n", topology=WIDENED), Member("o")
    for _ in range(3):
        owners = owner_of(plan_of(_with_w(new, old)))
        assert {owner for (topic, _), owner in owners.items() if topic in "tuw"} == {"n"}
        assert {owner for (topic, _), owner in owners.items() if topic == "v"} == {"n", "o"}
    assert caplog.text.count("o without w") == 1
    _with_w(new, old, Member("p"))
    assert caplog.text.count("o without w; p without w") == 1
    _with_w(new)
    _with_w(new, old)
    assert caplog.text.count("o without w") == 3, "the warning is back"


def test_old_leader_assigns_no_unknown_subtopology() -> None:
    owners = owner_of(plan_of(_with_w(Member("o"), Member("n", topology=ADDED))))
    assert owners.keys() == every(TOPICS)
    assert {owner for (topic, _), owner in owners.items() if topic == "t"} == {"n", "o"}


def test_members_get_copies_of_all_subgroups() -> None:
    """Active tasks and standbys of new and old subtopologies, in one assignment."""
    members = [Member(name, topology=ADDED, num_standby_replicas=1) for name in "nm"]
    members.append(Member("o", num_standby_replicas=1))
    given = _with_w(*members)
    assignments = [_asked(given, m.name) for m in members]
    assert sorted(task for assignment in assignments for task in assignment.standbys) == sorted(
        (id, p) for id in ("added", "s") for p in range(4)
    )
    assert [task for task in (*assignments[2].standbys, *assignments[2].actives) if task[0] == "added"] == []


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff" * 80, b"\0\1\0\1" + b"\xff" * 40])
def test_unreadable_member_counts_as_one_without_state(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    a = Member("a")
    given = a.assignor.assign(cluster(TOPICS), [a.joins(), logged(data)])
    assert owner_of(plan_of(given)).keys() == every(TOPICS)
    assert "x" in given
    assert [r for r in caplog.records if r.levelno >= logging.WARNING and "cannot be read" in r.getMessage()]


def test_failed_plan_still_assigns_all_partitions(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a bug")

    a, b = Member("a"), Member("b")
    monkeypatch.setattr("kafka_assignors.stateful.group.assignor.planner.plan_stateful", fails)
    owners = owner_of(plan_of(a.assignor.assign(cluster(TOPICS), [a.joins(), b.joins()])))
    assert owners.keys() == every(TOPICS)
    assert all(owners["t", p] == owners["u", p] for p in range(4))
    assert "planning failed" in caplog.text


# --- version probing ---------------------------------------------------------------------------------------


def _of_version(version: int, latest: int, name: str = "x") -> Any:
    """A member of versions up to ``latest``; newer ones send unknown bytes."""
    subscription = stateful_subscription.Subscription(
        UUID(int=9), lags={("s", 0): 0}, latest_supported=latest
    )
    if version <= 2:
        return logged(stateful_subscription.encode(subscription, version), name)
    head = version.to_bytes(2, "big") + latest.to_bytes(2, "big") + UUID(int=9).bytes
    return logged(head + b"news", name)


def _asked(given: Mapping[str, ConsumerProtocolAssignment], name: str) -> stateful_assignment.TaskAssignment:
    assignment = stateful_assignment.decode(bytes(given[name].user_data))
    assert isinstance(assignment, stateful_assignment.TaskAssignment)
    return assignment


def _version(member: Any) -> int:
    """The version of the bytes that a member joins with."""
    return int.from_bytes(member.metadata.user_data[:2], "big")


def _make_older(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read and write version 1 at most."""
    for module in (assignor_module, stateful_assignment, stateful_subscription):
        monkeypatch.setattr(module, "LATEST_VERSION", 1)


def test_older_member_brings_the_group_down_to_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """All write version 1 until it leaves."""
    a, b = Member("a", endpoint="a:1"), Member("b", endpoint="b:1")
    given = a.assignor.assign(cluster(TOPICS), [a.joins(), b.joins(), _of_version(1, 1)])
    assert {_asked(given, name).common_version for name in "abx"} == {1}
    asked = _asked(given, "x")
    b.hears(given, 1)
    with monkeypatch.context() as older:
        _make_older(older)
        assert _asked(given, "x") == asked
        assert subscription_of(b).latest_supported == 2
    assert subscription_of(b).endpoint == ""
    again = a.assignor.assign(cluster(TOPICS), [a.joins(), b.joins()])
    b.hears(again, 2)
    assert subscription_of(b).endpoint == "b:1"


def test_older_leader_asks_newer_member_for_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer leader that reads the same join asks for the newest version."""
    x = Member("x")
    first = x.joins()
    assert _version(first) == 2
    with monkeypatch.context() as older:
        _make_older(older)
        a = Member("a")
        given = a.assignor.assign(cluster(TOPICS), [a.joins(), first])
        assert _asked(given, "x").common_version == 1
    x.hears(given, 1)
    again = x.joins()
    assert _version(again) == 1
    with monkeypatch.context() as older:
        _make_older(older)
        given = a.assignor.assign(cluster(TOPICS), [a.joins(), again])
        assert _asked(given, "x").common_version == 1
    alone = x.assignor.assign(cluster(TOPICS), [again])
    assert _asked(alone, "x").common_version == 2


def test_newer_member_is_asked_for_our_version_and_counts_as_one_without_state() -> None:
    a = Member("a")
    given = a.assignor.assign(cluster(TOPICS), [a.joins(), _of_version(3, 3)])
    assert _asked(given, "x").common_version == 2
    assert owner_of(plan_of(given)).keys() == every(TOPICS)
    come_down = a.assignor.assign(cluster(TOPICS), [a.joins(), _of_version(2, 3)])
    assert _asked(come_down, "x").common_version == 2


def test_all_members_get_the_owners_by_endpoint() -> None:
    a, b = Member("a", endpoint="a:1"), Member("b", endpoint="b:1")
    now = round_of(a, b)
    assert now["a"].owners == now["b"].owners
    assert {e: set(t) for e, t in now["a"].owners.items()} == {
        "a:1": set(now["a"].actives),
        "b:1": set(now["b"].actives),
    }


@pytest.mark.parametrize("limit", ["MOST_TASKS", "MOST_BYTES"])
def test_group_with_too_many_tasks_for_endpoints_still_gets_copies(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, limit: str
) -> None:
    monkeypatch.setattr(owners_section, limit, 3)
    a, b = Member("a", endpoint="a:1", num_standby_replicas=1), Member("b", endpoint="b:1")
    settled(a, b)
    now = round_of(a, b, generation=20)
    assert {*now["a"].standbys, *now["b"].standbys} == tasks(0, 1, 2, 3)
    assert now["a"].owners == {}
    assert caplog.text.count("members get no endpoints of tasks") == 1
    monkeypatch.setattr(owners_section, limit, 1000)
    assert round_of(a, b, generation=21)["a"].owners
    monkeypatch.setattr(owners_section, limit, 3)
    round_of(a, b, generation=22)
    assert caplog.text.count("members get no endpoints of tasks") == 2


def test_plans_do_not_depend_on_the_order_of_joining() -> None:
    a, b, c = Member("a"), Member("b"), Member("c")
    members = [m.joins() for m in (a, b, c)]
    plans: list[Plan] = [
        plan_of(Member("l").assignor.assign(cluster(TOPICS), order))
        for order in (members, members[::-1], [members[1], members[2], members[0]])
    ]
    assert plans[0] == plans[1] == plans[2]


# --- a leader whose metadata has not come ------------------------------------------------------------------


def test_leader_with_old_metadata_keeps_tasks_whole_and_copies_as_they_are(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its metadata lists two of four partitions; no task moves or is split."""
    a, b = Member("a"), Member("b")
    before = settled(a, b)
    leader = Member("new")
    monkeypatch.setattr(leader.assignor._access, "generation", lambda: 20)
    monkeypatch.setattr(leader.assignor._access, "metadata_updated_at", lambda: 1.0)
    known = cluster({"t": 2, "u": 3, "v": 2})
    given = leader.assignor.assign(known, [member.joins() for member in (a, b, leader)])
    after = {member.name: member.hears(given, 20) for member in (a, b, leader)}
    assert after["new"].actives == ()
    for name, duties in before.items():
        assert after[name].actives == duties.actives
        assert (after[name].standbys, after[name].warmups) == (duties.standbys, duties.warmups)
    assert {bytes(part.user_data) for part in given.values()} == {CLASSIC_ONLY}
    assert "cannot be read" not in caplog.text


def test_leader_without_metadata_of_an_old_topic_takes_no_partition_of_a_task_that_is_half_owned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A member of an older topology owns partitions of `t` and of a topic that the leader does not know."""
    leader = Member("new")
    monkeypatch.setattr(leader.assignor._access, "generation", lambda: 20)
    monkeypatch.setattr(leader.assignor._access, "metadata_updated_at", lambda: 1.0)
    owned = {"t": [0, 1], "old": [0, 1]}
    data = stateful_subscription.encode(subscription_of(Member("a")))
    older = joined("a", raw([*TOPICS, "old"], data, owned, 19))
    given = plan_of(leader.assignor.assign(cluster(TOPICS), [older, leader.joins()]))
    assert given["a"]["t"] == [0, 1]


# --- causes ------------------------------------------------------------------------------------------------


def causes(reports: list[PlanReport], members: list[Member], generation: int, *others: Any) -> list[str]:
    """Rebalance, led by the first member; return the causes that it reports."""
    given = members[0].assignor.assign(cluster(TOPICS), [*(m.joins() for m in members), *others])
    for member in members:
        member.hears(given, generation)
    return [str(cause) for cause in reports[-1].causes]


def test_probe_and_other_version_are_causes_of_the_next_rebalance() -> None:
    reports: list[PlanReport] = []
    a = Member("a", on_plan=reports.append)
    assert causes(reports, [a], 1) == ["joined (a)"]
    a.assignor.refresh_user_data()
    assert causes(reports, [a], 2) == ["probe (a)"]
    assert causes(reports, [a], 3) == ["unknown"]
    assert causes(reports, [a], 4, _of_version(1, 1)) == ["joined (x)"]
    assert causes(reports, [a], 5, _of_version(1, 1)) == ["upgrade (a)", "second-round"]


def test_leader_names_members_that_probe_or_change_their_version() -> None:
    reports: list[PlanReport] = []
    members = [Member("a", on_plan=reports.append), Member("b")]
    for generation in range(1, 10):
        last = causes(reports, members, generation, _of_version(3, 3))
    assert last == ["unowned (t: 2 of 4, u: 2 of 4)"], "the third member never claims its partitions"
    members[1].assignor.refresh_user_data()
    assert causes(reports, members, 10, _of_version(2, 3)) == ["probe (b)", "upgrade (x)"]
