"""The load of a live group: arrivals, lag, owners, and the rate of a member.  Pure.

A *look* is one report of the group.  Arrivals and rates are measured between looks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from kafka_assignors.assignor.lag.capacity import capacities, median_rate
from kafka_assignors.assignor.members import MemberReport
from kafka_assignors.cli.group_lag import PartitionLag
from kafka_assignors.cli.lag.report import Report, total_rate
from kafka_assignors.cli.live_group import member_report
from kafka_assignors.cli.tables import counted
from kafka_assignors.errors import GroupError
from kafka_assignors.lag.feed.sources import Expected
from kafka_assignors.pipeline.backtest.service_rate import COMMIT_S
from kafka_assignors.plan import NO_MEMBER, Group, TopicPartition
from kafka_assignors.plan.capacity import median_ratio
from kafka_assignors.simulation import History
from kafka_assignors.simulation.history import Counts, Levels
from kafka_assignors.strategies import STRATEGIES


@dataclass(frozen=True, slots=True)
class Forecasts:
    """Describes the forecasts that the later steps of a load are made from.

    If ``mean_from_s`` is None, each later step has a forecast of its own.  Otherwise the load from that time
    on (seconds from now) is the mean of the forecasts over their period.
    """

    source: str  # the topic they were read from, or the model that made them
    partitions: int  # number of partitions with a forecast
    period_s: float  # the time they cover, from now
    age_s: float = 0.0  # of the oldest forecast, seconds
    mean_from_s: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class GroupLoad:
    """A group, its lag and its expected arrivals.

    ``is_planned_by_load``: members report arrivals (``load_source="throughput"``), so that the leader plans
    with arrivals, too.
    """

    history: History  # its first step is measured, the others are forecast
    members: int | None  # None: unknown, or there are none
    owners: Counts | None  # of each partition, as an index into the members; None: some have no known owner
    notes: tuple[str, ...]  # a sentence each
    forecasts: Forecasts | None = None  # None: measured arrivals are assumed to continue
    capacities: tuple[float, ...] = ()  # of the members; empty: all 1
    oldest_s: float | None = None  # age of the oldest unread record with a known age; None: no age is known
    is_planned_by_load: bool = False


def partition_counts(report: Report) -> dict[str, int]:
    """Return the partition count of each topic of a group, up to the last partition of the report.

    If any partition has an owner, topics without owned partitions are left out, because their lag only grows.
    """
    owned = {partition.tp.topic for partition in report.partitions if partition.owner is not None}
    counts: dict[str, int] = {}
    for topic, number in (partition.tp for partition in report.partitions):
        if not owned or topic in owned:
            counts[topic] = max(counts.get(topic, 0), number + 1)
    return counts


def member_rates(looks: Sequence[Report]) -> list[float]:
    """Return the records/s of each member with a backlog, divided by its capacity.

    A member without a backlog reads all that arrives, which does not show how fast it could read.  So a
    member counts only if it owned the same partitions at all looks, and always had more lag than it reads in
    ``COMMIT_S`` seconds.  A member does not count if the rate of one of its partitions is unknown.

    Args:
        looks: oldest first.  They cover the time over which the rates of the last look were measured.
    """
    now, lags = looks[-1], [look.by_member() for look in looks]
    owned, capacity_of = [look.partitions_of() for look in looks], capacities_of(now)
    rates = []
    for member_id, partitions in owned[-1].items():
        rate = total_rate(partitions)
        is_known = all(_is_rate_known(partition) for partition in partitions)
        if rate is None or not rate.records_out or not is_known or any(member_id not in lag for lag in lags):
            continue
        tps = [partition.tp for partition in partitions]
        is_same = all([partition.tp for partition in of_look[member_id]] == tps for of_look in owned)
        if is_same and min(lag[member_id][2] for lag in lags) > rate.records_out * COMMIT_S:
            rates.append(rate.records_out / capacity_of[member_id])
    return rates


def has_stopped(looks: Sequence[Report]) -> bool:
    """Return whether records waited at all looks, but no commit changed between them.

    Then the members do not read, or their commits are further apart than the first look and the last.
    """
    commits = [{partition.tp: partition.committed for partition in look.partitions} for look in looks]
    return all(map(_waiting_commits, looks)) and all(of_look == commits[0] for of_look in commits)


def stuck_partitions(looks: Sequence[Report]) -> list[TopicPartition]:
    """Return the partitions in which records waited at all looks, and whose commit did not change."""
    first, *later = map(_waiting_commits, looks)
    return sorted(tp for tp, _ in set(first.items()).intersection(*(commits.items() for commits in later)))


def _waiting_commits(look: Report) -> dict[TopicPartition, int | None]:
    """Return the commits of the partitions with unread records.

    Lag alone does not show unread records, because the last offsets may be markers of transactions.  Then the
    age is 0.
    """
    return {p.tp: p.committed for p in look.partitions if p.lag and p.seconds != 0}


def _is_rate_known(partition: PartitionLag) -> bool:
    """Return whether the number of records that the group committed between the looks is known."""
    rate = partition.rate
    return rate is not None and (rate.records_out is not None or partition.committed is None)


def capacities_of(report: Report) -> dict[str, float]:
    """Return the capacity of each member; 1 if it sends none, or one that the leader would ignore."""
    names = [member.member_id for member in report.group.members]
    return dict(zip(names, capacities(_reports(report)), strict=True))


def reported_rate(report: Report) -> float | None:
    """Return the median records/s, for capacity 1, that members report; None: no member reports a rate."""
    return median_rate(_reports(report)) or None


def _reports(report: Report) -> list[MemberReport]:
    kind = STRATEGIES.get(report.group.strategy)
    strategy = kind() if kind is not None and kind.by_lag else None
    return [member_report(strategy, member.subscription_user_data) for member in report.group.members]


def group_load(
    now: Report,
    horizon_s: float,
    rate: float | None,
    *,
    expected: Expected | None = None,
    source: str = "the feed",
    last_lags: Mapping[TopicPartition, int] = MappingProxyType({}),
    last_arrivals: Mapping[TopicPartition, float] = MappingProxyType({}),
) -> GroupLoad:
    """Return the load of a group, from a look that has rates.

    Without forecasts, measured arrivals are assumed until the end of the horizon.  With forecasts, they are
    assumed until its middle, and forecast arrivals from there on; a partition without a forecast keeps its
    measured arrivals.

    Args:
        now: the look.
        horizon_s: the time to size for, seconds.
        rate: records/s of a member of capacity 1; None: unknown.
        expected: forecasts; None: there are none.
        source: of the forecasts, as text for a person.
        last_lags: records, of an earlier look, for partitions whose lag this look does not know.
        last_arrivals: records/s, likewise.

    Raises:
        GroupError: the group has no partitions to size for.
    """
    topics = partition_counts(now)
    if not topics:
        raise GroupError(
            f"group {now.group.group_id!r} has no assigned partitions and no commits: nothing to size"
        )
    group = Group((), topics)
    index_of = {group.at(index): index for index in range(group.size)}
    member_index = {member.member_id: index for index, member in enumerate(now.group.members)}
    owners = np.full(group.size, NO_MEMBER, np.int64)
    without_age, ages = 0, []
    known = {partition.tp: partition.lag for partition in now.partitions if partition.lag is not None}
    lags = {tp: lag for tp, lag in {**last_lags, **known}.items() if tp in index_of}
    lag = np.array([lags.get(group.at(index), 0) for index in range(group.size)], np.int64)
    measured = {p.tp: p.rate.records_in for p in now.partitions if p.rate is not None}
    arrivals = {tp: rate for tp, rate in {**last_arrivals, **measured}.items() if tp in index_of}
    arriving = np.array([arrivals.get(group.at(index), 0.0) for index in range(group.size)])
    for partition in now.partitions:
        if (index := index_of.get(partition.tp)) is None:
            continue
        if partition.seconds is not None:
            ages.append(partition.seconds)
        without_age += partition.seconds_missing is not None
        if partition.member_id is not None:
            owners[index] = member_index.get(partition.member_id, NO_MEMBER)
    notes = [
        f"{figure} of {counted(unknown, 'partition')} {effect} as none"
        for figure, effect, unknown in (
            ("arrivals", "are unknown and count", group.size - len(arrivals)),
            ("the lag", "is unknown and counts", group.size - len(lags)),
            ("the age of the oldest unread record", "is unknown and counts", without_age),
        )
        if unknown
    ]
    member_capacities = tuple(capacities_of(now).values())
    if len(set(member_capacities)) > 1:
        middle = median_ratio(member_capacities)
        notes.append(
            f"members have capacities from {min(member_capacities):g} to {max(member_capacities):g}: "
            f"larger sizes add members of the median capacity, {middle:.3g}; "
            "smaller ones remove the fastest first"
        )
    for figure, effect, used, current in (
        ("arrivals", "are unknown and count as they were", arrivals, measured),
        ("the lag", "is unknown and counts as it was", lags, known),
    ):
        if old := len(used.keys() - current.keys()):
            notes.append(f"{figure} of {counted(old, 'partition')} {effect} at an earlier look")
    if expected is not None and expected.problem:
        notes.append(expected.problem)
    steps, forecasts = [arriving], None
    if expected is not None and expected.arrivals and expected.period_s > 0:
        later: Levels = arriving.copy()
        for tp, records in expected.arrivals.items():
            later[index_of[tp]] = records / expected.period_s
        steps.append(later)
        forecasts = Forecasts(
            source, len(expected.arrivals), expected.period_s, expected.age_s, mean_from_s=horizon_s / 2
        )
    return GroupLoad(
        history=history_of(now.group.group_id, topics, steps, lag, horizon_s=horizon_s, rate=rate),
        members=len(now.group.members) or None,
        owners=None if (owners == NO_MEMBER).any() else owners,
        notes=tuple(notes),
        forecasts=forecasts,
        capacities=member_capacities,
        oldest_s=max(ages, default=None),
        is_planned_by_load=any(report.rates for report in _reports(now)),
    )


def history_of(
    group_id: str,
    topics: Mapping[str, int],
    steps: Sequence[Levels],
    lag: Counts,
    *,
    horizon_s: float,
    rate: float | None,
) -> History:
    """Return the load of the horizon as the input of a simulation.

    Each of the ``steps``, in records/s by partition, is an equal part of the horizon.
    """
    step_s = horizon_s / len(steps)
    return History(
        group=group_id,
        step_s=step_s,
        topics=topics,
        arrivals=np.rint(np.array(steps) * step_s).astype(np.int64),
        start_lags=lag,
        service_rate=rate,
    )
