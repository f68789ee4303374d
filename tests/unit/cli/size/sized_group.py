"""A group as ``size`` sees it: looks at its load, and the sizes after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kafka_assignors.cli.group_lag import owners_of
from kafka_assignors.cli.lag.report import GroupsReport, InTime, Report, report
from kafka_assignors.cli.size.load import group_load
from kafka_assignors.cli.size.report import SizeReport
from kafka_assignors.cli.size.sizes import GroupSizes, SizeRequest
from kafka_assignors.lag import Offsets, Reading
from kafka_assignors.lag.feed.sources import Expected
from kafka_assignors.lag.fetch.group import GroupMember, GroupState
from kafka_assignors.lag.rates import Rate
from kafka_assignors.pipeline.backtest.simulated import simulated
from kafka_assignors.plan import TopicPartition
from kafka_assignors.simulation.sizing import Target, size
from kafka_assignors.wire import lag_user_data
from kafka_assignors.wire.compact_lag_user_data import LagUserData

TIME = "2026-11-23T12:00:00.000+00:00"
REQUEST = SizeRequest("billing", Target(30), 3600)
GIVEN_RATE = replace(REQUEST, rate=10.0)


def look(
    rates: Sequence[float],
    lags: Sequence[int],
    members: int = 2,
    *,
    out: float = 1.0,
    strategy: str = "sticky",
    capacities: Sequence[float] = (1.0, 1.0),
    service_rates: Sequence[float | None] = (None, None),
    reported: int = 0,
    name: str = "m",
    commit: int = 0,
) -> Report:
    """A group of one topic, dealt in turn, with these arrivals; a member commits ``out`` of them.

    Members report the arrivals of the first ``reported`` partitions.
    """
    tps = [TopicPartition("orders", partition) for partition in range(len(rates))]

    def joined(number: int) -> GroupMember:
        user_data = lag_user_data.encode(
            LagUserData(
                {},
                -1,
                dict.fromkeys(tps[number:reported:members], 0),
                0,
                capacities[number % 2],
                service_rate=service_rates[number % 2],
                rates=dict(zip(tps, rates, strict=True)),
            )
        )
        owned = tuple(tps[number::members])
        return GroupMember(f"{name}{number}", None, "c", "h", owned, subscription_user_data=user_data)

    offsets = {tp: Offsets(0, commit + lag, commit) for tp, lag in zip(tps, lags, strict=True)}
    running, everybody = strategy if members else "", tuple(map(joined, range(members)))
    group = GroupState("billing", "Stable", running, everybody, dict.fromkeys(tps, 0))
    reading = Reading(dict(zip(tps, lags, strict=True)), offsets, {})
    unchanged_s = 0.0 if out else 60.0
    seen = {tp: Rate(rate, rate * out, unchanged_s) for tp, rate in zip(tps, rates, strict=True)}
    return report(group, reading, "earliest", TIME, InTime(rates=seen))


CALM = look([7] * 4, [0] * 4, members=4)
"""With ``GIVEN_RATE`` four members are the right size."""


def changed(now: Report, *numbers: int, **fields: Any) -> Report:
    """Return a look with other fields of these partitions."""
    partitions = (replace(p, **fields) if p.tp.partition in numbers else p for p in now.partitions)
    return replace(now, partitions=tuple(partitions))


def rebalancing(now: Report, state: str = "PreparingRebalance") -> Report:
    return replace(now, group=replace(now.group, state=state))


class Minutes:
    """A clock that goes on by a minute at each call."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 60
        return self.now


def started(request: SizeRequest, *looks: Report, clock: Callable[[], float] | None = None) -> GroupSizes:
    """Return the sizes of these looks, after the first of them."""
    sizes = GroupSizes(iter(looks).__next__, request, clock=clock or Minutes())
    sizes.look()
    return sizes


def sized(request: SizeRequest, *looks: Report) -> SizeReport:
    """Return the size after the last of two or more looks."""
    sizes = started(request, *looks)
    return [sizes.read() for _ in looks[1:]][-1]


def shown_report() -> SizeReport:
    """The report of docs/guides/size.md."""
    now = look([300, 310, 290, 305, 320, 900], [900, 1200, 800, 1000, 950, 4000])
    rates = zip(sorted(owners_of(now.group)), [330, 340, 310, 330, 1500, 400], strict=True)
    expected = Expected({tp: 3540 * rate for tp, rate in rates}, period_s=3540.0, age_s=60.0)
    load = group_load(now, 3600, 1200.0, expected=expected, source="kafka-assignors-load")
    sizing = size(load.history, simulated("cooperative-sticky"), Target(30), members=2, owners=load.owners)
    return SizeReport(
        "billing", TIME, "cooperative-sticky", sizing, is_measured=False, forecasts=load.forecasts
    )


class Looks:
    """A ``LagReader`` with these looks."""

    def __init__(self, *looks: Report) -> None:
        self.looks = list(looks)
        self.closed = False

    def __call__(self, settings: object, reset: str, window_s: float) -> Looks:
        return self

    def read(self, names: Sequence[str]) -> GroupsReport:
        return GroupsReport(TIME, (self.looks.pop(0),), {})

    def close(self) -> None:
        self.closed = True
