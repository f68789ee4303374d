"""``StatefulAssignor``: what members tell, what the leader makes of it, and what they hear."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors import ConfigurationError
from kafka_assignors.assignor.options import PlanReport
from kafka_assignors.plan import NO_GENERATION
from kafka_assignors.stateful import (
    Duties,
    Holdings,
    StatefulAssignor,
    StatefulOptions,
    Subtopology,
    Topology,
)
from kafka_assignors.wire import stateful_assignment, stateful_subscription
from kafka_assignors.wire.assignment import CLASSIC_ONLY
from kafka_assignors.wire.task_section import Task
from tests.support.joining import Plan, cluster, every, joined, owner_of, plan_of, raw

TOPOLOGY = Topology((Subtopology("s", ("t", "u")), Subtopology("free", ("v",), stateful=False)))
TOPICS = {"t": 4, "u": 4, "v": 2}
NOW = 1_000_000.0


class Member:
    """A member, and what it was told."""

    def __init__(self, name: str, holdings: Holdings | None = None, **options: Any) -> None:
        self.name = name
        self.duties: list[Duties] = []
        self.holdings = holdings or Holdings()
        topology = options.pop("topology", TOPOLOGY)
        self.topics = topology.topics
        self.assignor = StatefulAssignor(
            topology=topology,
            process_id=options.pop("process_id", UUID(int=sum(name.encode()))),
            holdings=lambda: self.holdings,
            on_duties=self.duties.append,
            time=lambda: NOW,
            **options,
        )

    def joins(self) -> Any:
        """As the leader sees it."""
        return joined(self.name, self.assignor.metadata(TOPICS))

    def hears(self, given: Mapping[str, ConsumerProtocolAssignment], generation: int) -> Duties:
        """It is told its part, over the wire."""
        part = ConsumerProtocolAssignment.decode(given[self.name].encode())
        self.assignor.on_assignment(part, generation)
        return self.duties[-1]


def round_of(*members: Member, generation: int = 1) -> dict[str, Duties]:
    """One rebalance, led by the first."""
    given = members[0].assignor.assign(cluster(TOPICS), [member.joins() for member in members])
    return {member.name: member.hears(given, generation) for member in members}


def settled(*members: Member, rounds: int = 10) -> dict[str, Duties]:
    """Rebalances until nothing changes; what members have catches up at once."""
    last: dict[str, Duties] = {}
    for generation in range(1, rounds):
        now = round_of(*members, generation=generation)
        for member in members:
            duties = now[member.name]
            copies = (*duties.standbys, *duties.warmups)
            held = {task: 0 for task in (*duties.actives, *copies) if task[0] == "s"}
            member.holdings = Holdings({**member.holdings.lags, **held}, copies)
            member.assignor.say_anew()
        if last and {n: d.actives for n, d in last.items()} == {n: d.actives for n, d in now.items()}:
            return now
        last = now
    raise AssertionError("it does not settle")


def tasks(*partitions: int) -> set[Task]:
    return {("s", p) for p in partitions}


def logged(data: bytes, name: str = "x", topics: Iterable[str] = TOPICS) -> Any:
    """A member that sends just that."""
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
        ({"endpoint": "x" * 256}, "endpoint"),
        ({"rack": ""}, "rack"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        StatefulAssignor(**{"topology": TOPOLOGY, **options})
    assert caught.value.option == named


def test_the_defaults_are_those_of_kip_441() -> None:
    options = StatefulOptions(topology=TOPOLOGY)
    assert (options.acceptable_recovery_lag, options.num_standby_replicas) == (10_000, 0)
    assert (options.max_warmup_replicas, options.probing_rebalance_interval_ms) == (2, 600_000)


# --- as a member -------------------------------------------------------------------------------------------


def told(member: Member) -> stateful_subscription.Subscription:
    found = stateful_subscription.decode(bytes(member.assignor.metadata(TOPICS).user_data))
    assert isinstance(found, stateful_subscription.Subscription)
    return found


def test_a_member_tells_what_it_has() -> None:
    a = Member("a", Holdings({("s", 1): 5}, (("s", 1),)), endpoint="here:1", rack="r")
    said = told(a)
    assert (said.lags, said.standbys, said.endpoint, said.rack) == ({("s", 1): 5}, (("s", 1),), "here:1", "r")
    assert (said.actives, said.generation) == ((), NO_GENERATION)
    round_of(a)
    assert set(told(a).actives) == {*tasks(0, 1, 2, 3), ("free", 0), ("free", 1)}
    assert told(a).generation == 1


def test_a_join_that_is_tried_again_says_the_same_and_a_probe_something_else() -> None:
    """A broker takes other bytes for news, and begins another rebalance."""
    a = Member("a")
    first = a.assignor.metadata(TOPICS).user_data
    a.holdings = Holdings({("s", 0): 7})
    assert a.assignor.metadata(TOPICS).user_data == first
    a.assignor.say_anew()
    assert a.assignor.metadata(TOPICS).user_data != first
    assert told(a).lags == {("s", 0): 7}
    before = a.assignor.metadata(TOPICS).user_data
    round_of(a)
    assert a.assignor.metadata(TOPICS).user_data != before


def test_what_is_raised_while_looking_at_the_disk_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> Holdings:
        raise OSError("broken")

    assignor = StatefulAssignor(topology=TOPOLOGY, holdings=fails)
    said = stateful_subscription.decode(bytes(assignor.metadata(TOPICS).user_data))
    assert isinstance(said, stateful_subscription.Subscription)
    assert said.lags == {}
    assert "looking at what is on disk failed" in caplog.text


@pytest.mark.parametrize("data", [b"", b"\0", b"nonsense", b"\0\1\0\1" + b"\xff" * 30])
def test_what_cannot_be_read_leaves_copies_as_they_were(data: bytes) -> None:
    """The partitions say what is processed; who has copies keeps them."""
    a = Member("a")
    a.assignor.on_assignment(
        ConsumerProtocolAssignment(
            0, [], stateful_assignment.encode(stateful_assignment.Assignment(standbys=(("s", 1), ("s", 2))))
        ),
        1,
    )
    a.assignor.on_assignment(ConsumerProtocolAssignment(0, [("t", [1]), ("u", [1])], data), 2)
    assert a.duties[-1] == Duties((("s", 1),), standbys=(("s", 2),), generation=2)


def test_a_copy_of_what_is_not_in_the_topology_is_not_kept() -> None:
    a = Member("a")
    data = stateful_assignment.encode(stateful_assignment.Assignment(standbys=(("other", 1), ("s", 2))))
    a.assignor.on_assignment(ConsumerProtocolAssignment(0, [], data), 1)
    assert a.duties[-1].standbys == (("s", 2),)


def test_a_callback_that_fails_does_not_stop_the_assignment(caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: Duties) -> None:
        raise ValueError("no")

    assignor = StatefulAssignor(topology=TOPOLOGY, on_duties=fails)
    assignor.on_assignment(ConsumerProtocolAssignment(0, [("t", [1])], b""), 1)
    assert "on_duties failed" in caplog.text


# --- as the leader -----------------------------------------------------------------------------------------


def test_partitions_of_a_task_go_together() -> None:
    a, b, c = Member("a"), Member("b"), Member("c")
    given = a.assignor.assign(cluster(TOPICS), [m.joins() for m in (a, b, c)])
    owners = owner_of(plan_of(given))
    assert owners.keys() == every(TOPICS)
    for partition in range(4):
        assert owners["t", partition] == owners["u", partition]
    assert {len(d.actives) for d in round_of(a, b, c).values()} == {2}


def test_a_new_member_warms_up_first_then_gets_its_share_and_one_asks_for_probes() -> None:
    a, b = Member("a", acceptable_recovery_lag=0), Member("b")
    alone = settled(a)["a"]
    assert alone.probe_at is None
    assert set(alone.actives) >= tasks(0, 1, 2, 3)
    first = round_of(a, b, generation=20)
    assert not {task for task in first["b"].actives if task[0] == "s"}
    assert len(first["b"].warmups) == 2
    # By hand no assignor knows whether it leads: nobody probes, rather than everybody.
    assert [duties.probe_at for duties in first.values()] == [None, None]
    after = settled(a, b)
    assert {name: len(tasks(0, 1, 2, 3) & {*duties.actives}) for name, duties in after.items()} == {
        "a": 2,
        "b": 2,
    }
    assert not after["a"].warmups
    assert not after["b"].warmups


def test_newcomer_gets_stateless_tasks_in_two_rounds_while_it_warms_up() -> None:
    """The member that has them gives them back first, so no task has two owners; then nothing moves."""
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


def test_the_leader_alone_is_told_when_to_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = Member("a", acceptable_recovery_lag=0, probing_rebalance_interval_ms=5_000), Member("b")
    settled(a)
    monkeypatch.setattr(a.assignor._access, "member_id", lambda: "a")
    waiting = round_of(a, b, generation=20)
    assert (waiting["a"].probe_at, waiting["b"].probe_at) == (NOW + 5, None)
    settled(a, b)
    assert [d.probe_at for d in round_of(a, b, generation=40).values()] == [None, None]


def test_static_leader_that_restarts_still_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker hands its new process the old assignment, and with it the time; its next join is news."""
    a, b = Member("a", acceptable_recovery_lag=0, probing_rebalance_interval_ms=5_000), Member("b")
    settled(a)
    monkeypatch.setattr(a.assignor._access, "member_id", lambda: "a")
    given = a.assignor.assign(cluster(TOPICS), [member.joins() for member in (a, b)])
    again = Member("a")
    restart = again.assignor.metadata(TOPICS).encode()
    assert again.hears(given, 20).probe_at == NOW + 5
    again.assignor.say_anew()
    assert again.assignor.metadata(TOPICS).encode() != restart


