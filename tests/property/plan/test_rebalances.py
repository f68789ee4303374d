"""Random lives of a group: joins, deaths, growth and zombies, each followed by cooperative rounds."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_assignors.plan import Assignment, Group, Member, TopicPartition, plan_sticky, resolve, this_round
from tests.support.plan import oracle
from tests.support.searching import times

TOPICS = ("a", "b", "c")
subscriptions = st.frozensets(st.sampled_from(TOPICS), min_size=1)


class CooperativeGroup(RuleBasedStateMachine):
    """Members keep their partitions until a round leaves them out; rounds run after every change."""

    def __init__(self) -> None:
        super().__init__()
        self.generation = 0
        self.topics: dict[str, int] = {}
        self.subscribed: dict[str, frozenset[str]] = {}
        self.owned: dict[str, dict[str, list[int]]] = {}
        self.since: dict[str, int] = {}
        self.rack: dict[str, str | None] = {}
        self.racks: dict[str, list[frozenset[str]]] = {}
        self.gone: list[tuple[str, frozenset[str], dict[str, list[int]], int]] = []
        self.joined = 0

    @initialize(counts=st.lists(st.integers(0, 6), min_size=3, max_size=3), racks=st.booleans())
    def create_topics(self, counts: list[int], racks: bool) -> None:
        """With replicas in one or two of three racks in turn, or in unknown racks."""
        self.topics = dict(zip(TOPICS, counts, strict=True))
        turns = [frozenset("xy"), frozenset("yz"), frozenset("zx"), frozenset("y")]
        self.racks = dict.fromkeys(TOPICS, turns * 20) if racks else {}

    @rule(topics=subscriptions, rack=st.sampled_from(("x", "y", None)))
    def joins(self, topics: frozenset[str], rack: str | None) -> None:
        self.joined += 1
        self.rack[f"m{self.joined}"] = rack
        self._add(f"m{self.joined}", topics, {}, -1)

    @precondition(lambda self: len(self.subscribed) > 1)
    @rule(data=st.data())
    def dies(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.subscribed)))
        self.gone.append((name, self.subscribed.pop(name), self.owned.pop(name), self.since.pop(name)))
        self._settle()

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def a_zombie_returns(self, data: st.DataObject) -> None:
        """It claims the partitions it had when it died."""
        name, topics, owned, since = self.gone.pop(data.draw(st.integers(0, len(self.gone) - 1)))
        self._add(name, topics, owned, since)

    @rule(topic=st.sampled_from(TOPICS), more=st.integers(1, 3))
    def grows(self, topic: str, more: int) -> None:
        self.topics[topic] += more
        self._settle()

    @precondition(lambda self: self.subscribed)
    @rule(data=st.data(), topics=subscriptions)
    def subscribes_anew(self, data: st.DataObject, topics: frozenset[str]) -> None:
        """A cooperative consumer revokes unsubscribed topics before it joins."""
        name = data.draw(st.sampled_from(sorted(self.subscribed)))
        self.subscribed[name] = topics
        self.owned[name] = {t: p for t, p in self.owned[name].items() if t in topics}
        self._settle()

    def _add(self, name: str, topics: frozenset[str], owned: dict[str, list[int]], since: int) -> None:
        self.subscribed[name] = topics
        self.owned[name] = {t: p for t, p in owned.items() if t in topics}
        self.since[name] = since
        self._settle()

    def _group(self) -> Group:
        return Group(
            tuple(
                Member(
                    name,
                    topics,
                    self.owned[name],
                    self.since[name],
                    rack=self.rack[name],
                    still_owns=bool(self.owned[name]),
                )
                for name, topics in self.subscribed.items()
            ),
            self.topics,
            self.racks,
        )

    def _settle(self) -> None:
        for _ in range(3):
            group = self._group()
            claims = resolve(group)
            given, held = this_round(group, claims, plan_sticky(group, claims))
            self._check_no_second_owner(group, given)
            self.generation += 1
            self.owned = dict(given)
            self.since = dict.fromkeys(self.subscribed, self.generation)
            if not held:
                return
        raise AssertionError(f"not settled after three rounds, {held} are held back")

    def _check_no_second_owner(self, group: Group, given: Assignment) -> None:
        live = {
            tp: m.member_id
            for m in group.members
            if m.generation == self.generation
            for tp in (TopicPartition(t, p) for t, numbers in m.owned.items() for p in numbers)
        }
        for tp, owner in oracle.by_partition(given).items():
            assert live.get(tp, owner) == owner, f"{tp} goes to {owner} while {live[tp]} still holds it"

    @invariant()
    def everything_has_exactly_one_owner(self) -> None:
        if self.subscribed:
            assert oracle.by_partition(self.owned).keys() == oracle.wanted(self._group()).keys()

    @invariant()
    def calm(self) -> None:
        """A second rebalance with nothing changed changes nothing."""
        group = self._group()
        claims = resolve(group)
        given, held = this_round(group, claims, plan_sticky(group, claims))
        assert dict(given) == self.owned
        assert not held


TestCooperativeGroup = CooperativeGroup.TestCase
TestCooperativeGroup.settings = settings(max_examples=times(0.3))  # each example has up to fifty changes
