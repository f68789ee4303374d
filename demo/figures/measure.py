"""Pure: the logs of one run in, its results out.  `measure` defines every number of the tables."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from demo.figures import ownership, processing
from demo.figures.lag import lag_series
from demo.group.logs import Entry, first_entry
from demo.results import (
    HoldResult,
    LagResult,
    PauseResult,
    StepResult,
    StrategyResult,
    WaitResult,
)
from kafka_assignors.simulation.churn import Act, present_after

SAMPLE_NS = 250_000_000  # of the lag
NS = 1e9


@dataclass(frozen=True, slots=True)
class RunLogs:
    """All that one run wrote.

    Args:
        partitions: of the topic.
        consumers: members at the start.
        driver: ``sent``, the steps of the churn, ``replay``, ``sent_all`` and ``end``.
        members: log per member.
    """

    partitions: int
    consumers: int
    driver: Sequence[Entry]
    members: Mapping[str, Sequence[Entry]]

    def driver_entry(self, event: str) -> Entry:
        """Return the driver's first entry of ``event``.

        Raises:
            KafkaAssignorsError: there is none.
        """
        return first_entry(self.driver, event)


def _median(values: Sequence[float]) -> float | None:
    return round(statistics.median(values), 3) if values else None


def _most(values: Sequence[float]) -> float | None:
    return round(max(values), 3) if values else None


class _Run:
    """What several of the numbers need, computed once."""

    def __init__(self, logs: RunLogs) -> None:
        self.logs = logs
        self.zero, self.end = logs.driver_entry("replay").t, logs.driver_entry("end").t
        self.steps = [e for e in logs.driver if e.event in {"join", "leave", "kill"} and e.t < self.end]
        #: the window of step i is [bounds[i], bounds[i + 1])
        self.bounds = [*(step.t for step in self.steps), self.end]
        self.died = {step.note: step.t for step in self.steps if step.event == "kill"}
        self.holds = ownership.holds(logs.members, self.died, self.end)
        self.done = processing.stretches(logs.members, self.end)
        self.sent = processing.sent_by_partition(logs.driver)
        self.joins = {member: processing.joins(log) for member, log in logs.members.items()}
        self.handovers = ownership.handovers(self.holds, self.zero)

    def seconds(self, t: int) -> float:
        return round((t - self.zero) / NS, 3)

    def generations(self, begin: int, end: int) -> set[int]:
        """Return the generations that members joined in [begin, end)."""
        return {join.generation for found in self.joins.values() for join in found if begin <= join.t < end}

    def present(self, index: int) -> tuple[str, ...]:
        """Return the members that are to share all partitions after a step."""
        acts = [
            Act(e.event, 0.0, e.note)
            for e in self.steps[: index + 1]
            if e.event in {"join", "leave", "kill"}  # all of them are; this tells mypy
        ]
        return present_after(acts, self.logs.consumers)

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

    - *moved*: hand-overs, that is each time a partition was gained by another member than its last owner.
      One that goes to a third member and comes back counts twice; partitions of a departed member count.
    - *least_moves*: the hand-overs that no plan can avoid, if after each step the members that are there are
      to share evenly, from the state the step met.
    - *rebalances*: distinct generations that members joined from the first step on.
    - *pause* of a partition in a step: the time in which records of it were waiting and nobody processed
      any, from the last record processed before a rebalance to the first one after it, summed over the
      rebalances of the step.  It holds the new owner's warm-up and what the partition would have waited
      anyway.  It belongs to the kill that took its owner, even if another step came before the group
      noticed, else to the step that preceded the rebalance.  Partitions without waiting records have none.
    - *paused*, *pausable*: partitions with a pause, summed over the steps; partitions times steps.
    - *usual_wait*: the same interval where no rebalance was the cause: a member takes its partitions in turn.
    - *drain*: from the last record sent to the last record processed for the first time.
    - *lateness*: how long after it was due a record was sent, at most.
    - *fault*: empty, or why the backlog was not drained; *lost* then counts what was not processed yet.

    Raises:
        KafkaAssignorsError: the run was not finished.
    """
    run = _Run(logs)
    books = processing.account(run.sent, run.done)
    waits, usual = _waits(run)
    pauses = _pauses(waits)
    steps = [_step(run, index, pauses) for index in range(len(run.steps))]
    lag = _lag(run)
    seconds = [pause["seconds"] for pause in pauses]
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
        usual_wait_p50=_median(usual),
        usual_wait_p99=round(float(np.quantile(usual, 0.99)), 3) if usual else None,
        drain=round(max(last_done - last_sent, 0) / NS, 3),
        end=run.seconds(run.end),
        peak_lag=max(lag["total"], default=0),
        lateness=round(float(logs.driver_entry("sent_all").note) / 1e3, 4),
        fault=logs.driver_entry("end").note,
        double_owned=ownership.double_owned(run.holds),
        owned_at_end=len(ownership.owners_at(run.holds, run.end - 1)),
        steps=steps,
        pauses=pauses,
        waits=waits,
        holds=[_hold(run, hold) for hold in run.holds],
        openings=_openings(run),
        handovers=[
            {"t": run.seconds(h.t), "partition": h.partition, "giver": h.giver, "taker": h.taker}
            for h in run.handovers
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


def _openings(run: _Run) -> list[HoldResult]:
    """List the warm-ups."""
    return [
        _hold(run, ownership.Hold(entry.partitions[0], entry.began, entry.t, member))
        for member, log in run.logs.members.items()
        for entry in log
        if entry.event == "opened" and entry.t < run.end
    ]


def _waits(run: _Run) -> tuple[list[WaitResult], list[float]]:
    """Split all waits into those a rebalance caused, and the lengths (s) of the usual ones."""
    caused: list[WaitResult] = []
    usual: list[float] = []
    starts = [step.t for step in run.steps]
    for partition, done in run.done.items():
        sent = processing.Sent(run.sent.get(partition, ()))
        orphaned_by = run.kills_of_owner(partition)
        changes = [handover.t for handover in run.handovers if handover.partition == partition]
        for wait in processing.waits(partition, done, sent):
            join = processing.caused_by(wait, run.joins[wait.member])
            step = processing.step_behind(wait, join, starts, orphaned_by) if join else None
            if step is None:
                usual.append((wait.end - wait.start) / NS)
                continue
            caused.append(
                {
                    "step": step,
                    "partition": partition,
                    "member": wait.member,
                    "moved": any(wait.idle <= t <= wait.end for t in changes),
                    "start": run.seconds(wait.start),
                    "end": run.seconds(wait.end),
                }
            )
    return caused, usual


def _pauses(waits: Sequence[WaitResult]) -> list[PauseResult]:
    of_one: dict[tuple[int, int], list[WaitResult]] = defaultdict(list)
    for wait in waits:
        of_one[wait["step"], wait["partition"]].append(wait)
    return [
        {
            "step": step,
            "partition": partition,
            "moved": any(wait["moved"] for wait in found),
            "seconds": round(sum(wait["end"] - wait["start"] for wait in found), 3),
        }
        for (step, partition), found in sorted(of_one.items())
    ]


def _step(run: _Run, index: int, pauses: Sequence[PauseResult]) -> StepResult:
    step, begin, end = run.steps[index], run.bounds[index], run.bounds[index + 1]
    settled = ownership.settled_at(run.holds, begin, end, run.logs.partitions)
    seconds = [pause["seconds"] for pause in pauses if pause["step"] == index]
    return {
        "kind": step.event,
        "member": step.note,
        "at": run.seconds(step.t),
        "settled": None if settled is None else round((settled - begin) / NS, 3),
        "rebalances": len(run.generations(begin, end)),
        "moved": sum(begin <= handover.t < end for handover in run.handovers),
        "least_moves": _least_moves(run, index),
        "paused": len(seconds),
        "pause_total": round(sum(seconds), 3),
        "pause_p50": _median(seconds),
        "pause_max": _most(seconds),
    }


def _least_moves(run: _Run, index: int) -> int:
    """Return the least moves of a step, without those that the step before has not got to yet."""
    before = ownership.last_owners(run.holds, run.bounds[index] - 1)
    least = ownership.least_moves(before, run.present(index))
    waiting = index > 0 and not run.generations(run.bounds[index - 1], run.bounds[index])
    owed = ownership.least_moves(before, run.present(index - 1)) if waiting else 0
    return max(least - owed, 0)


def _lag(run: _Run) -> LagResult:
    series = lag_series(range(run.zero, run.end + SAMPLE_NS, SAMPLE_NS), run.sent, run.done, run.holds)
    return {
        "t": [run.seconds(t) for t in series.t],
        "total": series.total,
        "unowned": series.unowned,
        "members": series.members,
    }