@pytest.mark.parametrize("data", [b"", CLASSIC_ONLY, b"nonsense"])
def test_who_probes_goes_on_to_when_it_was_told_nothing_that_can_be_read(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a group that waits for warm-ups would wait until somebody comes or goes."""
    a, b = Member("a", acceptable_recovery_lag=0, probing_rebalance_interval_ms=5_000), Member("b")
    settled(a)
    monkeypatch.setattr(a.assignor._access, "member_id", lambda: "a")
    assert round_of(a, b, generation=20)["a"].probe_at == NOW + 5
    for member in (a, b):
        member.assignor.options = replace(member.assignor.options, time=lambda: NOW + 7)
        member.assignor.on_assignment(ConsumerProtocolAssignment(0, [("t", [1])], data), 21)
    assert (a.duties[-1].probe_at, b.duties[-1].probe_at) == (NOW + 12, None)


def test_standbys_lie_on_other_processes() -> None:
    a, b = Member("a", num_standby_replicas=1), Member("b", num_standby_replicas=1)
    now = settled(a, b)
    for one, other in (("a", "b"), ("b", "a")):
        assert set(now[one].standbys) == {task for task in now[other].actives if task[0] == "s"}


@pytest.mark.parametrize(("end", "moves"), [(10, True), (11, False)])
def test_a_changelog_no_longer_than_the_acceptable_lag_need_not_be_warmed_up(end: int, moves: bool) -> None:
    """Who has nothing of it has that to read: no more than one that lags and counts as caught up."""
    a, b = Member("a", acceptable_recovery_lag=10), Member("b")
    settled(a)
    a.holdings = replace(a.holdings, ends=dict.fromkeys(tasks(0, 1, 2, 3), end))
    first = round_of(a, b, generation=20)
    assert len(tasks(0, 1, 2, 3) & set(first["a"].actives)) == (2 if moves else 4)
    assert len(first["b"].warmups) == 2  # of what comes, too: it begins to read while the other lets go


def test_what_another_one_still_holds_is_kept_warm_until_it_comes() -> None:
    """In the round in which the old owner lets go, the new one does not stop tailing."""
    a, b = Member("a"), Member("b")
    settled(a)
    b.holdings = Holdings(dict.fromkeys(tasks(0, 1, 2, 3), 0))
    now = round_of(a, b, generation=20)
    assert not {task for task in now["b"].actives if task[0] == "s"}
    assert len(now["b"].warmups) == 2
    assert not set(now["b"].warmups) & set(now["a"].actives)


def test_a_task_of_which_a_partition_is_held_back_waits_as_a_whole() -> None:
    """Else two members would process it, and both write its changelog.  The report says so, too."""
    reports: list[PlanReport] = []
    a = Member("a", on_plan=reports.append)
    one, other = (
        joined(name, raw(TOPICS, stateful_subscription.encode(told(Member(name))), {topic: [0]}, generation))
        for name, topic, generation in (("h", "t", 7), ("i", "u", 6))
    )
    owners = owner_of(plan_of(a.assignor.assign(cluster(TOPICS), [a.joins(), one, other])))
    assert ("t", 0) not in owners
    assert ("u", 0) not in owners
    assert owners.keys() >= {("t", 1), ("u", 1)}
    (report,) = reports
    given = {(topic, p) for part in report.assignment.values() for topic, ps in part.items() for p in ps}
    assert given == owners.keys()
    waits = {(why.topic, why.partition): why.waits_for for why in report.why() if why.waits_for is not None}
    assert waits.keys() == {("t", 0), ("u", 0)}
    assert set(waits.values()) <= {"h", "i"}


def test_a_member_of_another_topology_gets_nothing() -> None:
    a = Member("a")
    other = joined("o", raw(["t"], stateful_subscription.encode(told(Member("o")))))
    plan = plan_of(a.assignor.assign(cluster(TOPICS), [a.joins(), other]))
    assert plan["o"] == {}
    assert owner_of(plan).keys() == every(TOPICS)


def test_members_with_one_process_id_are_processes_of_their_own_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A directory is one member's: a second one with its id has a copy of it, as cloned machines do."""
    same = UUID(int=7)
    a, b = (Member(name, num_standby_replicas=1, process_id=same) for name in "ab")
    now = settled(a, b)
    for one, other in (("a", "b"), ("b", "a")):
        assert set(now[one].standbys) == {task for task in now[other].actives if task[0] == "s"}
    assert caplog.text.count("members have the same process id: a, b; was a store_dir copied?") == 1
    round_of(a, b, Member("c"), Member("d", process_id=same), generation=30)
    assert caplog.text.count("the same process id: a, b, d;") == 1


ADDED = Topology((*TOPOLOGY.subtopologies, Subtopology("added", ("w",))))
WIDENED = Topology((Subtopology("s", ("t", "u", "w")), TOPOLOGY.subtopologies[1]))


def _with_w(*members: Member) -> Any:
    """A plan for members that subscribe to what is in their topologies, led by the first."""
    said = [joined(m.name, raw(m.topics, stateful_subscription.encode(told(m)))) for m in members]
    return plan_of(members[0].assignor.assign(cluster({**TOPICS, "w": 4}), said))


def test_a_subtopology_that_is_new_takes_nothing_from_those_that_do_not_know_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A rolling deploy: its tasks are the new members', all others go on being everybody's."""
    new, old, other = Member("n", topology=ADDED), Member("o"), Member("p")
    owners = owner_of(_with_w(new, old, other))
    assert owners.keys() == every({**TOPICS, "w": 4})
    assert {owner for (topic, _), owner in owners.items() if topic == "w"} == {"n"}
    assert {owner for (topic, _), owner in owners.items() if topic == "t"} == {"n", "o", "p"}
    assert "members differ in topology: o lacks w; p lacks w" in caplog.text


def test_who_lacks_a_topic_of_a_subtopology_gets_no_task_of_it_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    new, old = Member("n", topology=WIDENED), Member("o")
    for _ in range(3):
        owners = owner_of(_with_w(new, old))
        assert {owner for (topic, _), owner in owners.items() if topic in "tuw"} == {"n"}
        assert {owner for (topic, _), owner in owners.items() if topic == "v"} == {"n", "o"}
    assert caplog.text.count("o lacks w") == 1
    _with_w(new, old, Member("p"))
    assert caplog.text.count("o lacks w; p lacks w") == 1
    _with_w(new)
    _with_w(new, old)
    assert caplog.text.count("o lacks w") == 3, "they are back"


def test_an_old_leader_leaves_what_it_does_not_know_to_nobody() -> None:
    owners = owner_of(_with_w(Member("o"), Member("n", topology=ADDED)))
    assert owners.keys() == every(TOPICS)
    assert {owner for (topic, _), owner in owners.items() if topic == "t"} == {"n", "o"}


def test_copies_of_all_parts_are_told() -> None:
    """Standbys of the new subtopology and of the old ones, and the tasks of both, in one assignment."""
    members = [Member(name, topology=ADDED, num_standby_replicas=1) for name in "nm"]
    members.append(Member("o", num_standby_replicas=1))
    said = [joined(m.name, raw(m.topics, stateful_subscription.encode(told(m)))) for m in members]
    given = members[0].assignor.assign(cluster({**TOPICS, "w": 4}), said)
    told_of = [_asked(given, m.name) for m in members]
    assert sorted(task for one in told_of for task in one.standbys) == sorted(
        (id, p) for id in ("added", "s") for p in range(4)
    )
    assert [task for task in (*told_of[2].standbys, *told_of[2].actives) if task[0] == "added"] == []


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff" * 80, b"\0\1\0\1" + b"\xff" * 40])
def test_a_member_that_cannot_be_read_is_one_without_state(
    data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    a = Member("a")
    given = a.assignor.assign(cluster(TOPICS), [a.joins(), logged(data)])
    assert owner_of(plan_of(given)).keys() == every(TOPICS)
    assert "x" in given
    assert [r for r in caplog.records if r.levelno >= logging.WARNING and "cannot be read" in r.getMessage()]


def test_whatever_fails_everything_is_given_out(
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
    """A member that writes and reads up to ``latest``; newer ones with something that we do not know."""
    said = stateful_subscription.Subscription(UUID(int=9), lags={("s", 0): 0}, latest_supported=latest)
    if version <= 2:
        return logged(stateful_subscription.encode(said, version), name)
    head = version.to_bytes(2, "big") + latest.to_bytes(2, "big") + UUID(int=9).bytes
    return logged(head + b"news", name)


def _asked(given: Mapping[str, ConsumerProtocolAssignment], name: str) -> stateful_assignment.Assignment:
    found = stateful_assignment.decode(bytes(given[name].user_data))
    assert isinstance(found, stateful_assignment.Assignment)
    return found


def test_an_older_member_brings_the_group_down_to_its_version() -> None:
    """Its latest is 1, so that is what all write; when it is gone they come up again."""
    a, b = Member("a", endpoint="a:1"), Member("b", endpoint="b:1")
    given = a.assignor.assign(cluster(TOPICS), [a.joins(), b.joins(), _of_version(1, 1)])
    assert {_asked(given, name).common_version for name in "abx"} == {1}
    assert stateful_assignment.decode(bytes(given["x"].user_data), latest=1) == _asked(given, "x")
    b.hears(given, 1)
    written = bytes(b.assignor.metadata(TOPICS).user_data)
    assert isinstance(stateful_subscription.decode(written, latest=1), stateful_subscription.Subscription)
    assert told(b).endpoint == ""
    again = a.assignor.assign(cluster(TOPICS), [a.joins(), b.joins()])
    b.hears(again, 2)
    assert told(b).endpoint == "b:1"


def test_a_newer_member_is_asked_to_come_down_and_counts_as_one_without_state() -> None:
    a = Member("a")
    given = a.assignor.assign(cluster(TOPICS), [a.joins(), _of_version(3, 3)])
    assert _asked(given, "x").common_version == 2
    assert owner_of(plan_of(given)).keys() == every(TOPICS)
    come_down = a.assignor.assign(cluster(TOPICS), [a.joins(), _of_version(2, 3)])
    assert _asked(come_down, "x").common_version == 2


def test_a_newer_leader_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    """What it gives is processed; what it wants kept cannot be read, so nothing changes there."""
    caplog.set_level(logging.INFO)
    a = Member("a")
    newer = b"\0\3\0\3" + b"of another release"
    a.assignor.on_assignment(ConsumerProtocolAssignment(0, [("t", [0]), ("u", [0])], newer), 1)
    assert a.duties[-1] == Duties((("s", 0),), generation=1)
    assert "of a newer release" in caplog.text
    assert told(a).latest_supported == 2


def test_everybody_hears_who_has_what_by_endpoint() -> None:
    a, b = Member("a", endpoint="a:1"), Member("b", endpoint="b:1")
    now = round_of(a, b)
    assert now["a"].owners == now["b"].owners
    assert {e: set(t) for e, t in now["a"].owners.items()} == {
        "a:1": set(now["a"].actives),
        "b:1": set(now["b"].actives),
    }


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
    """Its metadata lists two of four partitions: no task moves, and none is split between members."""
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
