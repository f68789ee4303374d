"""Whole groups of real assignors, with failures in any round, until no member requests another round.

``Consumer`` acts as kafka-python around an assignor.  A cooperative consumer revokes partitions missing from
its assignment and requests the next round.  An eager one revokes everything before it joins and never
requests a round.  One whose SyncGroup fails keeps its partitions and rejoins.  Topics grow, and a leader
plans with stale metadata: the update arrives after the round, and the leader rejoins if it changed anything.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_assignors import CooperativeStickyAssignor
from kafka_assignors.assignor import convert
from kafka_assignors.metrics import NO_METRICS
from kafka_assignors.plan.cause import Cause
from tests.support.group.joining import cluster, every, joined, own, plan_of, raw
from tests.support.searching import times

Partition = tuple[str, int]
TOPICS = {"t": 9, "u": 4}
GROWN = {"t": 10, "u": 4, "v": 3}
ALL = sorted(every(GROWN))
MOST_ROUNDS = 20


class Consumer:
    """A consumer with one assignor, which also stands in for the assignor's access to its coordinator."""

    recorder = NO_METRICS

    def __init__(self, name: str, *, eager: bool = False, lie: set[Partition] | None = None) -> None:
        self.name, self.eager, self.lie = name, eager, lie
        self.held: set[Partition] = set()
        self.last: set[Partition] = set()
        self.joined_generation: int | None = None
        self.asks = False
        self.knows: dict[str, int] = {}
        self.updated_at = 0.0
        self.rejoin_causes: set[Cause] = set()
        self.assignor = CooperativeStickyAssignor()
        self.assignor._access = self  # type: ignore[assignment]  # this object answers for the coordinator

    def attach(self) -> bool:
        return True

    def shared(self, name: str, own: object) -> object:
        return own

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

    def handle_loss_while_joining(self) -> bool:
        return False

    def leader_id(self) -> str | None:
        return None

    def instance_id(self) -> str | None:
        return None

    def client_rack(self) -> str | None:
        return None

    def member_id(self) -> str | None:
        return self.name

    def session_timeout_s(self) -> float | None:
        return None

    def subscribes_by_pattern(self) -> bool:
        return False

    def max_poll_interval_s(self) -> float | None:
        return None

    def metadata_updated_at(self) -> float | None:
        return self.updated_at

    def metadata_response_at(self) -> float:
        return self.updated_at

    def request_rejoin_with_metadata(self) -> None:
        self.asks = True

    def request_rejoin(self) -> None:
        """Has no effect here: it only keeps kafka-python from forgetting a join."""

    def request_rejoin_after(self, seconds: float) -> None:
        self.asks = seconds > 0

    def joins(self, generation: int) -> object:
        self.asks = False
        if self.eager:
            self.held = set()
        subscription = self.assignor.metadata(GROWN)
        if self.lie is not None:
            # As kafka-python's own members after a lost membership: no generation, and the old claims.
            subscription = raw(GROWN, b"", convert.ownership(self.lie), version=1)
        self.joined_generation = generation
        return joined(self.name, subscription)

    def syncs(self, plan: dict[str, list[int]], generation: int) -> None:
        new = {(topic, p) for topic, numbers in plan.items() for p in numbers}
        revoked, self.held, self.last = self.held - new, new, new
        own(self.assignor, plan, generation)
        self.asks |= bool(revoked) and not self.eager


def play_round(
    group: list[Consumer], leader: Consumer, generation: int, late: set[str], topics: dict[str, int]
) -> None:
    """One generation: all members join, the leader plans, all but the late ones get their assignment."""
    members = [member.joins(generation) for member in group]
    plan = plan_of(leader.assignor.assign(cluster(leader.knows), members))
    lies = set().union(*(member.lie or set() for member in group))
    honest = all(member.lie is None for member in group)
    if honest and len({member.assignor._generation for member in group if member.last}) == 1:
        for member in group:
            unlisted = member.last - every(leader.knows)
            given_to = {(topic, p) for topic, numbers in plan[member.name].items() for p in numbers}
            assert unlisted <= given_to, f"{member.name} loses {sorted(unlisted - given_to)}"
    for member in group:
        given_now = {(topic, p) for topic, numbers in plan[member.name].items() for p in numbers}
        for other in group:
            # The partitions of a liar are unknown, and it may be given those it claims.
            overtaken = (given_now - member.held) & other.held - lies if other.lie is None else set()
            assert other is member or not overtaken, (
                f"{member.name} is given {overtaken}, which {other.name} has"
            )
    for member in group:
        if member.name in late and member is not leader:
            member.asks = True
        else:
            member.syncs(plan[member.name], generation)
    leader.asks |= leader.knows != topics
    leader.knows = dict(topics)
    leader.updated_at += 1


@settings(max_examples=times(0.75))
@given(data=st.data())
def test_every_partition_ends_with_exactly_one_owner(data: st.DataObject) -> None:
    """Members join, leave, fail to sync, lie, run eager or cooperative, and lead by turns."""
    group: list[Consumer] = []
    generation = 0
    topics = TOPICS
    for born in range(data.draw(st.integers(1, 5), "changes")):
        if len(group) > 1 and data.draw(st.booleans(), "one leaves"):
            group.pop(data.draw(st.integers(0, len(group) - 1), "who"))
        lie = data.draw(st.none() | st.sets(st.sampled_from(ALL)), "lie")
        group.append(Consumer(f"m{born}", eager=data.draw(st.booleans(), "eager") and lie is None, lie=lie))
        group[-1].knows = dict(data.draw(st.sampled_from(({}, {"t": 2}, TOPICS, topics)), "knows"))
        leader = data.draw(st.sampled_from(group), "leader")
        if data.draw(st.booleans(), "grows"):
            topics = GROWN
        for played in range(MOST_ROUNDS):
            generation += 1
            may_be_late = played < 3  # a group with a member that is always late cannot settle
            late = (
                data.draw(st.sets(st.sampled_from([member.name for member in group])), "late")
                if may_be_late
                else set()
            )
            play_round(group, leader, generation, late, topics)
            if not any(member.asks for member in group):
                break
        else:
            raise AssertionError("the group does not settle")
        assert sorted(tp for member in group for tp in member.held) == sorted(every(topics))
