"""The record of the load feed, version 1: what a model expects to come to one partition of one group.

The feed is a compacted topic.  A record's key is a UTF-8 JSON array ``["group","topic",partition]``, its
value a JSON object, or nothing (a tombstone): the partition is to be forgotten.  docs/feed.md has it field by
field.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple, NoReturn

from kafka_assignors.errors import CodecError
from kafka_assignors.plan.model import TopicPartition

__all__ = [
    "FIELDS",
    "MAX_BYTES",
    "VERSION",
    "Forecast",
    "Key",
    "decode",
    "decode_key",
    "encode",
    "encode_key",
]

VERSION = 1
MAX_BYTES = 16 * 1024
"""Of a key and of a value, at most; a value without further fields has some 200."""

_LONGEST_TOPIC = 249
_MOST_PARTITION = 2**31 - 1
_MOST_TIME = 253_402_300_799_999  # the last millisecond of the year 9999
_MOST_RECORDS = 2**53  # up to there a JSON number is exact for everybody


class Key(NamedTuple):
    """Whose forecast it is."""

    group_id: str
    at: TopicPartition


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is expected of one partition.

    Attributes:
        time_ms: the event time it was made for, milliseconds since 1970.
        horizon_ms: how far it looks ahead of that.
        arrivals: records expected within the horizon.
        error: its standard error, records; None: not known.
        arrival_rate: records/s that came at that time.
        service_rate: records/s the group worked off; None: not known.
        lag: records that were left to read then; None: not known.
    """

    time_ms: int
    horizon_ms: int
    arrivals: float
    error: float | None
    arrival_rate: float
    service_rate: float | None
    lag: float | None


FIELDS = tuple(field.name for field in fields(Forecast))
"""Of a value, behind its version, in this order."""


def encode_key(group_id: str, at: TopicPartition) -> bytes:
    """The key, without spaces: compaction goes by its bytes."""
    return _json([group_id, at.topic, at.partition])


def decode_key(data: bytes) -> Key:
    """Whose forecast a record holds; spaces are no matter.

    Raises:
        CodecError: no such array, or names that cannot be those of a group and a topic.
    """
    match _read(data, "key"):
        case [str(group_id), str(topic), int(partition)] if (
            not isinstance(partition, bool) and 0 <= partition <= _MOST_PARTITION
        ):
            if not (_is_name(group_id) and _is_name(topic) and len(topic) <= _LONGEST_TOPIC):
                raise CodecError("key: no name of a group, or of a topic")
            return Key(group_id, TopicPartition(topic, partition))
    raise CodecError("key: expected [group, topic, partition]")


def encode(forecast: Forecast) -> bytes:
    """The value, without spaces, its fields in the order of the documentation."""
    return _json({"version": VERSION, **asdict(forecast)})


def decode(data: bytes) -> Forecast:
    """The forecast in a value; fields it does not know are passed over.

    Raises:
        CodecError: no object, another version, or a field that is missing or cannot be; it names the field.
    """
    told = _read(data, "value")
    if not isinstance(told, dict):
        raise CodecError("value: expected an object")
    version = told.get("version")
    if type(version) is not int or version != VERSION:
        raise CodecError(f"value: version {_shown(version)}, know only {VERSION}")
    return Forecast(
        time_ms=_whole(told, "time_ms", 0),
        horizon_ms=_whole(told, "horizon_ms", 1),
        arrivals=_amount(told, "arrivals"),
        error=_perhaps(told, "error"),
        arrival_rate=_amount(told, "arrival_rate"),
        service_rate=_perhaps(told, "service_rate"),
        lag=_perhaps(told, "lag"),
    )


def _whole(told: dict[str, Any], name: str, least: int) -> int:
    value = told.get(name)
    if type(value) is not int or not least <= value <= _MOST_TIME:
        raise CodecError(f"value: {name} is {_shown(value)}, expected milliseconds from {least}")
    return value


def _amount(told: dict[str, Any], name: str) -> float:
    value: Any = told.get(name)
    if type(value) not in {int, float} or not 0 <= value <= _MOST_RECORDS:
        raise CodecError(f"value: {name} is {_shown(value)}, expected a number from 0 to 2^53")
    return float(value)


def _perhaps(told: dict[str, Any], name: str) -> float | None:
    return None if told.get(name) is None else _amount(told, name)


def _read(data: bytes, what: str) -> Any:
    if len(data) > MAX_BYTES:
        raise CodecError(f"{what}: {len(data)} bytes, more than {MAX_BYTES}")
    try:
        return json.loads(data.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:  # also of bytes that are not UTF-8
        raise CodecError(f"{what}: no JSON: {type(error).__name__}") from None


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


def _is_name(text: str) -> bool:
    """Whether it can be sent; half a surrogate pair, which JSON can escape, cannot."""
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def _shown(value: object) -> str:
    """A value nobody vouches for, as part of a line."""
    return repr(value)[:40]


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
