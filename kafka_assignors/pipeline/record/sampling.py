"""Pure: what the sampler is to look at, how groups are dealt to tasks, and looks as rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from re import Pattern
from typing import Any

from kafka_assignors.errors import OptionError
from kafka_assignors.lag.fetch.looks import GroupLook

__all__ = ["ROWS", "Connection", "Row", "Wanted", "deal", "problem_row", "rows_of"]

#: What the source gives.  A row has offsets, or a problem: of a partition, of a group (no topic), or of the
#: list of groups (no group either).
ROWS = """
    time timestamp, group string, topic string, partition int,
    begin_offset bigint, end_offset bigint, committed_offset bigint, source string, problem string
"""
Row = tuple[
    datetime, str, "str | None", "int | None", "int | None", "int | None", "int | None", str, "str | None"
]

_SOURCE = "sampler"
_OPTIONS = ("groups", "groups_like", "topics_like", "every", "timeout", "num_partitions")


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach the cluster; it travels with the reader, and does not show.

    Attributes:
        settings: as ``KafkaConsumer`` takes them.
    """

    settings: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look at, and how often.

    Attributes:
        groups: by name, whether they exist or not.
        groups_like: and all whose whole name matches, looked for anew each time; none of Spark's consumers.
        topics_like: only of topics whose whole name matches.
        every_s: from one look to the next, of a stream.
        timeout_s: how long to wait for the cluster: for its groups, and then for what they did.
        num_partitions: tasks that share the groups.
    """

    groups: tuple[str, ...] = ()
    groups_like: Pattern[str] | None = None
    topics_like: Pattern[str] | None = None
    every_s: float = 10.0
    timeout_s: float = 10.0
    num_partitions: int = 2

    def __post_init__(self) -> None:
        if not self.groups and self.groups_like is None:
            raise OptionError("groups", "missing: give names, or groups_like with a pattern")
        if not all(self.groups):
            raise OptionError("groups", "a name is empty")
        for name, value in (("every", self.every_s), ("timeout", self.timeout_s)):
            if not 0 < value < float("inf"):
                raise OptionError(name, f"{value:g} is no time in seconds")
        if self.num_partitions < 1:
            raise OptionError("num_partitions", "has to be 1 or more")

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> Wanted:
        """Read the options of the data source; names are taken in any case, as Spark does.

        Raises:
            OptionError: one that is unknown, or wrong.
        """
        given = {name.lower(): value for name, value in options.items()}
        if unknown := sorted(given.keys() - set(_OPTIONS)):
            raise OptionError(unknown[0], f"unknown, there is {', '.join(_OPTIONS)}")
        return cls(
            groups=_names(given.get("groups", "[]")),
            groups_like=_pattern("groups_like", given.get("groups_like")),
            topics_like=_pattern("topics_like", given.get("topics_like")),
            every_s=_number("every", given.get("every", "10"), float),
            timeout_s=_number("timeout", given.get("timeout", "10"), float),
            num_partitions=_number("num_partitions", given.get("num_partitions", "2"), int),
        )

    def as_options(self) -> dict[str, str]:
        """The other way round."""
        options = {
            "groups": json.dumps(self.groups),
            "every": repr(self.every_s),
            "timeout": repr(self.timeout_s),
            "num_partitions": str(self.num_partitions),
        }
        patterns = {"groups_like": self.groups_like, "topics_like": self.topics_like}
        return options | {name: one.pattern for name, one in patterns.items() if one is not None}


def _names(text: str) -> tuple[str, ...]:
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise OptionError("groups", 'has to be a list in JSON, as ["billing", "shipping"]')
    return tuple(names)


def _pattern(name: str, text: str | None) -> Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise OptionError(name, f"{text!r} is no regular expression: {error}") from error


def _number(name: str, text: str, kind: Any) -> Any:
    try:
        return kind(text)
    except ValueError as error:
        raise OptionError(name, f"{text!r} is no number") from error


def deal(groups: Sequence[str], num_partitions: int) -> list[tuple[str, ...]]:
    """Groups in turn to at most so many tasks, each of which gets one at least."""
    names = list(dict.fromkeys(groups))
    return [tuple(names[n::num_partitions]) for n in range(min(num_partitions, len(names)))]


def rows_of(look: GroupLook, now: datetime) -> Iterator[Row]:
    """A row for each partition; and one for the group if nothing is known of it.

    Args:
        look: at one group.
        now: the time of what has no answer.
    """
    if look.problem is not None:
        yield problem_row(now, look.group_id, look.problem)
    for tp, at in look.offsets.items():
        yield (
            datetime.fromtimestamp(look.seen_at[tp], timezone.utc),
            *(look.group_id, tp.topic, tp.partition),
            *(at.begin, at.end, -1 if at.committed is None else at.committed),
            *(_SOURCE, None),
        )
    for tp, why in look.missing.items():
        yield (now, look.group_id, tp.topic, tp.partition, None, None, None, _SOURCE, why)


def problem_row(now: datetime, group: str, problem: str) -> Row:
    """A row that has only bad news; of the list of groups if ``group`` is empty."""
    return (now, group, None, None, None, None, None, _SOURCE, problem)
