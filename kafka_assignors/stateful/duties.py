"""What a member says it has, and what it is told to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_assignors.plan.model import NO_GENERATION
from kafka_assignors.stateful.topology import Task

__all__ = ["Duties", "Holdings"]


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a member has on its disk when it joins; its active tasks the consumer knows itself.

    Attributes:
        lags: task -> records its copy lacks, of all copies there are.
        copies: tasks of which it keeps a copy up to date.
        ends: task -> offset where its changelog ends, of all tasks: what a member without state has to read.
            Not told to others, but used by the one that leads.
    """

    lags: Mapping[Task, int] = field(default_factory=dict)
    copies: tuple[Task, ...] = ()
    ends: Mapping[Task, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Duties:
    """What a member is told to do.

    Attributes:
        actives: tasks to process.
        standbys: tasks to keep a copy of.
        warmups: tasks to build a copy of: they shall move here.
        probe_at: when to ask for the next rebalance, seconds since 1970; None: not of one's own accord.
        owners: endpoint -> the tasks that are active there.
        generation: in which this was decided.
    """

    actives: tuple[Task, ...] = ()
    standbys: tuple[Task, ...] = ()
    warmups: tuple[Task, ...] = ()
    probe_at: float | None = None
    owners: Mapping[str, tuple[Task, ...]] = field(default_factory=dict)
    generation: int = NO_GENERATION
