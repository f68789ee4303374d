"""On the leader: whether its metadata may lack what members own, and for how many rounds that has lasted."""

from __future__ import annotations

import logging

from kafka_assignors.assignor.coordinator_access import ConsumerSide
from kafka_assignors.plan import NO_GENERATION, Claims, Group, unlisted_owners

__all__ = ["MetadataWait"]

log = logging.getLogger("kafka_assignors")

_ROUNDS = 3
"""A leader waits for so many rounds in a row: an update that fails must not keep a group from its plan."""


class MetadataWait:
    """Decides when a claim on a partition that the metadata does not list may be true.

    kafka-python requests an update in each round and plans before it has come.  So the metadata is newer than
    every true claim once this member has led the round before and an update has come since.  Then the
    partition does not exist.  The state is one generation and one time, whatever members claim.

    Attributes:
        waits: a round is under way that was planned without the metadata, so another one will follow.
    """

    def __init__(self) -> None:
        self.waits = False
        self._led = NO_GENERATION
        self._asked_at = float("inf")
        self._rounds = 0

    def begins(self) -> None:
        """A round begins."""
        self.waits = False

    def unlisted(
        self, side: ConsumerSide, group: Group, claims: Claims, strategy: str
    ) -> dict[str, dict[str, list[int]]]:
        """Say who keeps which partitions in this round because the metadata may not list them yet.

        Called once a round.

        Args:
            side: the leader's consumer; without one the metadata counts as complete.
            group: as the metadata has it.
            claims: of that group.
            strategy: for the log.

        Returns:
            Member id -> topic -> partition numbers; see ``unlisted_owners``.
        """
        unlisted = unlisted_owners(group, claims) if self._may_lack(side) else {}
        self._rounds = self._rounds + 1 if unlisted else 0
        if self._rounds > _ROUNDS:
            unlisted = {}
        self.waits = bool(unlisted)
        if unlisted:
            count = sum(len(numbers) for topics in unlisted.values() for numbers in topics.values())
            log.info(
                "%s: the metadata lacks %d owned partitions; everything owned stays until it has come",
                *(strategy, count),
            )
        return unlisted

    def _may_lack(self, side: ConsumerSide) -> bool:
        """Whether the metadata may be older than a claim."""
        joining, updated_at = side.generation(), side.metadata_updated_at()
        if joining is None or updated_at is None:
            return False
        is_newer = self._led == joining - 1 and updated_at > self._asked_at
        self._led, self._asked_at = joining, side.metadata_asked_at()
        return not is_newer
