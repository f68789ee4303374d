"""The values of a plan for stateful members (KIP-441): what there is to run, who is there, who does what."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from kafka_assignors.errors import OptionError, ProblemError
from kafka_assignors.plan.model import NO_GENERATION, shown

__all__ = [
    "StatefulGroup",
    "StatefulMember",
    "StatefulOptions",
    "StatefulPlan",
    "Subtopology",
    "Task",
]

_MOST = 2**31 - 1
"""Of an option that counts."""


class Task(NamedTuple):
    """One partition of one subtopology: what is run, and moved, as a whole."""

    subtopology: str
    partition: int

    def __str__(self) -> str:
        return f"{self.subtopology}_{self.partition}"


@dataclass(frozen=True, slots=True)
class Subtopology:
    """Steps that share their tasks.

    Attributes:
        id: its name, unique in the topology.
        partitions: how many tasks it has.
        stateful: whether they keep state.
        logged: whether the state has a changelog.  Without one all members count as equally caught up
            (KIP-441, "State with logging disabled"), and as there is nothing to copy it from, there are no
            standbys and no warm-ups.
    """

    id: str
    partitions: int
    stateful: bool = True
    logged: bool = True


@dataclass(frozen=True, slots=True)
class StatefulMember:
    """A member as it described itself.  Nothing in here is trusted.

    Attributes:
        member_id: unique in the group.
        process: members of one process share a directory of state; None: a process of its own.
        rack: where it runs; None: unknown.
        active: tasks it runs, as of ``generation``.
        standby: tasks of which it keeps a copy up to date; warm-ups are among them.
        lags: task -> records of the changelog its copy of the state lacks, for all copies that are there.
            What is not in here, or negative: no state.
        generation: of ``active``.
    """

    member_id: str
    process: str | None = None
    rack: str | None = None
    active: Collection[Task] = ()
    standby: Collection[Task] = ()
    lags: Mapping[Task, int] = field(default_factory=dict)
    generation: int = NO_GENERATION


@dataclass(frozen=True, slots=True)
class StatefulOptions:
    """What KIP-441 lets the user choose; names and meaning are those of Kafka Streams.

    Attributes:
        acceptable_recovery_lag: records; a copy that lacks no more counts as caught up.
        num_standby_replicas: copies of each task's state beside the active one, each in another process.
        max_warmup_replicas: further copies, in the whole group, that are built at a time so that tasks can
            move.  At least 1: with none nothing would ever move.
        balance_factor: by how many tasks two members may differ, in all and in each subtopology.

    Raises:
        OptionError: a value that makes no sense.
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
            given = getattr(self, name)
            if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
                raise OptionError(name, f"expected a whole number from {least} to {most}, got {given!r}")


@dataclass(frozen=True)
class StatefulGroup:
    """A planning problem.

    Attributes:
        subtopologies: in the order of their ids, whatever order they came in.
        members: in the order of process and id.
        end_offsets: task -> records in its changelog, where known: what a member without state has to read.

    Raises:
        ProblemError: a member or a subtopology is there twice, or a number of partitions is negative.
    """

    subtopologies: tuple[Subtopology, ...]
    members: tuple[StatefulMember, ...]
    end_offsets: Mapping[Task, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        members = tuple(sorted(self.members, key=lambda m: (m.process or m.member_id, m.member_id)))
        subtopologies = tuple(sorted(self.subtopologies, key=lambda s: s.id))
        if len({m.member_id for m in members}) != len(members):
            raise ProblemError("a member id is there twice")
        if len({s.id for s in subtopologies}) != len(subtopologies):
            raise ProblemError("a subtopology is there twice")
        for subtopology in subtopologies:
            if subtopology.partitions < 0:
                raise ProblemError(
                    f"subtopology {shown(subtopology.id)!r} has a negative number of partitions"
                )
        object.__setattr__(self, "members", members)
        object.__setattr__(self, "subtopologies", subtopologies)


Tasks = Mapping[str, tuple[Task, ...]]
"""Member id -> tasks in order; every member of the group is in it."""


@dataclass(frozen=True, slots=True)
class StatefulPlan:
    """Who shall run what now, and what the group is on its way to.

    Attributes:
        active: what each member runs.
        standby: the copies each member keeps up to date, ``num_standby_replicas`` a task as far as there are
            processes for them.
        warmup: further copies, to be caught up so that tasks can move.
        probing: a better plan waits for copies to catch up: plan again in ``probing_rebalance_interval_ms``.
        target_active: where the active tasks shall be in the end.
        target_standby: where the standbys shall be in the end.
    """

    active: Tasks
    standby: Tasks
    warmup: Tasks
    probing: bool
    target_active: Tasks = field(default_factory=lambda: MappingProxyType({}))
    target_standby: Tasks = field(default_factory=lambda: MappingProxyType({}))
