"""Counts of a recording of the offsets topic, summed on the driver."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from kafka_assignors.pipeline.record.offsets_decoder import PROBLEMS

_LOG = logging.getLogger(__name__)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class OffsetsReport:
    """Counts of the records read."""

    records: int = 0  # number of records
    kinds: Mapping[str, int] = field(default_factory=dict)  # kind of record -> records without a problem
    problems: Mapping[str, int] = field(default_factory=dict)  # problem -> dropped records
    first: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # problem -> partition, offset
    landed: int = 0  # number of commits and tombstones of the wanted groups
    since: datetime | None = None  # time of the first landed commit or tombstone; None: none landed
    until: datetime | None = None  # time of the last landed one; None: none landed

    def __add__(self, other: OffsetsReport) -> OffsetsReport:
        """Add the report of later records."""
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

    def with_batch(self, counts: Mapping[str, Any]) -> OffsetsReport:
        """Return the report with one more batch; log the first record with each problem."""
        batch = [json.loads(text) for text in counts["counted"]]
        first = dict(self.first)
        positions = [(position, problem) for part in batch for problem, position in part["first"].items()]
        for (_, partition, offset), problem in sorted(positions):
            if problem not in first:
                first[problem] = (partition, offset)
                _LOG.warning(
                    "offsets topic: dropped the record at offset %d of partition %d: %s; further ones are "
                    "only counted in the report",
                    offset,
                    partition,
                    PROBLEMS[problem],
                )
        return replace(sum(map(_report, batch), self), first=first)


def _report(counts: Mapping[str, Any]) -> OffsetsReport:
    """Convert a parsed text of ``counted`` to a report, without ``first``."""
    times = {
        name: None if counts[name] is None else _EPOCH + timedelta(microseconds=counts[name])
        for name in ("since", "until")
    }
    return OffsetsReport(**{**counts, "first": {}, **times})
