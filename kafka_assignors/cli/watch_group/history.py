"""The rebalances of a group, from snapshots of it.  Pure.

A snapshot shows the group at one moment.  While a classic group rebalances, a broker describes neither
subscriptions nor assignments of members.  So a rebalance is the difference of two stable snapshots:

- Several rebalances between two snapshots appear as one.  ``generations`` is the number of generations that
  passed, if known: members of a classic group report generations, and the broker reports a KIP-848 group's
  epoch.
- A rebalance between two snapshots is not seen if it changes nothing that the broker describes.
- The broker does not say which member leads, what the leader requested, or why a member is gone.  If no
  described change explains a rebalance, its cause is unknown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from kafka_assignors.lag.fetch.group import REBALANCING, GroupMember, GroupState
from kafka_assignors.plan import TopicPartition
from kafka_assignors.plan.cause import Cause, GroupSnapshot, RebalanceCause, SeenMember, causes_between

_KEPT = 100  # rebalances

OwnerNames = Mapping[TopicPartition, str]
"""Partition -> name of its owner."""


class MoveReason(str, Enum):
    """Why a partition changed its owner, as far as the broker describes it."""

    OWNER_GONE = "its owner is gone"
    UNSUBSCRIBED = "its owner unsubscribed"
    JOINED = "for a member that joined"
    NEW_PARTITION = "new partition"
    HELD_BACK = "revoked in an earlier round"
    NO_OWNER = "it had no owner"
    REVOKED = "revoked, no owner yet"
    STRATEGY = "moved by the strategy"


@dataclass(frozen=True, slots=True)
class SeenMove:
    """A partition whose owner changed."""

    tp: TopicPartition
    old: str | None  # last known owner, even if it revoked the partition earlier; None: no owner is known
    new: str | None  # None: it has no owner now
    why: MoveReason


@dataclass(frozen=True, slots=True)
class SeenRebalance:
    """A change of the group between two stable snapshots.  Times are seconds since 1970."""

    after_s: float  # the last stable snapshot before the rebalance
    began_s: float | None  # the first snapshot during it; None: it took place between two snapshots
    time_s: float  # the first stable snapshot after it
    causes: tuple[RebalanceCause, ...]  # at least one
    moves: tuple[SeenMove, ...]  # by partition
    strategies: tuple[str, str]  # before and after
    generations: int | None  # number that passed; None: unknown
    is_certain: bool = True  # False: a static member restarted, which may need no rebalance


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A group as its broker described it at one moment.

    ``partitions``: topic -> number of partitions, for at least the subscribed topics that exist.  None: the
    broker did not return the number.
    """

    time_s: float  # seconds since 1970
    group: GroupState
    partitions: Mapping[str, int | None]

    @property
    def is_stable(self) -> bool:
        """Whether no rebalance is under way, so that subscriptions and assignments are known."""
        return state_name(self.group) not in REBALANCING


