"""Lets the leader wait for newer metadata while its metadata does not list all owned partitions."""

from __future__ import annotations

import logging

from kafka_assignors.assignor.coordinator_access.access import CoordinatorAccess
from kafka_assignors.plan import NO_GENERATION, Claims, Group, unlisted_owners

log = logging.getLogger("kafka_assignors")

_ROUNDS = 3
"""Maximum number of consecutive rounds that wait, because a failing update must not stop all planning."""


class MetadataWait:
    """Decides whether a claim on a partition that the metadata does not list may be true.

    kafka-python requests a metadata update in each round, and plans before the response.  Every valid claim
    comes from an assignment of the previous round or an earlier one.  If this member led the previous round,
    and the update that it requested then has arrived, the metadata is newer than every valid claim: a
    partition that is not listed does not exist.

    Attributes:
        is_waiting: whether owners keep unlisted partitions in this round, so that another round follows.
        is_stale: whether the metadata of this round may be older than a claim or a subscription.
    """

    def __init__(self) -> None:
        self.is_waiting = False
        self.is_stale = False
        self._led = NO_GENERATION  # the last generation that this member led
        self._answered_from = float("inf")  # an update after this time answers the request of that round
        self._rounds = 0

    def begin(self) -> None:
        """Begin a round."""
        self.is_waiting = False

    def unlisted(
        self, access: CoordinatorAccess, group: Group, claims: Claims, strategy: str
    ) -> dict[str, dict[str, list[int]]]:
        """Return the unlisted partitions that their owners keep in this round, as ``unlisted_owners`` does.

        Called once a round.  Empty after ``_ROUNDS`` rounds, and if the metadata's age is unknown (without a
        consumer, for example): the metadata then counts as complete.
        """
        self.is_stale = self._check_staleness(access)
        unlisted = unlisted_owners(group, claims) if self.is_stale else {}
        self._rounds = self._rounds + 1 if unlisted else 0
        if self._rounds > _ROUNDS:
            unlisted = {}
        self.is_waiting = bool(unlisted)
        if unlisted:
            count = sum(len(numbers) for topics in unlisted.values() for numbers in topics.values())
            log.info(
                "%s: the metadata does not list %d owned partitions; "
                "members keep all their partitions for now",
                strategy,
                count,
            )
        return unlisted

    def _check_staleness(self, access: CoordinatorAccess) -> bool:
        """Note this round; return whether the metadata may be older than a claim."""
        generation, updated_at = access.generation(), access.metadata_updated_at()
        if generation is None or updated_at is None:
            return False
        is_newer = self._led == generation - 1 and updated_at > self._answered_from
        self._led, self._answered_from = generation, access.metadata_response_at()
        return not is_newer
