"""``stateful``: the assignor of KIP-441, for members that keep state.

The consumer's own protocol moves the partitions, and with them the active tasks; what a member is to keep a
copy of, and who runs what, goes in the assignment's user data.  So the rounds of KIP-429 hold for tasks, too:
a task is given to its new owner when the old one has let go of its partitions, and committed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
from kafka.cluster import ClusterMetadata
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.assignor.members import JoinedMember, MemberReport
from kafka_assignors.errors import CodecError
from kafka_assignors.plan import (
    NOBODY,
    Assignment,
    Claims,
    Group,
    Hold,
    Member,
    Ownership,
    TopicPartition,
)
from kafka_assignors.plan import stateful as planner
from kafka_assignors.stateful.duties import Duties, Holdings
from kafka_assignors.stateful.group.able import about_topologies, parts_of, together
from kafka_assignors.stateful.group.described import about_processes, as_planned
from kafka_assignors.stateful.group.options import StatefulOptions
from kafka_assignors.stateful.topology import Task
from kafka_assignors.wire import stateful_assignment, stateful_subscription
from kafka_assignors.wire.assignment import CLASSIC_ONLY
from kafka_assignors.wire.owners_section import NO_OWNERS, affordable, pack_owners
from kafka_assignors.wire.stateful_version import LATEST_VERSION, Newer, common_version

__all__ = ["StatefulAssignor"]

log = logging.getLogger("kafka_assignors")


class StatefulAssignor(Assignor):
    """Active tasks only on members that are caught up, standbys, and warm-ups towards balance (KIP-441).

    ``StatefulConsumer`` configures and runs it.  By itself it moves partitions as that needs, and tells what
    to keep a copy of through ``on_duties``.
    """

    name = "stateful"
    protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)
    options_type = StatefulOptions
    options: StatefulOptions
    by_rack = False
    is_classic_only = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._topology = self.options.given_topology()
        self._process_id = self.options.process_id or uuid4()
        self._version = LATEST_VERSION
        self._probes = 0
        self._said: tuple[object, bytes] | None = None
        self._told = stateful_assignment.Assignment()  # the last one that could be read
        self._joined: dict[str, stateful_subscription.Subscription | Newer] = {}
        self._plan: planner.StatefulPlan | None = None
        self._warned: dict[str, str] = {}

    # --- as a member

    def say_anew(self) -> None:
        """What is on disk has changed: say so in the next join, in bytes that differ from the last ones.

        Else a join repeats what was said: a broker takes other bytes for news, and begins another rebalance,
        where a join is only tried again.
        """
        self._probes += 1

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        """Tell what it runs and what it has copies of, and how far those are."""
        owned, _ = self._last()
        actives = self._topology.tasks_of(_each(owned))
        about = (generation, self._probes, self._version, frozenset(actives))
        if self._said is not None and self._said[0] == about:
            return self._said[1]
        holdings = self._holdings()
        data = stateful_subscription.encode(
            stateful_subscription.Subscription(
                process_id=self._process_id,
                actives=tuple(sorted(actives)),
                standbys=tuple(sorted(set(holdings.copies) - actives)),
                lags=holdings.lags,
                generation=generation,
                probe=self._probes,
                endpoint=self.options.endpoint,
                rack=self.options.rack or "",
            ),
            self._version,
        )
        self._said = about, data
        return data

    def _holdings(self) -> Holdings:
        found = Holdings()
        with self._guarded("looking at what is on disk"):
            found = self.options.holdings()
        return found

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        """Remember what this member was given, and pass on what it is told to do."""
        super().on_assignment(assignment, generation)
        duties = self._duties(assignment, generation)
        if self.options.on_duties is not None:
            with self._guarded("on_duties"):
                self.options.on_duties(duties)

    def _duties(self, assignment: ConsumerProtocolAssignment, generation: int) -> Duties:
        # The partitions decide what is processed, whatever the rest says.
        actives = tuple(sorted(self._topology.tasks_of(_named(assignment))))
        self._hear(bytes(assignment.user_data or b""))
        told = self._told
        known = {subtopology.id for subtopology in self._topology.subtopologies}
        return Duties(
            actives=actives,
            standbys=tuple(t for t in told.standbys if t[0] in known and t not in actives),
            warmups=tuple(t for t in told.warmups if t[0] in known and t not in actives),
            probe_at=told.next_probe_ms / 1000 or None,
            owners=told.owners,
            generation=generation,
        )

    def _hear(self, data: bytes) -> None:
        """Understand what the leader told; where that cannot be, copies stay what they were."""
        told: stateful_assignment.Assignment | Newer | None = None
        try:
            told = stateful_assignment.decode(data) if data not in (b"", CLASSIC_ONLY) else None
        except CodecError as error:
            log.warning("%s: what to keep copies of cannot be read (%s)", self.name, error)
        if isinstance(told, Newer):
            log.info("%s: the leader is of a newer release and will come down to ours", self.name)
            self._version = min(LATEST_VERSION, told.latest_supported)
        if not isinstance(told, stateful_assignment.Assignment):
            # Who was to probe still is: else a group that waits for warm-ups would wait for ever.
            self._told = replace(self._told, next_probe_ms=self._next_probe_ms(self._told.next_probe_ms > 0))
            return
        self._told = told
        if (version := min(LATEST_VERSION, told.common_version)) != self._version:
            self._version = version
            self._access.request_rejoin_after(0.0)

    def _next_probe_ms(self, probes: bool) -> int:
        """When to ask for the next rebalance, if at all (0)."""
        return round(1000 * self.options.time() + self.options.probing_rebalance_interval_ms) if probes else 0

    # --- as the leader

    def decode_user_data(self, user_data: bytes) -> MemberReport:
        """Read another member's; what a newer release wrote is no error."""
        return MemberReport(more=stateful_subscription.decode(user_data))

    def with_lags(
        self, group: Group, said: Sequence[tuple[Member, MemberReport]], complaints: Complaints
    ) -> Group:
        """Keep what they said of their copies, for the plan."""
        self._joined = {
            member.member_id: told.more
            for member, told in said
            if isinstance(told.more, (stateful_subscription.Subscription, Newer))
        }
        return group

    def plan(self, group: Group, claims: Claims) -> Assignment:
        """Tasks as partitions; topics that no subtopology has are nobody's."""
        self._plan = None
        counts = {
            s.id: max((group.topics.get(topic, 0) for topic in s.topics), default=0)
            for s in self._topology.subtopologies
        }
        there = {
            s.id: planner.Subtopology(s.id, counts[s.id], s.stateful, s.logged)
            for s in self._topology.subtopologies
        }
        members = as_planned(self._topology, group.members, self._joined)
        ends = {planner.Task(*task): end for task, end in self._holdings().ends.items()}
        plans = []
        # One with another topology, of an older or newer release of the application, cannot run all tasks.
        for part in parts_of(self._topology, group):
            problem = planner.StatefulGroup(
                tuple(there[id] for id in part.subtopologies), tuple(members[id] for id in part.members), ends
            )
            plans.append(planner.plan_stateful(problem, self.options.for_planning()))
        plan = together(plans)
        self._warn("topologies", about_topologies(self._topology, group))
        self._warn("processes", about_processes(self._joined))
        owners = np.full(group.size, NOBODY, np.int32)
        for member_id, tasks in plan.active.items():
            for task in tasks:
                for topic, partition in self._topology.partitions(task):
                    if partition < group.topics.get(topic, 0):
                        owners[group.first[topic] + partition] = group.index[member_id]
        self._plan = plan
        return Assignment(group, owners)

    def plan_provisionally(
        self, group: Group, claims: Claims, unlisted: Mapping[str, Ownership]
    ) -> Assignment:
        """Only what is owned stays: a free partition may belong to a task of which others are not listed."""
        return Assignment(group, claims.owner)

    def _warn(self, of: str, says: str) -> None:
        """Once, until it is about something else: a group may plan every few seconds."""
        if says and says != self._warned.get(of):
            log.warning("%s: %s", self.name, says)
        self._warned[of] = says

    def _this_round(self, group: Group, claims: Claims, target: Assignment) -> tuple[Assignment, list[Hold]]:
        """A task is one owner's: while a partition of it is held back, so are the others.

        Two members with a partition each would both write its changelog.
        """
        given, held = super()._this_round(group, claims, target)
        owners = given.owners.copy()
        waits_for = {(hold.topic, hold.partition): hold.member_id for hold in held}
        for subtopology in self._topology.subtopologies:
            for number in range(max((group.topics.get(t, 0) for t in subtopology.topics), default=0)):
                topics = [topic for topic in subtopology.topics if number < group.topics.get(topic, 0)]
                places = [group.first[topic] + number for topic in topics]
                if len({int(owners[place]) for place in places}) < 2:
                    continue
                owners[places] = NOBODY
                by = next(
                    (waits_for[topic, number] for topic in topics if (topic, number) in waits_for), None
                )
                if by is not None:
                    held += [Hold(t, number, by) for t in topics if (t, number) not in waits_for]
        return Assignment(group, owners), sorted(held)

    def assign(
        self, cluster: ClusterMetadata, members: Sequence[JoinedMember]
    ) -> dict[str, ConsumerProtocolAssignment]:
        """Plan for the group: the leader's part.  Never raises."""
        given = super().assign(cluster, members)
        with self._guarded("telling members what to keep copies of"):
            self._tell(given)
        return given

    def _tell(self, given: Mapping[str, ConsumerProtocolAssignment]) -> None:
        if (plan := self._plan) is None:  # it failed, and something simpler gave out the partitions
            return
        self._plan = None
        version = common_version(self._joined.values())
        leader = self._access.member_id()
        next_probe_ms = self._next_probe_ms(plan.probing)
        actives = {member_id: self._topology.tasks_of(_named(part)) for member_id, part in given.items()}
        owners = affordable(self._owners(actives), len(given)) if version >= 2 else NO_OWNERS
        for member_id, part in given.items():
            here = actives[member_id]
            # What another one still has in its hands comes in the next round: until then, keep it warm.
            comes = {(t.subtopology, t.partition) for t in plan.active.get(member_id, ())}
            waits = {task for task in comes if self._topology[task[0]].has_changelog}
            part.user_data = stateful_assignment.encode(
                stateful_assignment.Assignment(
                    actives=tuple(sorted(here)),
                    standbys=_without(plan.standby.get(member_id, ()), here),
                    warmups=_without([*plan.warmup.get(member_id, ()), *waits], here),
                    next_probe_ms=next_probe_ms if member_id == leader else 0,
                    common_version=version,
                ),
                owners,
            )

    def _owners(self, actives: Mapping[str, Iterable[Task]]) -> bytes:
        found: dict[str, tuple[Task, ...]] = {}
        for member_id, tasks in actives.items():
            told = self._joined.get(member_id)
            if isinstance(told, stateful_subscription.Subscription) and told.endpoint:
                found[told.endpoint] = (*found.get(told.endpoint, ()), *sorted(tasks))
        return pack_owners(found)


def _without(tasks: Iterable[tuple[str, int]], others: Iterable[Task]) -> tuple[Task, ...]:
    return tuple(sorted({(task[0], task[1]) for task in tasks} - set(others)))


def _each(owned: Ownership) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic, numbers in owned.items() for number in numbers]


def _named(part: ConsumerProtocolAssignment) -> list[TopicPartition]:
    return [TopicPartition(tp.topic, tp.partition) for tp in part.partitions()]
