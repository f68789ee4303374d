"""KIP-54 and its two relatives: ``sticky``, ``fair`` and ``fairest-sticky``."""

from __future__ import annotations

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.claims import Claims
from kafka_assignors.plan.model import Group
from kafka_assignors.plan.sticky.deal import Lots, deal
from kafka_assignors.plan.sticky.shares import best_shares


def plan_sticky(group: Group, claims: Claims) -> Assignment:
    """Plan for fairness first, then stickiness, then spread.

    Fair: no plan has a smaller sum of squares of the members' partition counts, for any subscriptions.
    Sticky: no fair plan keeps more partitions with their owner.  Spread: of the plans that are as fair and as
    sticky, none has a smaller sum of squares of the counts by topic and member.  All three are exact; for the
    second, KIP-54 asks only for "an optimum (and not necessarily the best)".

    With racks (of the members, and of the replicas in ``Group.racks``) locality comes between fair and
    sticky, and is exact, too: no fair plan has more partitions with an owner in a rack of a replica
    (KIP-881).  Spread then treats the partitions of a topic that are equally near for each subscriber as a
    topic of their own.  So the sum of squares over whole topics can be larger than necessary.  Racks are
    ignored if they would take too much memory (``Group.too_many_racks``).

    Ties: members by seniority, topics by name, partitions by number.  Planning again with nothing changed
    changes nothing.  Cost: see ``best_shares``.
    """
    return _plan(group, Lots(group, claims.owner), keep_all=False)


def plan_fair(group: Group) -> Assignment:
    """Plan as ``plan_sticky`` without history (KIP-54, "Alternatives": the fair strategy of KIP-49)."""
    return _plan(group, Lots(group), keep_all=False)


def plan_fairest_sticky(group: Group, claims: Claims) -> Assignment:
    """Keep every owned partition; assign the rest as fairly as possible (then as near, with racks).

    KIP-54, "Alternatives": "stickiness take precedence and all previously assigned partitions are preserved".
    Ties as in ``plan_sticky``.
    """
    return _plan(group, Lots(group, claims.owner), keep_all=True)


def _plan(group: Group, lots: Lots, *, keep_all: bool) -> Assignment:
    # A lot is a topic, or with racks the part of it that is equally near for each subscriber.  First plan how
    # many partitions of each lot each member gets, then choose the partitions.
    return Assignment(group, deal(lots, best_shares(lots.problem(keep_all=keep_all))))
