"""The laws of ``failover``, and the life of an active/passive group."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_assignors.plan import Group, Member, plan_failover, resolve
from kafka_assignors.plan.model import seniority
from tests.support.plan import oracle
from tests.support.plan.builders import groups, next_generation, settled_groups, shuffled
from tests.support.searching import times

priorities = st.sampled_from((None, -(2**31), -1, 0, 5, 5, 2**31 - 1))


@st.composite
def ranked(draw: st.DrawFn) -> Group:
    """Draw a group with priorities, some of them equal."""
    same = draw(st.booleans())
    group = draw(st.one_of(groups(equal=same), settled_groups(equal=same)))
    return replace(group, members=tuple(replace(m, priority=draw(priorities)) for m in group.members))


def place(member: Member) -> tuple[object, ...]:
    """Return the sort key of a member in the order of succession."""
    return (member.priority is None, -(member.priority or 0), *seniority(member))


def subscribers(group: Group) -> dict[str, frozenset[str]]:
    """Topic -> ids of its subscribers."""
    return {t: frozenset(m.member_id for m in group.members if t in m.topics) for t in group.topics}


def actives(group: Group, *, preempt: bool) -> dict[str, str]:
    """Topic -> its only owner, for topics that have partitions."""
    active: dict[str, str] = {}
    owner_of = oracle.by_partition(plan_failover(group, resolve(group), preempt=preempt))
    assert owner_of.keys() == oracle.wanted(group).keys()
    for tp, owner in owner_of.items():
        assert active.setdefault(tp.topic, owner) == owner
    return active


def expected(group: Group, *, preempt: bool) -> dict[str, str]:
    """The definition, with dictionaries."""
    by_id = {m.member_id: m for m in group.members}
    kinds: dict[frozenset[str], list[str]] = {}
    for topic, who in subscribers(group).items():
        kinds.setdefault(who, []).append(topic)
    had: dict[frozenset[str], dict[str, int]] = {}
    for who, topics in kinds.items():
        counts: dict[str, int] = {}
        for tp, owner in oracle.owners(group).items():
            if tp.topic in topics:
                counts[owner] = counts.get(owner, 0) + 1
        had[who] = counts

    def stays(who: frozenset[str]) -> str | None:
        counts = had[who]
        return min(counts, key=lambda m: (-by_id[m].generation, -counts[m], *place(by_id[m])), default=None)

    active = {member_id for member_id in map(stays, kinds) if member_id is not None}
    active_of = {}
    for who, topics in kinds.items():
        line = sorted(who, key=lambda m: place(by_id[m]))
        member_id = None if preempt else stays(who) or next((m for m in line if m in active), None)
        for topic in topics:
            if group.topics[topic] and line:
                active_of[topic] = member_id or line[0]
    return active_of


@settings(max_examples=times(2))
@given(group=ranked(), preempt=st.booleans())
def test_plan_follows_the_definition(group: Group, preempt: bool) -> None:
    assert actives(group, preempt=preempt) == expected(group, preempt=preempt)


@given(group=ranked(), preempt=st.booleans(), seed=st.integers(0, 2**32))
def test_plan_does_not_depend_on_order(group: Group, preempt: bool, seed: int) -> None:
    assert actives(shuffled(group, seed), preempt=preempt) == actives(group, preempt=preempt)


@given(group=ranked(), joining=st.lists(priorities, max_size=3), grown=st.integers(0, 3))
def test_live_active_member_stays_without_preemption(
    group: Group, joining: list[int | None], grown: int
) -> None:
    """When members of any priority join and topics grow; also when nothing changes."""
    before = actives(group, preempt=False)
    again = next_generation(group, plan_failover(group, resolve(group), preempt=False), 9)
    everything = frozenset(group.topics)
    joined = tuple(
        Member(f"a-new-{i}", everything, instance_id=f"0-{i}", priority=p) for i, p in enumerate(joining)
    )
    topics = {topic: count + grown for topic, count in group.topics.items()}
    after = actives(replace(again, members=(*again.members, *joined), topics=topics), preempt=False)
    assert {topic: after[topic] for topic in before} == before


class ActiveAndPassive(RuleBasedStateMachine):
    """An eager group with equal subscriptions; after every change all members rejoin with their history."""

    preempt: bool

    def __init__(self) -> None:
        super().__init__()
        self.generation = 0
        self.topics = {"a": 1}
        self.live: dict[str, Member] = {}
        self.gone: list[Member] = []
        self.active: str | None = None

    @initialize(partitions=st.integers(1, 4), preempt=st.booleans())
    def begin(self, partitions: int, preempt: bool) -> None:
        self.topics["a"] = partitions
        self.preempt = preempt

    @rule(priority=priorities, static=st.booleans())
    def joins(self, priority: int | None, static: bool) -> None:
        name = f"m{99 - len(self.live) - len(self.gone)}"  # later members are more senior
        self._enter(Member(name, frozenset(), priority=priority, instance_id=name if static else None))

    @precondition(lambda self: len(self.live) > 1)
    @rule(data=st.data())
    def is_expelled(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.live)))
        self.gone.append(self.live.pop(name))
        self._rebalance()

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def a_zombie_returns(self, data: st.DataObject) -> None:
        """It claims the partitions it had when it was expelled."""
        self._enter(self.gone.pop(data.draw(st.integers(0, len(self.gone) - 1))))

    @precondition(lambda self: self.live)
    @rule(partitions=st.integers(1, 3))
    def a_topic_is_created(self, partitions: int) -> None:
        if len(self.topics) < 6:
            self.topics[f"{'ab'[len(self.topics) % 2]}{len(self.topics)}"] = partitions
            self._rebalance()

    def _enter(self, member: Member) -> None:
        self.live[member.member_id] = member
        self._rebalance()

    def _rebalance(self) -> None:
        everything = frozenset(self.topics)
        group = Group(tuple(replace(m, topics=everything) for m in self.live.values()), self.topics)
        plan = plan_failover(group, resolve(group), preempt=self.preempt)
        self.generation += 1
        self.live = {
            m.member_id: replace(m, owned=plan[m.member_id], generation=self.generation)
            for m in group.members
        }
        (now,) = (name for name in plan if plan[name])
        first = min(group.members, key=place).member_id
        if self.preempt or self.active not in self.live:
            assert now == first
        else:
            assert now == self.active
        self.active = now

    @invariant()
    def one_member_owns_everything(self) -> None:
        if self.live:
            assert self.active is not None
            assert {t: len(p) for t, p in self.live[self.active].owned.items()} == self.topics


TestActiveAndPassive = ActiveAndPassive.TestCase
TestActiveAndPassive.settings = settings(max_examples=times(0.3))
