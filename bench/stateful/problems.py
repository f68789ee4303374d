"""Measures plans for stateful members beside Kafka Streams: ``python -m bench --problems stateful``.

docs/benchmarks.md, "Stateful plans", describes the measurement.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from bench.measure import repeated
from bench.programs import Facts, ProgramError, child
from bench.stateful.streams_peer import StreamsPeer
from kafka_assignors.assignor.collector import paused_collector
from kafka_assignors.plan.stateful import PlannedSubtopology, TaskPlanOptions, plan_stateful
from tests.support.plan.stateful_group import SimulatedGroup

TASKS_OF_A_SUBTOPOLOGY = 100
STANDBYS, WARM_UPS = 1, 2
LONGEST_S = 10.0  # no further run of a median begins after this

Row = dict[str, Any]


class Size(NamedTuple):
    """The size of a group before the event."""

    tasks: int
    members: int


EVENTS = {"new": "all new", "join": "one joins", "leave": "one leaves"}
SIZES = (Size(1_000, 10), Size(1_000, 100), Size(10_000, 100), Size(10_000, 500))
# Tasks or members grow, and the other number stays.  Only plans are timed, without rounds.
GROWTH = (
    *(Size(tasks, 100) for tasks in (1_000, 10_000, 100_000)),
    *(Size(10_000, members) for members in (10, 100, 1_000)),
)


def rows(
    streams: StreamsPeer | None,
    patience: float,
    now: Callable[[str], None],
    sizes: Iterable[Size] = SIZES,
) -> Iterator[Row]:
    """Yield a row for each size and event; each program runs in a process of its own."""
    for size in sizes:
        for event, words in EVENTS.items():
            what = f"{size.tasks:,} tasks x {size.members:,} members, {words}"
            now(f"{what}: ours")
            row: Row = {**size._asdict(), "event": event, "ours": _ours(size, event, play=True)}
            if streams is not None:
                now(f"{what}: Kafka Streams")
                row["streams"] = _theirs(streams, size, event, patience)
            yield row


def growth(known: Iterable[Row], now: Callable[[str], None]) -> Iterator[Row]:
    """Yield rows of our plans alone, for the sizes of ``GROWTH`` that are still missing."""
    measured = {Size(row["tasks"], row["members"]) for row in known}
    for size in sorted({*GROWTH} - measured):
        for event, words in EVENTS.items():
            now(f"{size.tasks:,} tasks x {size.members:,} members, {words}: ours")
            yield {**size._asdict(), "event": event, "ours": _ours(size, event, play=False)}


def _ours(size: Size, event: str, *, play: bool) -> Facts:
    return child("stateful", tasks=size.tasks, members=size.members, event=event, play=play)


def _theirs(streams: StreamsPeer, size: Size, event: str, patience: float) -> Facts:
    try:
        return streams.play(*size, event, standbys=STANDBYS, warmups=WARM_UPS, patience=patience)
    except ProgramError as error:
        return {"failed": str(error)}  # a peer's bug, or its lack of memory, is a result


# --- in the process that measures --------------------------------------------------------------------------


def measure(size: Size, event: str, *, play: bool) -> Iterator[Facts]:
    """Yield facts as they become known; times in seconds.

    The first plan of this group (``first``), then the median of further plans (``warm``), both with a paused
    collector as on a leader.  Then the results of rounds up to the target: ``rounds``, copies ``built``,
    active tasks ``moved`` in the end, changes of owner on the way (``handed``), the least copies of a
    balanced placement (``least``), and the rounds that so many copies take (``bound``).
    """
    group = group_of(size, event)
    problem = group.group()

    def run() -> float:
        with paused_collector():
            started = time.perf_counter()
            plan_stateful(problem, group.options)
            return time.perf_counter() - started

    gc.collect()
    first = run()
    yield {"first": first}
    times = repeated(run, LONGEST_S) or [first]
    yield {"warm": statistics.median(times), "runs": len(times)}
    if not play:
        return
    before = {task: m for m, mine in group.active.items() for task in mine}
    least = least_copies(group)
    rounds = group.settle()
    after = {task: m for m, mine in group.active.items() for task in mine}
    yield {
        "rounds": rounds,
        "settled": True,
        "built": group.built,
        "least": least,
        "bound": -(-least // WARM_UPS) + 1,
        "moved": sum(after[task] != m for task, m in before.items()),
        "handed": sum(group.handed.values()),
    }


def group_of(size: Size, event: str) -> SimulatedGroup:
    """Return a settled group right after an event."""
    tasks, members = size
    each = TASKS_OF_A_SUBTOPOLOGY
    subtopologies = [
        PlannedSubtopology(f"{i:04}", min(each, tasks - i * each)) for i in range(-(-tasks // each))
    ]
    options = TaskPlanOptions(num_standby_replicas=STANDBYS, max_warmup_replicas=WARM_UPS)
    group = SimulatedGroup(subtopologies, options)
    for i in range(members):
        group.join(f"m{i:04}")
    if event != "new":
        group.settle()
    if event == "join":
        group.join(f"m{members:04}")
    elif event == "leave":
        group.leave(f"m{members - 1:04}")
    group.built = 0
    group.handed.clear()
    return group


def least_copies(group: SimulatedGroup) -> int:
    """Return a lower bound of the copies that a balanced placement builds.

    The larger of two numbers: the copies that members lack for an even share, and the copies that tasks lack.
    It holds if each member has a process of its own, and each task a changelog.
    """
    copies = 1 + min(group.options.num_standby_replicas, len(group.processes) - 1)
    tasks = sum(s.partitions for s in group.subtopologies)
    held = [len(process.lags) for process in group.processes.values()]
    short = sum(max(copies * tasks // len(held) - mine, 0) for mine in held)
    return max(short, copies * tasks - sum(held))
