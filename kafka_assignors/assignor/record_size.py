"""The size of a group's record at the broker, and the warning that it is too large.

The broker writes all subscriptions and assignments of a group into one record, and refuses an assignment
whose record is larger than the ``max.message.bytes`` of ``__consumer_offsets``.  Topic names are ASCII, one
byte a character.  Ids and racks are counted as if they were ASCII, too.
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Iterable, Mapping

from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors.assignor.members import JoinedMember
from kafka_assignors.plan import Ownership

log = logging.getLogger("kafka_assignors")

RECORD_BYTES = 1_048_576
"""Limit of the record in most clusters.

The default of ``message.max.bytes`` is 12 bytes more.  The batch and the key take about 80 bytes of it.
"""

_NEAR = 0.9
"""Part of the limit above which the leader warns, if its strategy sends no budgets (``lag.budget``)."""

_TOPIC, _NUMBERS = operator.attrgetter("topic"), operator.attrgetter("partitions")
_BROKER_FIELDS = 96
"""Bytes of a member's address, timeouts and lengths in the record, beside its ids."""


class RecordWatch:
    """Warns once when the record grows beyond a limit, and again only after it was smaller."""

    def __init__(
        self, name: str, limit: int = int(_NEAR * RECORD_BYTES), limit_name: str = "90 % of 1 MiB"
    ) -> None:
        self._name, self._limit, self._limit_name = name, limit, limit_name
        self._is_too_large = False

    def check(self, size: int) -> None:
        """Compare the bytes of this round's record."""
        if size > self._limit and not self._is_too_large:
            log.warning(
                "%s: the group's record takes %d bytes, more than %s (%d); the broker refuses the"
                " assignment if the record is larger than max.message.bytes of __consumer_offsets:"
                " raise that, or split the group's topics",
                self._name,
                size,
                self._limit_name,
                self._limit,
            )
        self._is_too_large = size > self._limit


def record_bytes(
    members: Iterable[JoinedMember], assignments: Mapping[str, ConsumerProtocolAssignment]
) -> int:
    """Estimate the bytes of the record.  Linear in the members' topics, claims and assigned partitions."""
    return sum(
        fixed_bytes(member) + sent_bytes(member) + len(assignments[member.member_id].encode())
        for member in members
    )


def fixed_bytes(member: JoinedMember) -> int:
    """Return the bytes of a member's ids, its topics and the broker's fields."""
    topics = member.metadata.topics or ()
    names = _characters(topics) + 2 * len(member.member_id) + len(member.group_instance_id or "")
    return _BROKER_FIELDS + 2 * len(topics) + names + len(member.metadata.rack_id or "")


def sent_bytes(member: JoinedMember) -> int:
    """Return the bytes of the claims and the user data that a member joined with."""
    # A group may have millions of entries, and `map` is much faster than a loop.
    entries = member.metadata.owned_partitions or ()
    partitions = sum(map(len, filter(None, map(_NUMBERS, entries))))
    claims = _plain_bytes(len(entries), _characters(map(_TOPIC, entries)), partitions)
    return len(member.metadata.user_data or b"") + claims


def plain_bytes(owned: Ownership) -> int:
    """Return the bytes of an ownership in Kafka's own form."""
    return _plain_bytes(len(owned), _characters(owned), sum(map(len, owned.values())))


def _plain_bytes(topics: int, characters: int, partitions: int) -> int:
    return 6 * topics + characters + 4 * partitions


def _characters(names: Iterable[str | None]) -> int:
    return len("".join(filter(None, names)))  # the protocol allows null
