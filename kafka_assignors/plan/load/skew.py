"""Decides when a rebalance pays, from times and loads.  Pure.

A rebalance is not free (every member rejoins), and lag fluctuates.  So the imbalance must have lasted, a plan
must reduce it clearly, and the rate of rebalances is limited.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from kafka_assignors.errors import OptionError
from kafka_assignors.validators import error_of_part, number, whole

_HOUR_S = 3600.0
_YEAR_S = 365 * 24 * 3600
_RANGES = {
    "threshold": (1, 1_000_000_000),
    "for_s": (0, _YEAR_S),
    "check_s": (0.01, _YEAR_S),
    "cool_down_s": (0, _YEAR_S),
    "jitter": (0, 1),
}


@dataclass(frozen=True, slots=True)
class RebalanceOnSkew:
    """Options for rebalances that the leader requests because lag is unevenly shared.

    Attributes:
        threshold: the largest load must be at least this many times its lower bound.
        at_least: the largest load must also be at least this many records above its lower bound.
        for_s: seconds that the lag must stay uneven.
        check_s: seconds between two checks.
        cool_down_s: seconds from any rebalance, or a check that found no better plan, to the next request.
        jitter: the largest part by which these times are stretched, so that groups do not rebalance
            together.
        per_hour: the most such rebalances that one leader requests in an hour; a new leader counts from 0.

    Raises:
        OptionError: a value is out of its range.
    """

    threshold: float = 1.5
    at_least: int = 1_000
    for_s: float = 30.0
    check_s: float = 10.0
    cool_down_s: float = 120.0
    jitter: float = 0.2
    per_hour: int = 6

    def __post_init__(self) -> None:
        try:
            whole("at_least", self.at_least, 0, 2**63)
            whole("per_hour", self.per_hour, 1, 1_000_000_000)
            for name, (least, most) in _RANGES.items():
                number(name, getattr(self, name), least, most)
        except OptionError as error:
            raise error_of_part("rebalance_on_skew", error) from error


class SkewWatch:
    """Watches the imbalance of one group while its consumer is the leader.

    Args:
        policy: the options.
        name: a name that differs between consumers.  The jitter is derived from it, not random, so that a run
            can be replayed.
        min_improvement: the fraction by which a plan must reduce the largest load.  A plan that does not
            reduce it never pays.
    """

    def __init__(self, policy: RebalanceOnSkew, name: str, min_improvement: float = 0.1) -> None:
        self._policy = policy
        self._worth_ratio = 1 - Fraction(min_improvement).limit_denominator(10**6)  # exact, as in the planner
        self._stretch = 1 + policy.jitter * zlib.crc32(name.encode()) / 2**32
        self._uneven_since: float | None = None
        self._not_before = 0.0
        self._requested_at: deque[float] = deque()

    @property
    def check_s(self) -> float:
        """Seconds to the next check."""
        return self._policy.check_s * self._stretch

    def begin_cool_down(self, now: float) -> None:
        """Start a new cool-down, after a rebalance or a check that found no better plan."""
        self._uneven_since = None
        self._not_before = now + self._policy.cool_down_s * self._stretch

    def is_uneven(self, largest: int, least: int) -> bool:
        """Whether the largest load is too far above ``least``, its lower bound; a load of 0 never is.

        A load that is uneven for one lower bound is uneven for every smaller lower bound, too.
        """
        policy = self._policy
        return largest > 0 and largest >= policy.threshold * least and largest - least >= policy.at_least

    def load_after_rebalance(
        self, now: float, largest: int, least: int, planned_load: Callable[[], int]
    ) -> int | None:
        """Record a check; return the largest load after a rebalance if one pays now.

        Args:
            now: seconds, on a monotonic clock.
            largest: the largest load of a member, records.
            least: its lower bound, records.
            planned_load: returns the largest load after a rebalance; called only when a rebalance is allowed.

        Returns:
            The largest load after the rebalance, records; None if a rebalance does not pay or is not allowed
            yet.
        """
        if not self.record_check(now, largest, least):
            return None
        after = planned_load()
        if after >= largest or after > self._worth_ratio * largest:
            self.begin_cool_down(now)  # a better plan is unlikely before the cool-down has passed
            return None
        return after

    def record_check(self, now: float, largest: int, least: int) -> bool:
        """Record a check; return whether lag was uneven for long enough and a request is allowed."""
        policy = self._policy
        if not self.is_uneven(largest, least):
            self._uneven_since = None
            return False
        if self._uneven_since is None:
            self._uneven_since = now
        while self._requested_at and now - self._requested_at[0] >= _HOUR_S:
            self._requested_at.popleft()
        return (
            now - self._uneven_since >= policy.for_s * self._stretch
            and now >= self._not_before
            and len(self._requested_at) < policy.per_hour
        )

    def record_request(self, now: float) -> None:
        """Record that a rebalance was requested."""
        self._requested_at.append(now)
        self.begin_cool_down(now)
