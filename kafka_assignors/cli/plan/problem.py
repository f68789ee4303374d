"""Parses and checks the JSON that ``plan`` reads, version 1.

Pure: text in, values out.  Errors name a field by its path, ``members[2].owned[0][1]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_assignors.cli.fields import (
    INT64,
    amount,
    array,
    entries,
    fields,
    load,
    object_at,
    optional,
    shown_value,
    text,
    whole,
    wrong,
)
from kafka_assignors.errors import ProblemError
from kafka_assignors.plan import NO_GENERATION, UNKNOWN_LAG, Group, Member, TopicPartition

VERSION = 1

MOST_PARTITIONS = 1_000_000
"""In all topics together: ten times the largest clusters, and the limit of a plan's memory."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A group to plan for.

    Attributes:
        group: members, their owned partitions, topics and lags.
        strategy: name of a strategy; None leaves the choice to the caller.
        options: of the strategy.
        expected: forecast arrivals (records) of partitions that have a forecast; None: the file has none.
    """

    group: Group
    strategy: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    expected: Mapping[TopicPartition, float] | None = None


def read(data: bytes) -> Problem:
    """Parse a file's content.

    Raises:
        ProblemError: it is not JSON (with line and column), or not in this format (with the field).
    """
    return parse(load(data))


def parse(value: object) -> Problem:
    """Check parsed JSON and return the problem.  Missing fields have defaults.

    Raises:
        ProblemError: an unknown field, a wrong type or value, or an unknown version; it names the field.
    """
    known = ("version", "strategy", "options", "topics", "members", "racks", "lags", "expected")
    top = fields("", value, known)
    if (version := whole("version", top.get("version", VERSION))) != VERSION:
        raise ProblemError(f"version: expected {VERSION}, got {version}")
    topics = {name: whole(path, count, 0) for path, name, count in entries("topics", top.get("topics", {}))}
    if (total := sum(topics.values())) > MOST_PARTITIONS:
        raise ProblemError(f"topics: {total} partitions in total, at most {MOST_PARTITIONS} are allowed")
    members = []
    seen: dict[str, int] = {}
    static: dict[str, int] = {}
    for i, entry in enumerate(array("members", top.get("members", []))):
        path = f"members[{i}]"
        member = _member(path, entry, frozenset(topics))
        first = seen.setdefault(member.member_id, i)
        if first != i:
            raise ProblemError(f"{path}.id: {shown_value(member.member_id)} repeats members[{first}].id")
        if member.instance_id is not None and (first := static.setdefault(member.instance_id, i)) != i:
            name = shown_value(member.instance_id)
            raise ProblemError(f"{path}.instance_id: {name} repeats members[{first}].instance_id")
        members.append(member)
    racks = {
        name: _racks(path, racks, name, topics)
        for path, name, racks in entries("racks", top.get("racks", {}))
    }
    lags = {
        name: _lags(path, lags, name, topics) for path, name, lags in entries("lags", top.get("lags", {}))
    }
    return Problem(
        group=Group(tuple(members), topics, racks, lags),
        strategy=optional(text, "strategy", top.get("strategy")),
        options=dict(object_at("options", top.get("options", {}))),
        expected=_expected(top["expected"], topics) if "expected" in top else None,
    )


def _member(path: str, value: object, everything: frozenset[str]) -> Member:
    known = ("id", "instance_id", "rack", "topics", "owned", "generation", "priority")
    entry = fields(path, value, known)
    if "id" not in entry:
        raise ProblemError(f"{path}.id: missing")
    topics = everything
    if "topics" in entry:
        topics = frozenset(
            text(f"{path}.topics[{i}]", name)
            for i, name in enumerate(array(f"{path}.topics", entry["topics"]))
        )
    generation = entry.get("generation")
    return Member(
        member_id=text(f"{path}.id", entry["id"]),
        topics=topics,
        owned=_owned(f"{path}.owned", entry.get("owned", [])),
        generation=whole(
            f"{path}.generation", NO_GENERATION if generation is None else generation, NO_GENERATION
        ),
        instance_id=optional(text, f"{path}.instance_id", entry.get("instance_id")),
        rack=optional(text, f"{path}.rack", entry.get("rack")),
        priority=optional(whole, f"{path}.priority", entry.get("priority")),
    )


def _owned(path: str, value: object) -> dict[str, list[int]]:
    """Parse a member's claims.  Claimed partitions need not exist, as with a live member."""
    owned: dict[str, list[int]] = {}
    for i, entry in enumerate(array(path, value)):
        pair = array(f"{path}[{i}]", entry)
        if len(pair) != 2:
            wrong(f"{path}[{i}]", "a topic and a partition", entry)
        partition = whole(f"{path}[{i}][1]", pair[1])
        owned.setdefault(text(f"{path}[{i}][0]", pair[0]), []).append(partition)
    return owned


def _racks(path: str, value: object, topic: str, topics: Mapping[str, int]) -> tuple[frozenset[str], ...]:
    if topic not in topics:
        raise ProblemError(f"{path}: topics has no such topic")
    racks = array(path, value)
    if len(racks) > topics[topic]:
        raise ProblemError(f"{path}: racks for {len(racks)} partitions, but the topic has {topics[topic]}")
    return tuple(
        frozenset(text(f"{path}[{i}][{j}]", rack) for j, rack in enumerate(array(f"{path}[{i}]", replicas)))
        for i, replicas in enumerate(racks)
    )


def _lags(path: str, value: object, topic: str, topics: Mapping[str, int]) -> tuple[int, ...]:
    if topic not in topics:
        raise ProblemError(f"{path}: topics has no such topic")
    lags = array(path, value)
    if len(lags) > topics[topic]:
        raise ProblemError(f"{path}: {len(lags)} lags for {topics[topic]} partitions")
    return tuple(
        UNKNOWN_LAG if lag is None else whole(f"{path}[{i}]", lag, 0, INT64 - 1) for i, lag in enumerate(lags)
    )


def _expected(value: object, topics: Mapping[str, int]) -> dict[TopicPartition, float]:
    arrivals: dict[TopicPartition, float] = {}
    for path, topic, numbers in entries("expected", value):
        if topic not in topics:
            raise ProblemError(f"{path}: topics has no such topic")
        records = array(path, numbers)
        if len(records) > topics[topic]:
            raise ProblemError(f"{path}: {len(records)} numbers for {topics[topic]} partitions")
        for i, count in enumerate(records):
            if count is not None:
                arrivals[TopicPartition(topic, i)] = amount(f"{path}[{i}]", count)
    return arrivals
