"""The capacities of members, as whole numbers: how fast a member reads, compared with the others.

A load is a lag weighted by capacity: the records that the fastest member would read while this member reads
its lag.  So the member with the largest load takes longest to drain.  If all members are equal, a load is a
lag.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from kafka_assignors.errors import ProblemError
from kafka_assignors.plan.arrays import Vector
from kafka_assignors.validators import is_number

LEAST, MOST = 2.0**-10, 2.0**10
"""Bounds of a capacity.  1 is an ordinary member."""

UNIT = 1024
"""Capacities are rounded to multiples of 1/1024, so that plans are exact and deterministic."""


def in_units(capacity: float) -> int | None:
    """Return a capacity in units of 1 / ``UNIT``; None if it is no number within the bounds."""
    return round(capacity * UNIT) if is_number(capacity, LEAST, MOST) else None


def median_ratio(rates: Collection[float]) -> float:
    """Return the median of rates or capacities, all of them above 0.

    If two are in the middle, return their geometric mean, from which both differ by the same factor.
    """
    ordered = sorted(rates)
    return math.sqrt(ordered[(len(ordered) - 1) // 2] * ordered[len(ordered) // 2])


class Capacities:
    """Converts the records of members to loads and back.

    Args:
        capacities: by member.

    Attributes:
        parts: by member, its capacity in whole numbers without a common divisor.
        most: the largest of them.
        are_equal: whether all are the same.
        ratio: the largest capacity divided by the smallest, rounded up.

    Raises:
        ProblemError: a capacity is no number within the bounds.
    """

    def __init__(self, capacities: Sequence[float]) -> None:
        self.parts: Vector = np.array([_checked(capacity) for capacity in capacities], np.int64)
        self.parts //= max(int(np.gcd.reduce(self.parts)), 1)
        self.most = int(self.parts.max(initial=1))
        self.are_equal = bool((self.parts == self.most).all())
        self.ratio = -(-self.most // int(self.parts.min(initial=self.most)))

    def loads(self, records: Vector) -> Vector:
        """Return the load of each member from its records, rounded up."""
        return self.of(slice(None), records)

    def of(self, members: slice | int | Vector, records: Vector) -> Vector:
        """Return the loads of several members, or several loads of one member, from records; rounded up."""
        if self.are_equal:
            return records
        parts = self.parts[members]
        # Divide first, because the product could be too large for 64 bits.
        whole, rest = np.divmod(records, parts)
        return whole * self.most - -(rest * self.most) // parts

    def load(self, member: int, records: int) -> int:
        """Return the load of a member with these records, rounded up."""
        return records if self.are_equal else -(-records * self.most // int(self.parts[member]))

    def rooms(self, load: int) -> list[int]:
        """Return, by member, the most records that keep its load at or below ``load``."""
        return [load * part // self.most for part in self.parts.tolist()]


def _checked(capacity: float) -> int:
    if (units := in_units(capacity)) is None:
        raise ProblemError(f"a capacity is {capacity!r:.60}, must be from {LEAST} to {MOST:g}")
    return units
