"""Static members (KIP-345) look for partitions without an owner, because the leader may not notice them.

A static leader that restarts gets its old assignment back without a rebalance.  kafka-python then does not
know that it leads, so no member watches the metadata.  A static member that restarts with more topics does
not cause a rebalance either.  So a static member asks the broker for all assignments after it has restarted,
and when the metadata lists other partitions than before.  If it has restarted, or the leader is gone, it
requests a rebalance for a partition without an owner.  It also requests one if the group has lost a leader
that watches lag.

The JoinGroup of a follower starts a rebalance only if its subscription has changed.  The subscription of a
static member has changed, because it contains the member's generation, which is newer than at the last join.
"""

from __future__ import annotations

import logging
import zlib
from functools import partial

from kafka_assignors.assignor.coordinator_access.access import CoordinatorAccess
from kafka_assignors.lag.fetch.group import GroupMember, described_members
from kafka_assignors.plan import listed
from kafka_assignors.plan.cause import Cause

log = logging.getLogger("kafka_assignors")

_FIRST_S = 0.3
_SPREAD_S = 1.2
"""A check waits ``_FIRST_S``, and up to ``_SPREAD_S`` more by a hash of the member's instance id.  If the
first member to check requests a rebalance, the others need not check."""

_AGAIN_S = (1.0, 2.0, 4.0)
"""Waits before a failed check is repeated.  After the last, the next metadata update starts a new check."""


class StaticWatch:
    """Checks the group after a restart, and when the metadata lists other partitions than before.

    "Before" is the last check or rebalance.  A check is one DescribeGroups request, up to four if it fails or
    the group rebalances.  Dynamic members never check, because the restart of a dynamic leader starts a
    rebalance.  A member that took part in the last rebalance requests another one only if the leader has
    restarted or left.  A member that has restarted since then may request one although the leader is still
    there, because the leader may not have planned for the member's topics.
    """

    def __init__(self) -> None:
        self._delay_s: float | None = None  # of the first attempt of a check; None: no assignment yet
        self._member_id: str | None = None
        self._may_have_missed_rebalance = False
        self._leader_watches_lag = False
        self._known_counts: dict[str, int] | None = None  # of the last check or rebalance; None: check now
        self._generation_in_check: int | None = None

    def on_assignment(self, access: CoordinatorAccess, *, leader_watches_lag: bool) -> None:
        """Follow a new assignment.  On the I/O thread."""
        if (instance_id := access.instance_id()) is None:
            return
        # A restarted static member gets a new member id without a rebalance.
        before, self._member_id = self._member_id, access.member_id()
        self._may_have_missed_rebalance = self._member_id not in (before, access.leader_id())
        self._leader_watches_lag = leader_watches_lag
        self._known_counts = None if self._may_have_missed_rebalance else access.partition_counts()
        if self._delay_s is None:
            self._delay_s = _FIRST_S + _SPREAD_S * (zlib.crc32(instance_id.encode()) % 1000) / 1000
            access.on_metadata_update(partial(self._check_if_changed, access, self._delay_s))
        self._check_if_changed(access, self._delay_s)

    def _check_if_changed(self, access: CoordinatorAccess, delay_s: float) -> None:
        try:
            generation = access.generation()
            if access.partition_counts() == self._known_counts or self._generation_in_check == generation:
                return
            access.run(partial(self._check, access, delay_s))
            self._generation_in_check = generation
        except Exception as error:  # kafka-python's metadata refresh must go on
            log.debug("cannot check the group's partitions: %s", error)

    async def _check(self, access: CoordinatorAccess, delay_s: float) -> None:
        generation = self._generation_in_check
        try:
            for wait_s in (delay_s, *_AGAIN_S):
                await access.sleep(wait_s)
                if access.settled_generation() != generation or await self._check_once(access, generation):
                    return
        finally:
            if self._generation_in_check == generation:
                self._generation_in_check = None

    async def _check_once(self, access: CoordinatorAccess, generation: int | None) -> bool:
        """Check once; return False if that failed, or if the group rebalances."""
        try:
            counts = access.partition_counts()
            described = await access.describe_group()
            if access.settled_generation() != generation or described.group_state != "Stable":
                return False
            self._known_counts = counts
            self._decide(access, counts, described_members(described))
        except Exception as error:
            log.debug("cannot check the group's partitions: %s", error)
            return False
        return True

    def _decide(
        self, access: CoordinatorAccess, counts: dict[str, int], members: tuple[GroupMember, ...]
    ) -> None:
        has_leader = any(member.member_id == access.leader_id() for member in members)
        if has_leader and not self._may_have_missed_rebalance:
            return
        owned = {tp for member in members for tp in member.owned}
        free = [(t, p) for t, count in sorted(counts.items()) for p in range(count) if (t, p) not in owned]
        if free and all(member.readable for member in members):
            names = listed(free, name=lambda partition: "{}-{}".format(*partition))
            log.info("requesting a rebalance: no member owns %s", names)
        elif self._leader_watches_lag and not has_leader:
            log.info("requesting a rebalance: the leader restarted, so no member watches the group's lag")
        else:
            return
        access.request_rejoin(Cause.STATIC_WATCH)
