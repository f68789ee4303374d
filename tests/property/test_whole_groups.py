"""Whole groups of real assignors, with everything that can happen to a round: until nobody asks for another.

What kafka-python does around an assignor is played by ``Consumer``: a cooperative one revokes what is missing
from its assignment and asks for the next round; an eager one revokes everything before it joins and never
asks; one whose SyncGroup fails keeps what it has and joins again.  Topics grow, and a leader plans with the
metadata it had; an update comes after the round, and it joins again if that was news.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_assignors import CooperativeStickyAssignor
from kafka_assignors.assignor import convert
from tests.support.joining import cluster, every, joined, own, plan_of, raw
from tests.support.searching import times

Partition = tuple[str, int]
TOPICS = {"t": 9, "u": 4}
GROWN = {"t": 10, "u": 4, "v": 3}
ALL = sorted(every(GROWN))
MOST_ROUNDS = 20


class Consumer:
    """A consumer with one assignor; stands in for what the assignor sees of it, too."""

    def __init__(self, name: str, *, eager: bool = False, lie: set[Partition] | None = None) -> None:
        self.name, self.eager, self.lie = name, eager, lie
        self.held: set[Partition] = set()
        self.last: set[Partition] = set()
        self.joined_generation: int | None = None
        self.asks = False
        self.knows: dict[str, int] = {}
        self.updated_at = 0.0
        self.assignor = CooperativeStickyAssignor()
        self.assignor._access = self  # type: ignore[assignment]  # the same questions, answered from here

    def attach(self) -> bool:
        return True

    def is_unknown_version(self) -> bool:
        return False

    def cooperative(self) -> bool:
        return not self.eager

    def owned(self) -> list[Partition]:
        return sorted(self.last)

    def assignors(self) -> list[object]:
        return [self.assignor]

    def generation(self) -> int | None:
        return self.joined_generation

    def lost_while_joining(self) -> bool:
        return False

    def leader_id(self) -> str | None:
        return None

    def instance_id(self) -> str | None:
        return None

    def max_poll_interval_s(self) -> float | None:
        return None

    def metadata_updated_at(self) -> float | None:
        return self.updated_at

    def metadata_answer_at(self) -> float:
        return self.updated_at

    def request_rejoin_with_metadata(self) -> None:
        self.asks = True

    def request_rejoin(self) -> None:
        """Only keeps kafka-python from forgetting a join."""

    def request_rejoin_after(self, seconds: float) -> None:
        self.asks = seconds > 0

    def joins(self, generation: int) -> object:
        self.asks = False
        if self.eager:
            self.held = set()
        subscription = self.assignor.metadata(GROWN)
        if self.lie is not None:
            # As kafka-python's own members after a lost membership: no generation, and never the wiser.
            subscription = raw(GROWN, b"", convert.ownership(self.lie), version=1)
        self.joined_generation = generation
        return joined(self.name, subscription)

    def syncs(self, plan: dict[str, list[int]], generation: int) -> None:
        new = {(topic, p) for topic, numbers in plan.items() for p in numbers}
        revoked, self.held, self.last = self.held - new, new, new
        own(self.assignor, plan, generation)
        self.asks |= bool(revoked) and not self.eager


def play_round(
    group: list[Consumer], leader: Consumer, generation: int, late: set[str], there: dict[str, int]
) -> None:
    """One generation: everybody joins, the leader plans, all but the late get their assignment."""
    members = [one.joins(generation) for one in group]
    plan = plan_of(leader.assignor.assign(cluster(leader.knows), members))
    lies = set().union(*(one.lie or set() for one in group))
    honest = all(one.lie is None for one in group)
    if honest and len({one.assignor._generation for one in group if one.last}) == 1:
        for one in group:
            unlisted = one.last - every(leader.knows)
            given_to = {(topic, p) for topic, numbers in plan[one.name].items() for p in numbers}
            assert unlisted <= given_to, f"{one.name} loses {sorted(unlisted - given_to)}"
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
    leader.asks |= leader.knows != there
    leader.knows = dict(there)
    leader.updated_at += 1


@settings(max_examples=times(0.75))
@given(data=st.data())
def test_everything_ends_with_exactly_one_owner(data: st.DataObject) -> None:
    """Members join, leave, fail to sync, lie, run eager or cooperative, and lead by turns."""
    group: list[Consumer] = []
    generation = 0
    there = TOPICS
    for born in range(data.draw(st.integers(1, 5), "changes")):
        if len(group) > 1 and data.draw(st.booleans(), "one leaves"):
            group.pop(data.draw(st.integers(0, len(group) - 1), "who"))
        lie = data.draw(st.none() | st.sets(st.sampled_from(ALL)), "lie")
        group.append(Consumer(f"m{born}", eager=data.draw(st.booleans(), "eager") and lie is None, lie=lie))
        group[-1].knows = dict(data.draw(st.sampled_from(({}, {"t": 2}, TOPICS, there)), "knows"))
        leader = data.draw(st.sampled_from(group), "leader")
        if data.draw(st.booleans(), "grows"):
            there = GROWN
        for played in range(MOST_ROUNDS):
            generation += 1
            may_be_late = played < 3  # a group in which somebody is late for ever cannot settle
            late = (
                data.draw(st.sets(st.sampled_from([one.name for one in group])), "late")
                if may_be_late
                else set()
            )
            play_round(group, leader, generation, late, there)
            if not any(one.asks for one in group):
                break
        else:
            raise AssertionError("the group does not settle")
        assert sorted(tp for one in group for tp in one.held) == sorted(every(there))
