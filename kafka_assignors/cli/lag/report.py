"""The report of ``lag``: partitions, members and totals, as values and as JSON.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_assignors.cli.group_lag import GroupOwners, PartitionLag, owners_of
from kafka_assignors.lag import Reading, Reset
from kafka_assignors.lag.fetch.group import REBALANCING, GroupState
from kafka_assignors.lag.rates import Rate, total
from kafka_assignors.plan import TopicPartition

VERSION = 1


@dataclass(frozen=True, slots=True)
class InTime:
    """A group's lag in time, by partition; ``PartitionLag`` describes the values."""

    ages: Mapping[TopicPartition, float] = field(default_factory=dict)  # seconds
    missing: Mapping[TopicPartition, str] = field(default_factory=dict)
    rates: Mapping[TopicPartition, Rate] = field(default_factory=dict)  # empty at the first reading
    retention_left: Mapping[TopicPartition, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """A group and its lag."""

    group: GroupState
    reset: Reset  # where consumers start without a commit
    partitions: tuple[PartitionLag, ...]  # those that count (``group_lag``), by topic and number
    time: str  # ISO 8601

    @property
    def lag(self) -> int:
        """Records left to read, over all partitions with a known lag."""
        return sum(partition.lag or 0 for partition in self.partitions)

    @property
    def unknown(self) -> int:
        """Number of partitions with an unknown lag."""
        return sum(partition.lag is None for partition in self.partitions)

    @property
    def time_lag_ms(self) -> float | None:
        """Age of the oldest unread record, as far as ages are known; None: no age is known."""
        return oldest(self.partitions)

    @property
    def counts_all_commits(self) -> bool:
        """Whether all commits count, because a broker returns no owners while the group rebalances."""
        return self.group.state in REBALANCING and all(p.owner is None for p in self.partitions)

    @property
    def unknown_members(self) -> str | None:
        """Why partitions of members are unknown; None: all are known."""
        if self.group.hides_members:
            return "the broker does not describe the members of this group"
        if any(not member.readable for member in self.group.members):
            return "the assignments of some members cannot be read"
        return "the group is rebalancing" if self.counts_all_commits else None

    @property
    def unread_topics(self) -> list[str]:
        """Topics that no member reads, although the group has commits in them; their lag does not count."""
        return sorted({tp.topic for tp in self.group.commits} - {p.tp.topic for p in self.partitions})

    @property
    def time_unknown(self) -> int:
        """Number of partitions with lag whose oldest unread record has an unknown age."""
        return sum(partition.seconds_missing is not None for partition in self.partitions)

    @property
    def rate(self) -> Rate | None:
        """Sum of the partitions' rates; None: no rate is known, or a partition with lag has none."""
        return total_rate(self.partitions)

    @property
    def near_retention(self) -> list[PartitionLag]:
        """Partitions whose next unread record is deleted soon."""
        return [partition for partition in self.partitions if partition.near_retention]

    def partitions_of(self) -> dict[str, list[PartitionLag]]:
        """Map each member id to the partitions of the member."""
        owned: dict[str, list[PartitionLag]] = {member.member_id: [] for member in self.group.members}
        for partition in self.partitions:
            # An owner from before a rebalance may have left.
            if partition.member_id is not None and partition.member_id in owned:
                owned[partition.member_id].append(partition)
        return owned

    def by_member(self) -> dict[str, tuple[int, int, int]]:
        """Map each member id to its number of partitions, how many have an unknown lag, and the known lag."""
        return {
            member_id: (len(owned), sum(p.lag is None for p in owned), sum(p.lag or 0 for p in owned))
            for member_id, owned in self.partitions_of().items()
        }

    def as_json(self) -> dict[str, Any]:
        """Return the object that ``--output json`` prints."""
        totals, partitions_of = self.by_member(), self.partitions_of()
        return {
            "version": VERSION,
            "time": self.time,
            "group": self.group.group_id,
            "state": self.group.state,
            "strategy": self.group.strategy or None,
            "reset": self.reset,
            "lag": self.lag,
            "unknown": self.unknown,
            "time_lag_ms": _rounded(self.time_lag_ms),
            "time_unknown": self.time_unknown,
            "unread_topics": self.unread_topics,
            "near_retention": len(self.near_retention),
            **_rate_json(self.rate, rated_lag(self.lag, self.unknown)),
            "members": [
                {
                    "id": member.member_id,
                    "instance_id": member.instance_id,
                    "client_id": member.client_id,
                    "host": member.host,
                    "readable": member.readable,
                    "partitions": totals[member.member_id][0],
                    "unknown": totals[member.member_id][1],
                    "lag": totals[member.member_id][2],
                    "time_lag_ms": _rounded(oldest(partitions_of[member.member_id])),
                    **_rate_json(
                        total_rate(partitions_of[member.member_id]),
                        rated_lag(totals[member.member_id][2], totals[member.member_id][1]),
                    ),
                }
                for member in self.group.members
            ],
            "partitions": [
                {
                    "topic": partition.tp.topic,
                    "partition": partition.tp.partition,
                    "member": partition.member_id,
                    "begin": partition.begin,
                    "committed": partition.committed,
                    "end": partition.end,
                    "lag": partition.lag,
                    "missing": partition.missing,
                    "time_lag_ms": _rounded(oldest([partition])),
                    "time_missing": partition.seconds_missing,
                    "retention_left": _rounded(partition.retention_left, 3),
                    "near_retention": partition.near_retention,
                    **_rate_json(partition.rate, partition.lag),
                }
                for partition in self.partitions
            ],
        }


@dataclass(frozen=True, slots=True)
class GroupsReport:
    """Several groups at one moment."""

    time: str  # ISO 8601
    reports: tuple[Report, ...]  # the groups that could be read, by name
    problems: Mapping[str, str]  # group -> why it could not be read, in one line

    def as_json(self) -> dict[str, Any]:
        """Return the object that ``--output json`` prints."""
        return {
            "version": VERSION,
            "time": self.time,
            "groups": [report.as_json() for report in self.reports],
            "problems": [{"group": group, "problem": why} for group, why in self.problems.items()],
        }


def report(
    group: GroupState,
    reading: Reading,
    reset: Reset,
    time: str,
    in_time: InTime = InTime(),
    *,
    owners: GroupOwners | None = None,
) -> Report:
    """Make a report from the group's state, the offsets of its partitions, and their lag in time.

    ``owners``: last known owners, because a broker returns no owners while a group rebalances.  None: the
    owners in ``group``.
    """
    owners = owners_of(group) if owners is None else owners
    partitions = []
    for tp in sorted({*owners, *reading.lags, *reading.missing}):
        offsets = reading.offsets.get(tp)
        partitions.append(
            PartitionLag(
                tp,
                owners.get(tp),
                None if offsets is None else offsets.committed,
                reading.lags.get(tp),
                in_time.ages.get(tp),
                begin=None if offsets is None else offsets.begin,
                end=None if offsets is None else offsets.end,
                missing=reading.missing.get(tp),
                seconds_missing=in_time.missing.get(tp),
                rate=in_time.rates.get(tp),
                retention_left=in_time.retention_left.get(tp),
            )
        )
    return Report(group, reset, tuple(partitions), time)


def oldest(partitions: Iterable[PartitionLag]) -> float | None:
    """Return the largest known age of an oldest unread record, in milliseconds; None: none is known."""
    return max((1000 * p.seconds for p in partitions if p.seconds is not None), default=None)


def total_rate(partitions: Collection[PartitionLag]) -> Rate | None:
    """Return the sum of the partitions' rates; None: no rate is known, or a partition with lag has none."""
    if any(partition.rate is None and partition.lag for partition in partitions):
        return None
    return total(partition.rate for partition in partitions if partition.rate is not None)


def rated_lag(known: int, unknown: int) -> int | None:
    """Return the lag to catch up with; None if it is unknown for some partitions and 0 for the others."""
    return None if unknown and not known else known


def _rate_json(rate: Rate | None, lag: int | None) -> dict[str, float | None]:
    return {
        "rate_in": _rounded(None if rate is None else rate.records_in, 3),
        "rate_out": _rounded(None if rate is None else rate.records_out, 3),
        "catch_up_s": _rounded(None if rate is None or lag is None else rate.catch_up_s(lag), 1),
        "commit_unchanged_s": _rounded(None if rate is None else rate.commit_unchanged_s, 1),
    }


def _rounded(value: float | None, digits: int | None = None) -> float | None:
    return None if value is None else round(value, digits)
