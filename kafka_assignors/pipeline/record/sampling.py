"""Options of the sampler, the division of groups among tasks, and samples as rows.  Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from re import Pattern

from kafka_assignors.errors import OptionError
from kafka_assignors.lag.fetch.group_offsets import GroupOffsets
from kafka_assignors.strict_json import json_or_text
from kafka_assignors.validators import from_text, known_names, positive, text, whole, wrong

ROWS = """
    time timestamp, group string, topic string, partition int,
    begin_offset bigint, end_offset bigint, committed_offset bigint, source string, problem string
"""
"""Columns of the source.  A row has offsets or a problem.

A problem concerns a partition, a group (the topic is then null), or the list of groups (the group is then
empty).
"""

SampleRow = tuple[
    datetime, str, "str | None", "int | None", "int | None", "int | None", "int | None", str, "str | None"
]

_SOURCE = "sampler"
_OPTIONS = ("groups", "groups_like", "topics_like", "every", "timeout", "num_partitions")


def group_names(groups: Sequence[str]) -> tuple[str, ...]:
    """Return the names; raise OptionError for a string, whose letters would be names."""
    if isinstance(groups, str):
        raise wrong("groups", "a sequence of names", groups)
    return tuple(groups)


@dataclass(frozen=True, slots=True)
class SamplerOptions:
    """The options of the sampler.  Patterns match whole names."""

    groups: tuple[str, ...] = ()  # some may not exist
    groups_like: Pattern[str] | None = None  # listed again for each batch; Spark's own are excluded
    topics_like: Pattern[str] | None = None  # None: all topics
    every_s: float = 10.0  # between two batches of a stream
    timeout_s: float = 10.0  # maximum wait for the list of groups, and again for their offsets
    num_partitions: int = 2  # maximum number of tasks that share the groups

    def __post_init__(self) -> None:
        if not self.groups and self.groups_like is None:
            raise OptionError("groups", "missing: give names, or groups_like with a pattern")
        for group in self.groups:
            text("groups", group)
        positive("every", self.every_s, "seconds")
        positive("timeout", self.timeout_s, "seconds")
        whole("num_partitions", self.num_partitions, 1)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> SamplerOptions:
        """Parse the options of the data source; names are case-insensitive, as in Spark.

        Raises:
            OptionError: an option is unknown or invalid.
        """
        given = {name.lower(): value for name, value in options.items()}
        known_names(given, _OPTIONS)
        groups = json_or_text(given.get("groups", "[]"))
        if not isinstance(groups, list):
            raise wrong("groups", 'a JSON list, such as ["billing", "shipping"]', groups)
        return cls(
            groups=tuple(groups),
            groups_like=pattern("groups_like", given.get("groups_like")),
            topics_like=pattern("topics_like", given.get("topics_like")),
            every_s=from_text(given.get("every", "10")),
            timeout_s=from_text(given.get("timeout", "10")),
            num_partitions=from_text(given.get("num_partitions", "2")),
        )

    def as_options(self) -> dict[str, str]:
        """Return the options of the data source."""
        options = {
            "groups": json.dumps(self.groups),
            "every": repr(float(self.every_s)),
            "timeout": repr(float(self.timeout_s)),
            "num_partitions": str(self.num_partitions),
        }
        patterns = {"groups_like": self.groups_like, "topics_like": self.topics_like}
        return options | {name: like.pattern for name, like in patterns.items() if like is not None}


def pattern(name: str, given: str | None) -> Pattern[str] | None:
    """Compile the pattern of an option.

    Raises:
        OptionError: it is no regular expression.
    """
    try:
        return None if given is None else re.compile(given)
    except (re.error, OverflowError, RecursionError) as error:
        raise wrong(name, f"a regular expression ({error})", given) from error


def divide_groups(groups: Sequence[str], num_partitions: int) -> list[tuple[str, ...]]:
    """Divide groups among at most ``num_partitions`` tasks, each with at least one group."""
    names = list(dict.fromkeys(groups))
    return [tuple(names[n::num_partitions]) for n in range(min(num_partitions, len(names)))]


def rows_of(group: GroupOffsets, now: datetime) -> Iterator[SampleRow]:
    """Yield a row for each partition, and one for the group if it has a problem.

    Rows with a problem have the time ``now``.
    """
    if group.problem is not None:
        yield problem_row(now, group.group_id, group.problem)
    for tp, offsets in group.offsets.items():
        yield (
            datetime.fromtimestamp(group.seen_at[tp], timezone.utc),
            group.group_id,
            tp.topic,
            tp.partition,
            offsets.begin,
            offsets.end,
            -1 if offsets.committed is None else offsets.committed,
            _SOURCE,
            None,
        )
    for tp, problem in group.missing.items():
        yield problem_row(now, group.group_id, problem, *tp)


def problem_row(
    now: datetime, group: str, problem: str, topic: str | None = None, partition: int | None = None
) -> SampleRow:
    """Return a row with a problem; see ``ROWS``."""
    return (now, group, topic, partition, None, None, None, _SOURCE, problem)
