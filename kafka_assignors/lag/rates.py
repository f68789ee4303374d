"""The rates of a group that is watched, its time to catch up, and how long commits are unchanged.  Pure.

All are computed from looks.  A look is one fetch of the group's offsets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka_assignors.lag.reading import Offsets
from kafka_assignors.plan import TopicPartition

WINDOW_S = 60.0
"""Rates are means over this time, because a consumer commits only every few seconds."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The rates of a partition, or the sum of several."""

    records_in: float  # records written a second
    records_out: float | None  # records committed a second; None: no commit, or the commit went back
    # Seconds since a look first saw the present commit, as brokers do not return its time.  None: no commit.
    commit_unchanged_s: float | None

    def catch_up_s(self, lag: int) -> float | None:
        """Return the seconds until the lag is 0 at these rates; None: never, or unknown."""
        if not lag:
            return 0.0
        gain = 0.0 if self.records_out is None else self.records_out - self.records_in
        # Sums of equal rates may differ by a rounding error.
        return lag / gain if gain > 1e-9 * self.records_in else None


class Rates:
    """Computes rates from repeated looks at the same partitions.

    Args:
        window_s: seconds over which rates are means.  The first rates are means over less time.  Later ones
            may be means over more, by up to the time between two looks.
    """

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self._window_s = window_s
        self._looks: deque[tuple[float, Mapping[TopicPartition, Offsets]]] = deque()
        self._commit_seen: dict[TopicPartition, tuple[int | None, float]] = {}  # commit, and first seen at

    def add(self, now_s: float, offsets: Mapping[TopicPartition, Offsets]) -> dict[TopicPartition, Rate]:
        """Add a look; return the rates since the first look of the window, none if this is the first.

        Partitions that the first look does not have, or whose end went back, are left out.
        """
        for tp, current in offsets.items():
            seen = self._commit_seen.get(tp)
            if seen is None or seen[0] != current.committed:
                self._commit_seen[tp] = current.committed, now_s
        self._looks.append((now_s, offsets))
        while len(self._looks) > 2 and self._looks[1][0] <= now_s - self._window_s:
            self._looks.popleft()
        then_s, before = self._looks[0]
        self._commit_seen = {tp: s for tp, s in self._commit_seen.items() if tp in offsets or tp in before}
        if now_s <= then_s:
            return {}
        return {
            tp: self._rate(tp, before[tp], current, then_s, now_s)
            for tp, current in offsets.items()
            if tp in before and before[tp].end <= current.end  # else the topic was created again
        }

    def _rate(
        self, tp: TopicPartition, before: Offsets, current: Offsets, then_s: float, now_s: float
    ) -> Rate:
        out = None
        if before.committed is not None and current.committed is not None:
            out = current.committed - before.committed
        return Rate(
            (current.end - before.end) / (now_s - then_s),
            None if out is None or out < 0 else out / (now_s - then_s),
            None if current.committed is None else now_s - self._commit_seen[tp][1],
        )


def total(rates: Iterable[Rate]) -> Rate | None:
    """Return the sum of rates, with the time since the latest commit; None without rates.

    A partition whose ``records_out`` is None counts as no progress.
    """
    known = list(rates)
    if not known:
        return None
    return Rate(
        sum(rate.records_in for rate in known),
        sum(rate.records_out or 0.0 for rate in known),
        min((rate.commit_unchanged_s for rate in known if rate.commit_unchanged_s is not None), default=None),
    )
