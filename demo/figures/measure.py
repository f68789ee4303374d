"""Pure: the logs of one replay to its results.  `measure` defines every number of the tables."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence

from demo.figures import ownership, processing
from demo.figures.lag import SAMPLE_NS, lag_result
from demo.group.logs import NS, RunLogs
from demo.results import HoldResult, StepResult, StrategyResult, WaitResult
from kafka_assignors.simulation.churn import KINDS, first_members


def _median(values: Sequence[float]) -> float | None:
    return round(statistics.median(values), 3) if values else None


def _most(values: Sequence[float]) -> float | None:
    return round(max(values), 3) if values else None


class _Run:
    """Figures that several results need."""

    def __init__(self, logs: RunLogs) -> None:
        self.logs = logs
        self.zero, self.end = logs.driver_entry("replay").t, logs.driver_entry("end").t
        self.steps = [e for e in logs.driver if e.event in KINDS and e.t < self.end]
        #: the window of step i is [bounds[i], bounds[i + 1])
        self.bounds = [*(step.t for step in self.steps), self.end]
        died = {step.note: step.t for step in self.steps if step.event == "kill"}
        self.holds = ownership.find_holds(logs.members, died, self.end)
        self.done = processing.stretches(logs.members, self.end)
        self.sent = processing.sent_by_partition(logs.driver)
        self.joins = {member: processing.joins(log) for member, log in logs.members.items()}
        self.handovers = ownership.handovers(self.holds, self.zero)

    def seconds(self, t: int) -> float:
        return round((t - self.zero) / NS, 3)

    def generations(self, begin: int, end: int) -> set[int]:
        """Return the generations that members joined in [begin, end)."""
        return {join.generation for joins in self.joins.values() for join in joins if begin <= join.t < end}

    def present(self, index: int) -> list[str]:
        """Return the members that share all partitions after a step."""
        present = list(first_members(self.logs.consumers))
        for step in self.steps[: index + 1]:
            if step.event == "join":
                present.append(step.note)
            else:
                present.remove(step.note)
        return present

    def kills_of_owner(self, partition: int) -> list[int]:
        """Return the steps that killed the owner of a partition."""
        ends = {(hold.member, hold.end) for hold in self.holds if hold.partition == partition}
        return [
            index
            for index, step in enumerate(self.steps)
            if step.event == "kill" and (step.note, step.t) in ends
        ]


def measure(strategy: str, logs: RunLogs) -> StrategyResult:
    """Measure one run.

    - *moved*: hand-overs, that is each time a member gained a partition that another member had owned last.
      A partition that goes to another member and comes back counts twice; those of departed members count.
    - *least_moves*: the hand-overs that no plan can avoid if the members present after each step share
      evenly, counted from the owners before the step.
    - *rebalances*: distinct generations that members joined from the first step on.
    - *pause* of a partition in a step: the time in which its records waited and no member processed any,
      from the last record processed before a rebalance to the first one after it, summed over the rebalances
      of the step.  A pause contains the new owner's warm-up and the partition's usual wait.  It belongs to
      the kill of the partition's owner, even if another step came before the group noticed the kill; else to
      the step before the rebalance.  Partitions without waiting records have none.
    - *paused*, *pausable*: partitions with a pause, summed over the steps; partitions times steps.
    - *drain*: from the last record sent to the last record processed for the first time.
    - *lateness*: how late a record was sent, at most.
    - *fault*: empty, or why the backlog was not drained; *lost* then counts the records not processed yet.
    """
    run = _Run(logs)
    books = processing.account(run.sent, run.done)
    waits = _waits(run)
    pauses = _pauses(waits, len(run.steps))
    steps = [_step(run, index, pauses[index]) for index in range(len(run.steps))]
    lag = lag_result(range(run.zero, run.end + SAMPLE_NS, SAMPLE_NS), run.sent, run.done, run.holds)
    seconds = [pause_s for of_step in pauses for pause_s in of_step]
    last_sent = max((e.t for entries in run.sent.values() for e in entries), default=run.zero)
    last_done = processing.last_first_time(logs.members, run.end) or run.zero
    return StrategyResult(
        strategy=strategy,
        produced=books.produced,
        processed=books.processed,
        lost=books.lost,
        duplicates=books.duplicates,
        moved=len(run.handovers),
        least_moves=sum(step["least_moves"] for step in steps),
        rebalances=sum(step["rebalances"] for step in steps),
        paused=len(seconds),
        pausable=logs.partitions * len(steps),
        pause_total=round(sum(seconds), 3),
        pause_p50=_median(seconds),
        pause_max=_most(seconds),
        drain=round(max(last_done - last_sent, 0) / NS, 3),
        end=run.seconds(run.end),
        peak_lag=max(lag["total"], default=0),
        lateness=round(float(logs.driver_entry("sent_all").note) / 1e3, 4),
        fault=logs.driver_entry("end").note,
        double_owned=ownership.double_owned(run.holds),
        owned_at_end=len(ownership.owners_at(run.holds, run.end - 1)),
        steps=steps,
        waits=waits,
        holds=[_hold(run, hold) for hold in run.holds],
        openings=[
            _hold(run, ownership.Hold(entry.partitions[0], entry.began, entry.t, member))
            for member, log in logs.members.items()
            for entry in log
            if entry.event == "opened" and entry.t < run.end
        ],
        lag=lag,
    )


def _hold(run: _Run, hold: ownership.Hold) -> HoldResult:
    return {
        "member": hold.member,
        "partition": hold.partition,
        "start": run.seconds(hold.start),
        "end": run.seconds(hold.end),
    }


def _waits(run: _Run) -> list[WaitResult]:
    """Return the waits that a rebalance caused, not those while a member takes its partitions in turn."""
    caused: list[WaitResult] = []
    starts = [step.t for step in run.steps]
    for partition, done in run.done.items():
        sent = processing.Sent(run.sent.get(partition, ()))
        orphaned_by = run.kills_of_owner(partition)
        for wait in processing.waits(done, sent):
            join = processing.caused_by(wait, run.joins[wait.member])
            step = processing.step_behind(wait, join, starts, orphaned_by) if join else None
            if step is None:
                continue
            caused.append(
                {
                    "step": step,
                    "partition": partition,
                    "member": wait.member,
                    "start": run.seconds(wait.start),
                    "end": run.seconds(wait.end),
                }
            )
    return caused


def _pauses(waits: Sequence[WaitResult], steps: int) -> list[list[float]]:
    """Return by step the seconds that each of its paused partitions waited."""
    pauses: list[dict[int, float]] = [defaultdict(float) for _ in range(steps)]
    for wait in waits:
        pauses[wait["step"]][wait["partition"]] += wait["end"] - wait["start"]
    return [[round(seconds, 3) for _, seconds in sorted(of_step.items())] for of_step in pauses]


def _step(run: _Run, index: int, pauses: Sequence[float]) -> StepResult:
    step, begin, end = run.steps[index], run.bounds[index], run.bounds[index + 1]
    settled = ownership.settled_at(run.holds, begin, end, run.logs.partitions)
    return {
        "kind": step.event,
        "member": step.note,
        "at": run.seconds(step.t),
        "settled": None if settled is None else round((settled - begin) / NS, 3),
        "rebalances": len(run.generations(begin, end)),
        "moved": sum(begin <= handover.t < end for handover in run.handovers),
        "least_moves": _least_moves(run, index),
        "paused": len(pauses),
        "pause_total": round(sum(pauses), 3),
        "pause_p50": _median(pauses),
        "pause_max": _most(pauses),
    }


def _least_moves(run: _Run, index: int) -> int:
    """Return the least moves of a step, less those of the step before if the group has not done them yet."""
    before = ownership.last_owners(run.holds, run.bounds[index] - 1)
    least = ownership.least_moves(before, run.present(index))
    waiting = index > 0 and not run.generations(run.bounds[index - 1], run.bounds[index])
    due = ownership.least_moves(before, run.present(index - 1)) if waiting else 0
    return max(least - due, 0)
