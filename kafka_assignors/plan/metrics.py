"""How good a plan is, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_assignors.plan.claims import Claims
from kafka_assignors.plan.model import Assignment, Group

__all__ = ["Metrics", "measure"]


@dataclass(frozen=True, slots=True)
class Metrics:
    """Figures of one plan.

    Attributes:
        members: members of the group.
        partitions: partitions that have an owner.
        kept: partitions that stay with the member that owned them.
        moved: partitions taken from a member that could have kept them.
        spread: the largest difference, over all topics, between two subscribers' shares of one topic
            (partitions); 0 or 1 is as even as can be.
        balance_score: KIP-54's: the sum over all pairs of members of the difference of their counts.
    """

    members: int
    partitions: int
    kept: int
    moved: int
    spread: int
    balance_score: int


def measure(group: Group, claims: Claims, assignment: Assignment) -> Metrics:
    """Measure an assignment against the history it was made from.  Linear in the partitions."""
    kept = 0
    for index, member in enumerate(group.members):
        for topic, partitions in assignment[member.member_id].items():
            kept += int((claims.owner[topic][partitions] == index).sum())
    known = sum(int((owners >= 0).sum()) for owners in claims.owner.values())
    loads = sorted(sum(map(len, topics.values())) for topics in assignment.values())
    spread = 0
    for topic, members in group.subscribers().items():
        shares = [len(assignment[m.member_id].get(topic, ())) for m in members]
        spread = max(spread, max(shares) - min(shares))
    return Metrics(
        members=len(group.members),
        partitions=sum(loads),
        kept=kept,
        moved=known - kept,
        spread=spread,
        balance_score=balance_score(loads),
    )


def balance_score(ascending: list[int]) -> int:
    """Sum of the differences of all pairs, from counts in ascending order: the i-th is added i times."""
    last = len(ascending) - 1
    return sum(load * (2 * i - last) for i, load in enumerate(ascending))
