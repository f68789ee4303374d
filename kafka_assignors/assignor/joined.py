"""What a member that joins says, as the leader reads it: never trusted, never an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kafka.protocol.consumer.group import JoinGroupResponse

from kafka_assignors.assignor import convert
from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.errors import CodecError
from kafka_assignors.plan import NO_GENERATION, Member, Ownership, TopicPartition

__all__ = ["Joined", "Told", "member_of", "told_by"]

Joined: TypeAlias = JoinGroupResponse.JoinGroupResponseMember


class Told(NamedTuple):
    """What a member says in its user data; by default nothing.

    Attributes:
        revoked: what it owned in ``generation`` and has given back.
        generation: of its last assignment.
        priority: see ``Member``.
        lags: records left to read of the partitions it knows that of.
        lag_age_ms: how long before it joined that was measured.
        unread: what is wrong with the rest of it, None when nothing is.
        more: what only its own strategy understands.
    """

    revoked: Ownership = MappingProxyType({})
    generation: int = NO_GENERATION
    priority: int | None = None
    lags: Mapping[TopicPartition, int] = MappingProxyType({})
    lag_age_ms: int = 0
    unread: str | None = None
    more: object = None


def told_by(joined: Joined, read: Callable[[bytes], Told], complaints: Complaints) -> Told:
    """What a member says in its user data; nothing where that cannot be read."""
    try:
        told = read(bytes(joined.metadata.user_data or b""))
    except CodecError as error:
        complaints.add(joined.member_id, f"sent user data that cannot be read ({error})")
        return Told()
    if told.unread is not None:
        complaints.add(joined.member_id, f"sent user data of which a part cannot be read ({told.unread})")
    return told


def member_of(
    joined: Joined, told: Told, complaints: Complaints, *, cooperative: bool, joining: int | None
) -> Member:
    """The planner's value of a member.

    Args:
        joined: as the broker handed it on.
        told: what it said in its user data.
        complaints: takes what is wrong with it.
        cooperative: whether the strategy is; else nobody holds anything while the group plans.
        joining: the generation that is being planned for, None if it is not known.
    """
    subscription = joined.metadata
    holds = convert.owned_in(subscription) if cooperative else {}
    owned: Ownership = holds or told.revoked
    # User data dates what it holds itself; owned partitions are dated by the subscription (from v2 on).
    dated = subscription.generation_id if holds and subscription.generation_id >= 0 else told.generation
    generation = max(dated, NO_GENERATION)
    if joining is not None and generation >= joining:
        complaints.add(joined.member_id, f"claims to come from generation {generation}, which is not over")
        holds, owned, generation = {}, {}, NO_GENERATION
    return Member(
        member_id=joined.member_id,
        topics=convert.topics_in(subscription),
        owned=owned,
        generation=generation,
        instance_id=joined.group_instance_id or None,
        rack=subscription.rack_id or None,
        holds=bool(holds),
        priority=told.priority,
    )
