"""Pure: the logs of one run over the backlog in, its results out."""

from __future__ import annotations

from collections import Counter

from demo.figures import ownership, processing
from demo.figures.lag import lag_series
from demo.figures.measure import NS, SAMPLE_NS, RunLogs
from demo.results import DrainResult, ShareResult
from kafka_assignors.simulation.churn import first_members


def least_largest(records: int, heaviest: int, members: int) -> int:
    """Return the least that the largest load of a member can be, in records.

    Somebody has the mean or more, and somebody has the heaviest partition.
    """
    return max(-(-records // members), heaviest)


def measure_drain(strategy: str, logs: RunLogs, work_ms: float) -> DrainResult:
    """Measure one run.

    - *largest_load*: records of the member that had most when the members were told to go.
    - *least_largest*: the least that can be, see `least_largest`.
    - *drain*: from the word "go", which all members get at once, having joined and warmed up, until the last
      record was processed for the first time.
    - *bound*: the time that a member needs for *least_largest*, if a record costs it nothing but its work.
      What polling, logging and committing cost is not in it.
    - *ratio*: *drain* over *bound*; None if records cost nothing.
    - *first_idle*: when the first member had processed its last record; 0 if one never had any.
    - *moved*: hand-overs after the word "go"; *rebalances*: distinct generations joined after it.
    - *lag*: per owner, and *largest* that of the member that has most, at the same times.
    - *fault*: empty, or why the backlog was not drained; *lost* then counts what was not processed yet.

    Args:
        strategy: its name.
        logs: all that the run wrote.
        work_ms: what a record costs.

    Raises:
        KafkaAssignorsError: the run was not finished.
    """
    go, end = logs.driver_entry("go").t, logs.driver_entry("end").t
    holds = ownership.holds(logs.members, {}, end)
    done = processing.stretches(logs.members, end)
    sent = processing.sent_by_partition(logs.driver)
    books = processing.account(sent, done)
    weights = {partition: entries[-1].last + 1 for partition, entries in sent.items()}
    shares = _shares(logs, go, end, weights, holds)
    series = lag_series(range(go, end + SAMPLE_NS, SAMPLE_NS), sent, done, holds)
    drain = ((processing.last_first_time(logs.members, end) or go) - go) / NS
    least = least_largest(sum(weights.values()), max(weights.values(), default=0), logs.consumers)
    bound = least * work_ms / 1e3
    joined = {j.generation for log in logs.members.values() for j in processing.joins(log) if go <= j.t < end}
    return DrainResult(
        strategy=strategy,
        produced=books.produced,
        processed=books.processed,
        lost=books.lost,
        duplicates=books.duplicates,
        largest_load=max(share["load"] for share in shares.values()),
        least_largest=least,
        drain=round(drain, 3),
        bound=round(bound, 3),
        ratio=round(drain / bound, 3) if bound else None,
        first_idle=min(share["finished"] or 0.0 for share in shares.values()),
        moved=len(ownership.handovers(holds, go)),
        rebalances=len(joined),
        fault=logs.driver_entry("end").note,
        double_owned=ownership.double_owned(holds),
        owned_at_end=len(ownership.owners_at(holds, end - 1)),
        shares=shares,
        lag={
            "t": [round((t - go) / NS, 3) for t in series.t],
            "total": series.total,
            "unowned": series.unowned,
            "members": series.members,
        },
        largest=[max(lags, default=0) for lags in zip(*series.members.values(), strict=True)],
    )


def _shares(
    logs: RunLogs, go: int, end: int, weights: dict[int, int], holds: list[ownership.Hold]
) -> dict[str, ShareResult]:
    """Return what each member had at the word "go", did, and when it was through."""
    owners = ownership.owners_at(holds, go)
    partitions = Counter(owners.values())
    loads: Counter[str] = Counter()
    for partition, member in owners.items():
        loads[member] += weights.get(partition, 0)
    shares: dict[str, ShareResult] = {}
    for member in first_members(logs.consumers):
        worked = [e for e in logs.members.get(member, ()) if e.event == "done" and e.t <= end]
        shares[member] = {
            "partitions": partitions[member],
            "load": loads[member],
            "processed": sum(entry.last - entry.first + 1 for entry in worked),
            "finished": round((max(entry.t for entry in worked) - go) / NS, 3) if worked else None,
        }
    return shares
