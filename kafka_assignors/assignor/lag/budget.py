"""Keeps a group's record within the broker's limit.

The broker refuses an assignment whose record is too large (see ``record_size``).  The leader knows the sizes
of all subscriptions and assignments.  In a large group it sends each member a budget with its assignment: the
bytes that claims and user data may take in the member's next subscription.  If this record is too large
already, or the next one would be, the leader folds the assignments: their partitions move to the user data,
in compact form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors.assignor import convert
from kafka_assignors.assignor.members import JoinedMember
from kafka_assignors.assignor.record_size import RecordWatch, fixed_bytes, plain_bytes, sent_bytes
from kafka_assignors.lag.throughput import Throughput
from kafka_assignors.plan import Ownership
from kafka_assignors.wire import budget, compact_ownership, rates
from kafka_assignors.wire.budget import NO_LIMIT, MemberBudget
from kafka_assignors.wire.lag_user_data import MOST_REPORTED_LAGS

_SMALL = 0.5
"""Part of the limit below which members need no budget, so that small groups send Kafka's plain formats."""

_FULL = 0.9
"""Part of the limit that a planned record may take.  The rest is for later members and partitions."""

_LAG_BYTES = 10
"""Bytes that a lag usually takes at most in the plain form, without the topic's name."""


class MemberSize(NamedTuple):
    """A member's part of the record, before the leader chooses budgets."""

    fixed: int  # bytes of its ids, its topics, the broker's fields and the rates sent to it
    sent: int  # bytes of the claims and the user data that it joined with
    assigned: Ownership  # the partitions of its new assignment


class Fitted(NamedTuple):
    """The budgets that the leader chooses."""

    budgets: list[MemberBudget] | None  # one for each member; None: the group is small, and needs none
    size: int  # estimated bytes of this round's record


def fit(sizes: Sequence[MemberSize], limit: int, *, claims: bool, some_have_budgets: bool = False) -> Fitted:
    """Choose budgets with which this record and the next one fit into the limit, as far as possible.

    Budgets shrink the subscriptions at the next join: claims take a compact form, which loses nothing; lags
    are rounded, and the least lags are left out.  Assignments are folded only if that is not enough, or if
    this record is too large already, because other tools cannot read a folded assignment.

    Args:
        sizes: of all members.
        limit: bytes of the record.
        claims: whether members claim partitions when they join.
        some_have_budgets: whether a member has a budget from an earlier rebalance.
    """
    fixed = sum(size.fixed for size in sizes)
    sent = sum(size.sent for size in sizes)
    counts = [sum(map(len, size.assigned.values())) for size in sizes]
    plain = [plain_bytes(size.assigned) for size in sizes]
    lags = sum(_LAG_BYTES * min(count, MOST_REPORTED_LAGS) for count in counts)
    now = fixed + sent + sum(plain)
    upcoming = fixed + sum(plain) * (1 + claims) + lags
    if max(now, upcoming) <= _SMALL * limit:
        # An assignment without a budget would leave the last budget in force.
        return Fitted([MemberBudget(NO_LIMIT)] * len(sizes) if some_have_budgets else None, now)
    full = int(_FULL * limit)
    packed = [len(compact_ownership.pack(size.assigned)) for size in sizes]
    claimed = packed if claims else [0] * len(sizes)
    is_folded = max(now, fixed + sum(plain) + sum(claimed)) > full
    assigned = packed if is_folded else plain
    spare = max(full - fixed - sum(assigned) - sum(claimed), 0)
    shares = sum(counts) + len(counts)
    budgets = [
        MemberBudget(claim + spare * (count + 1) // shares, size.assigned if is_folded else None)
        for size, claim, count in zip(sizes, claimed, counts, strict=True)
    ]
    return Fitted(budgets, fixed + sent + sum(assigned))


def sizes_of(
    members: Iterable[JoinedMember],
    assignments: Mapping[str, ConsumerProtocolAssignment],
) -> list[MemberSize]:
    """Return the members' parts of the record."""
    return [
        MemberSize(fixed_bytes(member), sent_bytes(member), _ownership(assignments[member.member_id]))
        for member in members
    ]


def _ownership(assignment: ConsumerProtocolAssignment) -> Ownership:
    if isinstance(assignment, convert.PlannedAssignment):
        return assignment.ownership()
    return dict(assignment.assigned_partitions)


def _with_budget(assignment: ConsumerProtocolAssignment, given: MemberBudget) -> ConsumerProtocolAssignment:
    user_data = budget.encode(given)
    if given.owned is not None:
        return ConsumerProtocolAssignment(0, [], user_data)
    assignment.user_data = user_data
    return assignment


class Budgets:
    """Adds budgets to assignments, on the leader."""

    def __init__(self, name: str, limit: int, *, claims: bool) -> None:
        self.watch = RecordWatch(name, limit, "group_record_bytes")
        self._limit = limit
        self._claims = claims

    def add(
        self,
        assignments: dict[str, ConsumerProtocolAssignment],
        members: Sequence[JoinedMember],
        throughput: Throughput | None,
        *,
        some_have_budgets: bool,
    ) -> dict[str, ConsumerProtocolAssignment]:
        """Return the assignments, with budgets and rates where needed.

        Call only if all members can read budgets.
        """
        sizes = sizes_of(members, assignments)
        choose = partial(fit, limit=self._limit, claims=self._claims, some_have_budgets=some_have_budgets)
        packed_rates = [_pack_rates(size.assigned, throughput) for size in sizes]
        fitted = choose(
            [
                size._replace(fixed=size.fixed + len(member_rates))
                for size, member_rates in zip(sizes, packed_rates, strict=True)
            ]
        )
        if fitted.size > self._limit and any(packed_rates):  # without rates, new owners measure again
            packed_rates, fitted = [b""] * len(sizes), choose(sizes)
        self.watch.check(fitted.size)
        if fitted.budgets is None and not any(packed_rates):
            return assignments
        budgets = fitted.budgets or [MemberBudget(None)] * len(sizes)
        return {
            member.member_id: _with_budget(
                assignments[member.member_id], member_budget._replace(rates=member_rates)
            )
            for member, member_budget, member_rates in zip(members, budgets, packed_rates, strict=True)
        }


def _pack_rates(owned: Ownership, throughput: Throughput | None) -> bytes:
    if throughput is None:
        return b""
    partitions = compact_ownership.in_order(owned)
    return rates.pack(partitions, throughput.rates(partitions))
