"""When a rebalance pays: the decision, as a function of times and loads.  Pure.

Asking for a rebalance is not free (every member rejoins), and lag jumps about.  So the imbalance must have
lasted, a plan must make it clearly smaller, and there are limits to how often it is asked for.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafka_assignors.errors import OptionError

__all__ = ["RebalanceOnSkew", "SkewWatch"]

_HOUR_S = 3600.0
_YEAR_S = 365 * 24 * _HOUR_S
_RANGES = {
    "threshold": (1, 1e9),
    "at_least": (0, 2**63),
    "for_s": (0, _YEAR_S),
    "check_s": (0.01, _YEAR_S),
    "cool_down_s": (0, _YEAR_S),
    "jitter": (0, 1),
    "per_hour": (1, 1e9),
}


@dataclass(frozen=True, slots=True)
class RebalanceOnSkew:
    """When the leader asks for a rebalance because the lag is unevenly shared.

    Attributes:
        threshold: how many times the least that the largest load could be it has to be.
        at_least: records the largest load has to be above that; less is not worth a rebalance.
        for_s: seconds it has to stay so.
        check_s: seconds between two looks.
        cool_down_s: seconds between two such rebalances, and after any other.
        jitter: added to each of these times, at most this part of it, so that groups do not go together.
        per_hour: rebalances in an hour, at most.
    """

    threshold: float = 1.5
    at_least: int = 1_000
    for_s: float = 30.0
    check_s: float = 10.0
    cool_down_s: float = 120.0
    jitter: float = 0.2
    per_hour: int = 6

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value: Any = getattr(self, name)
            whole = name in {"at_least", "per_hour"}
            if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
                what = "whole number" if whole else "number"
                raise OptionError(
                    "rebalance_on_skew", f"{name} must be a {what}, got a {type(value).__name__}"
                )
            if not least <= value <= most:
                raise OptionError(
                    "rebalance_on_skew", f"{name} must be from {least:g} to {most:g}, got {value!r}"
                )


class SkewWatch:
    """Follows the imbalance of one group for as long as its consumer leads it.

    Args:
        policy: when to ask.
        who: a name that differs between consumers: it alone decides the jitter.
        min_improvement: the part by which a plan has to make the largest load smaller; a plan that does not
            make it smaller never pays.
    """

    def __init__(self, policy: RebalanceOnSkew, who: str, min_improvement: float = 0.1) -> None:
        self._policy = policy
        self._pays = 1 - min_improvement
        # Not random: a watcher can be replayed.
        self._stretch = 1 + policy.jitter * zlib.crc32(who.encode()) / 2**32
        self._since: float | None = None
        self._not_before = 0.0
        self._asked: deque[float] = deque()

    @property
    def check_s(self) -> float:
        """Seconds to the next look."""
        return self._policy.check_s * self._stretch

    def settled(self, now: float) -> None:
        """A rebalance has ended: whatever was seen before is over."""
        self._since = None
        self._not_before = now + self._policy.cool_down_s * self._stretch

    def counts(self, largest: int, least: int) -> bool:
        """Whether such loads are uneven; without any load they never are.

        False for a bound below ``least`` means False for ``least``, too.
        """
        policy = self._policy
        return largest > 0 and largest >= policy.threshold * least and largest - least >= policy.at_least

    def worth(self, now: float, largest: int, least: int, planned: Callable[[], int]) -> int | None:
        """Take note of a look; what the largest load will be if a rebalance is asked for now.

        Args:
            now: seconds, on a clock that only goes forward.
            largest: the largest load of a member, records.
            least: the least it could be.
            planned: what it would be after a rebalance; called only when one may be asked for.

        Returns:
            None: it is not worth it, or not the time.
        """
        if not self.lasting(now, largest, least):
            return None
        after = planned()
        if after >= largest or after > self._pays * largest:
            self.settled(now)  # nor is there going to be a better plan in a moment
            return None
        return after

    def lasting(self, now: float, largest: int, least: int) -> bool:
        """Take note of a look; whether it is time to see what a plan would bring.

        Args:
            now: seconds, on a clock that only goes forward.
            largest: the largest load of a member, records.
            least: the least it could be.
        """
        policy = self._policy
        if not self.counts(largest, least):
            self._since = None
            return False
        if self._since is None:
            self._since = now
        while self._asked and now - self._asked[0] >= _HOUR_S:
            self._asked.popleft()
        return (
            now - self._since >= policy.for_s * self._stretch
            and now >= self._not_before
            and len(self._asked) < policy.per_hour
        )

    def asked(self, now: float) -> None:
        """A rebalance was asked for."""
        self._asked.append(now)
        self.settled(now)
