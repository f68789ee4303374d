"""The part of an assignor that a strategy defines: its name, its protocols, its planner and its user data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol

from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.assignor.fallback import RANGES, Fallback
from kafka_assignors.assignor.members import MemberReport, Reports
from kafka_assignors.assignor.options import ConfigurationError, Options, parse_options
from kafka_assignors.errors import PlanError
from kafka_assignors.plan import (
    Assignment,
    Claims,
    Group,
    Ownership,
    Planned,
    Reason,
    as_assignment,
    keep_owned,
)

AssignorT = TypeVar("AssignorT", bound="StrategyHooks")


class _Preset(dict[str, Any]):
    """Options whose repr shows only names, because a value may be a password."""

    def __repr__(self) -> str:
        return f"<{', '.join(self)}>"


class StrategyHooks(AbstractPartitionAssignor):
    """The attributes and methods that a strategy sets or overrides; `Assignor` calls them."""

    name: ClassVar[str]
    protocols: ClassVar[Sequence[RebalanceProtocol]] = (RebalanceProtocol.EAGER,)
    options_type: ClassVar[type[Options]] = Options
    in_order: ClassVar[bool] = False
    """Ignores current ownership and assigns in a fixed order."""
    by_rack: ClassVar[bool] = True
    """Plans by racks if members and brokers have them."""
    by_lag: ClassVar[bool] = False
    """Plans by lag where it is known."""
    by_forecast: ClassVar[bool] = False
    """Adds forecast arrivals to the lag it plans by."""
    by_priority: ClassVar[bool] = False
    """Plans by the members' priorities."""
    is_classic_only: ClassVar[bool] = False
    """The broker must not convert the group (KIP-848): the broker's assignors plan by other rules."""
    fallback: ClassVar[Fallback] = RANGES
    """The planner to use if this strategy fails."""
    _preset: ClassVar[dict[str, Any]] = {}

    @classmethod
    def configured(cls: type[AssignorT], **options: Any) -> type[AssignorT]:
        """Set options: ``partition_assignment_strategy=[Strategy.configured(rack="a")]``.

        Raises:
            ConfigurationError: an unknown option, or an invalid value; the error names the option.
        """
        preset = {**cls._preset, **options}
        parse_options(cls.options_type, preset)
        return type(
            cls.__name__,
            (cls,),
            {"_preset": _Preset(preset), "__module__": cls.__module__, "__doc__": cls.__doc__},
        )

    @classmethod
    def upgrading_from(cls, *eager: type[AbstractPartitionAssignor]) -> list[type[AbstractPartitionAssignor]]:
        """List strategies for the first bounce of an upgrade: this one, then the group's current ones.

        The second bounce lists this strategy alone (KIP-429).

        Raises:
            ConfigurationError: no current strategy is given, one of them cannot run eager, or this one is not
                cooperative and needs no second bounce.
        """
        if RebalanceProtocol.COOPERATIVE not in cls().supported_protocols():
            raise ConfigurationError(
                "upgrading_from",
                f"{cls.__name__} is eager and needs no second bounce; list both strategies, in any order",
            )
        if not eager:
            raise ConfigurationError("upgrading_from", "name the strategy the group runs now")
        for strategy in eager:
            if RebalanceProtocol.EAGER not in strategy().supported_protocols():
                raise ConfigurationError("upgrading_from", f"{strategy.__name__} cannot run eager")
        return [cls, *eager]

    @abstractmethod
    def plan(self, group: Group, claims: Claims) -> Planned:
        """Plan an owner for every partition.  Pure; called on the leader only.

        Args:
            group: the members and topics.
            claims: the partitions that members own.

        Returns:
            An `Assignment`, or member id -> (topic, number) pairs, or member id -> topic -> numbers.
        """

    def checked_plan(self, group: Group, claims: Claims) -> Assignment:
        """Plan, and check a plan that was not made by this package.

        Raises:
            PlanError: the plan is invalid.
        """
        is_known = type(self).plan.__module__.startswith("kafka_assignors.")
        if not is_known:  # it may write into the arrays, from which the leader holds back and measures
            group = replace(group)  # makes its arrays anew
            claims = replace(claims, owner=claims.owner.copy(), holder=claims.holder.copy())
        planned = self.plan(group, claims)
        if is_known and isinstance(planned, Assignment):
            return planned
        try:
            return as_assignment(group, planned)
        except PlanError as error:
            raise PlanError(f"{self.name}: invalid plan: {error}") from None

    def plan_provisionally(
        self, group: Group, claims: Claims, unlisted: Mapping[str, Ownership]
    ) -> Assignment:
        """Plan one round whose members own partitions that the metadata does not list.  Pure.

        Args:
            group: the members, and the topics that the metadata lists.
            claims: the partitions that members own.
            unlisted: member id -> owned partitions that the metadata does not list; their owners keep them.
        """
        return keep_owned(group, claims, unlisted)

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        """Encode this member's user data, which the leader reads with ``decode_user_data``.

        If this raises, the member joins without user data.

        Args:
            revoked: partitions it owned in ``generation`` and revoked; eager members revoke before joining.
            generation: of its last assignment, ``NO_GENERATION`` before the first.
        """
        return b""

    def decode_user_data(self, user_data: bytes) -> MemberReport:
        """Decode a member's ``user_data``.

        Raises:
            CodecError: malformed bytes.  The leader then plans without them, as after any other exception.
        """
        return MemberReport()

    def with_reports(self, group: Group, reports: Reports, complaints: Complaints) -> Group:
        """Add to the group the data that this strategy plans by, such as the lag that members report.

        May wait for brokers.
        """
        return group

    @property
    def forecasts(self) -> int | None:
        """Number of partitions in the last plan that had a forecast; None without forecasts."""
        return None

    def reason_overrides(self) -> Mapping[Reason, Reason]:
        """Map general reasons for a partition's owner to the ones this strategy gives instead."""
        return {}

    @property
    def leader_watches_lag(self) -> bool:
        """Whether the leader watches lag between rebalances, and not only the partition counts of topics."""
        return False
