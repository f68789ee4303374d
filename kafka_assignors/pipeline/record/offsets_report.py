"""What a recording of the offsets topic brought and left out, added up on the driver."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from kafka_assignors.pipeline.record.offsets_counts import added_up
from kafka_assignors.pipeline.record.offsets_decoder import PROBLEMS

__all__ = ["OffsetsReport", "OffsetsTally", "observed"]

_LOG = logging.getLogger(__name__)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class OffsetsReport:
    """What was read of the topic.

    Attributes:
        records: all of them.
        kinds: how many of each kind (``offsets_topic.KINDS``), those without a problem.
        problems: how many had which problem (``offsets_topic.PROBLEMS``); they are left out.
        first: where the first with that problem is: partition of the topic, and offset.
        landed: commits and tombstones of the groups asked for.
        since: time of the first one that landed; None: none did.
        until: time of the last one.
    """

    records: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    problems: Mapping[str, int] = field(default_factory=dict)
    first: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    landed: int = 0
    since: datetime | None = None
    until: datetime | None = None

    def __add__(self, other: OffsetsReport) -> OffsetsReport:
        """This one, and what was read after it."""
        times = [t for t in (self.since, self.until, other.since, other.until) if t is not None]
        return OffsetsReport(
            self.records + other.records,
            dict(Counter(self.kinds) + Counter(other.kinds)),
            dict(Counter(self.problems) + Counter(other.problems)),
            {**other.first, **self.first},
            self.landed + other.landed,
            min(times, default=None),
            max(times, default=None),
        )


class OffsetsTally:
    """Adds up what batches brought."""

    def __init__(self) -> None:
        self.report = OffsetsReport()

    def add(self, seen: Mapping[str, Any]) -> None:
        """One more batch, as ``observed`` has it; of a problem that is new the first is told at once."""
        counts = added_up(seen["counted"])
        for problem, (_, partition, at) in counts["first"].items():
            if problem not in self.report.problems:
                _LOG.warning(
                    "offsets topic: a record is left out, %s: offset %d of partition %d; of others like it "
                    "the number is told at the end",
                    *(PROBLEMS[problem], at, partition),
                )
        times = [_EPOCH + timedelta(microseconds=time) for time in counts["times"]]
        self.report += OffsetsReport(
            counts["records"],
            counts["kinds"],
            counts["problems"],
            {problem: (partition, at) for problem, (_, partition, at) in counts["first"].items()},
            counts["landed"],
            min(times, default=None),
            max(times, default=None),
        )


def observed() -> list[Any]:
    """What ``OffsetsTally.add`` takes, as an aggregate over what ``offsets_topic.decode`` gives."""
    from pyspark.sql import functions as F

    return [F.collect_list("counted").alias("counted")]
