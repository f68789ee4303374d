"""Sizes of a live group, from looks at it.  A look is one reading of the group's members, offsets and lag."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from kafka_assignors.cli.lag.report import Report
from kafka_assignors.cli.plan.options import DEFAULT_STRATEGY, assumed, refuse_foreign, with_options
from kafka_assignors.cli.plan.stateful_problem import STATEFUL
from kafka_assignors.cli.size.load import (
    GroupLoad,
    group_load,
    has_stopped,
    member_rates,
    partition_counts,
    reported_rate,
    stuck_partitions,
)
from kafka_assignors.cli.size.report import SizeReport
from kafka_assignors.cli.tables import ROWS, counted, partition_name
from kafka_assignors.errors import GroupError
from kafka_assignors.lag.feed.sources import Expected
from kafka_assignors.lag.fetch.group import REBALANCING
from kafka_assignors.lag.rates import WINDOW_S
from kafka_assignors.pipeline.backtest.simulated import simulated
from kafka_assignors.plan import TopicPartition, listed
from kafka_assignors.simulation.sizing import Advice, Target
from kafka_assignors.strategies import STRATEGIES, load_strategy

_MEASUREMENTS = 9
"""The rate used is the median of this many last measurements, so no single one decides."""

_LEAST_S = 20.0
"""A rate is measured over at least this time, because members commit only every 5 s by default."""

_UNEQUAL = 1.5
"""Members whose rates differ by more than this factor are reported."""

ASSUMED_STRATEGY = f"sizes are planned with {DEFAULT_STRATEGY} (--strategy)"
"""Note on a group whose strategy is unknown."""

ReadForecasts = Callable[[Mapping[str, int]], Expected]
"""Reads the forecasts of a group; takes topic -> number of partitions."""


@dataclass(frozen=True, slots=True)
class SizeRequest:
    """The options of ``size``."""

    group_id: str
    target: Target
    horizon_s: float
    rate: float | None = None  # records/s of a member of capacity 1; None: measured
    strategy: str | None = None  # None: the group's
    load_topic: str | None = None  # of the forecasts; None: there are none
    options: Mapping[str, Any] = field(default_factory=dict)  # of the strategy, by name


class GroupSizes:
    """Sizes one group at each look, and keeps the last advice and the measured rates."""

    def __init__(
        self,
        look: Callable[[], Report],
        request: SizeRequest,
        read_forecasts: ReadForecasts | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look, self._request, self._clock = look, request, clock
        self._read_forecasts = read_forecasts
        self._looks: deque[tuple[float, Report]] = deque()
        self._rates: deque[float] = deque(maxlen=_MEASUREMENTS)
        self._settled: frozenset[str] | None = None  # members at the last look at a stable group
        self._before: frozenset[str] | None = None  # ``_settled`` before the newest look
        self._lags: dict[TopicPartition, int] = {}  # last known, records
        self._arrivals: dict[TopicPartition, float] = {}  # last known, records/s
        self._last: SizeReport | None = None
        self._advice = Advice()

    def look(self) -> Report:
        """Read the group once more, and drop looks that the next rate does not need."""
        now, report = self._clock(), self._look()
        self._before = self._settled
        if report.group.state not in REBALANCING:
            self._settled = frozenset(member.member_id for member in report.group.members)
        self._looks.append((now, report))
        self._lags |= {p.tp: p.lag for p in report.partitions if p.lag is not None}
        self._arrivals |= {p.tp: p.rate.records_in for p in report.partitions if p.rate is not None}
        # ``Rates``, which measures between these looks, notes their times a little later.  A look that is too
        # old here may still be the first of its window, so keep one look more.
        while len(self._looks) > 3 and self._looks[2][0] <= now - WINDOW_S:
            self._looks.popleft()
        return report

    def read(self) -> SizeReport:
        """Return the size from one more look.

        While a look does not show the load of the group, the last size stays.  For example, a member that
        crashes again and again keeps the group in rebalances, but is no reason for another size.

        Raises:
            GroupError: no size yet (first look, or the group is unsettled), an unknown strategy, no
                partitions, or no known rate.
            KafkaAssignorsError: the look or the forecasts could not be read.
            click.UsageError: the strategy that the group runs lacks a given option.
        """
        request, now = self._request, self.look()
        if len(self._looks) < 2:
            raise GroupError(f"one look at group {request.group_id!r} so far: a size needs two")
        if unsettled := self._unsettled(now):
            if self._last is None:
                raise GroupError(f"{unsettled}: try again")
            kept = replace(self._last, is_kept=True)
            return kept.with_notes(f"{unsettled}: showing the size of {self._last.time}")
        name, notes = strategy_of(request, now.group.strategy)
        rate, unequal = self._rate()
        expected = None if self._read_forecasts is None else self._read_forecasts(partition_counts(now))
        source = request.load_topic or ""
        load = group_load(
            now,
            request.horizon_s,
            rate,
            expected=expected,
            source=source,
            last_lags=self._lags,
            last_arrivals=self._arrivals,
        )
        self._last = size_report(request, load, name, now.time, advice=self._advice, at_s=self._looks[-1][0])
        return self._last.with_notes(*notes, *unequal, *self._stopped(now))

    def _unsettled(self, now: Report) -> str | None:
        """Return why a look does not show the load of the group; None: it does."""
        group = f"group {self._request.group_id!r}"
        if now.group.state in REBALANCING:  # the broker returns neither owners nor the strategy meanwhile
            return f"{group} is rebalancing"
        if given_up := self._given_up():
            without_owner = f"{counted(given_up, 'partition')} without an owner"
            return f"{group} is between two rounds of a rebalance: {without_owner}"
        if self._before is None:
            return f"{group} was rebalancing at the previous look"
        if self._settled and not self._settled & self._before:
            return (
                f"{group} has just started: all its members are new since the last stable look, "
                "so its lag says nothing about its size yet"
            )
        return None

    def _given_up(self) -> int:
        """Count the partitions, of subscribed topics, that had an owner at an earlier look and have none now.

        A cooperative member revokes a partition in one round; another member gets it in the next.  A member
        that is busy between the rounds joins late, so several looks may lie between them.
        """
        now = self._looks[-1][1]
        topics = {topic for member in now.group.members for topic in member.topics}
        ever = {p.tp for _, look in self._looks for p in look.partitions if p.owner is not None}
        owned = {p.tp for p in now.partitions if p.owner is not None}
        return sum(tp.topic in topics for tp in ever - owned)

    def _stopped(self, now: Report) -> list[str]:
        """Return a note if all or some partitions do not seem to be read, because then no size helps."""
        if not now.group.members or self._span_s < _LEAST_S:
            return []
        last_s = self._looks[-1][0]
        # Judge at least the last minute, or all looks if they span less.
        old = (index for index, (at_s, _) in enumerate(self._looks) if at_s <= last_s - WINDOW_S)
        first = max(old, default=0)
        span_s, looks = last_s - self._looks[first][0], [look for _, look in list(self._looks)[first:]]
        if has_stopped(looks):
            return [
                f"records wait, but no member has committed for {span_s:,.0f} s: "
                "members may have stopped reading"
            ]
        if not (stuck := stuck_partitions(looks)):
            return []
        names = listed(stuck, ROWS, name=lambda tp: partition_name(*tp))
        return [
            f"{names}: records wait, but no commit for {span_s:,.0f} s; "
            "a record may fail each time, or the thread that reads it may have died"
        ]

    @property
    def _span_s(self) -> float:
        return self._looks[-1][0] - self._looks[0][0]

    def _rate(self) -> tuple[float, list[str]]:
        """Return the records/s of a member of capacity 1; a note if it is not measured, or members differ."""
        if self._request.rate is not None:
            return self._request.rate, []
        span_s = self._span_s
        rates = member_rates([report for _, report in self._looks]) if span_s >= _LEAST_S else []
        if rates:
            self._rates.append(median(rates))
        if not self._rates and (reported := reported_rate(self._looks[-1][1])) is not None:
            return reported, [
                f"the rate of a member, {reported:,.1f} records/s, is the median of what members report"
            ]
        if not self._rates and span_s < _LEAST_S:
            raise GroupError(
                f"a member's rate is measured over at least {_LEAST_S:.0f} s, and the looks span "
                f"{span_s:.0f} s so far: give --rate, or --every {_LEAST_S:.0f}s"
            )
        if not self._rates:
            why = (
                "measuring it takes a member that keeps its partitions, commits, and at each look has more "
                "lag than it reads in 10 s"
            )
            if has_stopped([report for _, report in self._looks]):
                why = "records wait, but no member has committed between the looks"
            raise GroupError(
                f"the rate of a member of {self._request.group_id!r} is unknown: {why}: give --rate"
            )
        rate = median(self._rates)
        if not rates or max(rates) <= _UNEQUAL * min(rates):
            return rate, []
        span = f"{min(rates):,.1f} to {max(rates):,.1f}"
        return rate, [f"members read {span} records/s per unit of capacity: sizes assume {rate:,.1f}"]


def strategy_of(request: SizeRequest, running: str) -> tuple[str, list[str]]:
    """Return the name of the strategy to plan sizes with, and a note if the group has no members to name it.

    Raises:
        GroupError: the running strategy is not in this package, or plans tasks, and the request names none.
    """
    if request.strategy is not None:
        return request.strategy, []
    if not running:
        return DEFAULT_STRATEGY, [f"the group has no members: {ASSUMED_STRATEGY}"]
    if running == STATEFUL:
        raise GroupError(
            f"group {request.group_id!r} is stateful: see kafka-assignors tasks; size does not plan tasks"
        )
    if running not in STRATEGIES:
        raise GroupError(
            f"group {request.group_id!r} runs {running!r}, which is not in this package: "
            f"give --strategy, one of {', '.join(STRATEGIES)}"
        )
    return running, []


def size_report(
    request: SizeRequest,
    load: GroupLoad,
    strategy: str,
    time: str,
    *,
    advice: Advice | None = None,
    at_s: float = 0.0,
    recorded: bool = False,
) -> SizeReport:
    """Size a load that has a rate.  ``at_s`` is its time on the clock of ``advice``, seconds."""
    kind = load_strategy(strategy)
    refuse_foreign("--option ", kind, request.options)
    assumptions = assumed([with_options(kind, {}, request.options)], strategy, request.options)
    by_load = kind.by_forecast and (load.forecasts is not None or load.is_planned_by_load)
    sizing = (advice or Advice()).size(
        at_s,
        load.history,
        simulated(strategy, request.options, by_load=by_load),
        request.target,
        members=load.members,
        owners=load.owners,
        capacities=load.capacities,
    )
    return SizeReport(
        request.group_id,
        time,
        strategy,
        sizing,
        is_measured=request.rate is None,
        forecasts=load.forecasts,
        notes=(*load.notes, *assumptions),
        recorded=recorded,
        oldest_s=load.oldest_s,
        by_load=by_load,
    )
