"""The record of the load feed, version 1: a forecast for one partition of one group.

The feed is a compacted topic.  A record's key is a UTF-8 JSON array ``["group","topic",partition]``.  Its
value is a JSON object, or null (a tombstone), which deletes the forecast; see docs/reference/feed.md.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

from kafka_assignors.errors import CodecError
from kafka_assignors.plan.model import TopicPartition
from kafka_assignors.strict_json import read_json
from kafka_assignors.validators import is_number, is_whole

VERSION = 1
MAX_BYTES = 16 * 1024
"""Maximum bytes of a key, and of a value.  A value with only the known fields takes about 200."""

_LONGEST_TOPIC = 249
_MOST_PARTITION = 2**31 - 1
_MOST_TIME = 253_402_300_799_999  # the last millisecond of the year 9999
_MOST_RECORDS = 2**53  # every JSON reader is exact up to this number


class ForecastKey(NamedTuple):
    """The group and the partition of a forecast."""

    group_id: str
    partition: TopicPartition


@dataclass(frozen=True, slots=True)
class Forecast:
    """A forecast for one partition."""

    time_ms: int  # the event time it was made for, milliseconds since 1970
    horizon_ms: int  # milliseconds after ``time_ms`` that it covers
    arrivals: float  # records expected within the horizon
    error: float | None  # standard error of ``arrivals``, records; None if unknown
    arrival_rate: float  # records/s that arrived at ``time_ms``
    service_rate: float | None  # records/s that the group processed; None if unknown
    lag: float | None  # records left to read at ``time_ms``; None if unknown


FIELDS = tuple(field.name for field in fields(Forecast))
"""The fields of a value after its version, in order."""


def encode_key(group_id: str, partition: TopicPartition) -> bytes:
    """Encode a key, without spaces, because compaction compares bytes."""
    return _json([group_id, partition.topic, partition.partition])


def decode_key(data: bytes) -> ForecastKey:
    """Decode a key, with or without spaces.

    Raises:
        CodecError: not a key of the feed, or the name of the group or the topic is invalid.
    """
    match _read(data, "key"):
        case [str(group_id), str(topic), partition] if is_whole(partition, 0, _MOST_PARTITION):
            if not (_is_name(group_id) and _is_name(topic) and len(topic) <= _LONGEST_TOPIC):
                raise CodecError("key: invalid name of a group or a topic")
            return ForecastKey(group_id, TopicPartition(topic, partition))
    raise CodecError("key: expected [group, topic, partition]")


def encode(forecast: Forecast) -> bytes:
    """Encode a value, without spaces, with the fields in the documented order."""
    return _json({"version": VERSION, **asdict(forecast)})


def decode(data: bytes) -> Forecast:
    """Decode a value; ignore unknown fields.

    Raises:
        CodecError: too large, not JSON, not an object, another version, or a missing or invalid field; the
            message says which.
    """
    document = _read(data, "value")
    if not isinstance(document, dict):
        raise CodecError("value: expected an object")
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise CodecError(f"value: version {_shown(version)}, expected {VERSION}")
    return Forecast(
        time_ms=_milliseconds(document, "time_ms", 0),
        horizon_ms=_milliseconds(document, "horizon_ms", 1),
        arrivals=_amount(document, "arrivals"),
        error=_nullable_amount(document, "error"),
        arrival_rate=_amount(document, "arrival_rate"),
        service_rate=_nullable_amount(document, "service_rate"),
        lag=_nullable_amount(document, "lag"),
    )


def _milliseconds(document: dict[str, Any], name: str, least: int) -> int:
    value: Any = document.get(name)
    if not is_whole(value, least, _MOST_TIME):
        expected = f"whole milliseconds from {least} to {_MOST_TIME}"
        raise CodecError(f"value: {name} is {_shown(value)}, expected {expected}")
    return int(value)


def _amount(document: dict[str, Any], name: str) -> float:
    value: Any = document.get(name)
    if not is_number(value, 0, _MOST_RECORDS):
        raise CodecError(f"value: {name} is {_shown(value)}, expected a number from 0 to 2^53")
    return float(value)


def _nullable_amount(document: dict[str, Any], name: str) -> float | None:
    return None if document.get(name) is None else _amount(document, name)


def _read(data: bytes, part: str) -> Any:
    if len(data) > MAX_BYTES:
        raise CodecError(f"{part}: {len(data)} bytes, more than {MAX_BYTES}")
    try:
        return read_json(data.decode())  # UTF-8 only, without a byte order mark
    except ValueError as error:
        raise CodecError(f"{part}: {error}") from None


def _is_name(text: str) -> bool:
    """Whether a name is valid: not empty, and without half of a surrogate pair, which JSON could write."""
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def _shown(value: object) -> str:
    """Shorten an untrusted value for an error message."""
    return repr(value)[:40]


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
