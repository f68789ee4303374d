"""``stateful``: the assignor of KIP-441, for members that keep state.

The consumer protocol moves partitions, and active tasks with them.  So the rounds of KIP-429 hold for tasks,
too: a new owner gets a task after the old owner committed and revoked its partitions.  Standbys, warm-ups and
the tasks of each endpoint are in the assignment's user data.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.assignor.members import JoinedMember, MemberReport, Reports
from kafka_assignors.assignor.options import can_be_sent
from kafka_assignors.errors import CodecError
from kafka_assignors.plan import (
    Assignment,
    Claims,
    Group,
    Hold,
    Ownership,
    Rebalance,
    TopicPartition,
)
from kafka_assignors.plan import stateful as planner
from kafka_assignors.plan.cause import Cause
from kafka_assignors.stateful.duties import Duties, Holdings
from kafka_assignors.stateful.group.members import (
    JoinedGroup,
    Subscriptions,
    planner_members,
    process_warning,
    subscriptions_of,
)
from kafka_assignors.stateful.group.options import LATEST_MS, StatefulOptions
from kafka_assignors.stateful.group.partitions import (
    PlannedTasks,
    hold_back_whole_tasks,
    planned_subtopologies,
    planned_tasks,
)
from kafka_assignors.stateful.group.topologies import merge_plans, subgroups, topology_warning
from kafka_assignors.stateful.topology import Topology
from kafka_assignors.wire.assignment import CLASSIC_ONLY
from kafka_assignors.wire.stateful import assignment as stateful_assignment
from kafka_assignors.wire.stateful import subscription as stateful_subscription
from kafka_assignors.wire.stateful.owners_section import NO_OWNERS, owners_if_small_enough, pack_owners
from kafka_assignors.wire.stateful.subscription import LONGEST_RACK
from kafka_assignors.wire.stateful.task_section import Task as TaskId
from kafka_assignors.wire.stateful.version import LATEST_VERSION, NewerHeader

log = logging.getLogger("kafka_assignors")


class StatefulAssignor(Assignor):
    """Assigns active tasks to members that are caught up, and plans standbys and warm-ups (KIP-441).

    ``StatefulConsumer`` configures and runs it.  Without ``StatefulConsumer`` it only moves partitions, and
    reports copies to keep through ``on_duties``.
    """

    name = "stateful"
    protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)
    options_type = StatefulOptions
    options: StatefulOptions
    by_rack = False
    is_classic_only = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        topology: Any = self.options.topology  # checked with the options
        self._topology: Topology = topology
        self._process_id = self.options.process_id or uuid4()
        self._version = LATEST_VERSION
        self._probes = 0
        self._sent: tuple[object, bytes] | None = None  # cache key and user data of the last join
        self._received = stateful_assignment.TaskAssignment()  # the last assignment that could be read
        self._warned: dict[str, str] = {}

    # --- as a member

    def refresh_user_data(self) -> None:
        """Make the next join report fresh copies and lags, as a probing rebalance needs.

        Otherwise a retried join sends the same bytes, because other bytes make a broker rebalance again.
        """
        self._probes += 1

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        """Encode the active tasks, the copies and their lags."""
        owned, _ = self._last_assignment()
        actives = self._topology.tasks_of([TopicPartition(t, p) for t, ps in owned.items() for p in ps])
        key = (generation, self._probes, self._version, frozenset(actives))
        if self._sent is not None and self._sent[0] == key:
            return self._sent[1]
        holdings = self._holdings()
        subscription = stateful_subscription.Subscription(
            process_id=self._process_id,
            actives=tuple(sorted(actives)),
            standbys=tuple(sorted(set(holdings.copies) - actives)),
            lags=holdings.lags,
            generation=generation,
            probe=self._probes,
            endpoint=self.options.endpoint,
            rack=self._rack_to_send(),
        )
        data = stateful_subscription.encode(subscription, self._version)
        self._sent = key, data
        return data

    def _rack_to_send(self) -> str:
        rack = self._rack or ""
        if can_be_sent(rack, LONGEST_RACK):
            return rack
        self._warn(
            "rack", f"client_rack is longer than {LONGEST_RACK} bytes or not valid UTF-8: it is ignored"
        )
        return ""

    def _holdings(self) -> Holdings:
        holdings = Holdings()
        with self._guarded("reading the state on disk"):
            holdings = self.options.holdings()
        return holdings

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        """Store the assignment, and pass its duties to ``on_duties``."""
        super().on_assignment(assignment, generation)
        duties = self._duties(assignment, generation)
        if self.options.on_duties is not None:
            with self._guarded("on_duties"):
                self.options.on_duties(duties)

    def _duties(self, assignment: ConsumerProtocolAssignment, generation: int) -> Duties:
        # The partitions alone decide which tasks are active; the user data adds copies.
        actives = self._topology.tasks_of(_assigned(assignment))
        self._read_user_data(bytes(assignment.user_data or b""))
        received = self._received
        known = {subtopology.id for subtopology in self._topology.subtopologies}
        return Duties(
            actives=tuple(sorted(actives)),
            standbys=tuple(task for task in received.standbys if task[0] in known and task not in actives),
            warmups=tuple(task for task in received.warmups if task[0] in known and task not in actives),
            probe_at=received.next_probe_ms / 1000 or None,
            owners=received.owners,
            generation=generation,
        )

    def _read_user_data(self, data: bytes) -> None:
        """Read the leader's user data into ``_received``; if that fails, keep the current copies."""
        received: stateful_assignment.TaskAssignment | NewerHeader | None = None
        try:
            received = stateful_assignment.decode(data) if data not in (b"", CLASSIC_ONLY) else None
        except CodecError as error:
            log.warning(
                "%s: cannot decode the leader's user data, keeping current standbys and warm-ups; "
                "check that all members run a compatible release: %s",
                self.name,
                error,
            )
        if isinstance(received, NewerHeader):
            self._version = LATEST_VERSION
            log.info(
                "%s: the leader's user data has a newer version; keeping current standbys and warm-ups, "
                "joining with version %d next time",
                self.name,
                self._version,
            )
        if not isinstance(received, stateful_assignment.TaskAssignment):
            # A member that was to request the next probing rebalance still does; otherwise warm-ups would
            # never be promoted.
            next_probe_ms = self._next_probe_ms(self._received.next_probe_ms > 0)
            self._received = replace(self._received, next_probe_ms=next_probe_ms)
            return
        self._received = received
        if (version := min(LATEST_VERSION, received.common_version)) != self._version:
            self._version = version
            self._access.request_rejoin_after(0.0)

    def _next_probe_ms(self, schedules_probe: bool) -> int:
        """Return the time of the next probing rebalance, in milliseconds since 1970; 0: none."""
        if not schedules_probe:
            return 0
        probe_ms = round(1000 * self.options.time()) + self.options.probing_rebalance_interval_ms
        return min(probe_ms, LATEST_MS)

    # --- as the leader

    def decode_user_data(self, user_data: bytes) -> MemberReport:
        """Decode a member's user data; from a newer release only its header."""
        subscription = stateful_subscription.decode(user_data)
        # The version (the first two bytes) changes when a member rejoins after version probing.
        requests = {Cause.UPGRADE: int.from_bytes(user_data[:2], "big")}
        if isinstance(subscription, stateful_subscription.Subscription):
            requests[Cause.PROBE] = subscription.probe
        return MemberReport(requests=requests, more=subscription)

    def with_reports(self, group: Group, reports: Reports, complaints: Complaints) -> Group:
        """Add the members' subscriptions, and the end offsets of changelogs that the leader knows.

        The group's lags by partition stay empty, because a subscription has lags by task.
        """
        subscriptions = subscriptions_of(reports)
        with self._guarded("checking topologies and processes"):
            self._warn("topologies", topology_warning(self._topology, group))
            self._warn("processes", process_warning(subscriptions))
        ends = {planner.Task(*task): end for task, end in self._holdings().ends.items()}
        return JoinedGroup(group.members, group.topics, group.racks, {}, subscriptions, ends)

    def plan(self, group: Group, claims: Claims) -> PlannedTasks:
        """Plan the tasks, and return the owners of their partitions.  Other partitions get no owner."""
        joined = group if isinstance(group, JoinedGroup) else JoinedGroup(group.members, group.topics)
        subtopologies = planned_subtopologies(self._topology, group)
        members = planner_members(self._topology, group.members, joined.subscriptions)
        plans = []
        # During a deploy, members with the topology of another release cannot run all tasks.
        for member_ids, subtopology_ids in subgroups(self._topology, group).items():
            problem = planner.StatefulGroup(
                tuple(subtopologies[id] for id in subtopology_ids),
                tuple(members[id] for id in member_ids),
                joined.ends,
            )
            plans.append(planner.plan_stateful(problem, self.options.for_planning()))
        return planned_tasks(self._topology, group, merge_plans(plans))

    def plan_provisionally(
        self, group: Group, claims: Claims, unlisted: Mapping[str, Ownership]
    ) -> Assignment:
        """Keep owned partitions only.

        A free partition may belong to a task whose other partitions the metadata does not list yet.
        """
        return Assignment(group, claims.owner)

    def _warn(self, subject: str, warning: str) -> None:
        """Log a warning only when it changes, because the leader may plan every few seconds."""
        if warning and warning != self._warned.get(subject):
            log.warning("%s: %s", self.name, warning)
        self._warned[subject] = warning

    def _this_round(self, group: Group, claims: Claims, target: Assignment) -> tuple[Assignment, list[Hold]]:
        given, held = super()._this_round(group, claims, target)
        return hold_back_whole_tasks(self._topology, group, target, given, held)

    def _completed(
        self,
        assignments: dict[str, ConsumerProtocolAssignment],
        members: Sequence[JoinedMember],
        reports: Reports,
        result: Rebalance | None,
    ) -> dict[str, ConsumerProtocolAssignment]:
        with self._guarded("adding copies to assignments"):
            # If planning failed, or was provisional, members keep their copies.
            if result is not None and isinstance(result.target, PlannedTasks):
                self._add_user_data(assignments, result.target.tasks, subscriptions_of(reports))
        return super()._completed(assignments, members, reports, result)

    def _add_user_data(
        self,
        assignments: Mapping[str, ConsumerProtocolAssignment],
        plan: planner.StatefulPlan,
        subscriptions: Subscriptions,
    ) -> None:
        version = min([LATEST_VERSION, *(joined.latest_supported for joined in subscriptions.values())])
        leader = self._access.member_id()
        next_probe_ms = self._next_probe_ms(plan.probing)
        actives = {id: self._topology.tasks_of(_assigned(given)) for id, given in assignments.items()}
        owners = NO_OWNERS
        if version >= 2:
            owners = self._packed_task_owners(actives, subscriptions)
        for member_id, assignment in assignments.items():
            assigned_tasks = actives[member_id]
            # A planned task that its old owner still holds moves in the next round.  Until then it is a
            # warm-up, so that the new owner keeps its copy.
            planned = [
                task for task in plan.active.get(member_id, ()) if self._topology[task[0]].has_changelog
            ]
            assignment.user_data = stateful_assignment.encode(
                stateful_assignment.TaskAssignment(
                    actives=tuple(sorted(assigned_tasks)),
                    standbys=_without(plan.standby.get(member_id, ()), assigned_tasks),
                    warmups=_without([*plan.warmup.get(member_id, ()), *planned], assigned_tasks),
                    next_probe_ms=next_probe_ms if member_id == leader else 0,
                    common_version=version,
                ),
                owners,
            )

    def _packed_task_owners(
        self, actives: Mapping[str, Iterable[TaskId]], subscriptions: Subscriptions
    ) -> bytes:
        owners: dict[str, tuple[TaskId, ...]] = {}
        for member_id, tasks in actives.items():
            joined = subscriptions.get(member_id)
            if isinstance(joined, stateful_subscription.Subscription) and joined.endpoint:
                owners[joined.endpoint] = (*owners.get(joined.endpoint, ()), *sorted(tasks))
        fitting, problem = NO_OWNERS, ""
        try:
            packed = pack_owners(owners)
            fitting = owners_if_small_enough(packed, len(actives))
            if fitting != packed:
                problem = f"they do not fit into one record for {len(actives):,} members"
        except CodecError as error:
            problem = str(error)
        self._warn("owners", problem and f"members get no endpoints of tasks: {problem}")
        return fitting


def _without(tasks: Iterable[TaskId], others: Iterable[TaskId]) -> tuple[TaskId, ...]:
    return tuple(sorted(set(tasks).difference(others)))


def _assigned(assignment: ConsumerProtocolAssignment) -> list[TopicPartition]:
    return [TopicPartition(tp.topic, tp.partition) for tp in assignment.partitions()]
