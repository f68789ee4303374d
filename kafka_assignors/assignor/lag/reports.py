"""The lag that members report: selects the newest valid report of each partition."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.assignor.members import MemberReport
from kafka_assignors.lag.sources import Lags
from kafka_assignors.plan import Member, TopicPartition


def newest_reports(
    reports: Iterable[tuple[Member, MemberReport]],
    max_age_ms: float,
    complaints: Complaints,
    *,
    of_owned: bool,
) -> Lags:
    """Return the lag that members report, in records.

    A member may report the partitions it claims.  If members of the strategy send no claims, it may report
    all partitions of its topics.  The newest report of a partition counts.  Among equally old reports the
    larger lag counts, because the order of members is arbitrary.

    Args:
        reports: members with their decoded user data.
        max_age_ms: older reports are ignored.
        complaints: collects reports about partitions that are not the member's.
        of_owned: whether members send their owned partitions and may report the lag of these only.
    """
    best: dict[TopicPartition, tuple[int, int]] = {}
    for member, report in reports:
        if report.lag_age_ms > max_age_ms:
            continue
        owned = {topic: set(numbers) for topic, numbers in member.owned.items()} if of_owned else {}
        foreign = 0
        for partition, lag in report.lags.items():
            is_owned = partition.partition in owned.get(partition.topic, ())
            if partition.topic not in member.topics or (of_owned and not is_owned):
                foreign += 1
                continue
            candidate = -report.lag_age_ms, lag
            if partition not in best or best[partition] < candidate:
                best[partition] = candidate
        if foreign:
            complaints.add(member.member_id, f"reports the lag of {foreign} partitions that are not its own")
    return {partition: lag for partition, (_age, lag) in best.items()}
