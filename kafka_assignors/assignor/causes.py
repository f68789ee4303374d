"""Finds the causes of a rebalance, on the leader.

The leader compares the group with the last rebalance that it led.  It knows its own requests for a rebalance
exactly.  It infers another member's request from that member's user data, from partitions without an owner,
or from its own last plan, if the plan needed a second round.  The cause of any other request stays unknown.
A leader that did not lead the last rebalance infers causes from the members' generations and the last leader.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from kafka.cluster import ClusterMetadata

from kafka_assignors.assignor.coordinator_access.access import CoordinatorAccess
from kafka_assignors.assignor.members import JoinedMember, Reports
from kafka_assignors.plan import NO_MEMBER, Group, Rebalance
from kafka_assignors.plan.cause import (
    Cause,
    Change,
    GroupSnapshot,
    RebalanceCause,
    SeenMember,
    causes_between,
    causes_of,
)

_ORDER = tuple(Cause)

_INCIDENTAL = {Cause.RESTARTED, Cause.LEADER_CHANGED}
"""These start no rebalance.  A restarted static member gets its old assignment.  A new leader is chosen in a
rebalance that has another cause."""

_GENERATED_ID = re.compile(r"(.*)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.DOTALL)
"""A member id from a broker: the client id, or the instance id of a static member, and a UUID."""

_FIRST_WITH_GENERATION = 2
"""The first version of the subscription that has a generation."""


@dataclass(frozen=True, slots=True)
class _Round:
    """A round that this member leads."""

    group: GroupSnapshot  # without members if the plan failed before the group was known
    began: float  # time at which this member began to join, seconds
    requests: frozenset[Cause] = frozenset()  # causes for which this member itself requested the rebalance
    has_second: bool = False  # whether its plan needs another round


class Causes:
    """Remembers the last rebalance that this member led."""

    def __init__(self) -> None:
        self._clock = time.monotonic
        self._began = 0.0
        self._led: _Round | None = None  # None: there was none, or another member led it
        self._leading: _Round | None = None  # the present round
        # Member id -> the first generation reported under this id since the last completed round.
        self._reported: dict[str, int | None] = {}
        self._last_leader: str | None = None
        self._generation: int | None = None  # of the last plan, or of the last assignment by another leader

    def begin(self, access: CoordinatorAccess) -> None:
        """Begin to join, and note the time."""
        if self._leading is not None and access.synced_generation() == self._generation is not None:
            # The broker has sent out this leader's plan, but kafka-python dropped the leader's assignment.
            requested_since = access.rejoin_causes - self._leading.requests
            self.end(access)
            access.rejoin_causes.update(requested_since, {Cause.REPEATED})
        self._began, self._leading = self._clock(), None

    def record_group(
        self,
        access: CoordinatorAccess,
        members: Sequence[JoinedMember],
        reports: Reports,
        group: Group,
        cluster: ClusterMetadata,
    ) -> None:
        """Record the group for which this leader is about to plan."""
        self._check_generation(access)
        # Reuse the last round's frozensets: `causes_between` compares equal ones by identity first.
        last = {} if self._led is None else self._led.group.members
        known = {seen.topics: seen.topics for seen in last.values()}
        # A new member that joins again after an interrupted round still counts as joined.
        self._reported = {
            joined.member_id: self._reported.get(joined.member_id, _generation(joined)) for joined in members
        }
        seen = {
            joined.member_id: SeenMember(
                topics=known.get(member.topics, member.topics),
                instance_id=joined.group_instance_id or None,
                client_id=None if joined.group_instance_id else _prefix(joined.member_id),
                generation=self._reported[joined.member_id],
                requests=report.requests,
            )
            for joined, (member, report) in zip(members, reports, strict=True)
        }
        all_topics = frozenset(cluster.topics()) if access.subscribes_by_pattern() else None
        self._leading = _Round(GroupSnapshot(seen, group.topics, all_topics=all_topics), self._began)

    def keep(self, access: CoordinatorAccess) -> None:
        """Remember a rebalance in which ``assign`` failed, so that the fallback assigned.

        Without this, the next rebalance would report a changed or restarted leader.  If the group of this
        rebalance is unknown, that of the last one takes its place if this member led it, else an empty group.
        """
        if self._leading is None:
            self._check_generation(access)
            self._leading = self._led or _Round(GroupSnapshot({}), self._began)
        # If the strategy failed after `find`, ``has_second`` is that of a plan that no member gets.
        self._leading = replace(self._leading, requests=frozenset(access.rejoin_causes), has_second=False)

    def find(self, access: CoordinatorAccess, result: Rebalance) -> tuple[RebalanceCause, ...]:
        """Return the causes of this rebalance, in the order of ``Cause``; at least one."""
        if self._leading is None:
            return (RebalanceCause(Cause.UNKNOWN),)
        requests = frozenset(access.rejoin_causes)
        causes: list[RebalanceCause] = []
        second = frozenset[Cause]()
        if self._led is None:
            causes = self._infer(self._leading.group, access.member_id() or "")
        elif self._led.group.members:
            causes = causes_between(
                self._led.group, self._leading.group, missing=self._missing(access, self._led)
            )
            second = frozenset({Cause.SECOND_ROUND} if self._led.has_second else ())
        causes += map(RebalanceCause, requests | second)
        if _INCIDENTAL.issuperset(cause.cause for cause in causes):
            causes += _unowned(result)
        causes.sort(key=lambda cause: _ORDER.index(cause.cause))
        self._leading = replace(self._leading, requests=requests, has_second=result.has_second_round)
        return tuple(causes) or (RebalanceCause(Cause.UNKNOWN),)

    def end(self, access: CoordinatorAccess) -> None:
        """End the rebalance: this member, the leader or another, has its assignment."""
        self._led, self._leading = self._leading, None
        self._reported.clear()
        self._last_leader = access.leader_id()
        if self._led is None and (generation := access.generation()) is not None:
            self._generation = generation
        access.rejoin_causes.clear()

    def _check_generation(self, access: CoordinatorAccess) -> None:
        generation = access.generation()
        if generation is not None and self._generation is not None and generation > self._generation + 1:
            self._led = self._last_leader = None  # another member led since
            self._reported.clear()
        self._generation = generation

    def _missing(self, access: CoordinatorAccess, led: _Round) -> Cause:
        """Return why a dynamic member is missing: LEFT if its session cannot have ended yet, else GONE.

        Assumes that all members have the leader's timeouts.
        """
        timeouts = (access.session_timeout_s(), access.max_poll_interval_s())
        shortest = min((timeout for timeout in timeouts if timeout is not None), default=0.0)
        return Cause.LEFT if self._clock() - led.began < shortest else Cause.GONE

    def _infer(self, now: GroupSnapshot, own_id: str) -> list[RebalanceCause]:
        """Infer causes as a leader that did not lead the last rebalance."""
        generations = [member.generation for member in now.members.values()]
        joined = sorted(
            now.name(member_id)
            for member_id, member in now.members.items()
            if member.generation is not None and member.generation < 0
        )
        causes = [RebalanceCause(Cause.JOINED, tuple(joined))] if joined else []
        former = self._last_leader
        if former is None and all(generation is None or generation < 0 for generation in generations):
            return causes  # no member shows that there was a rebalance before
        own_instance = now.members[own_id].instance_id if own_id in now.members else None
        # A static leader that restarts gets its last assignment without a plan.  So this member may be the
        # last leader, although its new process has led no round.
        if former == own_id:
            restarted = own_instance
        else:
            restarted = None if former is None or former in now.members else _prefix(former)
        if restarted is not None and restarted in {member.instance_id for member in now.members.values()}:
            causes.append(RebalanceCause(Cause.RESTARTED, (restarted,)))
        elif former is not None and former not in now.members:
            causes.append(RebalanceCause(Cause.GONE, (former,)))
        if former != own_id and (own_instance is None or own_instance != restarted):
            names = (now.name(own_id),) if own_id in now.members else ()
            causes.append(RebalanceCause(Cause.LEADER_CHANGED, names))
        return causes


def _generation(member: JoinedMember) -> int | None:
    return member.metadata.generation_id if member.metadata.version >= _FIRST_WITH_GENERATION else None


def _unowned(result: Rebalance) -> list[RebalanceCause]:
    """Return a cause with the topics that have unowned partitions; none if no partition has an owner."""
    group, owner = result.group, result.claims.owner
    has_reader = np.asarray(np.any(group.subscribed, axis=1))[group.topic_of]
    unowned = (owner == NO_MEMBER) & has_reader
    if not 0 < np.count_nonzero(unowned) < np.count_nonzero(has_reader):
        return []
    counts = np.bincount(group.topic_of[unowned], minlength=len(group.names)).tolist()
    return causes_of(
        Change(Cause.UNOWNED, topic, f"{count} of {group.topics[topic]}")
        for topic, count in zip(group.names, counts, strict=True)
        if count
    )


def _prefix(member_id: str) -> str | None:
    """Return the client id, or the instance id of a static member, in a member id; None if it has no UUID."""
    match = _GENERATED_ID.fullmatch(member_id)
    return None if match is None else match[1]
