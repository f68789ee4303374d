"""Parses and checks the JSON that ``plan`` reads, version 1.

Pure: parsed JSON in, values out.  Errors name a field by its path, ``members[2].owned[0][1]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from kafka_assignors.cli.fields import (
    Amount,
    Capacity,
    Count,
    Generation,
    Int32,
    Records,
    Text,
    below,
    checked,
    each,
    keyed,
)
from kafka_assignors.errors import ProblemError
from kafka_assignors.plan import NO_GENERATION, UNKNOWN_LAG, Group, Member, TopicPartition

VERSION = 1

MOST_PROBLEM_PARTITIONS = 1_000_000
"""Maximum number of partitions in a file, to bound the memory of a plan."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A group to plan for."""

    group: Group
    strategy: str | None = None  # None leaves the choice to the caller
    options: Mapping[str, Any] = field(default_factory=dict)  # of the strategy
    expected: Mapping[TopicPartition, float] | None = None  # forecast arrivals (records); None: no forecasts


class _File(Struct, forbid_unknown_fields=True):
    """The whole file.  Members and objects keyed by topic are converted later, so that errors have paths."""

    version: int = VERSION
    strategy: Text | None = None
    options: dict[str, Any] = {}
    topics: dict[str, Any] = {}
    members: list[Any] = []
    racks: dict[str, Any] = {}
    lags: dict[str, Any] = {}
    expected: dict[str, Any] | UnsetType = UNSET


class _Member(Struct, forbid_unknown_fields=True):
    id: Text
    instance_id: Text | None = None
    rack: Text | None = None
    topics: list[Text] | UnsetType = UNSET
    owned: list[tuple[Text, Int32]] = []
    generation: Generation | None = None
    priority: Int32 | None = None
    capacity: Capacity | None = None

    def member(self, everything: frozenset[str]) -> Member:
        """Return the member; without ``topics`` it subscribes to every topic."""
        owned: dict[str, list[int]] = {}
        for topic, partition in self.owned:  # claimed partitions need not exist, as with a live member
            owned.setdefault(topic, []).append(partition)
        return Member(
            member_id=self.id,
            topics=everything if self.topics is UNSET else frozenset(self.topics),
            owned=owned,
            generation=NO_GENERATION if self.generation is None else self.generation,
            instance_id=self.instance_id,
            rack=self.rack,
            priority=self.priority,
            capacity=1.0 if self.capacity is None else self.capacity,
        )


def parse_problem(value: object) -> Problem:
    """Check parsed JSON and return the problem.  Missing fields have defaults."""
    file: _File = checked("", value, _File)
    check_version(file.version)
    topics = keyed("topics", file.topics, Count)
    check_total("topics", topics.values())
    racks = _by_partition("racks", file.racks, list[list[Text]], topics)
    lags = _by_partition("lags", file.lags, list[Records | None], topics)
    expected = None
    if file.expected is not UNSET:
        expected = {
            TopicPartition(topic, partition): records
            for topic, amounts in _by_partition(
                "expected", file.expected, list[Amount | None], topics
            ).items()
            for partition, records in enumerate(amounts)
            if records is not None
        }
    members = each("members", file.members, _Member, unique=("id", "instance_id"))
    everything = frozenset(topics)
    return Problem(
        group=Group(
            tuple(member.member(everything) for member in members),
            topics,
            {topic: tuple(map(frozenset, replicas)) for topic, replicas in racks.items()},
            {
                topic: tuple(UNKNOWN_LAG if lag is None else lag for lag in known)
                for topic, known in lags.items()
            },
        ),
        strategy=file.strategy,
        options=file.options,
        expected=expected,
    )


def check_version(version: int) -> None:
    """Refuse any version but ``VERSION``."""
    if version != VERSION:
        raise ProblemError(f"version: expected {VERSION}, got {version}")


def check_total(path: str, partitions: Iterable[int]) -> None:
    """Refuse more partitions than a plan's memory allows."""
    if (total := sum(partitions)) > MOST_PROBLEM_PARTITIONS:
        raise ProblemError(
            f"{path}: {total} partitions in total, at most {MOST_PROBLEM_PARTITIONS} are allowed"
        )


def _by_partition(
    path: str, given: Mapping[str, object], kind: Any, topics: Mapping[str, int]
) -> dict[str, Any]:
    """Convert arrays by topic.  Entries belong to partitions 0, 1, ...; an array may end early."""
    arrays = keyed(path, given, kind)
    for topic, entries in arrays.items():
        if topic not in topics:
            raise ProblemError(f"{below(path, topic)}: topics has no such topic")
        if len(entries) > topics[topic]:
            raise ProblemError(
                f"{below(path, topic)}: {len(entries)} entries, but the topic has {topics[topic]} partitions"
            )
    return arrays
