"""Pure: the logs of one run over the backlog to its results."""

from __future__ import annotations

from demo.figures import ownership, processing
from demo.figures.lag import SAMPLE_NS, lag_result
from demo.group.logs import NS, RunLogs
from demo.results import DrainResult
from kafka_assignors.simulation.churn import first_members


def least_largest(records: int, heaviest: int, members: int) -> int:
    """Return the least possible largest load of a member, in records: the mean, or the heaviest partition."""
    return max(-(-records // members), heaviest)


def measure_drain(strategy: str, logs: RunLogs, work_ms: float) -> DrainResult:
    """Measure one run.

    - *largest_load*: the largest load of a member, in records, at the driver's "go".
    - *least_largest*: see `least_largest`.
    - *drain*: from "go", when all members have joined and warmed up, until the last record was processed for
      the first time.
    - *bound*: the time that a member needs for *least_largest* if a record costs only its work: without
      polls, logs and commits.
    - *ratio*: *drain* over *bound*; None if records cost no work.
    - *first_idle*: when the first member had processed its last record; 0 if a member never had any.
    - *moved*: hand-overs after "go"; *rebalances*: distinct generations joined after it.
    - *lag*: per owner; *largest*: the largest lag of a member, at the same times.
    - *fault*: empty, or why the backlog was not drained; *lost* then counts the records not processed yet.
    """
    go, end = logs.driver_entry("go").t, logs.driver_entry("end").t
    holds = ownership.find_holds(logs.members, {}, end)
    done = processing.stretches(logs.members, end)
    sent = processing.sent_by_partition(logs.driver)
    books = processing.account(sent, done)
    weights = [entries[-1].last + 1 for entries in sent.values()]
    lag = lag_result(range(go, end + SAMPLE_NS, SAMPLE_NS), sent, done, holds)
    largest = [max(lags, default=0) for lags in zip(*lag["members"].values(), strict=True)]
    drain = ((processing.last_first_time(logs.members, end) or go) - go) / NS
    least = least_largest(sum(weights), max(weights, default=0), logs.consumers)
    bound = least * work_ms / 1e3
    finished = [_last_done(logs, member, end) or go for member in first_members(logs.consumers)]
    joined = {j.generation for log in logs.members.values() for j in processing.joins(log) if go <= j.t < end}
    return DrainResult(
        strategy=strategy,
        produced=books.produced,
        processed=books.processed,
        lost=books.lost,
        duplicates=books.duplicates,
        largest_load=largest[0],
        least_largest=least,
        drain=round(drain, 3),
        bound=round(bound, 3),
        ratio=round(drain / bound, 3) if bound else None,
        first_idle=round((min(finished) - go) / NS, 3),
        moved=len(ownership.handovers(holds, go)),
        rebalances=len(joined),
        fault=logs.driver_entry("end").note,
        double_owned=ownership.double_owned(holds),
        owned_at_end=len(ownership.owners_at(holds, end - 1)),
        lag=lag,
        largest=largest,
    )


def _last_done(logs: RunLogs, member: str, end: int) -> int | None:
    """Return when (ns) a member had processed its last record; None: it never had any."""
    log = logs.members.get(member, ())
    return max((entry.t for entry in log if entry.event == "done" and entry.t <= end), default=None)
