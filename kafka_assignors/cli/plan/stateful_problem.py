"""Parses and checks the JSON of a ``stateful`` problem that ``plan`` reads, version 1.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from kafka_assignors.cli.fields import (
    INT64,
    array,
    entries,
    object_at,
    optional,
    shown_value,
    text,
    whole,
    wrong,
)
from kafka_assignors.cli.fields import fields as fields_of
from kafka_assignors.cli.plan.problem import MOST_PARTITIONS, VERSION
from kafka_assignors.errors import OptionError, ProblemError
from kafka_assignors.plan import NO_GENERATION
from kafka_assignors.plan.stateful import (
    PlannedSubtopology,
    StatefulGroup,
    StatefulMember,
    Task,
    TaskPlanOptions,
)

STATEFUL = "stateful"
"""The strategy's name."""


@dataclass(frozen=True, slots=True)
class StatefulProblem:
    """A group of stateful members, and the options of its plan."""

    group: StatefulGroup
    options: TaskPlanOptions


def is_stateful(value: object) -> bool:
    """Whether parsed JSON names the strategy ``stateful``."""
    return isinstance(value, dict) and value.get("strategy") == STATEFUL


def parse_stateful(value: object, given: Mapping[str, Any]) -> StatefulProblem:
    """Check parsed JSON and return the problem.  Missing fields have defaults.

    Args:
        value: the JSON.
        given: options that override the file's.

    Raises:
        ProblemError: an unknown field, a wrong type or value, or an unknown version; it names the field.
    """
    known = ("version", "strategy", "options", "subtopologies", "members", "end_offsets")
    top = fields_of("", value, known)
    if (version := whole("version", top.get("version", VERSION))) != VERSION:
        raise ProblemError(f"version: expected {VERSION}, got {version}")
    options = _options(object_at("options", top.get("options", {})), given)
    subtopologies: list[PlannedSubtopology] = []
    members: list[StatefulMember] = []
    seen: dict[tuple[str, str], int] = {}

    def refuse_duplicate(path: str, where: str, name: str, i: int) -> None:
        if (first := seen.setdefault((where, name), i)) != i:
            raise ProblemError(f"{path}.id: {shown_value(name)} repeats {where}[{first}].id")

    for i, entry in enumerate(array("subtopologies", top.get("subtopologies", []))):
        path = f"subtopologies[{i}]"
        subtopologies.append(_subtopology(path, entry))
        refuse_duplicate(path, "subtopologies", subtopologies[-1].id, i)
    if (total := sum(s.partitions for s in subtopologies)) > MOST_PARTITIONS:
        raise ProblemError(
            f"subtopologies: {total} partitions in total, at most {MOST_PARTITIONS} are allowed"
        )
    for i, entry in enumerate(array("members", top.get("members", []))):
        path = f"members[{i}]"
        members.append(_member(path, entry))
        refuse_duplicate(path, "members", members[-1].member_id, i)
    ends = _records("end_offsets", top.get("end_offsets", {}), 0)
    return StatefulProblem(StatefulGroup(tuple(subtopologies), tuple(members), ends), options)


def _options(in_file: Mapping[str, object], given: Mapping[str, Any]) -> TaskPlanOptions:
    known = [field.name for field in fields(TaskPlanOptions)]
    for where, names in (("options.", in_file), ("--option ", given)):
        for name in names:
            if name not in known:
                raise ProblemError(f"{where}{name}: unknown, expected one of {', '.join(known)}")
    values: dict[str, Any] = {**in_file, **given}
    try:
        return TaskPlanOptions(**values)
    except OptionError as error:
        where = "--option " if error.option in given else "options."
        raise ProblemError(f"{where}{error.option}: {error.reason}") from error


def _subtopology(path: str, value: object) -> PlannedSubtopology:
    entry = fields_of(path, value, ("id", "partitions", "stateful", "logged"))
    for name in ("id", "partitions"):
        if name not in entry:
            raise ProblemError(f"{path}.{name}: missing")
    return PlannedSubtopology(
        text(f"{path}.id", entry["id"]),
        whole(f"{path}.partitions", entry["partitions"], 0),
        _yes_or_no(f"{path}.stateful", entry.get("stateful", True)),
        _yes_or_no(f"{path}.logged", entry.get("logged", True)),
    )


def _member(path: str, value: object) -> StatefulMember:
    entry = fields_of(path, value, ("id", "process", "rack", "generation", "active", "standby", "lags"))
    if "id" not in entry:
        raise ProblemError(f"{path}.id: missing")
    generation = entry.get("generation")
    return StatefulMember(
        text(f"{path}.id", entry["id"]),
        process=optional(text, f"{path}.process", entry.get("process")),
        rack=optional(text, f"{path}.rack", entry.get("rack")),
        active=_tasks(f"{path}.active", entry.get("active", [])),
        standby=_tasks(f"{path}.standby", entry.get("standby", [])),
        # A live member may send a negative lag, which counts as no history; so may a file.
        lags=_records(f"{path}.lags", entry.get("lags", {}), -INT64),
        generation=whole(
            f"{path}.generation", NO_GENERATION if generation is None else generation, NO_GENERATION
        ),
    )


def _tasks(path: str, value: object) -> list[Task]:
    return [_task(f"{path}[{i}]", name) for i, name in enumerate(array(path, value))]


def _records(path: str, value: object, least: int) -> dict[Task, int]:
    return {
        _task(below, name): whole(below, records, least, INT64 - 1)
        for below, name, records in entries(path, value)
    }


def _task(path: str, value: object) -> Task:
    """Parse ``subtopology_partition``; the task need not exist."""
    subtopology, underscore, partition = text(path, value).rpartition("_")
    if not (subtopology and underscore and partition.isascii() and partition.isdigit()):
        wrong(path, "a task, SUBTOPOLOGY_PARTITION", value)
    if len(partition) > 10 or str(int(partition)) != partition:
        wrong(path, "a task, SUBTOPOLOGY_PARTITION", value)
    return Task(subtopology, int(partition))


def _yes_or_no(path: str, value: object) -> bool:
    return value if isinstance(value, bool) else wrong(path, "true or false", value)
