"""Whole groups of real assignors, with everything that can happen to a round: until nobody asks for another.

What kafka-python does around an assignor is played by ``Consumer``: a cooperative one revokes what is missing
from its assignment and asks for the next round; an eager one revokes everything before it joins and never
asks; one whose SyncGroup fails keeps what it has and joins again.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_assignors import CooperativeStickyAssignor
from kafka_assignors.adapter import convert
from tests.joining import cluster, every, joined, own, plan_of, raw

Partition = tuple[str, int]
TOPICS = {"t": 9, "u": 4}
ALL = sorted(every(TOPICS))
MOST_ROUNDS = 20


class Consumer:
    """A consumer with one assignor; stands in for what the assignor sees of it, too."""

    def __init__(self, name: str, *, eager: bool = False, lie: set[Partition] | None = None) -> None:
        self.name, self.eager, self.lie = name, eager, lie
        self.held: set[Partition] = set()
        self.last: set[Partition] = set()
        self.joined_generation: int | None = None
        self.asks = False
        self.assignor = CooperativeStickyAssignor()
        self.assignor._side = self  # type: ignore[assignment]  # the same questions, answered from here

    def look(self) -> bool:
        return True

    def is_strange(self) -> bool:
        return False

    def cooperative(self) -> bool:
        return not self.eager

    def owned(self) -> list[Partition]:
        return sorted(self.last)

    def assignors(self) -> list[object]:
        return [self.assignor]

    def generation(self) -> int | None:
        return self.joined_generation

    def request_rejoin(self) -> None:
        """Only keeps kafka-python from forgetting a join."""

    def request_rejoin_after(self, seconds: float) -> None:
        self.asks = seconds > 0

    def joins(self, generation: int) -> object:
        self.asks = False
        if self.eager:
            self.held = set()
        subscription = self.assignor.metadata(TOPICS)
        if self.lie is not None:
            # As kafka-python's own members after a lost membership: no generation, and never the wiser.
            subscription = raw(TOPICS, b"", convert.ownership(self.lie), version=1)
        self.joined_generation = generation
        return joined(self.name, subscription)

    def syncs(self, plan: dict[str, list[int]], generation: int) -> None:
        new = {(topic, p) for topic, numbers in plan.items() for p in numbers}
        revoked, self.held, self.last = self.held - new, new, new
        own(self.assignor, plan, generation)
        self.asks |= bool(revoked) and not self.eager


def play_round(group: list[Consumer], leader: Consumer, generation: int, late: set[str]) -> None:
    """One generation: everybody joins, the leader plans, all but the late get their assignment."""
    members = [one.joins(generation) for one in group]
    plan = plan_of(leader.assignor.assign(cluster(TOPICS), members))
    lies = set().union(*(one.lie or set() for one in group))
    for one in group:
        given_now = {(topic, p) for topic, numbers in plan[one.name].items() for p in numbers}
        for other in group:
            # What a liar really has nobody can know, and what it claims it may be given.
            overtaken = (given_now - one.held) & other.held - lies if other.lie is None else set()
            assert other is one or not overtaken, f"{one.name} is given {overtaken}, which {other.name} has"
    for one in group:
        if one.name in late and one is not leader:
            one.asks = True
        else:
            one.syncs(plan[one.name], generation)


@settings(max_examples=150)
@given(data=st.data())
def test_everything_ends_with_exactly_one_owner(data: st.DataObject) -> None:
    """Members join, leave, fail to sync, lie, run eager or cooperative, and lead by turns."""
    group: list[Consumer] = []
    generation = 0
    for born in range(data.draw(st.integers(1, 5), "changes")):
        if len(group) > 1 and data.draw(st.booleans(), "one leaves"):
            group.pop(data.draw(st.integers(0, len(group) - 1), "who"))
        lie = data.draw(st.none() | st.sets(st.sampled_from(ALL)), "lie")
        group.append(Consumer(f"m{born}", eager=data.draw(st.booleans(), "eager") and lie is None, lie=lie))
        leader = data.draw(st.sampled_from(group), "leader")
        for played in range(MOST_ROUNDS):
            generation += 1
            may_be_late = played < 3  # a group in which somebody is late for ever cannot settle
            late = (
                data.draw(st.sets(st.sampled_from([one.name for one in group])), "late")
                if may_be_late
                else set()
            )
            play_round(group, leader, generation, late)
            if not any(one.asks for one in group):
                break
        else:
            raise AssertionError("the group does not settle")
        assert sorted(tp for one in group for tp in one.held) == ALL
