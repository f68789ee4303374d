"""Counts of samples and problems: counted in Spark, summed and logged on the driver.

Spark's workers are other processes, so they return problems as rows.  `observed` counts these rows, and Spark
sends the counts to the driver with each batch of a stream.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_assignors.plan import shown

_LOG = logging.getLogger(__name__)
_MOST_LINES = 20  # maximum log lines for one batch


@dataclass(frozen=True, slots=True)
class SamplesReport:
    """Counts of the recorded samples."""

    looks: int = 0  # number of batches
    rows: int = 0  # number of landed samples
    groups: int = 0  # number of groups with samples in the last batch
    # Kind of problem -> number; a problem of a group, or of one of its topics, counts once a batch.
    misses: Mapping[str, int] = field(default_factory=dict)
    # Group or topic, and kind, of each problem of the last batch.
    current: frozenset[tuple[str, str]] = field(default=frozenset(), compare=False, repr=False)

    def __add__(self, other: SamplesReport) -> SamplesReport:
        """Add the report of later samples."""
        last = other if other.looks else self
        return SamplesReport(
            self.looks + other.looks,
            self.rows + other.rows,
            last.groups,
            dict(Counter(self.misses) + Counter(other.misses)),
            last.current,
        )

    def with_batch(self, counts: Mapping[str, Any]) -> SamplesReport:
        """Return the report with one more batch, and log its new problems.

        A problem is new if its group or topic had none of the same kind in the previous batch.
        """
        problems = sorted((_name(row["group"], row["topic"]), row["problem"]) for row in counts["problems"])
        # A kind is without the details after the colon, such as a port, which differ each time.
        kinds = [(name, problem.partition(":")[0]) for name, problem in problems]
        new = [problem for problem, kind in zip(problems, kinds, strict=True) if kind not in self.current]
        for name, problem in new[:_MOST_LINES]:
            _LOG.warning("no samples of %s: %s", name, problem)
        if len(new) > _MOST_LINES:
            _LOG.warning("no samples: %d more problems in this batch are not logged", len(new) - _MOST_LINES)
        misses = Counter(kind for _, kind in kinds)
        return self + SamplesReport(1, counts["rows"], counts["groups"], misses, frozenset(kinds))


def observed() -> list[Any]:
    """Return Spark's aggregates for a batch; `SamplesReport.with_batch` takes their values."""
    from pyspark.sql import functions as F

    missed = F.col("problem").isNotNull()
    return [
        F.count(F.when(~missed, 1)).alias("rows"),
        F.size(F.collect_set(F.when(~missed, F.col("group")))).alias("groups"),
        # Partitions of a topic share their problems, so the set is small.
        F.collect_set(F.when(missed, F.struct("group", "topic", "problem"))).alias("problems"),
    ]


def _name(group: str, topic: str | None) -> str:
    if not group:
        return "some groups"
    return f"group {shown(group)!r}" + (f", topic {shown(topic)!r}" if topic is not None else "")