class RebalanceHistory:
    """Collects the rebalances of a group from its snapshots.

    Attributes:
        rebalances: the newest 100, in the order of time.
        rebalancing_s: time of the first snapshot in the rebalance that is under way; None: the group is
            stable.
        owners: the owners in the last stable snapshot.
    """

    def __init__(self) -> None:
        self.rebalances: deque[SeenRebalance] = deque(maxlen=_KEPT)
        self.rebalancing_s: float | None = None
        self.owners: OwnerNames = {}
        self._stable: Snapshot | None = None
        self._planned: dict[str, int] = {}  # partition counts at the last rebalance
        self._last_owner: dict[TopicPartition, str] = {}

    def add(self, snapshot: Snapshot) -> SeenRebalance | None:
        """Add a snapshot, newer than all others; return the rebalance that it completes."""
        if not snapshot.is_stable:
            if self.rebalancing_s is None:
                self.rebalancing_s = snapshot.time_s
            return None
        rebalance = None
        if self._stable is None:
            self._planned = _counts(snapshot.partitions, {})
        elif self.rebalancing_s is not None or _fingerprint(self._stable.group) != _fingerprint(
            snapshot.group
        ):
            rebalance = self._rebalance(self._stable, snapshot)
            self._planned = _counts(snapshot.partitions, self._planned)
            self.rebalances.append(rebalance)
        self._stable, self.rebalancing_s, self.owners = snapshot, None, owner_names(snapshot.group)
        self._last_owner |= self.owners
        return rebalance

    def _rebalance(self, before: Snapshot, after: Snapshot) -> SeenRebalance:
        old, new = before.group, after.group
        counts = _counts(after.partitions, self._planned)
        reported = generation(old)
        moves = self._moves(old, new, counts)
        causes = causes_between(
            GroupSnapshot(_seen(old, reported), self._planned),
            GroupSnapshot(_seen(new, reported), counts),
        )
        passed = None
        if reported is not None and (now := generation(new)) is not None:
            passed = now - reported
        # A static member that returns with its old subscription gets its old assignment without a rebalance.
        is_quiet_return = {cause.cause for cause in causes} == {Cause.RESTARTED} and not passed
        return SeenRebalance(
            after_s=before.time_s,
            began_s=self.rebalancing_s,
            time_s=after.time_s,
            causes=tuple(causes) or (RebalanceCause(_unexplained(moves)),),
            moves=moves,
            strategies=(old.strategy, new.strategy),
            generations=passed if passed is not None and passed > 0 else None,
            is_certain=bool(self.rebalancing_s is not None or moves or not is_quiet_return),
        )

    def _moves(
        self, before: GroupState, after: GroupState, counts: Mapping[str, int]
    ) -> tuple[SeenMove, ...]:
        owners_before, owners_after = owner_names(before), owner_names(after)
        names_before = {name_of(member) for member in before.members}
        topics_before = {topic for member in before.members for topic in member.topics}
        members_after = {name_of(member): member for member in after.members}
        moves = []
        for tp in sorted(owners_before.keys() | owners_after.keys()):
            owner, new = owners_before.get(tp), owners_after.get(tp)
            if owner == new:
                continue
            old = owner or self._last_owner.get(tp)
            if old is None:
                # The count of a topic is known only while members subscribe to it.  So the partitions of a
                # topic that no member subscribed to before do not count as new.
                is_known = tp.topic in topics_before and tp.topic in counts
                is_new = is_known and tp.partition >= self._planned.get(tp.topic, 0)
                why = MoveReason.NEW_PARTITION if is_new else MoveReason.NO_OWNER
            elif old not in members_after:
                why = MoveReason.OWNER_GONE
            elif owner is None:
                why = MoveReason.HELD_BACK
            elif members_after[old].topics and tp.topic not in members_after[old].topics:
                why = MoveReason.UNSUBSCRIBED
            elif new is None:
                why = MoveReason.REVOKED
            else:
                why = MoveReason.STRATEGY if new in names_before else MoveReason.JOINED
            moves.append(SeenMove(tp, old, new, why))
        return tuple(moves)


def state_name(group: GroupState) -> str:
    """Return the broker's name of the group's state."""
    return group.new_state or group.state


def generation(group: GroupState) -> int | None:
    """Return a KIP-848 group's epoch, or the lowest generation a classic group can be in; None: unknown.

    Members of a classic group report the generation they had when they joined.  The join started a later one.
    """
    if group.epoch is not None:
        return group.epoch
    newest = max((member.generation for member in group.members), default=-1)
    return newest + 1 if newest >= 0 else None


def name_of(member: GroupMember) -> str:
    """Return the instance id of a static member, which survives restarts; else the member id."""
    return member.instance_id or member.member_id


def owner_names(group: GroupState) -> dict[TopicPartition, str]:
    """Map each assigned partition to its owner's name."""
    return {tp: name_of(member) for member in group.members for tp in member.owned}


def _fingerprint(group: GroupState) -> object:
    """Return the part of a description that a rebalance may change."""
    return (
        group.strategy,
        group.epoch,
        {
            (member.member_id, member.topics, member.generation, frozenset(member.owned))
            for member in group.members
        },
    )


def _seen(group: GroupState, old_generation: int | None) -> dict[str, SeenMember]:
    """Return members for a comparison; ``old_generation`` is the group's before the rebalance.

    If a member reports a later generation, it took part in several rebalances between two snapshots.  So the
    generation it had before them is unknown.
    """
    return {
        member.member_id: SeenMember(
            topics=member.topics,
            instance_id=member.instance_id,
            client_id=member.client_id,
            generation=(
                member.generation
                if old_generation is not None and member.generation <= old_generation
                else None
            ),
        )
        for member in group.members
    }


def _counts(current: Mapping[str, int | None], known: Mapping[str, int]) -> dict[str, int]:
    """Return the current partition counts, with the known ones where the broker returned none."""
    counts = {topic: known.get(topic) if count is None else count for topic, count in current.items()}
    return {topic: count for topic, count in counts.items() if count is not None}


def _unexplained(moves: tuple[SeenMove, ...]) -> Cause:
    """Return the cause of a rebalance in which neither members nor topics changed."""
    is_second_round = bool(moves) and all(move.why is MoveReason.HELD_BACK for move in moves)
    return Cause.SECOND_ROUND if is_second_round else Cause.UNKNOWN
