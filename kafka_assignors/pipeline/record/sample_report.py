"""Counts of samples and problems: counted in Spark, summed and logged on the driver.

Spark's workers are other processes, so they return problems as rows.  `observed` counts these rows, and Spark
sends the counts to the driver with each batch of a stream.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_assignors.plan import shown

_LOG = logging.getLogger(__name__)
_MOST_LINES = 20  # maximum log lines for one batch


@dataclass(frozen=True, slots=True)
class SamplesReport:
    """Counts of the recorded samples.

    Attributes:
        looks: number of batches.
        rows: number of landed samples.
        groups: number of groups with samples in the last batch.
        misses: kind of problem -> number; a problem of a group, or of one of its topics, counts once a batch.
    """

    looks: int = 0
    rows: int = 0
    groups: int = 0
    misses: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: SamplesReport) -> SamplesReport:
        """Add the report of later samples."""
        return SamplesReport(
            self.looks + other.looks,
            self.rows + other.rows,
            other.groups if other.looks else self.groups,
            dict(Counter(self.misses) + Counter(other.misses)),
        )


def observed() -> list[Any]:
    """Return Spark's aggregates for a batch; ``SamplesTally.add`` takes their values."""
    from pyspark.sql import functions as F

    missed = F.col("problem").isNotNull()
    return [
        F.count(F.when(~missed, 1)).alias("rows"),
        F.size(F.collect_set(F.when(~missed, F.col("group")))).alias("groups"),
        # Partitions of a topic share their problems, so the set is small.
        F.collect_set(F.when(missed, F.struct("group", "topic", "problem"))).alias("problems"),
    ]


class SamplesTally:
    """Sums the counts of batches, and logs a problem if the previous batch had none of its kind."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._previous: frozenset[tuple[str, str]] = frozenset()
        self.report = SamplesReport()

    def add(self, counts: Mapping[str, Any]) -> None:
        """Add a batch, as counted by `observed`."""
        problems = [(row["group"], row["topic"], row["problem"]) for row in counts["problems"]]
        with self._lock:
            current = frozenset((_name(group, topic), problem) for group, topic, problem in problems)
            kinds = {(name, _kind(problem)) for name, problem in self._previous}
            new = sorted((name, problem) for name, problem in current if (name, _kind(problem)) not in kinds)
            self._previous = current
            misses = Counter(_kind(problem) for _, _, problem in problems)
            self.report += SamplesReport(1, int(counts["rows"]), int(counts["groups"]), misses)
        self._log(new)

    def _log(self, new: Sequence[tuple[str, str]]) -> None:
        for name, problem in new[:_MOST_LINES]:
            _LOG.warning("no samples of %s: %s", name, problem)
        if len(new) > _MOST_LINES:
            _LOG.warning("no samples: %d more problems in this batch are not logged", len(new) - _MOST_LINES)


def _name(group: str, topic: str | None) -> str:
    if not group:
        return "some groups"
    return f"group {shown(group)!r}" + (f", topic {shown(topic)!r}" if topic is not None else "")


def _kind(problem: str) -> str:
    """Return a problem without the details after the colon, such as a port, which differ each time."""
    return problem.partition(":")[0]
