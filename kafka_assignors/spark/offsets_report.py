"""What a recording of the offsets topic brought and left out: counted in Spark, added up on the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from kafka_assignors.spark.offsets_decoder import KINDS, PROBLEMS

__all__ = ["OffsetsReport", "OffsetsTally", "observed"]


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
        """One more batch, as ``observed`` has it."""
        self.report += OffsetsReport(
            seen["records"],
            {kind: seen[f"kind-{kind}"] for kind in KINDS if seen[f"kind-{kind}"]},
            {problem: seen[f"problem-{problem}"] for problem in PROBLEMS if seen[f"problem-{problem}"]},
            {problem: _place(at) for problem in PROBLEMS if (at := seen[f"first-{problem}"]) is not None},
            seen["landed"],
            _time(seen["since"]),
            _time(seen["until"]),
        )


def observed() -> list[Any]:
    """What ``OffsetsTally.add`` takes, as aggregates over what ``offsets_topic.decode`` gives."""
    from pyspark.sql import functions as F  # noqa: N812  # as all the world calls it

    fine = F.col("problem").isNull()
    landed_ms = F.when(F.col("landed"), F.unix_millis("time"))
    at = F.struct("record_time", "record_partition", "record_offset")
    return [
        F.count(F.lit(1)).alias("records"),
        F.count_if(F.col("landed")).alias("landed"),
        F.min(landed_ms).alias("since"),
        F.max(landed_ms).alias("until"),
        *(F.count_if(fine & (F.col("kind") == kind)).alias(f"kind-{kind}") for kind in KINDS),
        *(F.count_if(F.col("problem") == problem).alias(f"problem-{problem}") for problem in PROBLEMS),
        *(F.min(F.when(F.col("problem") == problem, at)).alias(f"first-{problem}") for problem in PROBLEMS),
    ]


def _place(at: Any) -> tuple[int, int]:
    return at["record_partition"], at["record_offset"]


def _time(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
