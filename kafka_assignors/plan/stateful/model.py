"""Input and result of a plan for stateful members (KIP-441)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from kafka_assignors.errors import ProblemError
from kafka_assignors.plan.model import NO_GENERATION, shown
from kafka_assignors.validators import whole

_MOST = 2**31 - 1
"""Upper limit of options that are a number of tasks, copies or records."""


class Task(NamedTuple):
    """One partition of one subtopology: it runs and moves as a whole."""

    subtopology: str
    partition: int

    def __str__(self) -> str:
        return f"{self.subtopology}_{self.partition}"


@dataclass(frozen=True, slots=True)
class PlannedSubtopology:
    """A subtopology: a part of the topology that runs as one task for each partition.

    Attributes:
        id: its name, unique in the topology.
        partitions: the number of its tasks.
        stateful: whether it keeps state.
        logged: whether the state has a changelog.  Without one all members count as equally caught up
            (KIP-441, "State with logging disabled"), and there are no standbys and no warm-ups, because
            there is nothing to copy from.
    """

    id: str
    partitions: int
    stateful: bool = True
    logged: bool = True


@dataclass(frozen=True, slots=True)
class StatefulMember:
    """A member's report.  No field is trusted.

    Attributes:
        member_id: unique in the group.
        process: members of one process share a directory of state; None: a process of its own.
        rack: where it runs; None: unknown.
        active: tasks it runs, as of ``generation``.
        standby: tasks of which it keeps a copy up to date, as standby or warm-up.
        lags: task -> changelog records that the member's copy lacks.  Missing or negative: it has no
            state, or runs the task and is caught up.
        generation: the generation of ``active``.
    """

    member_id: str
    process: str | None = None
    rack: str | None = None
    active: Collection[Task] = ()
    standby: Collection[Task] = ()
    lags: Mapping[Task, int] = field(default_factory=dict)
    generation: int = NO_GENERATION


@dataclass(frozen=True, slots=True)
class TaskPlanOptions:
    """Options of KIP-441, with its names.

    Attributes:
        acceptable_recovery_lag: changelog records; a copy that lacks no more than these counts as caught up.
        num_standby_replicas: standbys of each task, each in another process.
        max_warmup_replicas: most warm-ups that the whole group builds at a time.  At least 1, because a task
            with state needs one to move.
        balance_factor: the number of tasks by which two members may differ, in total and in each subtopology.

    Raises:
        OptionError: a value is invalid.
    """

    acceptable_recovery_lag: int = 10_000
    num_standby_replicas: int = 0
    max_warmup_replicas: int = 2
    balance_factor: int = 1

    def __post_init__(self) -> None:
        for name, least, most in (
            ("acceptable_recovery_lag", 0, 2**63 - 1),
            ("num_standby_replicas", 0, _MOST),
            ("max_warmup_replicas", 1, _MOST),
            ("balance_factor", 1, _MOST),
        ):
            whole(name, getattr(self, name), least, most)


@dataclass(frozen=True)
class StatefulGroup:
    """A planning problem.

    Attributes:
        subtopologies: sorted by id.
        members: sorted by process and id.
        end_offsets: task -> records in its changelog, if known.  This is the lag of a member without state.

    Raises:
        ProblemError: a member or subtopology occurs twice, or a number of partitions is negative.
    """

    subtopologies: tuple[PlannedSubtopology, ...]
    members: tuple[StatefulMember, ...]
    end_offsets: Mapping[Task, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        members = tuple(sorted(self.members, key=lambda m: (m.process or m.member_id, m.member_id)))
        subtopologies = tuple(sorted(self.subtopologies, key=lambda s: s.id))
        if len({m.member_id for m in members}) != len(members):
            raise ProblemError("two members have the same id")
        if len({s.id for s in subtopologies}) != len(subtopologies):
            raise ProblemError("two subtopologies have the same id")
        for subtopology in subtopologies:
            if subtopology.partitions < 0:
                raise ProblemError(
                    f"subtopology {shown(subtopology.id)!r} has a negative number of partitions"
                )
        object.__setattr__(self, "members", members)
        object.__setattr__(self, "subtopologies", subtopologies)


Tasks = Mapping[str, tuple[Task, ...]]
"""Member id -> its tasks, sorted; with every member of the group."""


@dataclass(frozen=True, slots=True)
class StatefulPlan:
    """The roles of all members now, and in the target.

    Attributes:
        active: tasks each member runs.
        standby: copies each member keeps up to date, ``num_standby_replicas`` a task if there are enough
            processes.
        warmup: further copies to build, so that tasks can move.
        probing: whether the target waits for copies to catch up.  If so, the leader plans again in
            ``probing_rebalance_interval_ms``.
        target_active: active tasks of the target.
        target_standby: standbys of the target.
    """

    active: Tasks
    standby: Tasks
    warmup: Tasks
    probing: bool
    target_active: Tasks = field(default_factory=lambda: MappingProxyType({}))
    target_standby: Tasks = field(default_factory=lambda: MappingProxyType({}))
