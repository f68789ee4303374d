"""Pure: the logs of one run in, its results out.  `measure` defines every number of the tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_assignors.demo import ownership, service
from kafka_assignors.demo.churn import Act, present_after
from kafka_assignors.demo.lag import lag_series
from kafka_assignors.demo.logs import Entry
from kafka_assignors.demo.results import (
    HoldResult,
    LagResult,
    MemberResult,
    PauseResult,
    StepResult,
    StrategyResult,
    WaitResult,
)
from kafka_assignors.errors import KafkaAssignorsError

SAMPLE_NS = 250_000_000  # of the lag
NS = 1e9


@dataclass(frozen=True, slots=True)
class RunLogs:
    """All that one run wrote.

    Args:
        partitions: of the topic.
        consumers: members at the start.
        driver: ``sent``, the steps of the churn, ``replay`` and ``end``.
        members: log per member.
    """

    partitions: int
    consumers: int
    driver: Sequence[Entry]
    members: Mapping[str, Sequence[Entry]]

    def instant(self, event: str) -> int:
        """Return when the driver logged ``event``, in ns.

        Raises:
            KafkaAssignorsError: it never did.
        """
        for entry in self.driver:
            if entry.event == event:
                return entry.t
        raise KafkaAssignorsError(f"the run has no {event!r} in its log: it was not finished")


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` of the values lie, interpolated linearly; 0 for no values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


class _Run:
    """What several of the numbers need, computed once."""

    def __init__(self, logs: RunLogs) -> None:
        self.logs = logs
        self.zero, self.end = logs.instant("replay"), logs.instant("end")
        self.steps = [e for e in logs.driver if e.event in {"join", "leave", "kill"} and e.t < self.end]
        #: the window of step i is [bounds[i], bounds[i + 1])
        self.bounds = [*(step.t for step in self.steps), self.end]
        self.died = {step.note: step.t for step in self.steps if step.event == "kill"}
        self.holds = ownership.holds(logs.members, self.died, self.end)
        self.done = service.stretches(logs.members, self.end)
        self.sent = service.sent_by_partition(logs.driver)
        self.joins = {member: service.joins(log) for member, log in logs.members.items()}

    def seconds(self, t: int) -> float:
        return round((t - self.zero) / NS, 3)

    def step_of(self, t: int) -> int | None:
        """Return the step in whose window ``t`` lies."""
        for index in range(len(self.steps)):
            if self.bounds[index] <= t < self.bounds[index + 1]:
                return index
        return None


def measure(strategy: str, logs: RunLogs) -> StrategyResult:
    """Measure one run.

    - *moved*: partitions whose owner differs between the settled state before a step and the one after it,
      summed over the steps.  Both states are read just before the next step (or the end); a partition
      without an owner then counts for its last one.  Partitions of a departed member count.
    - *least_moves*: the same sum if every step had moved as few as an even share allows, from the state it
      met.
    - *rebalances*: distinct generations that members joined from the first step on.
    - *pause* of a partition in a step: the time in which records of it were waiting and nobody processed
      any, from the last record processed before a rebalance to the first one after it, summed over the
      rebalances of the step.  It ends with the new owner's warm-up, and after a kill it begins with the
      death.  Partitions without waiting records have no pause.
    - *usual_wait*: the same interval where no rebalance was the cause: a member takes its partitions in turn.
    - *drain*: from the last record sent to the last record processed for the first time.

    Raises:
        KafkaAssignorsError: the run was not finished.
    """
    run = _Run(logs)
    books = service.account(run.sent, run.done)
    waits, usual = _waits(run)
    pauses = _pauses(run, waits)
    steps = [_step(run, index, pauses) for index in range(len(run.steps))]
    lag = _lag(run)
    seconds = [pause["seconds"] for pause in pauses]
    last_sent = max((e.t for entries in run.sent.values() for e in entries), default=run.zero)
    last_done = max((s.ended for done in run.done.values() for s in done), default=run.zero)
    return StrategyResult(
        strategy=strategy,
        produced=books.produced,
        processed=books.processed,
        lost=books.lost,
        duplicates=books.duplicates,
        moved=sum(step["moved"] for step in steps),
        least_moves=sum(step["least_moves"] for step in steps),
        rebalances=sum(step["rebalances"] for step in steps),
        pause_p50=round(quantile(seconds, 0.5), 3),
        pause_max=round(max(seconds, default=0.0), 3),
        usual_wait_p50=round(quantile(usual, 0.5), 3),
        usual_wait_p99=round(quantile(usual, 0.99), 3),
        drain=round(max(last_done - last_sent, 0) / NS, 3),
        end=run.seconds(run.end),
        peak_lag=max(lag["total"], default=0),
        throughput=round(books.processed / max((last_done - run.zero) / NS, 1e-3), 1),
        double_owned=ownership.double_owned(run.holds),
        owned_at_end=len(ownership.owners_at(run.holds, run.end - 1)),
        steps=steps,
        pauses=pauses,
        waits=waits,
        holds=[_hold(run, hold) for hold in run.holds],
        openings=_openings(run),
        handovers=[
            {"t": run.seconds(h.t), "partition": h.partition, "giver": h.giver, "taker": h.taker}
            for h in ownership.handovers(run.holds, run.zero)
        ],
        members=_members(run),
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
    for partition, done in run.done.items():
        sent = service.Sent(run.sent.get(partition, ()))
        for wait in service.waits(partition, done, sent):
            join = service.caused_by(wait, run.joins[wait.member])
            step = run.step_of(join.t) if join else None
            if step is None:
                usual.append((wait.end - wait.start) / NS)
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
    return caused, usual


def _pauses(run: _Run, waits: Sequence[WaitResult]) -> list[PauseResult]:
    total: dict[tuple[int, int], float] = defaultdict(float)
    for wait in waits:
        total[wait["step"], wait["partition"]] += wait["end"] - wait["start"]
    changed = [ownership.moved(*_states(run, index)) for index in range(len(run.steps))]
    return [
        {
            "step": step,
            "partition": partition,
            "moved": partition in changed[step],
            "seconds": round(seconds, 3),
        }
        for (step, partition), seconds in sorted(total.items())
    ]


def _states(run: _Run, index: int) -> tuple[dict[int, str], dict[int, str]]:
    """Return the owners just before a step, and just before the next one.

    A partition that has none at that moment, because a step has not settled yet, counts for its last owner.
    """
    before, after = run.bounds[index] - 1, run.bounds[index + 1] - 1
    return ownership.last_owners(run.holds, before), ownership.last_owners(run.holds, after)


def _step(run: _Run, index: int, pauses: Sequence[PauseResult]) -> StepResult:
    step, begin, end = run.steps[index], run.bounds[index], run.bounds[index + 1]
    before, after = _states(run, index)
    settled = ownership.settled_at(run.holds, begin, end, run.logs.partitions)
    acts = [Act(e.event, 0.0, e.note) for e in run.steps[: index + 1] if e.event in {"join", "leave", "kill"}]
    seconds = [pause["seconds"] for pause in pauses if pause["step"] == index]
    return {
        "kind": step.event,
        "member": step.note,
        "at": run.seconds(step.t),
        "settled": None if settled is None else round((settled - begin) / NS, 3),
        "rebalances": len(
            {j.generation for found in run.joins.values() for j in found if begin <= j.t < end}
        ),
        "moved": len(ownership.moved(before, after)),
        "least_moves": ownership.least_moves(before, present_after(acts, run.logs.consumers)),
        "paused_partitions": len(seconds),
        "pause_p50": round(quantile(seconds, 0.5), 3),
        "pause_max": round(max(seconds, default=0.0), 3),
    }


def _members(run: _Run) -> list[MemberResult]:
    found: list[MemberResult] = []
    left = {step.note: step.t for step in run.steps if step.event in {"leave", "kill"}}
    for member, log in run.logs.members.items():
        started = next((entry for entry in log if entry.event == "started"), None)
        how = "killed" if member in run.died else "left" if member in left else "end"
        found.append(
            {
                "name": member,
                "pid": int(started.note) if started else 0,
                "start": run.seconds(started.t) if started else 0.0,
                "end": run.seconds(left.get(member, run.end)),
                "how": how,
                "processed": sum(e.last - e.first + 1 for e in log if e.event == "done" and e.t <= run.end),
            }
        )
    return found


def _lag(run: _Run) -> LagResult:
    series = lag_series(range(run.zero, run.end + SAMPLE_NS, SAMPLE_NS), run.sent, run.done, run.holds)
    return {
        "t": [run.seconds(t) for t in series.t],
        "total": series.total,
        "unowned": series.unowned,
        "members": series.members,
    }
