"""Pure: the records waiting at each moment: in total, per member, and without an owner."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate

from demo.figures.ownership import Hold, owners_at
from demo.figures.processing import Stretch
from demo.group.logs import NS, Entry
from demo.results import LagResult

SAMPLE_NS = 250_000_000


def level(points: Iterable[tuple[int, int]]) -> Callable[[int], int]:
    """Return the running maximum of (time, value) as a function of time; 0 before the first."""
    ordered = sorted(points)
    times = [t for t, _ in ordered]
    values = [0, *accumulate((value for _, value in ordered), max)]
    return lambda t: values[bisect.bisect_right(times, t)]


def lag_result(
    times: Sequence[int],
    sent: Mapping[int, Sequence[Entry]],
    done: Mapping[int, Sequence[Stretch]],
    holds: Sequence[Hold],
) -> LagResult:
    """Sample the lag: records sent up to a time minus the position reached in the partition.

    ``times`` ascend, in ns; the result's count from the first.  A partition's lag counts for its owner at
    that time.
    """
    names = sorted({hold.member for hold in holds})
    lag = LagResult(
        t=[round((t - times[0]) / NS, 3) for t in times],
        total=[],
        unowned=[],
        members={name: [] for name in names},
    )
    offered = {partition: level((e.t, e.last + 1) for e in entries) for partition, entries in sent.items()}
    reached = {p: level((s.ended, s.last + 1) for s in done.get(p, ())) for p in sent}
    for t in times:
        owners = owners_at(holds, t)
        of_member, unowned = dict.fromkeys(names, 0), 0
        for partition in sent:
            # A consumer may process a record before the producer gets its acknowledgement.
            waiting = max(offered[partition](t) - reached[partition](t), 0)
            if partition in owners:
                of_member[owners[partition]] += waiting
            else:
                unowned += waiting
        for name in names:
            lag["members"][name].append(of_member[name])
        lag["unowned"].append(unowned)
        lag["total"].append(sum(of_member.values()) + unowned)
    return lag
