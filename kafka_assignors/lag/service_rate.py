"""Measures how fast a member reads, from its commits while it has a backlog, and smooths the rate.  Pure."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kafka_assignors.plan import TopicPartition

_WINDOW_S = 300.0
"""All earlier measurements together weigh as much as this many seconds with a backlog, at most."""

LEAST_S = 10.0
"""Seconds with a backlog before a rate is reported, because commits come in bursts."""

_LONGEST_WITHOUT_COMMIT_S = 300.0
"""Seconds.  A longer time without a new commit is not measured: the member was paused, or it never commits.

The limit applies only if a look in between showed no new commit.  A long time between two successive looks
alone does not mean that the member was paused.
"""

_BACKLOG = 2
"""A partition that was read from has a backlog if its lag is at least this many times the records read until
the next look with a new commit."""

_CHANGE = 1.25
"""A reported rate stays until the measured one differs by more than this factor, so that plans stay."""


@dataclass(frozen=True, slots=True)
class _Look:
    """The lag (records) and the commits (offsets) of the owned partitions at one time (seconds)."""

    lags: Mapping[TopicPartition, int]
    commits: Mapping[TopicPartition, int]
    at_s: float


class ServiceRate:
    """Measures the records a second that a member commits while it has a backlog.  Any thread may call it.

    A member without a backlog reads all records that arrive, which does not show how fast it could read.  A
    member has a backlog between two looks if, for at least one partition it read from, the lag at the first
    look is at least twice the records read until the second.  Such a partition never ran out of records.  Lag
    alone is no backlog, because it includes records that are read and not committed yet.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owned: frozenset[TopicPartition] = frozenset()
        self._first: _Look | None = None  # measure from this look; None: from the next one
        self._has_waited = False  # whether a look since `_first` showed no new commit
        self._rate = 0.0
        self._measured_s = 0.0
        self._reported = 0.0

    def begin(self, owned: Collection[TopicPartition]) -> None:
        """Measure these partitions from the next look on.  Pass () while the group rebalances."""
        with self._lock:
            self._owned, self._first = frozenset(owned), None

    def measure(
        self, lags: Mapping[TopicPartition, int], commits: Mapping[TopicPartition, int], at_s: float
    ) -> None:
        """Record a look.  It is ignored unless ``lags`` has every owned partition.

        Args:
            lags: records left to read.
            commits: committed offsets.  A partition without a commit is absent.
            at_s: seconds, on a clock that never goes back.
        """
        with self._lock:
            if not self._owned or not self._owned <= lags.keys():
                return
            look = _Look(
                {p: lags[p] for p in self._owned}, {p: commits[p] for p in self._owned & commits.keys()}, at_s
            )
            if self._first is None or self._count(self._first, look):
                self._first, self._has_waited = look, False
            else:
                self._has_waited = True

    def _count(self, first: _Look, last: _Look) -> bool:
        """Update the rate if there was a backlog.  Return whether ``last`` replaces the first look."""
        seconds = last.at_s - first.at_s
        is_too_long = self._has_waited and seconds > _LONGEST_WITHOUT_COMMIT_S
        if is_too_long or first.commits.keys() != last.commits.keys():
            return True
        read = {p: offset - first.commits[p] for p, offset in last.commits.items()}
        if any(records < 0 for records in read.values()):  # the member went back to an older record
            return True
        if seconds <= 0 or not (total := sum(read.values())):
            return False  # wait for the next commit
        if any(0 < _BACKLOG * records <= first.lags[p] for p, records in read.items()):
            weight = min(self._measured_s, _WINDOW_S)
            self._rate = (self._rate * weight + total) / (weight + seconds)
            self._measured_s += seconds
        return True

    def report(self) -> float:
        """Return the records/s to report; 0: not measured yet.  A change within ``_CHANGE`` is ignored."""
        with self._lock:
            is_near = self._reported / _CHANGE <= self._rate <= self._reported * _CHANGE
            if self._measured_s >= LEAST_S and not is_near:
                self._reported = self._rate
            return self._reported
