"""What came of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from kafka_assignors.simulation.history import Counts, Levels
from kafka_assignors.simulation.scenario import Parameter

__all__ = ["Move", "Outcome", "Series", "Situation"]


class Situation(NamedTuple):
    """What strategies are compared in; what else differs (pauses, rates, owners) is in the history's name."""

    group: str
    history: str
    members: int
    churn: str
    service_rate: float


@dataclass(frozen=True, slots=True)
class Move:
    """At ``at`` seconds ``taker`` gained a partition that ``giver`` had owned last."""

    at: float
    partition: int
    giver: str
    taker: str


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """How it went, at the start and at the end of each step; arrays of shape (steps + 1,).

    Attributes:
        at: seconds since the start.
        lag: records not read yet.
        largest_member_lag: of those, what the member that has most of them owns.
        unowned_lag: of those, what nobody owns.
        time_lag: age of the oldest record not read yet, of all partitions, seconds.
        members: members in the group.
    """

    at: Levels
    lag: Levels
    largest_member_lag: Levels
    unowned_lag: Levels
    time_lag: Levels
    members: Counts


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One scenario's figures; docs/backtest.md defines each.

    Attributes:
        group: of the history.
        history: its name, as in the scenario.
        strategy: name on the wire.
        parameters: of the strategy.
        members: at the start.
        churn: the script.
        service_rate: records/s of one member.
        arrived: records in all, those at the start included.
        served: records read.
        left: records never read: 0 unless it never drained.
        drain_s: from the last record that arrived (the start, if none did) until all were read; None: they
            were not within the limit.
        recovery_s: the longest time from the start, or from a step of the churn, until the lag was no more
            than right before it (at the start: none); 0 if it never rose; None: it was not within the limit.
        largest_lag: of the whole group, records, at any moment.
        mean_lag: over the time from the start to the end of the history, records.
        largest_member_lag: of what one member owned, records, at any moment.
        time_lag_p50: age of the oldest record not read yet, seconds: the median over all partitions and all
            the time of the history.
        time_lag_p99: the same, which is exceeded in 1 part of 100.
        time_lag_max: the largest at any moment, those after the history included.
        moved: hand-overs: a partition was gained by another member than its last owner.
        r_score: sum over all hand-overs of the partition's arrival rate (the mean of the last half minute),
            over what its taker can read.
        r_score_mean: of that, in one rebalance on average; the rounds of a cooperative one together.
        rebalances: rounds, second rounds of cooperative rebalances included.
        pause_s: member-seconds of the living without reading, for joins and warm-ups.
        unserved_s: partition-seconds without a reader, whatever the cause; those of the dead, too.
        simulated_s: from the start to the end of what was simulated.
        moves: the hand-overs one by one.
        series: None where it was not asked for.
    """

    group: str
    history: str
    strategy: str
    parameters: Mapping[str, Parameter]
    members: int
    churn: str
    service_rate: float
    arrived: int
    served: float
    left: float
    drain_s: float | None
    recovery_s: float | None
    largest_lag: float
    mean_lag: float
    largest_member_lag: float
    time_lag_p50: float
    time_lag_p99: float
    time_lag_max: float
    moved: int
    r_score: float
    r_score_mean: float
    rebalances: int
    pause_s: float
    unserved_s: float
    simulated_s: float
    moves: tuple[Move, ...] = ()
    series: Series | None = None

    @property
    def situation(self) -> Situation:
        """Where it meets the outcomes of other strategies."""
        return Situation(self.group, self.history, self.members, self.churn, self.service_rate)

    def figures(self) -> dict[str, Any]:
        """All but ``moves`` and ``series``, as a row of a table."""
        return {
            one.name: getattr(self, one.name) for one in fields(self) if one.name not in {"moves", "series"}
        }
