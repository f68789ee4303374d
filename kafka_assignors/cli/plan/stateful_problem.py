"""Parses and checks the JSON of a ``stateful`` problem that ``plan`` reads, version 1.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast

from msgspec import Struct

from kafka_assignors.cli.common import option_as_usage_error
from kafka_assignors.cli.fields import (
    Count,
    Generation,
    Int64,
    Records,
    TaskName,
    Text,
    checked,
    each,
    keyed,
)
from kafka_assignors.cli.plan.problem import VERSION, check_total, check_version
from kafka_assignors.errors import OptionError, ProblemError
from kafka_assignors.plan import NO_GENERATION
from kafka_assignors.plan.stateful import (
    PlannedSubtopology,
    StatefulGroup,
    StatefulMember,
    Task,
    TaskPlanOptions,
)
from kafka_assignors.validators import known_names

STATEFUL = "stateful"
"""The strategy's name."""


class _StatefulFile(Struct, forbid_unknown_fields=True):
    version: int = VERSION
    strategy: str = STATEFUL
    options: dict[str, Any] = {}
    subtopologies: list[Any] = []
    members: list[Any] = []
    end_offsets: dict[str, Any] = {}


class _Subtopology(Struct, forbid_unknown_fields=True):
    id: Text
    partitions: Count
    stateful: bool = True
    logged: bool = True


class _MemberWithTasks(Struct, forbid_unknown_fields=True):
    """A member and its claims; claimed tasks need not exist."""

    id: Text
    process: Text | None = None
    rack: Text | None = None
    generation: Generation | None = None
    active: list[TaskName] = []
    standby: list[TaskName] = []
    lags: dict[str, Any] = {}

    def member(self, path: str) -> StatefulMember:
        """Return the member.

        A negative lag counts as missing: the member has no state of the task, or runs it and is caught up.
        """
        return StatefulMember(
            self.id,
            process=self.process,
            rack=self.rack,
            active=[_task(name) for name in self.active],
            standby=[_task(name) for name in self.standby],
            lags=_records(f"{path}.lags", self.lags, Int64),
            generation=NO_GENERATION if self.generation is None else self.generation,
        )


def is_stateful(value: object) -> bool:
    """Return whether parsed JSON names the strategy ``stateful``."""
    return isinstance(value, dict) and value.get("strategy") == STATEFUL


def parse_stateful(value: object, given: Mapping[str, Any]) -> tuple[StatefulGroup, TaskPlanOptions]:
    """Check parsed JSON and return the group and its options; those in ``given`` override the file's."""
    file: _StatefulFile = checked("", value, _StatefulFile)
    check_version(file.version)
    options = _options(file.options, given)
    subtopologies = each("subtopologies", file.subtopologies, _Subtopology, unique=("id",))
    check_total("subtopologies", (subtopology.partitions for subtopology in subtopologies))
    members = each("members", file.members, _MemberWithTasks, unique=("id",))
    group = StatefulGroup(
        tuple(PlannedSubtopology(s.id, s.partitions, s.stateful, s.logged) for s in subtopologies),
        tuple(member.member(f"members[{i}]") for i, member in enumerate(members)),
        _records("end_offsets", file.end_offsets, Records),
    )
    return group, options


def _options(in_file: Mapping[str, object], given: Mapping[str, Any]) -> TaskPlanOptions:
    known = [field.name for field in fields(TaskPlanOptions)]
    try:
        known_names(in_file, known)
        in_file = {name: value for name, value in in_file.items() if name not in given}
        TaskPlanOptions(**cast("dict[str, Any]", in_file))
    except OptionError as error:
        raise ProblemError(f"options.{error.option}: {error.reason}") from error
    with option_as_usage_error(lambda name: f"--option {name}"):
        known_names(given, known)
        return TaskPlanOptions(**cast("dict[str, Any]", {**in_file, **given}))


def _records(path: str, given: Mapping[str, object], kind: Any) -> dict[Task, int]:
    return {_task(name): records for name, records in keyed(path, given, kind, TaskName).items()}


def _task(name: str) -> Task:
    subtopology, _, partition = name.rpartition("_")
    return Task(subtopology, int(partition))
