"""The lag that members report: whose word counts, and whose is too old."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.assignor.joined import Told
from kafka_assignors.lag.sources import Lags
from kafka_assignors.plan import Member, TopicPartition

__all__ = ["reported"]


def reported(
    said: Iterable[tuple[Member, Told]], oldest_ms: float, complaints: Complaints, *, of_owned: bool
) -> Lags:
    """What members report of the lag, in records.

    A member's word counts for what it says it owns (or, of a strategy whose members do not say that, for the
    topics it subscribes to).  The youngest report of a partition counts, and the larger lag of two equally
    old ones: members come in any order.

    Args:
        said: members, and what they told.
        oldest_ms: older reports count for nothing.
        complaints: takes reports of what is not the member's.
        of_owned: whether members say what they own.
    """
    best: dict[TopicPartition, tuple[int, int]] = {}
    for member, told in said:
        if told.lag_age_ms > oldest_ms:
            continue
        owned = {topic: set(numbers) for topic, numbers in member.owned.items()} if of_owned else {}
        strange = 0
        for at, lag in told.lags.items():
            if at.topic not in member.topics or (of_owned and at.partition not in owned.get(at.topic, ())):
                strange += 1
                continue
            report = -told.lag_age_ms, lag
            if at not in best or best[at] < report:
                best[at] = report
        if strange:
            complaints.add(member.member_id, f"reports the lag of {strange} partitions that are not its own")
    return {at: lag for at, (_age, lag) in best.items()}
