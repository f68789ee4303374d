"""``Holdings``: the state a member reports.  ``Duties``: the tasks and copies the leader gives the member."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_assignors.plan.model import NO_GENERATION
from kafka_assignors.wire.stateful.task_section import Task


@dataclass(frozen=True, slots=True)
class Holdings:
    """State on a member's disk when it joins.  The assignor adds the active tasks.

    Attributes:
        lags: task -> records its copy lacks, for all copies on disk.
        copies: tasks with a copy that this member keeps up to date.
        ends: task -> end offset of its changelog, for all tasks: the records a member without state would
            restore.  Only the leader uses these offsets; they are not sent.
    """

    lags: Mapping[Task, int] = field(default_factory=dict)
    copies: tuple[Task, ...] = ()
    ends: Mapping[Task, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Duties:
    """The tasks and copies the leader gives to a member.

    Attributes:
        actives: tasks to process.
        standbys: tasks to keep a copy of.
        warmups: tasks to build a copy of, because they will move to this member.
        probe_at: time of the next probing rebalance, seconds since 1970; None: this member requests none.
        owners: endpoint -> the tasks that are active there.
        generation: the generation of this assignment.
    """

    actives: tuple[Task, ...] = ()
    standbys: tuple[Task, ...] = ()
    warmups: tuple[Task, ...] = ()
    probe_at: float | None = None
    owners: Mapping[str, tuple[Task, ...]] = field(default_factory=dict)
    generation: int = NO_GENERATION
