"""Laws of every plan for stateful members, written without the planner's code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random

from hypothesis import strategies as st

from kafka_assignors.plan.stateful import (
    PlannedSubtopology,
    StatefulGroup,
    StatefulMember,
    StatefulPlan,
    Task,
    TaskPlanOptions,
)
from tests.support.plan.stateful_oracle import process_of

FAR = 2**63


class Facts:
    """A group as KIP-441 sees it.

    Attributes:
        process: of each member.
        logged: tasks that have copies.
        owner: who runs a task, if one member alone says so in the highest generation that claims it.
    """

    def __init__(self, group: StatefulGroup, options: TaskPlanOptions) -> None:
        self.group, self.options = group, options
        self.process = process_of(group)
        self.processes = set(self.process.values())
        self.tasks = {Task(s.id, p): s for s in group.subtopologies for p in range(s.partitions)}
        self.stateful = {t for t, s in self.tasks.items() if s.stateful}
        self.logged = {t for t, s in self.tasks.items() if s.stateful and s.logged}
        self.owner: dict[Task, str] = {}
        for task in self.tasks:
            claims = [m for m in group.members if task in m.active]
            newest = [m for m in claims if m.generation == max(c.generation for c in claims)]
            if len(newest) == 1:
                self.owner[task] = newest[0].member_id

    def rank(self, task: Task, process: str) -> int:
        """KIP-441, "Computing the most-caught-up instances", one by one."""
        if task not in self.logged:
            return 0
        known = []
        for member in self.group.members:
            if self.process[member.member_id] != process:
                continue
            lag = member.lags.get(task, -1)
            if lag >= 0:
                known.append(lag)
            elif self.owner.get(task) == member.member_id:
                known.append(0)
        end = self.group.end_offsets.get(task, -1)
        most = end if end >= 0 else FAR
        lag = min([*known, most])
        return 0 if lag <= self.options.acceptable_recovery_lag else lag

    def is_told(self, task: Task, process: str) -> bool:
        """Whether a member of the process reports an assigned copy."""
        return any(task in m.standby for m in self.group.members if self.process[m.member_id] == process)

    def roles(self, tasks: Mapping[str, tuple[Task, ...]]) -> dict[Task, list[str]]:
        """By task: the members that have it."""
        found: dict[Task, list[str]] = {}
        for member, mine in tasks.items():
            for task in mine:
                found.setdefault(task, []).append(member)
        return found


def check(group: StatefulGroup, options: TaskPlanOptions, plan: StatefulPlan) -> None:
    """Every law that needs no more than one plan."""
    facts = Facts(group, options)
    if not group.members:
        assert plan == StatefulPlan({}, {}, {}, probing=False)
        return
    every_task_runs_once(facts, plan)
    active_tasks_are_where_nobody_is_more_caught_up(facts, plan)
    standbys_are_enough_elsewhere_and_next_most_caught_up(facts, plan)
    warm_ups_are_few_and_lead_to_the_target(facts, plan)
    the_target_is_balanced(facts, plan)
    stateless_tasks_fill_up(facts, plan)
    a_factor_above_one_moves_no_more_than_it_takes(facts, plan)
    probing_is_for_copies_that_are_behind(facts, plan)


def every_task_runs_once(facts: Facts, plan: StatefulPlan) -> None:
    for active in (plan.active, plan.target_active):
        assert set(active) == set(facts.process)
        assert Counter(t for mine in active.values() for t in mine) == Counter(list(facts.tasks))
        assert all(list(mine) == sorted(mine) for mine in active.values())


def active_tasks_are_where_nobody_is_more_caught_up(facts: Facts, plan: StatefulPlan) -> None:
    """KIP-441: "required to assign active stateful tasks to the most-caught-up-instances"."""
    for task, (member,) in facts.roles(plan.active).items():
        ranks = {p: facts.rank(task, p) for p in facts.processes}
        assert ranks[facts.process[member]] == min(ranks.values())


def standbys_are_enough_elsewhere_and_next_most_caught_up(facts: Facts, plan: StatefulPlan) -> None:
    """KIP-441: "standby tasks to the next-most-caught-up instances", "at least num.standby.replicas"."""
    count = min(facts.options.num_standby_replicas, len(facts.processes) - 1)
    for active, standby in ((plan.active, plan.standby), (plan.target_active, plan.target_standby)):
        runs, standbys = facts.roles(active), facts.roles(standby)
        assert set(standbys) <= facts.logged
        for task in facts.logged:
            mine = [facts.process[m] for m in (*runs[task], *standbys.get(task, ()))]
            assert len(mine) == count + 1 == len(set(mine))
            if standby is plan.standby:
                others = [facts.rank(task, p) for p in facts.processes - set(mine)]
                assert all(facts.rank(task, p) <= min(others, default=FAR) for p in mine)


def warm_ups_are_few_and_lead_to_the_target(facts: Facts, plan: StatefulPlan) -> None:
    """Members that are behind have at most ``max_warmup_replicas`` copies beyond the required ones."""
    warmups = [(task, m) for m, mine in plan.warmup.items() for task in mine]
    assert len(warmups) == len(set(warmups)) <= facts.options.max_warmup_replicas
    runs, standbys = facts.roles(plan.active), facts.roles(plan.standby)
    for task, member in warmups:
        assert task in plan.target_active[member] or task in plan.target_standby[member]
        there = {facts.process[m] for m in (*runs[task], *standbys.get(task, ()))}
        assert facts.process[member] not in there
        assert facts.rank(task, facts.process[member]) > 0


def the_target_is_balanced(facts: Facts, plan: StatefulPlan) -> None:
    """KIP-441, "Defining balance": over members, and over members in each subtopology."""
    factor = facts.options.balance_factor
    kinds = {s.id for s in facts.group.subtopologies}
    for some in [{kind} for kind in sorted(kinds)] + [kinds]:
        mine = {t for t in facts.stateful if t.subtopology in some}
        counts = [len(mine & set(tasks)) for tasks in plan.target_active.values()]
        assert max(counts) - min(counts) <= factor
    if factor == 1:
        counts = [len(tasks) for tasks in plan.target_active.values()]
        assert max(counts) - min(counts) <= 1


def stateless_tasks_fill_up(facts: Facts, plan: StatefulPlan) -> None:
    """In each round: no member with a stateless task has two active tasks more than another member."""
    if facts.options.balance_factor > 1:
        return
    for active in (plan.active, plan.target_active):
        least = min(map(len, active.values()))
        for tasks in active.values():
            assert facts.stateful.issuperset(tasks) or len(tasks) <= least + 1


def a_factor_above_one_moves_no_more_than_it_takes(facts: Facts, plan: StatefulPlan) -> None:
    """Each move that begins is necessary for the balance factor."""
    factor = facts.options.balance_factor
    if factor == 1:
        return
    goes = {task: m for m, mine in plan.target_active.items() for task in mine}
    for task, owner in facts.owner.items():
        ranks = {p: facts.rank(task, p) for p in facts.processes}
        there = facts.process[goes[task]]
        if ranks[there] == 0 or facts.is_told(task, there):
            continue
        if (
            task not in facts.stateful
            or owner == goes[task]
            or ranks[facts.process[owner]] > min(ranks.values())
        ):
            continue
        back = goes | {task: owner}
        for some in (facts.stateful, {t for t in facts.stateful if t.subtopology == task.subtopology}):
            counts = Counter(back[t] for t in some)
            if max(counts.values()) - min(counts[m] for m in facts.process) > factor:
                break
        else:
            raise AssertionError(f"{task} could stay with {owner}")


def probing_is_for_copies_that_are_behind(facts: Facts, plan: StatefulPlan) -> None:
    """A better plan waits exactly if this plan is not the target; then copies of the target are behind."""
    here = {m: (plan.active[m], plan.standby[m]) for m in plan.active}
    target = {m: (plan.target_active[m], plan.target_standby[m]) for m in plan.active}
    assert plan.probing == (here != target)
    if plan.probing:
        behind = [
            (task, m)
            for m in facts.process
            for task in (*plan.target_active[m], *plan.target_standby[m])
            if facts.rank(task, facts.process[m]) > 0
        ]
        assert behind
    else:
        assert not any(plan.warmup.values())


# --- groups ------------------------------------------------------------------------------------------------


@st.composite
def any_options(draw: st.DrawFn) -> TaskPlanOptions:
    """Small ones."""
    return TaskPlanOptions(
        acceptable_recovery_lag=draw(st.sampled_from((0, 10, 10_000))),
        num_standby_replicas=draw(st.integers(0, 3)),
        max_warmup_replicas=draw(st.integers(1, 4)),
        balance_factor=draw(st.sampled_from((1, 1, 1, 2, 3))),
    )


_lags = st.one_of(st.integers(-2, 12), st.integers(0, 30_000), st.integers(2**62, 2**63))


@st.composite
def any_groups(draw: st.DrawFn, *, least_members: int = 0) -> StatefulGroup:
    """Members may report nonsense: tasks claimed twice, unknown tasks, negative lags."""
    subtopologies = tuple(
        PlannedSubtopology(
            str(i), draw(st.integers(0, 5)), draw(st.integers(0, 3)) > 0, draw(st.integers(0, 3)) > 0
        )
        for i in range(draw(st.integers(0, 3)))
    )
    tasks = [Task(s.id, p) for s in subtopologies for p in range(s.partitions + 1)] + [Task("gone", 0)]
    some = st.lists(st.sampled_from(tasks), max_size=8)
    members = tuple(
        StatefulMember(
            f"m{i}",
            process=draw(st.sampled_from((None, None, "p", "m0"))),
            rack=draw(st.sampled_from((None, "a", "b"))),
            active=draw(some),
            standby=draw(some),
            lags=draw(st.dictionaries(st.sampled_from(tasks), _lags, max_size=10)),
            generation=draw(st.integers(-1, 2)),
        )
        for i in range(draw(st.integers(least_members, 5)))
    )
    ends = draw(st.dictionaries(st.sampled_from(tasks), st.integers(-1, 30_000), max_size=4))
    return StatefulGroup(subtopologies, members, ends)


def shuffled(group: StatefulGroup, seed: int) -> StatefulGroup:
    """The same group in another order."""
    rng = Random(seed)
    members = [
        StatefulMember(
            m.member_id,
            m.process,
            m.rack,
            rng.sample(list(m.active), len(m.active)),
            rng.sample(list(m.standby), len(m.standby)),
            dict(rng.sample(list(m.lags.items()), len(m.lags))),
            m.generation,
        )
        for m in group.members
    ]
    return StatefulGroup(
        tuple(rng.sample(group.subtopologies, len(group.subtopologies))),
        tuple(rng.sample(members, len(members))),
        dict(rng.sample(list(group.end_offsets.items()), len(group.end_offsets))),
    )
