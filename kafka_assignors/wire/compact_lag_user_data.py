"""User data of the strategies that plan by lag, for groups whose record would be too large (version 1).

- int16 version, int32 generation of the claims, uint8 whether the member still owns them;
- the claims (`compact_ownership`);
- int32 age of the lags (milliseconds);
- int32 capacity in parts of 1,024; for a measured capacity, -1 times the code of the service rate (module
  `rates`);
- uint8 whether a set of partitions follows, and the set (`compact_ownership`);
- int32 number of bytes, and the lags, compressed (zlib): one byte for each partition of the set, in order, or
  of the claims if there is no set.  If no lag is known, there are no bytes to compress;
- int32 number of bytes, and the arrival `rates` of the same partitions.

A lag's byte: 0 is unknown, 1 is no lag, n from 2 to 255 is a lag of 2^((n - 2) / 4) records, rounded.  So a
lag is within 9 % and half a record.  A member with this user data lists no owned partitions in its
subscription, because each would take four bytes.
"""

from __future__ import annotations

import math
import struct
import zlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kafka_assignors.errors import CodecError
from kafka_assignors.plan.capacity import UNIT, in_units
from kafka_assignors.plan.model import Ownership, TopicPartition
from kafka_assignors.wire import compact_ownership, rates
from kafka_assignors.wire.primitives import Reader, by_topic, inflated, int32, sized

VERSION = 1

_HEAD = struct.Struct(">hiB")
_LONGEST_AGE = 2**31 - 1  # ms, int32
_MOST_LAG = 2**63 - 1
_STEPS = 4  # for each doubling


class LagUserData(NamedTuple):
    """The user data of a member whose strategy plans by lag.

    Attributes:
        claimed: the partitions it owned in ``generation``.
        generation: of ``claimed``.
        lags: records left to read.
        lag_age_ms: age of ``lags`` when the member joined.
        capacity: see ``Member``; unchecked, NaN if it cannot be read.
        still_owns: whether the member still owns the claimed partitions.
        reads_budget: whether it can read an assignment with a budget.
        has_budget: whether it still has a budget from a leader.
        rates: arrivals, records a second, of partitions in ``lags``.
        service_rate: records a second that it reads; 0: not measured yet, None: it does not measure.
    """

    claimed: Ownership
    generation: int
    lags: Mapping[TopicPartition, int]
    lag_age_ms: int
    capacity: float = 1.0
    still_owns: bool = False
    reads_budget: bool = False
    has_budget: bool = False
    rates: Mapping[TopicPartition, float] = MappingProxyType({})
    service_rate: float | None = None


def encode(report: LagUserData, budget: int) -> bytes:
    """Encode in at most ``budget`` bytes, or more if the complete claims and the fixed fields take more.

    The largest lags are sent, about as many as fit, with the arrival rates of their partitions.  The capacity
    must be within its bounds.  A ``service_rate`` is sent instead of the capacity.  ``reads_budget`` and
    ``has_budget`` are not sent: this form implies both.
    """
    lags, service_rate = report.lags, report.service_rate
    units = (in_units(report.capacity) or UNIT) if service_rate is None else -rates.code(service_rate)
    head = b"".join(
        [
            _HEAD.pack(VERSION, report.generation, report.still_owns),
            compact_ownership.pack(report.claimed),
            int32(min(max(report.lag_age_ms, 0), _LONGEST_AGE)),
            int32(units),
        ]
    )
    heaviest = rates.heaviest_first(lags, report.rates)
    claimed = compact_ownership.in_order(report.claimed)
    are_claimed = lags.keys() <= set(claimed)

    def section(count: int) -> bytes:
        sent = set(heaviest[:count])
        partitions = claimed if are_claimed else sorted(sent)
        partition_set = b"\0" if are_claimed else b"\1" + compact_ownership.pack(by_topic(sent))
        packed = rates.pack(partitions, {p: report.rates[p] for p in sent if p in report.rates})
        lags_sent = _pack_lags([lags[p] if p in sent else None for p in partitions])
        return partition_set + lags_sent + sized(packed)

    room = budget - len(head)
    if len(all_lags := section(len(heaviest))) <= room:
        return head + all_lags
    # Compressed sizes grow unevenly, so this may send fewer lags than would fit, but never too many.
    count = bisect_right(range(1, len(heaviest)), room, key=lambda count: len(section(count)))
    return head + section(count)


def read(reader: Reader) -> LagUserData:
    """Read the user data, with its version.  Lags are rounded."""
    reader.version(VERSION)
    generation, still_owns = reader.int32(), reader.uint8()
    claimed = compact_ownership.read(reader)
    age_ms, units, has_set = reader.int32(), reader.int32(), reader.uint8()
    if age_ms < 0 or still_owns > 1 or has_set > 1:
        raise CodecError("a negative age, or an unknown flag")
    partitions = compact_ownership.in_order(compact_ownership.read(reader) if has_set else claimed)
    codes = inflated(reader.sized(), "lags")
    if len(codes) not in {0, len(partitions)}:
        raise CodecError(f"{len(codes)} lags of {len(partitions)} partitions")
    lags = {p: _LAG_OF[code] for p, code in zip(partitions, codes, strict=False) if code}
    rates_of = rates.unpack(partitions, reader.sized())
    service_rate = rates.of_code(-units) if units < 0 else None
    return LagUserData(
        claimed=claimed,
        generation=generation,
        still_owns=bool(still_owns),
        lags=lags,
        lag_age_ms=age_ms,
        capacity=units / UNIT if service_rate is None else 1.0,
        rates=rates_of,
        service_rate=service_rate,
        reads_budget=True,
        has_budget=True,
    )


def _pack_lags(lags: Sequence[int | None]) -> bytes:
    codes = bytes(0 if lag is None else _code(lag) for lag in lags)
    return sized(zlib.compress(codes, 9) if any(codes) else zlib.compress(b""))


def _code(lag: int) -> int:
    return 1 if lag <= 0 else 2 + round(_STEPS * math.log2(min(lag, _MOST_LAG)))


def _lag(code: int) -> int:
    return 0 if code < 2 else min(round(2 ** ((code - 2) / _STEPS)), _MOST_LAG)


_LAG_OF = tuple(_lag(code) for code in range(256))
