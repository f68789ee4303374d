"""The size of a group's record at the broker, and the warning that it is too large.

The broker writes all subscriptions and assignments of a group into one record, and refuses an assignment
whose record is larger than the ``max.message.bytes`` of ``__consumer_offsets``.  Kafka's names are ASCII, so
a character counts as one byte.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from kafka.protocol.consumer.group import JoinGroupResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors.plan import Ownership

log = logging.getLogger("kafka_assignors")

RECORD_BYTES = 1_048_576
"""Limit of the record in most clusters: ``message.max.bytes``, less the batch's header."""

_NEAR = 0.9
"""Part of the limit above which the leader warns, if nothing in the record can shrink."""

_BROKER_FIELDS = 96
"""Bytes of a member's address, timeouts and lengths in the record, beside its ids."""


class RecordWatch:
    """Warns once when the record grows beyond a size, and again only after it was smaller."""

    def __init__(self, name: str, most: int = int(_NEAR * RECORD_BYTES), of: str = "90 % of 1 MiB") -> None:
        self._name, self._most, self._of = name, most, of
        self._is_too_large = False

    def check(self, size: int) -> None:
        """Compare the size of this round's record."""
        if size > self._most and not self._is_too_large:
            log.warning(
                "%s: the group's record takes %d bytes, more than %s (%d); the broker refuses the"
                " assignment if it is more than max.message.bytes of __consumer_offsets:"
                " raise that, or split the group's topics",
                self._name,
                size,
                self._of,
                self._most,
            )
        self._is_too_large = size > self._most


def record_bytes(
    members: Sequence[JoinGroupResponse.JoinGroupResponseMember],
    assignments: Mapping[str, ConsumerProtocolAssignment],
) -> int:
    """Return the estimated bytes of the record."""
    return sum(
        fixed_bytes(member) + sent_bytes(member) + len(assignments[member.member_id].encode())
        for member in members
    )


def fixed_bytes(member: JoinGroupResponse.JoinGroupResponseMember) -> int:
    """Return the bytes of a member's ids, its topics and the broker's fields."""
    topics = [topic or "" for topic in member.metadata.topics or ()]  # the protocol allows null
    names = sum(map(len, topics)) + 2 * len(member.member_id) + len(member.group_instance_id or "")
    return _BROKER_FIELDS + 2 * len(topics) + names + len(member.metadata.rack_id or "")


def sent_bytes(member: JoinGroupResponse.JoinGroupResponseMember) -> int:
    """Return the bytes of the claims and the user data that a member joined with."""
    claims = member.metadata.owned_partitions or ()
    return len(member.metadata.user_data or b"") + sum(
        6 + len(claim.topic or "") + 4 * len(claim.partitions or ()) for claim in claims
    )


def plain_bytes(owned: Ownership) -> int:
    """Return the size of an ownership in Kafka's own form."""
    return 6 * len(owned) + sum(map(len, owned)) + 4 * sum(map(len, owned.values()))
