"""Pure: how many records were waiting at each moment: in total, per member, and with nobody to serve them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from demo.figures.ownership import Hold, owners_at
from demo.figures.processing import Stretch
from demo.group.logs import Entry


class LagSeries(NamedTuple):
    """Lag in records at each of the times ``t`` (ns)."""

    t: list[int]
    total: list[int]
    unowned: list[int]
    members: dict[str, list[int]]


def level(points: Iterable[tuple[int, int]]) -> Callable[[int], int]:
    """Return the running maximum of (time, value) as a function of time; 0 before the first.

    It must be asked in ascending order of time.
    """
    ordered = sorted(points)
    values = list(accumulate((value for _, value in ordered), max))
    place = 0

    def at(t: int) -> int:
        nonlocal place
        while place < len(ordered) and ordered[place][0] <= t:
            place += 1
        return values[place - 1] if place else 0

    return at


def lag_series(
    times: Sequence[int],
    sent: Mapping[int, Sequence[Entry]],
    done: Mapping[int, Sequence[Stretch]],
    spans: Sequence[Hold],
) -> LagSeries:
    """Sample the lag: records sent up to a time minus the position reached in the partition.

    Args:
        times: when, in ns, ascending.
        sent: ``sent`` entries per partition.
        done: stretches per partition.
        spans: who owned what; a partition's lag counts for its owner of the moment.
    """
    names = sorted({span.member for span in spans})
    series = LagSeries(list(times), [], [], {name: [] for name in names})
    offered = {partition: level((e.t, e.last + 1) for e in entries) for partition, entries in sent.items()}
    reached = {p: level((s.ended, s.last + 1) for s in done.get(p, ())) for p in sent}
    for t in times:
        owners = owners_at(spans, t)
        of = dict.fromkeys(names, 0)
        nobody = 0
        for partition in sent:
            # A consumer may be faster than the acknowledgement on its way to the producer.
            waiting = max(offered[partition](t) - reached[partition](t), 0)
            if partition in owners:
                of[owners[partition]] += waiting
            else:
                nobody += waiting
        for name in names:
            series.members[name].append(of[name])
        series.unowned.append(nobody)
        series.total.append(sum(of.values()) + nobody)
    return series
