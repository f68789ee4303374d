"""User data of the strategies that plan by lag: the partitions a member owned, and the lag it knows.

A history section, then a lag section.  The history is empty in two cases: the strategy ignores it, or the
member still owns its partitions and lists them in its subscription.

The lag section is an int16 version, an int32 age (milliseconds), and an array of topics.  A topic is its
name, int32 number of partitions, uint8 width of a partition number (bytes), uint8 width of a lag, the
partition numbers, and the lags (records).  Each topic uses the narrowest widths that hold its numbers,
because the broker keeps all members' user data in one record, limited to a megabyte in most clusters.

A topic name that starts with a colon is a property, not a topic: Kafka has no such topics.  A property has no
partitions, so an older leader that does not know it reads a topic without lag.  Old and new members may thus
share a group.  The properties are:

- ``:capacity=2048`` is a capacity of 2048/1024 = 2.  A member of capacity 1 does not send it.
- ``:service-rate=98`` is the member's measured service rate, as a byte of `rates`, instead of a capacity.
- ``:rates=...`` are the arrival `rates` of the partitions whose lag is sent, in Base85.
- ``:compact`` means that the member reads an assignment with a `budget` (a size limit).  The leader sends
  budgets only if all members read them.  A member with a budget may send the shorter form,
  `compact_lag_user_data`.
- ``:budget`` means that the member has a budget, although it sends this form.  So the leader of a
  group that has become small can end the budget, even one that another leader sent.
"""

from __future__ import annotations

import math
import struct
from base64 import b85decode, b85encode
from collections.abc import Sequence

from kafka_assignors.errors import CodecError
from kafka_assignors.plan.capacity import UNIT, in_units
from kafka_assignors.plan.model import TopicPartition
from kafka_assignors.wire import compact_lag_user_data, history, rates
from kafka_assignors.wire.compact_lag_user_data import LagUserData
from kafka_assignors.wire.primitives import WIDTHS, Reader, by_topic, int32, named, narrowest, string

MOST_REPORTED_LAGS = 1_000
"""In this form a member sends at most this many lags, the largest: 6 KB in most cases.

The leader fetches the others."""

_VERSION = 0
_HEAD = struct.Struct(">hi")
_TOPIC = struct.Struct(">iBB")
_LONGEST_AGE = 2**31 - 1  # ms, int32
_MOST_LAG = 2**63 - 1
_PROPERTY = ":"
_CAPACITY = ":capacity="
_COMPACT = ":compact"
_BUDGET = ":budget"
_RATES = ":rates="
_SERVICE_RATE = ":service-rate="
_COMPACT_HEAD = compact_lag_user_data.VERSION.to_bytes(2, "big")
_LONGEST_NUMBER = 16  # a number has fewer digits


def encode(report: LagUserData) -> bytes:
    """Encode both sections.

    The capacity must be within its bounds.  A ``service_rate`` is sent instead of the capacity.
    ``still_owns`` is not sent: the subscription of such a member lists its partitions.
    """
    if report.service_rate is None:
        units = in_units(report.capacity)
        properties = [] if units == UNIT else [f"{_CAPACITY}{units}"]
    else:
        properties = [f"{_SERVICE_RATE}{rates.code(report.service_rate)}"]
    properties += [_COMPACT] if report.reads_budget else []
    properties += [_BUDGET] if report.has_budget else []
    return history.encode(report.claimed, report.generation) + _pack_lags(report, properties)


@named("lag user data")
def decode(data: bytes) -> LagUserData:
    """Decode both sections."""
    reader = Reader(data)
    sent = compact_lag_user_data.read(reader) if data.startswith(_COMPACT_HEAD) else _read(reader)
    reader.end()
    return sent


def _read(reader: Reader) -> LagUserData:
    claimed, generation = history.read(reader)
    lags, age_ms, properties = _read_lags(reader)
    capacity, service_rate, packed_rates = 1.0, None, ""
    for name in properties:
        if name.startswith(_CAPACITY):
            units = _whole(name.removeprefix(_CAPACITY))
            capacity = math.nan if units is None else units / UNIT
        elif name.startswith(_SERVICE_RATE):
            service_rate = rates.of_code(_whole(name.removeprefix(_SERVICE_RATE)))
            capacity = math.nan if service_rate is None else 1.0
        elif name.startswith(_RATES):
            packed_rates = name.removeprefix(_RATES)
    return LagUserData(
        claimed=claimed,
        generation=generation,
        lags=lags,
        lag_age_ms=age_ms,
        capacity=capacity,
        reads_budget=_COMPACT in properties,
        has_budget=_BUDGET in properties,
        rates=rates.unpack(list(lags), _read_text(packed_rates)),
        service_rate=service_rate,
    )


def _pack_lags(report: LagUserData, properties: Sequence[str]) -> bytes:
    """Encode the lag section, version 0."""
    lags = report.lags
    sent = sorted(rates.heaviest_first(lags, report.rates)[:MOST_REPORTED_LAGS])
    topics = by_topic(sent)
    packed = rates.pack(sent, report.rates)
    properties = [*properties, *([_RATES + b85encode(packed).decode()] if packed else [])]
    parts = [
        _HEAD.pack(_VERSION, min(max(report.lag_age_ms, 0), _LONGEST_AGE)),
        int32(len(topics) + len(properties)),
    ]
    for topic, numbers in topics.items():
        values = [min(lags[TopicPartition(topic, p)], _MOST_LAG) for p in numbers]
        widths = narrowest(max(numbers)), narrowest(max(values))
        parts += [
            string(topic),
            _TOPIC.pack(len(numbers), *widths),
            struct.pack(f">{len(numbers)}{WIDTHS[widths[0]]}", *numbers),
            struct.pack(f">{len(numbers)}{WIDTHS[widths[1]]}", *values),
        ]
    parts += [string(name) + _TOPIC.pack(0, 1, 1) for name in properties]
    return b"".join(parts)


def _read_lags(reader: Reader) -> tuple[dict[TopicPartition, int], int, list[str]]:
    """Read the lags (records), their age (milliseconds), and the properties.

    The last lag counts for a partition that is listed twice.
    """
    reader.version(_VERSION)
    if (age_ms := reader.int32()) < 0:
        raise CodecError(f"the age of the lag is {age_ms} ms")
    lags: dict[TopicPartition, int] = {}
    properties: list[str] = []
    for _ in range(reader.count(8)):
        topic = reader.string()
        count = reader.count(0)
        codes = [WIDTHS.get(reader.uint8()) for _ in range(2)]
        if None in codes:
            raise CodecError("numbers of an unknown width")
        numbers, values = (reader.array(count, str(code)) for code in codes)
        if min(values, default=0) < 0:
            raise CodecError(f"a negative lag of topic {topic[:50]!r}")
        if topic.startswith(_PROPERTY):
            properties.append(topic)
        lags.update({TopicPartition(topic, p): lag for p, lag in zip(numbers, values, strict=True)})
    return lags, age_ms, properties


def _read_text(text: str) -> bytes:
    try:
        return b85decode(text)
    except ValueError as error:
        raise CodecError(f"rates: {error}") from None


def _whole(text: str) -> int | None:
    """Read a whole number; None if the text is not one, or too long."""
    is_whole = text.isascii() and text.isdecimal() and len(text) < _LONGEST_NUMBER
    return int(text) if is_whole else None
