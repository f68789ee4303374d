"""The base of all strategies: decode, plan, encode.

``assign`` never raises: whatever the members send, it returns a valid plan.  It logs one warning for each
member whose data it cannot use; after 20 members it logs only how many more there are.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from kafka.cluster import ClusterMetadata
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.errors import UnknownMemberIdError
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from kafka_assignors.assignor import convert
from kafka_assignors.assignor.causes import Causes
from kafka_assignors.assignor.collector import paused_collector
from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.assignor.coordinator_access.access import CoordinatorAccess
from kafka_assignors.assignor.coordinator_access.consumer import partition_counts
from kafka_assignors.assignor.fallback import fallback_assignment
from kafka_assignors.assignor.hooks import StrategyHooks
from kafka_assignors.assignor.members import JoinedMember, Reports, read_user_data, to_member
from kafka_assignors.assignor.new_protocol import ConversionNotice
from kafka_assignors.assignor.options import ConfigurationError, parse_options
from kafka_assignors.assignor.record_size import RecordWatch, record_bytes
from kafka_assignors.assignor.rejoin.metadata_wait import MetadataWait
from kafka_assignors.assignor.rejoin.second_round import SecondRound
from kafka_assignors.assignor.rejoin.static_watch import StaticWatch
from kafka_assignors.assignor.reporting import report_fallback, report_plan
from kafka_assignors.errors import PlanError
from kafka_assignors.plan import (
    NO_GENERATION,
    Assignment,
    Claims,
    Group,
    Hold,
    Ownership,
    Rebalance,
    rebalance,
    resolve,
    this_round,
)
from kafka_assignors.plan.cause import Cause, RebalanceCause
from kafka_assignors.wire.assignment import CLASSIC_ONLY

log = logging.getLogger("kafka_assignors")


class Assignor(StrategyHooks):
    """A strategy for ``KafkaConsumer(partition_assignment_strategy=[...])``; pass the class.

    (If you pass an instance, each consumer needs its own.)

    A subclass sets its name and protocols, and implements ``plan``.  A strategy whose members send data to
    the leader also overrides ``user_data``, which encodes the data, and ``decode_user_data``.  State is in
    the instance, or on its consumer's coordinator, which all strategies of the consumer share.

    Args:
        **options: fields of the class's ``options_type``.

    Raises:
        ConfigurationError: an unknown option, or an invalid value; the error names the option.
    """

    def __init__(self, **options: Any) -> None:
        self.options = parse_options(self.options_type, {**self._preset, **options})
        self._access = CoordinatorAccess()
        self._owned: Ownership = {}
        self._generation = NO_GENERATION
        self._second_round = SecondRound()
        self._metadata_wait = MetadataWait()
        self._conversion = ConversionNotice()
        self._watch = StaticWatch()
        self._causes = Causes()
        self._record = RecordWatch(self.name)

    # --- called by kafka-python --------------------------------------------------------------------------

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """Return the protocols this strategy can run.

        The consumer runs the highest one that all its strategies support.

        Raises:
            ConfigurationError: this instance belongs to another consumer already.
        """
        if not self._access.attach():
            raise ConfigurationError(
                "partition_assignment_strategy", "this instance belongs to another consumer; pass the class"
            )
        if self._access.is_unknown_version():
            # With an unknown kafka-python, the assignor cannot know which protocol runs.  So offer only one:
            # kafka-python then runs that protocol, or refuses the list of strategies.
            return [max(self.protocols)]
        return list(self.protocols)

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        """Build the subscription this member joins with (ConsumerProtocolSubscription v3).

        Raises:
            UnknownMemberIdError: the membership was lost during the join; kafka-python joins again.
        """
        self._access.attach()
        is_lost = False
        with self._guarded("checking the membership"):
            is_lost = self._access.handle_loss_while_joining()
        if is_lost:
            log.warning(
                "%s: membership lost during the join, and all partitions with it; joining again", self.name
            )
            raise UnknownMemberIdError("membership lost during the join: joining again")
        # If the topics changed and ``poll`` times out before the join ends, kafka-python 3.0 no longer knows
        # that it has to join.  So request the join here.
        self._access.request_rejoin()
        self._access.recorder.begin_join()
        self._second_round.begin()
        self._metadata_wait.begin()
        self._causes = self._access.shared("causes", self._causes)
        self._causes.begin(self._access)
        last, generation = self._last_assignment()
        # An eager consumer has revoked its partitions before it joins.  A cooperative one still holds them.
        eager = RebalanceProtocol.COOPERATIVE not in self.protocols or self._access.cooperative() is False
        owned, revoked = ({}, last) if eager else (last, {})
        return self._subscription(topics, revoked, owned, generation)

    def _subscription(
        self, topics: Iterable[str], revoked: Ownership, owned: Ownership, generation: int
    ) -> ConsumerProtocolSubscription:
        user_data = b""
        with self._guarded("encoding the user data"):  # without it, the consumer can still join
            user_data = self.user_data(revoked, generation)
        return convert.encode_subscription(topics, user_data, owned, generation, self._rack)

    def assign(
        self, cluster: ClusterMetadata, members: Sequence[JoinedMember]
    ) -> dict[str, ConsumerProtocolAssignment]:
        """Plan for the group, on the leader.  Never raises."""
        is_classic_only = self.is_classic_only or self.options.is_classic_only
        reports: Reports = []
        result: Rebalance | None = None
        try:
            started, complaints = self._now(), Complaints()
            with paused_collector():
                reports = self._read(members, complaints)
                group = self._group(cluster, members, reports)
            result = self._lead(group, reports, complaints, started)
            # With racks, the broker must not convert the group (KIP-848): its own assignors ignore racks.
            has_racks = self.by_rack and result.group.in_racks is not None
            assignments = convert.encode_assignment(
                result.assigned, CLASSIC_ONLY if is_classic_only or has_racks else b""
            )
        except Exception:
            # A bug in a strategy must not stop the user's group.
            result = None
            self._second_round.begin()
            log.exception("%s: assign() failed, falling back to %s", self.name, self.fallback.name)
            self._access.recorder.record_fallback(is_unreported=True)
            with self._guarded("reporting the fallback"):
                self._causes.keep(self._access)
                report_fallback(self, len(members))
            user_data = CLASSIC_ONLY if is_classic_only else b""
            assignments = fallback_assignment(self.fallback, cluster, members, user_data, self._held_by)
        return self._completed(assignments, members, reports, result)

    def _completed(
        self,
        assignments: dict[str, ConsumerProtocolAssignment],
        members: Sequence[JoinedMember],
        reports: Reports,
        result: Rebalance | None,
    ) -> dict[str, ConsumerProtocolAssignment]:
        """Warn if the group's record at the broker is too large.

        A subclass may also add user data to the assignments.

        Args:
            assignments: of the round, by member id.
            members: as they joined.
            reports: empty if reading them failed.
            result: the round.  If only planning failed, its target is the fallback's.  None if another step
                failed.
        """
        with self._guarded("checking the size of the group's record"):
            self._record.check(record_bytes(members, assignments))
        return assignments

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        """Store this member's assignment, and request the next round if one is needed."""
        self._access.recorder.end_join()
        self._owned = convert.ownership(assignment.partitions())
        self._generation = generation
        self._second_round.end(generation, self._access.max_poll_interval_s())
        with self._guarded("checking the group"):
            self._causes.end(self._access)
            self._conversion.check(self._access, self.name)
            self._watch.on_assignment(self._access, leader_watches_lag=self.leader_watches_lag)
        if (after_s := self._second_round.rejoin_after_s) is not None:
            self._access.request_rejoin_after(after_s)
        if self._metadata_wait.is_waiting:
            self._access.rejoin_causes.add(Cause.METADATA)
            self._access.request_rejoin_with_metadata()

    @property
    def _rack(self) -> str | None:
        """The rack this consumer runs in: the option, or else the consumer's ``client_rack``."""
        return self.options.rack or self._access.client_rack()

    # --- decode, plan, encode ----------------------------------------------------------------------------

    def _last_assignment(self) -> tuple[Ownership, int]:
        """Return the consumer's last assignment and its generation.

        The consumer knows more than this assignor: another strategy in its list may have made the last
        assignment, or the consumer has lost its membership, and with it the assignment.  A claim on a lost
        partition could leave the partition without an owner.

        Without a consumer, or if an eager consumer has no partitions, this is the last assignment that the
        assignor itself received.  It may be out of date, which does no harm: an eager consumer holds no
        partition while it joins, and newer claims win over these.
        """
        current = self._access.owned()
        if current is None or (not current and not self._access.cooperative()):
            return self._owned, self._generation
        owned = convert.ownership(current)
        assignors = [assignor for assignor in self._access.assignors() if isinstance(assignor, Assignor)]
        newest = max(assignors, key=lambda assignor: assignor._generation, default=self)
        if all(set(numbers) <= set(newest._owned.get(topic, ())) for topic, numbers in owned.items()):
            return owned, newest._generation
        # Another package's strategy made the assignment: the generation of the last join is the best guess.
        joined = self._access.generation()
        return owned, NO_GENERATION if joined is None else joined

    def _lead(self, group: Group, reports: Reports, complaints: Complaints, started: float) -> Rebalance:
        with self._guarded("adding lag or state"):  # may wait for brokers, so with the collector on
            group = self.with_reports(group, reports, complaints)
        with paused_collector():
            return self._plan_round(group, complaints, started)

    def _read(self, members: Sequence[JoinedMember], complaints: Complaints) -> Reports:
        cooperative = RebalanceProtocol.COOPERATIVE in self.protocols
        joining = self._access.generation()
        member_of = partial(
            to_member, complaints=complaints, cooperative=cooperative, joining=joining, shared={}
        )
        read = [(joined, read_user_data(joined, self.decode_user_data, complaints)) for joined in members]
        return [(member_of(joined, report), report) for joined, report in read]

    def _held_by(self, joined: JoinedMember) -> Ownership:
        """Return the partitions that a member holds, for the fallback; an eager member holds none."""
        if RebalanceProtocol.COOPERATIVE not in self.protocols:
            return {}
        report = read_user_data(joined, self.decode_user_data, Complaints())
        return convert.owned_in(joined.metadata) or (report.claimed if report.still_owns else {})

    def _plan_round(self, group: Group, complaints: Complaints, started: float) -> Rebalance:
        claims = resolve(group)
        unlisted: dict[str, dict[str, list[int]]] = {}
        with self._guarded("checking for owned partitions that the metadata does not list"):
            unlisted = self._metadata_wait.unlisted(self._access, group, claims, self.name)
        with self._guarded("logging complaints"):
            if not unlisted:  # else the metadata is old, and the members may be right
                complaints.about_topics(group, is_stale=self._metadata_wait.is_stale)
                complaints.about_claims(claims)
            complaints.log(log, self.name)
        result = self._rebalance_or_fallback(group, claims, unlisted)
        result = result._replace(assigned=Assignment(group, result.assigned.owners, unlisted))
        self._second_round.held = list(result.holds)
        self._second_round.generations = {member.member_id: member.generation for member in group.members}
        with self._guarded("reporting the plan"):
            self._report(result, self._now() - started)
        return result

    def _this_round(self, group: Group, claims: Claims, target: Assignment) -> tuple[Assignment, list[Hold]]:
        return this_round(group, claims, target, self._second_round.overdue)

    @contextmanager
    def _guarded(self, step: str) -> Iterator[None]:
        """Log an exception and go on: a side task must not fail the rebalance."""
        try:
            yield
        except Exception:
            with suppress(Exception):
                log.exception("%s: %s failed", self.name, step)

    def _now(self) -> float:
        now = 0.0
        with self._guarded("reading the clock"):
            now = float(self.options.clock())
        return now

    def _group(self, cluster: ClusterMetadata, joined: Sequence[JoinedMember], reports: Reports) -> Group:
        members = tuple(member for member, _report in reports)
        topics = frozenset[str]().union(*{member.topics for member in members})
        counts = partition_counts(cluster, topics)
        racks: dict[str, list[frozenset[str]]] = {}
        if member_racks := {member.rack for member in members if member.rack}:
            with self._guarded("reading the replicas' racks"):
                racks = convert.replica_racks(cluster, counts, member_racks)
        group = Group(members, counts, racks)
        if self.by_rack and group.too_many_racks:
            log.warning("%s: %s", self.name, group.rack_limit)
        with self._guarded("recording the group"):
            self._access.remember_planned_metadata()
            self._causes.record_group(self._access, joined, reports, group, cluster)
        return group

    def _rebalance_or_fallback(
        self, group: Group, claims: Claims, unlisted: Mapping[str, Ownership]
    ) -> Rebalance:
        """Plan; if that fails, use the fallback.  Both hold back partitions that other members still hold."""
        plan = partial(self.plan_provisionally, unlisted=unlisted) if unlisted else self.checked_plan
        try:
            return rebalance(group, plan, claims=claims, hold_back=self._this_round)
        except PlanError as error:
            log.error("%s; falling back to %s", error, self.fallback.name)  # noqa: TRY400  # no traceback: the message names the fault
        except Exception:
            log.exception("%s: planning failed, falling back to %s", self.name, self.fallback.name)
        self._access.recorder.record_fallback()
        return rebalance(
            group, lambda *_: self.fallback.plan(group), claims=claims, hold_back=self._this_round
        )

    def _report(self, result: Rebalance, seconds: float) -> None:
        causes: tuple[RebalanceCause, ...] = (RebalanceCause(Cause.UNKNOWN),)
        with self._guarded("finding the causes"):
            causes = self._causes.find(self._access, result)
        report = report_plan(self, result, seconds, causes, self._access.recorder)
        if self.options.on_plan is not None:
            with self._guarded("on_plan"):
                self.options.on_plan(report)
