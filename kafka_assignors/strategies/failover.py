"""``failover``: active and passive members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.fallback import SENIORS
from kafka_assignors.assignor.members import MemberReport
from kafka_assignors.assignor.options import PLANS, Options
from kafka_assignors.errors import CodecError, OptionError
from kafka_assignors.plan import Assignment, Claims, Group, Ownership, Reason, plan_failover
from kafka_assignors.validators import boolean, whole
from kafka_assignors.wire import failover_user_data

_HIGHEST = 2**31 - 1  # priority, int32


@dataclass(frozen=True, slots=True)
class FailoverOptions(Options):
    """Options of ``failover``.

    Attributes:
        priority: of this consumer, a signed 32-bit number.  The member with the highest is active.  None:
            2147483647, the highest.
        assignment_consumer_priority: another name of ``priority``, as in Java.
        preempt: whether a member with a higher priority takes over from a live active member.  The leader's
            value applies.  Set the same value on all members.
    """

    priority: int | None = None
    assignment_consumer_priority: int | None = None
    preempt: bool = field(default=True, metadata=PLANS)

    def check(self) -> None:
        Options.check(self)  # with slots, dataclass makes a new class that super() does not know
        for name in ("priority", "assignment_consumer_priority"):
            if (value := getattr(self, name)) is not None:
                whole(name, value, -_HIGHEST - 1, _HIGHEST)
        short, long = self.priority, self.assignment_consumer_priority
        if short is not None and long is not None and short != long:
            raise OptionError(
                "assignment_consumer_priority",
                f"is another name of priority, but is {long} while priority is {short}",
            )
        boolean("preempt", self.preempt)

    @property
    def sent(self) -> int:
        """The priority this consumer sends."""
        given = (self.priority, self.assignment_consumer_priority)
        return next((value for value in given if value is not None), _HIGHEST)


class FailoverAssignor(Assignor):
    """Assigns all partitions to one subscriber; the others stand by.  By default the highest priority wins.

    See ``plan_failover``.  May share a group with the published Java ``FailoverAssignor``: it writes and
    reads that assignor's 4 bytes.  A member whose priority cannot be read ranks last.
    """

    name = "failover"
    options_type = FailoverOptions
    options: FailoverOptions
    by_rack = False
    is_classic_only = True
    by_priority = True
    fallback = SENIORS  # with ranges several members would be active

    def plan(self, group: Group, claims: Claims) -> Assignment:
        return plan_failover(group, claims, preempt=self.options.preempt)

    def plan_provisionally(
        self, group: Group, claims: Claims, unlisted: Mapping[str, Ownership]
    ) -> Assignment:
        """Keep the active member, even if a higher priority would preempt it."""
        return plan_failover(group, claims, preempt=False, elsewhere=unlisted)

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        return failover_user_data.encode(self.options.sent, revoked, generation)

    def decode_user_data(self, user_data: bytes) -> MemberReport:
        priority = failover_user_data.decode_priority(user_data)
        try:
            return MemberReport(*failover_user_data.decode_history(user_data), priority)
        except CodecError as error:
            return MemberReport(priority=priority, unread=str(error))

    def reason_overrides(self) -> Mapping[Reason, Reason]:
        if self.options.preempt:
            return {Reason.MOVED: Reason.HIGHEST, Reason.NEARER: Reason.HIGHEST}
        return {Reason.MOVED: Reason.ACTIVE, Reason.NEARER: Reason.ACTIVE, Reason.KEPT: Reason.STAYS}
