"""Simulates a group of stateful members: they follow plans, and their copies catch up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random

from kafka_assignors.plan.stateful import (
    PlannedSubtopology,
    StatefulGroup,
    StatefulMember,
    StatefulPlan,
    Task,
    TaskPlanOptions,
    plan_stateful,
)

END = 150_000
"""Records in every changelog."""


def all_of_it(_: int) -> int:
    """Return a lag of 0: the copy has read to the end."""
    return 0


@dataclass
class Process:
    """A directory of state.

    Attributes:
        lags: task -> records its copy lacks.
    """

    lags: dict[Task, int] = field(default_factory=dict)


class SimulatedGroup:
    """Members that follow the plan.

    Args:
        subtopologies: what there is to run.
        options: of the plans.
        keeps: whether a copy that is not assigned any more stays in its directory (and falls behind); else
            its state is lost at once.
        knows_ends: whether the group knows the ends of the changelogs.

    Attributes:
        members: id -> (process, rack).
        active, standby: the last assignment of each member; warm-ups are among the standbys.
        processes: their copies.
        built: copies begun so far.
        handed: task -> how often another member has taken over from a living one.
        plans: how many were made.
    """

    def __init__(
        self,
        subtopologies: Iterable[PlannedSubtopology],
        options: TaskPlanOptions,
        *,
        keeps: bool = False,
        knows_ends: bool = False,
    ) -> None:
        self.subtopologies = tuple(subtopologies)
        self.options = options
        self.keeps = keeps
        tasks = [Task(s.id, p) for s in self.subtopologies for p in range(s.partitions)] if knows_ends else []
        self._ends = dict.fromkeys(tasks, END)
        self.members: dict[str, tuple[str, str | None]] = {}
        self.active: dict[str, set[Task]] = {}
        self.standby: dict[str, set[Task]] = {}
        self.processes: dict[str, Process] = {}
        self.built = 0
        self.handed: dict[Task, int] = {}
        self.plans = 0

    def join(self, member: str, process: str | None = None, rack: str | None = None) -> None:
        """Add a member.  It has only the state of its process."""
        process = process or member
        self.members[member] = process, rack
        self.active[member], self.standby[member] = set(), set()
        self.processes.setdefault(process, Process())

    def leave(self, member: str) -> None:
        """Remove a member, and the directory of its process with the last member."""
        process, _ = self.members.pop(member)
        del self.active[member], self.standby[member]
        if all(other != process for other, _ in self.members.values()):
            del self.processes[process]

    def group(self) -> StatefulGroup:
        """Return the group as its members rejoin."""
        return StatefulGroup(
            self.subtopologies,
            tuple(
                StatefulMember(
                    member,
                    process,
                    rack,
                    frozenset(self.active[member]),
                    frozenset(self.standby[member]),
                    dict(self.processes[process].lags),
                    generation=self.plans,
                )
                for member, (process, rack) in self.members.items()
            ),
            self._ends,
        )

    def rebalance(self) -> StatefulPlan:
        """Plan a round and follow the plan."""
        plan = plan_stateful(self.group(), self.options)
        self.do(plan)
        return plan

    def do(self, plan: StatefulPlan) -> None:
        """Take the roles of a plan, begin missing copies, and drop unwanted ones."""
        logged = {s.id for s in self.subtopologies if s.stateful and s.logged}
        owners = {task: m for m, tasks in self.active.items() for task in tasks}
        for member, (process, _) in self.members.items():
            for task in plan.active[member]:
                if owners.get(task, member) != member:
                    self.handed[task] = self.handed.get(task, 0) + 1
            lags = self.processes[process].lags
            copies = {*plan.active[member], *plan.standby[member], *plan.warmup[member]}
            for task in sorted(copies):
                if task.subtopology in logged and task not in lags:
                    lags[task] = END
                    self.built += 1
        for member in self.members:
            self.active[member] = set(plan.active[member])
            self.standby[member] = {*plan.standby[member], *plan.warmup[member]}
        for name, place in self.processes.items():
            for task in set(place.lags) - self.copies_of(name):
                if self.keeps:
                    place.lags[task] = min(place.lags[task] + 1_000, END)
                else:
                    del place.lags[task]
        self.plans += 1

    def copies_of(self, process: str) -> set[Task]:
        """Everything assigned to members of a process."""
        mine = [m for m, (of, _) in self.members.items() if of == process]
        return {task for m in mine for task in self.active[m] | self.standby[m]}

    def catch_up(self, how: Callable[[int], int] = all_of_it) -> None:
        """Let copies read: ``how`` returns the new lag for the old one.  Active tasks are fully restored."""
        for name, process in self.processes.items():
            for task in sorted(self.copies_of(name) & set(process.lags)):
                process.lags[task] = how(process.lags[task])
        for member, tasks in self.active.items():
            lags = self.processes[self.members[member][0]].lags
            for task in tasks & set(lags):
                lags[task] = 0

    def settle(self, most: int = 10_000) -> int:
        """Rebalance until no better plan waits; copies catch up in between.  Return the number of rounds."""
        for rounds in range(1, most + 1):
            plan = self.rebalance()
            self.catch_up()
            if not plan.probing:
                return rounds
        raise AssertionError(f"not settled after {most} rounds")


def any_topology(rng: Random, *, stateless: bool = True, most: int = 6) -> tuple[PlannedSubtopology, ...]:
    """Return one to three small subtopologies."""
    kinds = [(True, True)] * 4 + ([(True, False), (False, False)] if stateless else [])
    return tuple(
        PlannedSubtopology(str(i), rng.randint(1, most), *rng.choice(kinds)) for i in range(rng.randint(1, 3))
    )
