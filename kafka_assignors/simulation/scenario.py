"""A scenario: a strategy, the members and their churn, and the cost of rebalances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from kafka_assignors.errors import OptionError
from kafka_assignors.plan.capacity import LEAST, MOST, in_units
from kafka_assignors.plan.load.skew import RebalanceOnSkew
from kafka_assignors.plan.rebalance import Planner
from kafka_assignors.simulation.churn import Act, ChurnStep, first_members, rehearse
from kafka_assignors.validators import positive, seconds, whole, wrong

Parameter = str | int | float | bool | None

FORECAST_DELAY_S = 120.0
"""Seconds from the end of a step until its forecast is in the feed, with the defaults of the pipeline."""


@dataclass(frozen=True, slots=True)
class Pauses:
    """The cost of a rebalance, seconds.

    Members learn of a round from their next heartbeat.  Heartbeats start at the end of a round, so all
    members learn of the next round at about the same time: half a heartbeat interval after its cause, on
    average, or a whole interval after a first cooperative round.  Until then members that revoked no
    partition read on.  A member that revoked one joins again at once, and gets no records until the end of
    the round.

    Attributes:
        start_s: time a process takes to start, from a join in the churn until the member joins the group.
        heartbeat_s: ``heartbeat_interval_ms``; the default is kafka-python's.
        join_s: from when all members know of a round until all have their assignment.  Meanwhile no member
            gets records.  The default was measured with four members and a broker nearby.
        refetch_s: from the assignment until a member gets its first records, if it gained a partition or the
            strategy is eager.  The default was measured in the same setup.
        warm_up_s: warm-up of one gained partition.  A member warms up the partitions it gains one at a time,
            and reads no records meanwhile.  A partition that an eager member gets back in one
            round needs no warm-up.
        session_timeout_s: ``session_timeout_ms``: time from the last heartbeat until a member expires.  A
            kill is half a heartbeat interval after the last heartbeat.  The default is kafka-python's.
        continuous: 1 if members are `ContinuousConsumer`s: with a cooperative strategy they read on during a
            round, and the second round follows the first one at once.
    """

    start_s: float = 0.0
    heartbeat_s: float = 3.0
    join_s: float = 0.08
    refetch_s: float = 0.03
    warm_up_s: float = 0.0
    session_timeout_s: float = 45.0
    continuous: float = 0.0

    def __post_init__(self) -> None:
        for pause in fields(self):
            seconds(pause.name, +getattr(self, pause.name))  # True counts as 1


@dataclass(frozen=True, slots=True)
class Strategy:
    """A strategy with its parameters, as a value that can be sent to another process.

    Attributes:
        name: name on the wire.
        plan: the planner.  It must be picklable, which a bound method of a live assignor is not.
        parameters: the chosen parameters, which are only shown, because ``plan`` already has them.
        cooperative: whether rounds are cooperative (KIP-429); otherwise all members revoke all partitions.
        by_lag: whether it plans with lag, as the members last fetched it.
        by_load: whether it plans with lag and forecast arrivals (``History.expected``).
        lag_refresh_s: ``lag_refresh_ms``: seconds between two fetches of lag by a member.
        min_improvement: the part by which a rebalance for ``Scenario.skew`` must reduce the largest load.
    """

    name: str
    plan: Planner
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    cooperative: bool = False
    by_lag: bool = False
    by_load: bool = False
    lag_refresh_s: float = 10.0
    min_improvement: float = 0.1

    def __str__(self) -> str:
        return labelled(self.name, self.parameters)


def labelled(strategy: str, parameters: Mapping[str, Parameter]) -> str:
    """Return a readable label of a strategy with its parameters, unique for each combination."""
    given = ", ".join(f"{name}={value}" for name, value in sorted(parameters.items()))
    return f"{strategy} ({given})" if given else strategy


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run to simulate.

    Attributes:
        history: the caller's name for the history.
        strategy: plans the rounds.
        members: number of members at the start, ``m1`` to ``mN``, with their partitions assigned.
        service_rate: records/s of one member while it has lag; None: the history's.
        capacities: ``capacity`` option of members that set it, by name.  A member reads the service rate
            times its capacity.
        churn: joins, leaves and kills; leave and kill take the oldest member.
        pauses: cost of a rebalance.
        replan_s: seconds between rebalances that are requested regardless of lag; None: never.
        skew: policy by which the leader requests a rebalance on uneven lag; None: never.
        forecast_delay_s: seconds from the end of a step until its forecast is known.  The default fits
            a pipeline with default options.
        owners: owners at the start, by partition, as names of members.  None: the strategy plans them.
        drain_limit_s: maximum seconds to simulate after the history, until all records are read and the group
            has settled.  None: the length of the history, at least an hour.

    Raises:
        OptionError: a field is invalid.
    """

    history: str
    strategy: Strategy
    members: int
    service_rate: float | None = None
    capacities: Mapping[str, float] = field(default_factory=dict)
    churn: tuple[ChurnStep, ...] = ()
    pauses: Pauses = Pauses()
    replan_s: float | None = None
    skew: RebalanceOnSkew | None = None
    forecast_delay_s: float = FORECAST_DELAY_S
    owners: tuple[str, ...] | None = None
    drain_limit_s: float | None = None

    def __post_init__(self) -> None:
        whole("members", self.members, 1)
        for option, value in (("service_rate", self.service_rate), ("replan_s", self.replan_s)):
            if value is not None:
                positive(option, value)
        for member, capacity in self.capacities.items():
            if in_units(capacity) is None:
                raise wrong("capacities", f"from {LEAST} to {MOST:g} for {member}", capacity)
        seconds("forecast_delay_s", self.forecast_delay_s)
        if self.drain_limit_s is not None:
            seconds("drain_limit_s", self.drain_limit_s)
        if strange := set(self.owners or ()) - set(first_members(self.members)):
            raise OptionError("owners", f"{min(strange)} is not a member at the start")
        self.acts()

    @property
    def script(self) -> str:
        """The churn as text."""
        return ",".join(map(str, self.churn))

    def acts(self) -> tuple[Act, ...]:
        """Return the churn with the member of each step."""
        return rehearse(sorted(self.churn, key=lambda step: step.at), self.members)
