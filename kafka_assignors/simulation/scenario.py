"""What is tried out: a strategy, the members and what happens to them, and what rebalances cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields

from kafka_assignors.errors import OptionError
from kafka_assignors.plan import Assignment, Claims, Group
from kafka_assignors.plan.load.skew import RebalanceOnSkew
from kafka_assignors.simulation.churn import Act, Step, first_members, rehearse

__all__ = ["Parameter", "Pauses", "Plan", "Scenario", "Strategy", "labelled"]

Plan = Callable[[Group, Claims], Assignment]
"""A strategy's planner: pure, and the same the consumers run."""

Parameter = str | int | float | bool | None


def _from_0(name: str, value: float) -> None:
    if not 0 <= value < math.inf:
        raise OptionError(name, f"{value} is not a number of seconds from 0 on")


@dataclass(frozen=True, slots=True)
class Pauses:
    """What a rebalance costs, seconds.

    Members hear of a round with their next heartbeat.  Their heartbeats begin with a round's end, so they
    all hear of the next one at about the same time: half an interval after its cause, on average, and a
    whole one after the round before if that left something to do.  Until then those read on that have
    nothing to give back; who has revoked something has asked to join again, and gets no records until the
    round has ended.

    Attributes:
        start_s: from a join in the churn until the new member asks to join: its process starts.
        heartbeat_s: ``heartbeat_interval_ms``; the default is kafka-python's.
        join_s: from when all have heard of a round until all have their assignment; nobody gets records.
            The default was measured with four members and a broker nearby.
        refetch_s: after that, until a member has the first records of what it gained; in an eager group of
            all it has.  The default was measured there, too.
        warm_up_s: what a member spends on each partition it really gained, one after the other, before it
            goes on with anything; a partition that comes straight back costs nothing.
        session_timeout_s: ``session_timeout_ms``: after its last heartbeat a member is taken for dead; a kill
            comes half an interval after that.  The default is kafka-python's.
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
        for one in fields(self):
            _from_0(one.name, getattr(self, one.name))


@dataclass(frozen=True, slots=True)
class Strategy:
    """A strategy with its parameters, as a value that can be sent to another process.

    Attributes:
        name: on the wire.
        plan: its planner; it has to be picklable, as a bound method of a live assignor is not.
        parameters: what was chosen for it; for who shows it, ``plan`` has them already.
        cooperative: it plans in cooperative rounds (KIP-429); else everybody revokes everything.
        by_lag: it is told the lag, as members last saw it.
        by_load: it is told that and what is expected to arrive (``History.expected``).
        lag_refresh_s: ``lag_refresh_ms``: how often a member looks at the lag of what it owns.
        pays_from: the part by which a plan has to make the largest load smaller for ``Scenario.skew`` to
            ask for a rebalance.
    """

    name: str
    plan: Plan
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    cooperative: bool = False
    by_lag: bool = False
    by_load: bool = False
    lag_refresh_s: float = 10.0
    pays_from: float = 0.1

    def __str__(self) -> str:
        return labelled(self.name, self.parameters)


def labelled(strategy: str, parameters: Mapping[str, Parameter]) -> str:
    """A strategy with its parameters, for people; two that differ in either have two labels."""
    given = ", ".join(f"{name}={value}" for name, value in sorted(parameters.items()))
    return f"{strategy} ({given})" if given else strategy


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run to simulate.

    Attributes:
        history: name of the history it is for, as the caller calls it.
        strategy: who plans.
        members: how many there are at the start, ``m1`` to ``mN``, all of them settled.
        service_rate: records/s of one member while it has something to read; None: the history's.
        rates: records/s of members that differ, by name.
        churn: who joins, leaves or is killed when; leave and kill take the member that is there longest.
        pauses: what a rebalance costs.
        replan_s: a rebalance is asked for so often, whatever the lag; None: never.
        skew: when the leader asks for one because the lag is unevenly shared; None: never.
        owners: who owns what at the start, by partition, as names of members; None: the strategy plans for
            them all together.
        drain_limit_s: how long to go on after the history's end until all is read; None: as long as the
            history, and an hour at least.

    Raises:
        OptionError: a field makes no sense, named.
    """

    history: str
    strategy: Strategy
    members: int
    service_rate: float | None = None
    rates: Mapping[str, float] = field(default_factory=dict)
    churn: tuple[Step, ...] = ()
    pauses: Pauses = Pauses()
    replan_s: float | None = None
    skew: RebalanceOnSkew | None = None
    owners: tuple[str, ...] | None = None
    drain_limit_s: float | None = None

    def __post_init__(self) -> None:
        if self.members < 1:
            raise OptionError("members", f"{self.members} is less than 1")
        for option, value in (("service_rate", self.service_rate), ("replan_s", self.replan_s)):
            if value is not None and not 0 < value < math.inf:
                raise OptionError(option, f"{value} is not a number above 0")
        for member, rate in self.rates.items():
            if not 0 < rate < math.inf:
                raise OptionError("rates", f"{member}: {rate} is not a number above 0")
        if self.drain_limit_s is not None:
            _from_0("drain_limit_s", self.drain_limit_s)
        if strange := set(self.owners or ()) - set(first_members(self.members)):
            raise OptionError("owners", f"{min(strange)} is not a member at the start")
        self.acts()

    @property
    def script(self) -> str:
        """The churn as text."""
        return ",".join(map(str, self.churn))

    def acts(self) -> tuple[Act, ...]:
        """The churn with the member of each step named."""
        return rehearse(sorted(self.churn, key=lambda step: step.at), self.members)
