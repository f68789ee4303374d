"""Reads joining members on the leader.  Their data is untrusted; bad data causes complaints, never errors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kafka.protocol.consumer.group import JoinGroupResponse

from kafka_assignors.assignor import convert
from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.lag.sources import one_line
from kafka_assignors.plan import NO_GENERATION, Member, Ownership, TopicPartition, shown
from kafka_assignors.plan.capacity import in_units
from kafka_assignors.plan.cause import Cause

JoinedMember: TypeAlias = JoinGroupResponse.JoinGroupResponseMember

log = logging.getLogger("kafka_assignors")


class MemberReport(NamedTuple):
    """A member's decoded user data; empty by default.

    ``priority`` and ``capacity`` are as in ``Member``, ``requests`` as in ``SeenMember``.

    Attributes:
        claimed: the partitions it owned in ``generation``.  It has revoked them, unless ``still_owns``.
        generation: of its last assignment.
        lags: records left to read, of the partitions whose lag it knows.
        lag_age_ms: age of ``lags`` when the member joined.
        rates: arrivals, records a second, of partitions in ``lags``.
        service_rate: records a second that it reads; a member that measures sends this rather than
            ``capacity``.  0: not measured yet.  None: it does not measure.
        unread: why a part of the user data cannot be decoded; None: all of it is decoded.
        still_owns: whether it still owns ``claimed``; its subscription then lists no owned partitions.
        reads_budget: whether it reads an assignment with a budget.
        has_budget: whether a budget from a leader is in force for it.
        more: data that only its own strategy understands.
    """

    claimed: Ownership = MappingProxyType({})
    generation: int = NO_GENERATION
    priority: int | None = None
    lags: Mapping[TopicPartition, int] = MappingProxyType({})
    lag_age_ms: int = 0
    rates: Mapping[TopicPartition, float] = MappingProxyType({})
    capacity: float = 1.0
    service_rate: float | None = None
    unread: str | None = None
    requests: Mapping[Cause, int] = MappingProxyType({})
    still_owns: bool = False
    reads_budget: bool = False
    has_budget: bool = False
    more: object = None


Reports: TypeAlias = Sequence[tuple[Member, MemberReport]]
"""The members of a round, each with its decoded user data."""


def read_user_data(
    joined: JoinedMember, decode: Callable[[bytes], MemberReport], complaints: Complaints
) -> MemberReport:
    """Decode a member's user data; return an empty report if that fails."""
    try:
        report = decode(bytes(joined.metadata.user_data or b""))
        unread = report.unread
    except Exception as error:  # not only a CodecError: a user's own strategy may raise anything
        log.debug("the user data of a member cannot be read", exc_info=True)
        complaints.add(joined.member_id, f"sent user data that cannot be read ({shown(one_line(error))})")
        return MemberReport()
    if unread is not None:
        complaints.add(joined.member_id, f"sent user data of which a part cannot be read ({unread})")
    return report


def to_member(
    joined: JoinedMember,
    report: MemberReport,
    complaints: Complaints,
    *,
    cooperative: bool,
    joining: int | None,
    shared: dict[frozenset[str], frozenset[str]],
) -> Member:
    """Convert a joined member to the planner's ``Member``.

    ``cooperative``: whether the strategy is cooperative; members of an eager one hold nothing during a plan.
    ``joining``: the generation of this rebalance; None if unknown.  ``shared``: the distinct sets of topics.
    Members with equal topics get the same set, because many later steps compare these sets.
    """
    subscription = joined.metadata
    listed = convert.owned_in(subscription) if cooperative else {}
    held: Ownership = listed or (report.claimed if cooperative and report.still_owns else {})
    owned: Ownership = held or report.claimed
    # The subscription (v2) and the user data each have the generation of the partitions that they list.
    dated = subscription.generation_id if listed and subscription.generation_id >= 0 else report.generation
    generation = max(dated, NO_GENERATION)
    if joining is not None and generation >= joining:
        if owned:  # else the group began anew, and the member lost its partitions with the former one
            claim = f"claims partitions of generation {generation}, but joins generation {joining}"
            complaints.add(joined.member_id, claim)
        held, owned, generation = {}, {}, NO_GENERATION
    topics = convert.topics_in(subscription)
    capacity = report.capacity
    if in_units(capacity) is None:
        complaints.add(joined.member_id, f"reports a capacity of {capacity!r:.60}")
        capacity = 1.0
    return Member(
        member_id=joined.member_id,
        topics=shared.setdefault(topics, topics),
        owned=owned,
        generation=generation,
        instance_id=joined.group_instance_id or None,
        rack=subscription.rack_id or None,
        still_owns=bool(held),
        priority=report.priority,
        capacity=capacity,
    )
