"""What a recording of samples brought and missed: counted in Spark, added up and said on the driver.

Spark's workers are other processes, so what they missed comes out of them as rows, which ``observed`` counts;
Spark hands these figures to the driver, with each batch of a stream.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_assignors.plan import shown

__all__ = ["SamplesReport", "Tally", "observed"]

_LOG = logging.getLogger(__name__)
_MOST_LINES = 20  # of the log, for what is new in one look


@dataclass(frozen=True, slots=True)
class SamplesReport:
    """What was recorded.

    Attributes:
        looks: how often it was looked at the groups.
        rows: samples that landed.
        groups: of the last look, those with samples.
        misses: what could not be seen, and how often: a group, or one of its topics, counts once a look.
    """

    looks: int = 0
    rows: int = 0
    groups: int = 0
    misses: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: SamplesReport) -> SamplesReport:
        """This one, and what was recorded after it."""
        return SamplesReport(
            self.looks + other.looks,
            self.rows + other.rows,
            other.groups if other.looks else self.groups,
            dict(Counter(self.misses) + Counter(other.misses)),
        )


def observed() -> list[Any]:
    """What ``Tally.add`` takes, as aggregates over rows of the source."""
    from pyspark.sql import functions as F

    missed = F.col("problem").isNotNull()
    return [
        F.count(F.when(~missed, 1)).alias("rows"),
        F.size(F.collect_set(F.when(~missed, F.col("group")))).alias("groups"),
        # Partitions of a topic share their problems: as a set they are few.
        F.collect_set(F.when(missed, F.struct("group", "topic", "problem"))).alias("problems"),
    ]


class Tally:
    """Adds up what the looks brought, and says once what is missed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._missed: frozenset[tuple[str, str]] = frozenset()
        self._counts: Counter[str] = Counter()
        self.report = SamplesReport()

    def add(self, seen: Mapping[str, Any]) -> None:
        """One more look: ``rows``, ``groups``, ``problems`` as ``observe`` counted them."""
        problems = [(one["group"], one["topic"], one["problem"]) for one in seen["problems"]]
        with self._lock:
            self._counts.update(_kind(problem) for _, _, problem in problems)
            now = frozenset((_name(group, topic), problem) for group, topic, problem in problems)
            kinds = {(name, _kind(problem)) for name, problem in self._missed}
            new = sorted(one for one in now if (one[0], _kind(one[1])) not in kinds)
            self._missed = now
            self.report = SamplesReport(
                self.report.looks + 1,
                self.report.rows + int(seen["rows"]),
                int(seen["groups"]),
                dict(self._counts),
            )
        self._say(new)

    def _say(self, new: Sequence[tuple[str, str]]) -> None:
        for name, problem in new[:_MOST_LINES]:
            _LOG.warning("no samples of %s: %s", name, problem)
        if len(new) > _MOST_LINES:
            _LOG.warning("no samples: and so on, of %d more", len(new) - _MOST_LINES)


def _name(group: str, topic: str | None) -> str:
    if not group:
        return "some groups"
    return f"group {shown(group)!r}" + (f", topic {shown(topic)!r}" if topic is not None else "")


def _kind(problem: str) -> str:
    """What goes on after the colon differs from one time to the next (a port, a number of a broker)."""
    return problem.partition(":")[0]
