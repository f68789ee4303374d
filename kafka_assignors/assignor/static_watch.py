"""Static members (KIP-345): notice partitions that nobody owns, because the leader may not.

A static leader that restarts gets its old assignment back without a rebalance, and kafka-python does not
learn that it leads: nobody watches the metadata.  A static member that restarts with more topics does not
cause a rebalance either.  So each static member compares its metadata with what the group owns, as the broker
describes it, and asks for a rebalance where something has no owner.  Its join differs from its last one by
the generation in the subscription, so the broker begins a rebalance though it may not be the leader.
"""

from __future__ import annotations

import logging
import zlib

from kafka_assignors.assignor.coordinator_access import ConsumerSide
from kafka_assignors.lag.fetch.group import GroupMember, members_of

__all__ = ["StaticWatch"]

log = logging.getLogger("kafka_assignors")

_FIRST_S = 0.3
_SPREAD_S = 1.2
"""Members ask one after the other, in an order made from their instance ids; the first request is enough."""

_NAMES = 3


class StaticWatch:
    """Looks after a restart, and when the metadata lists other partitions than at the last assignment.

    A look is one DescribeGroups request.  Dynamic members never look: their leader is always the one that
    planned.  A member that took part in the last rebalance leaves the matter to its leader while that one is
    still in the group; one that has restarted since cannot know whether the leader planned.
    """

    def __init__(self) -> None:
        self._side: ConsumerSide | None = None
        self._member_id: str | None = None
        self._is_restarted = False
        self._needs_leader = False
        self._listed: dict[str, int] | None = None  # at the last look; None: never looked
        self._looks_in: int | None = None  # the generation for which a look is under way

    def assigned(self, side: ConsumerSide, *, needs_leader: bool) -> None:
        """The member has got an assignment.  On the I/O thread.

        Args:
            side: its consumer.
            needs_leader: the strategy needs a leader that watches more than the metadata.
        """
        if (instance_id := side.instance_id()) is None:
            return
        # A join from outside gives a static member a new id; it has no part in a rebalance then.
        before, self._member_id = self._member_id, side.member_id()
        self._is_restarted = self._member_id not in (before, side.leader_id())
        self._needs_leader = needs_leader
        self._listed = None if self._is_restarted else side.listed()
        if self._side is None:
            self._side = side
            self._delay_s = _FIRST_S + _SPREAD_S * (zlib.crc32(instance_id.encode()) % 1000) / 1000
            side.at_metadata(self._compare)
        self._compare()

    def _compare(self) -> None:
        side = self._side
        try:
            if side is None or side.listed() == self._listed or self._looks_in == side.generation():
                return
            side.run(self._look)
            self._looks_in = side.generation()
        except Exception as error:  # kafka-python's refresh of the metadata must go on
            log.debug("no look at the group's partitions: %s", error)

    async def _look(self) -> None:
        side, generation = self._side, self._looks_in
        if side is None:
            return
        try:
            await side.sleep(self._delay_s)
            if side.settled_generation() != generation:
                return
            listed = side.listed()
            described = await side.describe_group()
            if side.settled_generation() != generation or described.group_state != "Stable":
                return
            self._listed = listed
            self._decide(side, listed, members_of(described))
        except Exception as error:  # the next update of the metadata is the next chance
            log.debug("no look at the group's partitions: %s", error)
        finally:
            if self._looks_in == generation:
                self._looks_in = None

    def _decide(self, side: ConsumerSide, listed: dict[str, int], members: tuple[GroupMember, ...]) -> None:
        has_leader = any(member.member_id == side.leader_id() for member in members)
        if has_leader and not self._is_restarted:
            return
        owned = {tp for member in members for tp in member.owned}
        free = [(t, p) for t, count in sorted(listed.items()) for p in range(count) if (t, p) not in owned]
        if free and all(member.readable for member in members):
            names = ", ".join(f"{topic}-{partition}" for topic, partition in free[:_NAMES])
            more = f" and {len(free) - _NAMES} more" if len(free) > _NAMES else ""
            log.info("asking for a rebalance: no member owns %s%s", names, more)
        elif self._needs_leader and not has_leader:
            log.info("asking for a rebalance: the leader has restarted, and nobody watches the group's lag")
        else:
            return
        side.request_rejoin()
