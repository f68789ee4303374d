"""The base of all strategies: decode, plan, encode.

What a consumer's user is owed: ``assign`` never raises.  Whatever members send, a valid plan comes out; what
was wrong with it is one warning a member.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, ClassVar, TypeVar

from kafka.cluster import ClusterMetadata
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafka.errors import UnknownMemberIdError
from kafka.protocol.consumer.group import JoinGroupResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from kafka_assignors.assignor import convert
from kafka_assignors.assignor.collector import no_collections
from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.assignor.coordinator_access import ConsumerSide
from kafka_assignors.assignor.fallback import RANGES, LastResort, what_is_free
from kafka_assignors.assignor.joined import Told, member_of, told_by
from kafka_assignors.assignor.metadata_wait import MetadataWait
from kafka_assignors.assignor.new_protocol import ConversionNotice
from kafka_assignors.assignor.options import ConfigurationError, Options, PlanReport, parse
from kafka_assignors.assignor.second_round import NextRound
from kafka_assignors.assignor.static_watch import StaticWatch
from kafka_assignors.assignor.upgrade import first_bounce
from kafka_assignors.plan import (
    NO_GENERATION,
    Assignment,
    Claims,
    Group,
    Hold,
    Member,
    Ownership,
    Reason,
    Rebalance,
    keep_owned,
    rebalance,
    resolve,
    this_round,
)
from kafka_assignors.wire.assignment import CLASSIC_ONLY

__all__ = ["Assignor"]

log = logging.getLogger("kafka_assignors")

AssignorT = TypeVar("AssignorT", bound="Assignor")


class _Preset(dict[str, Any]):
    """Options that do not show what may be secret in them."""

    def __repr__(self) -> str:
        return f"<{', '.join(self)}>"


class Assignor(AbstractPartitionAssignor):
    """A strategy for ``KafkaConsumer(partition_assignment_strategy=[...])``; pass the class.

    (Or an instance of its own to each consumer.)

    A subclass names itself, says which protocols it can, and plans; one that needs a history of its own also
    says how it is written (``user_data``) and read (``told``).  All state is the instance's.

    Args:
        **options: fields of the class's ``options_type``.

    Raises:
        ConfigurationError: a wrong option, named.
    """

    name: ClassVar[str]
    protocols: ClassVar[Sequence[RebalanceProtocol]] = (RebalanceProtocol.EAGER,)
    options_type: ClassVar[type[Options]] = Options
    in_order: ClassVar[bool] = False
    """It deals in an order of its own, whoever had what."""
    by_rack: ClassVar[bool] = True
    """It plans by racks, where they are known."""
    by_lag: ClassVar[bool] = False
    """It plans by lag, where that is known."""
    by_forecast: ClassVar[bool] = False
    """It plans by what is expected to come, too, where that is known."""
    by_priority: ClassVar[bool] = False
    """It plans by the members' priorities."""
    is_classic_only: ClassVar[bool] = False
    """It keeps what the broker's own assignors do not (KIP-848), so the broker must not convert the group."""
    last_resort: ClassVar[LastResort] = RANGES
    """What it plans by when everything else failed."""
    _preset: ClassVar[dict[str, Any]] = {}

    def __init__(self, **options: Any) -> None:
        self.options = parse(self.options_type, {**self._preset, **options})
        self._side = ConsumerSide()
        self._owned: Ownership = {}
        self._generation = NO_GENERATION
        self._next = NextRound()
        self._metadata = MetadataWait()
        self._conversion = ConversionNotice()
        self._watch = StaticWatch()

    @classmethod
    def configured(cls: type[AssignorT], **options: Any) -> type[AssignorT]:
        """The class with options set, for ``partition_assignment_strategy=[Strategy.configured(rack="a")]``.

        Raises:
            ConfigurationError: a wrong option, named; here, not first in the consumer.
        """
        preset = {**cls._preset, **options}
        parse(cls.options_type, preset)
        return type(
            cls.__name__,
            (cls,),
            {"_preset": _Preset(preset), "__module__": cls.__module__, "__doc__": cls.__doc__},
        )

    @classmethod
    def upgrading_from(cls, *eager: type[AbstractPartitionAssignor]) -> list[type[AbstractPartitionAssignor]]:
        """The list for the first bounce of an upgrade: this strategy first, then those the group runs now.

        The second bounce is this strategy alone (KIP-726).

        Raises:
            ConfigurationError: see ``first_bounce``.
        """
        return first_bounce(cls, eager)

    @abstractmethod
    def plan(self, group: Group, claims: Claims) -> Assignment:
        """Where every partition shall be.  Pure; called on the leader only."""

    def plan_provisionally(
        self, group: Group, claims: Claims, unlisted: Mapping[str, Ownership]
    ) -> Assignment:
        """Plan one round while the leader's metadata lacks partitions that members own.  Pure.

        Args:
            group: as the metadata has it.
            claims: what its members own.
            unlisted: owned partitions that the group does not list; their owners keep them.
        """
        return keep_owned(group, claims, unlisted)

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        """What this member tells the leader beside its subscription.

        Args:
            revoked: what it owned in ``generation`` and has given back, as eager members do before joining.
            generation: of its last assignment, ``NO_GENERATION`` before the first.
        """
        return b""

    def told(self, user_data: bytes) -> Told:
        """Read another member's ``user_data``.

        Raises:
            CodecError: bytes that are not what they should be.
        """
        return Told()

    def with_lags(self, group: Group, said: Sequence[tuple[Member, Told]], complaints: Complaints) -> Group:
        """The group with what can be found out about its lag, by strategies that plan by it.

        Args:
            group: who plans.
            said: its members, and what each of them told.
            complaints: takes what is wrong with that.
        """
        return group

    @property
    def forecasts(self) -> int | None:
        """Of how many partitions the last plan's load has a forecast in it; None where it takes none."""
        return None

    def in_its_words(self) -> Mapping[Reason, Reason]:
        """The reasons this strategy has where others move for balance or a rack, or leave a partition be."""
        return {}

    @property
    def needs_leader(self) -> bool:
        """Whether the leader has more to watch between rebalances than the topics' partitions."""
        return False

    # --- what kafka-python calls -------------------------------------------------------------------------

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """The protocols the consumer may choose from; it takes the highest that all its strategies can.

        Raises:
            ConfigurationError: this instance already belongs to another consumer.
        """
        if not self._side.look():
            raise ConfigurationError(
                "partition_assignment_strategy", "one instance in two consumers: pass the class"
            )
        if self._side.is_strange():
            # An unknown kafka-python: with one protocol the mode is known, and a mixed list is refused.
            return [max(self.protocols)]
        return list(self.protocols)

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        """What this member sends when it joins (ConsumerProtocolSubscription v3).

        Raises:
            UnknownMemberIdError: it lost its membership meanwhile; kafka-python begins the join anew.
        """
        self._side.look()
        lost = False
        with self._aside("looking whether the membership is lost"):
            lost = self._side.lost_while_joining()
        if lost:
            log.warning("%s: the membership was lost while joining, with all that was owned", self.name)
            raise UnknownMemberIdError("the membership was lost while joining: the join begins anew")
        # kafka-python 3.0 forgets a join that new metadata caused if a poll times out during it.
        self._side.request_rejoin()
        self._next.begins()
        self._metadata.begins()
        owned, generation = self._last()
        # An eager consumer has revoked everything before it joins; a cooperative one still holds it.
        eager = RebalanceProtocol.COOPERATIVE not in self.protocols or self._side.cooperative() is False
        holds, revoked = ({}, owned) if eager else (owned, {})
        return convert.encode_subscription(
            topics, self.user_data(revoked, generation), holds, generation, self.options.rack
        )

    def assign(
        self, cluster: ClusterMetadata, members: Sequence[JoinGroupResponse.JoinGroupResponseMember]
    ) -> dict[str, ConsumerProtocolAssignment]:
        """Plan for the group: the leader's part.  Never raises; see the module."""
        classic_only = self.is_classic_only or self.options.is_classic_only
        try:
            plan = self._assign(cluster, members)
            by_rack = self.by_rack and plan.group.in_racks is not None
            return convert.encode_assignment(plan, CLASSIC_ONLY if classic_only or by_rack else b"")
        except Exception:
            # Whatever it is, it must not stop the user's group.
            self._next.begins()
            log.exception("%s: failed, falling back to %s", self.name, self.last_resort.name)
            user_data = CLASSIC_ONLY if classic_only else b""
            return what_is_free(self.last_resort, cluster, members, user_data)

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        """Remember what this member was given."""
        self._owned = convert.ownership((tp.topic, tp.partition) for tp in assignment.partitions())
        self._generation = generation
        self._next.ends(generation, self._side.max_poll_interval_s())
        with self._aside("looking after the group"):
            self._conversion.look(self._side, self.name)
            self._watch.assigned(self._side, needs_leader=self.needs_leader)
        if (after_s := self._next.asks_after_s) is not None:
            self._side.request_rejoin_after(after_s)
        if self._metadata.waits:
            self._side.request_rejoin_with_metadata()

    @property
    def waits(self) -> bool:
        """On the leader: whether it will ask for another round if nobody else does."""
        return self._next.asks_after_s is not None or self._metadata.waits

    # --- the three steps ---------------------------------------------------------------------------------

    def _last(self) -> tuple[Ownership, int]:
        """The consumer's last assignment, and its generation.

        The consumer knows better than this assignor: the assignment may have come by another strategy of its
        list, and it is gone once the membership is lost.  To claim that still would keep partitions from
        everybody; as mere history (of an eager consumer) it may help.
        """
        now = self._side.owned()
        if now is None or (not now and not self._side.cooperative()):
            return self._owned, self._generation
        owned = convert.ownership(now)
        ours = [one for one in self._side.assignors() if isinstance(one, Assignor)]
        newest = max(ours, key=lambda one: one._generation, default=self)
        if all(set(numbers) <= set(newest._owned.get(topic, ())) for topic, numbers in owned.items()):
            return owned, newest._generation
        # It came by a strategy of somebody else's, so its date is not known better than this.
        joined = self._side.generation()
        return owned, NO_GENERATION if joined is None else joined

    def _assign(
        self, cluster: ClusterMetadata, members: Sequence[JoinGroupResponse.JoinGroupResponseMember]
    ) -> Assignment:
        started = self._now()
        complaints = Complaints()
        with no_collections():
            said = self._read(members, complaints)
            group = self._group(cluster, tuple(member for member, _told in said))
        with self._aside("finding out about lag"):  # this may wait; the collector need not wait with it
            group = self.with_lags(group, said, complaints)
        with no_collections():
            return self._planned(group, complaints, started)

    def _read(
        self, members: Sequence[JoinGroupResponse.JoinGroupResponseMember], complaints: Complaints
    ) -> list[tuple[Member, Told]]:
        cooperative = RebalanceProtocol.COOPERATIVE in self.protocols
        joining = self._side.generation()
        told = [(member, told_by(member, self.told, complaints)) for member in members]
        return [
            (member_of(*each, complaints, cooperative=cooperative, joining=joining), each[1]) for each in told
        ]

    def _planned(self, group: Group, complaints: Complaints, started: float) -> Assignment:
        claims = resolve(group)
        unlisted: dict[str, dict[str, list[int]]] = {}
        with self._aside("looking for owned partitions that the metadata lacks"):
            unlisted = self._metadata.unlisted(self._side, group, claims, self.name)
        with self._aside("saying what is wrong with the members"):
            if not unlisted:
                complaints.about_topics(group)
                complaints.about_claims(claims)
            complaints.log(log, self.name)
        result = rebalance(
            group, partial(self._safe_plan, unlisted), claims=claims, hold_back=self._this_round
        )
        result = result._replace(given=Assignment(group, result.given.owners, unlisted))
        self._next.held = list(result.holds)
        self._next.dates = {member.member_id: member.generation for member in group.members}
        seconds = self._now() - started
        with self._aside("reporting the plan"):
            self._report(result, seconds)
        return result.given

    def _this_round(self, group: Group, claims: Claims, target: Assignment) -> tuple[Assignment, list[Hold]]:
        """What of the target can be given now, and what is held back; see ``this_round``."""
        return this_round(group, claims, target, self._next.overdue)

    @contextmanager
    def _aside(self, what: str) -> Iterator[None]:
        """What goes wrong in here is logged, if that is possible, and has no say in the plan."""
        try:
            yield
        except Exception:
            with suppress(Exception):
                log.exception("%s: %s failed", self.name, what)

    def _now(self) -> float:
        now = 0.0
        with self._aside("the clock"):
            now = float(self.options.clock())
        return now

    def _group(self, cluster: ClusterMetadata, members: tuple[Member, ...]) -> Group:
        topics = frozenset[str]().union(*{member.topics for member in members})
        counts = convert.partition_counts(cluster, topics)
        racks: dict[str, list[frozenset[str]]] = {}
        if there := {member.rack for member in members if member.rack}:
            with self._aside("reading the replicas' racks"):
                racks = convert.replica_racks(cluster, counts, there)
        group = Group(members, counts, racks)
        if group.too_many_racks:
            log.warning("%s: too many different sets of racks for a plan, they are left out", self.name)
        return group

    def _safe_plan(self, unlisted: Mapping[str, Ownership], group: Group, claims: Claims) -> Assignment:
        """The plan; where there is a bug in it, the last resort, which then goes through the rounds, too."""
        try:
            return self.plan_provisionally(group, claims, unlisted) if unlisted else self.plan(group, claims)
        except Exception:
            log.exception("%s: planning failed, falling back to %s", self.name, self.last_resort.name)
            return self.last_resort.plan(group)

    def _report(self, result: Rebalance, seconds: float) -> None:
        why = partial(result.explain, in_order=self.in_order, by_load=self.by_lag, words=self.in_its_words())
        report = PlanReport(
            self.name, result.target, result.given, result.metrics, 1000 * seconds, why, self.forecasts
        )
        facts = report.facts()
        log.info("rebalance %s", " ".join(f"{k}={v}" for k, v in facts.items()), extra={"rebalance": facts})
        if self.options.on_plan is not None:
            with self._aside("on_plan"):
                self.options.on_plan(report)
