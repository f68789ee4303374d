"""The load of a live group for its size: arrivals, lag, owners, and the rate of a member.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from kafka_assignors.cli.lag.report import Report, total_rate
from kafka_assignors.cli.tables import counted
from kafka_assignors.errors import GroupError
from kafka_assignors.lag.feed.sources import Expected
from kafka_assignors.plan import Group, TopicPartition
from kafka_assignors.simulation import History
from kafka_assignors.simulation.history import Counts, Levels

_COMMIT_S = 10.0
"""Records read but not committed count as lag: twice the default interval of auto-commit."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupLoad:
    """A live group, its lag and its expected arrivals.

    Attributes:
        history: its lag, and arrivals in a step for now, and one for the forecast if there is one.
        members: number of members.
        owners: owner of each partition, as an index into the members; None: not all have one.
        strategy: name of the group's strategy; empty without members.
        is_measured: the rate of a member was measured, not given.
        notes: remarks on the load, a sentence each.
    """

    history: History
    members: int
    owners: Counts | None
    strategy: str
    is_measured: bool
    notes: tuple[str, ...]


def partitions_of(report: Report) -> dict[str, int]:
    """Return the partition count of each topic of a group.

    Commits of a topic that no member reads any more are left out, because their lag only grows.
    """
    owned = {partition.tp.topic for partition in report.partitions if partition.owner is not None}
    counts: dict[str, int] = {}
    for topic, number in (partition.tp for partition in report.partitions):
        if not owned or topic in owned:
            counts[topic] = max(counts.get(topic, 0), number + 1)
    return counts


def measured_rate(before: Report, now: Report) -> float | None:
    """Return the records/s that a member commits while it has lag; None: none had enough at both looks.

    A member without a backlog reads all that arrives, which does not show its capacity.  The rate is the
    median of those with one, because members are taken for equal.
    """
    earlier, later = before.by_member(), now.by_member()
    owned_before, owned = before.partitions_of(), now.partitions_of()
    rates = []
    for member_id, partitions in owned.items():
        rate = total_rate(partitions)
        if rate is None or not rate.records_out or member_id not in earlier:
            continue
        is_same = [p.tp for p in partitions] == [p.tp for p in owned_before[member_id]]
        least = min(earlier[member_id][2], later[member_id][2])
        if is_same and least > rate.records_out * _COMMIT_S:
            rates.append(rate.records_out)
    return median(rates) if rates else None


def group_load(
    before: Report,
    now: Report,
    horizon_s: float,
    *,
    rate: float | None = None,
    expected: Expected | None = None,
) -> GroupLoad:
    """Return the load of a group from two looks at it.

    Args:
        before: the first look.
        now: the second one.
        horizon_s: length of the horizon; the measured arrivals, or the forecast ones after its first half,
            are taken to last until its end.
        rate: records/s that a member reads; None: measured.
        expected: forecasts; a partition without one keeps its measured arrivals.

    Raises:
        GroupError: the group has no partitions.
    """
    topics = partitions_of(now)
    if not topics:
        raise GroupError(f"group {now.group.group_id!r} has neither members nor commits: nothing to size")
    group = Group((), topics)
    index = {group.at(place): place for place in range(group.size)}
    arriving, lag = np.zeros(group.size), np.zeros(group.size, np.int64)
    members = [member.member_id for member in now.members]
    owners = np.full(group.size, -1, np.int64)
    unknown = group.size
    for partition in now.partitions:
        if (place := index.get(partition.tp)) is None:
            continue
        lag[place] = partition.lag or 0
        if partition.rate is not None:
            arriving[place] = partition.rate.records_in
            unknown -= 1
        if partition.owner is not None:
            owners[place] = members.index(partition.owner.member_id)
    notes = []
    if unknown:
        notes.append(f"arrivals of {counted(unknown, 'partition')} are unknown and count as none")
    measured = measured_rate(before, now) if rate is None else None
    steps = [arriving]
    if expected is not None:
        steps.append(_forecast(expected, arriving, index))
        if expected.problem:
            notes.append(expected.problem)
    step_s = horizon_s / len(steps)
    history = History(
        group=now.group.group_id,
        step_s=step_s,
        topics=topics,
        arrivals=np.rint(np.array(steps) * step_s).astype(np.int64),
        start_lags=lag,
        service_rate=measured if rate is None else rate,
    )
    return GroupLoad(
        history=history,
        members=len(members),
        owners=None if (owners < 0).any() else owners,
        strategy=now.group.strategy,
        is_measured=rate is None,
        notes=tuple(notes),
    )


def _forecast(expected: Expected, arriving: Levels, index: Mapping[TopicPartition, int]) -> Levels:
    """Return the records/s of each partition in the period of the forecasts."""
    rates: Levels = arriving.copy()
    if expected.period_s > 0:
        for partition, records in expected.arrivals.items():
            rates[index[partition]] = records / expected.period_s
    return rates
