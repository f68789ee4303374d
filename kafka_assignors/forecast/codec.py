"""The state of a partition as bytes, and back.  Pure.

Version 4, little-endian: a version byte, three counts of 4 bytes each, then as many 8-byte integers, 8-byte
floats and single bytes as the counts say.  The single bytes hold small integers, shares in two bytes each,
and numbers in single precision.  A state takes about 13 kB, plus 32 bytes for each waiting sample.  The
format is private to the checkpoints of one job.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

import numpy as np

from kafka_assignors.errors import CodecError
from kafka_assignors.forecast.counters import EndMark, GroupMark
from kafka_assignors.forecast.fold import Partition
from kafka_assignors.forecast.forecasters import FORECASTERS, OTHERS
from kafka_assignors.forecast.model import Pending
from kafka_assignors.forecast.samples import Sample
from kafka_assignors.forecast.season import QUARTERS, WEEK_HOURS, WEEK_QUARTERS, slots_of
from kafka_assignors.forecast.settings import LoadSettings

_Number = TypeVar("_Number", int, float)

SETTINGS = 5  # number of integers that encode the settings
_VERSION = 4
_HEAD = 1 + 3 * 4  # bytes
_ERRORS = len(FORECASTERS) + OTHERS
_SEEN = QUARTERS + WEEK_HOURS + WEEK_QUARTERS  # bytes of small integers
_SMALL = _SEEN + 8 * WEEK_QUARTERS  # single bytes without the shares


def encode(partition: Partition) -> bytes:
    """Encode the whole state."""
    model, season = partition.model, partition.model.season
    ints = [*encoded_settings(partition.settings), *_counters(partition)]
    ints += [model.seen, model.run, model.total, model.scored, season.quarter, season.steps, season.quarters]
    ints += season.counts
    ints.append(len(model.pending))
    for pending in model.pending:
        ints += (pending.due, pending.total)
    floats = [
        *model.levels, *model.trends, *model.misses, model.miss, model.deviation,
        model.spread, model.recent, model.expected,
        np.nan if model.last is None else model.last,
        *season.day, *season.week, season.mean, season.sum, season.above,
        *(records for pending in model.pending for records in pending.forecasts),
    ]  # fmt: skip
    small = bytes([*season.day_seen, *season.week_seen, *season.usual_seen])
    small += np.array(season.shares, "<u2").tobytes()
    small += np.array([*season.latest, *season.usual], "<f4").tobytes()
    return b"".join(
        (
            bytes([_VERSION]),
            np.array([len(ints), len(floats), len(small)], "<u4").tobytes(),
            np.array(ints, "<i8").tobytes(),
            np.array(floats, "<f8").tobytes(),
            small,
        )
    )


def decode(data: bytes, settings: LoadSettings) -> Partition:
    """Decode the state of a partition.

    Raises:
        CodecError: the version is unknown, the bytes are damaged, or a setting other than ``reset`` differs
            from the encoder's.
    """
    if not data or data[0] != _VERSION:
        raise CodecError(f"state of a partition: version {data[0] if data else 'none'}, know only {_VERSION}")
    try:
        lengths = np.frombuffer(data, "<u4", 3, 1).tolist()
        counts = np.frombuffer(data, "<i8", lengths[0], _HEAD).tolist()
        numbers = np.frombuffer(data, "<f8", lengths[1], _HEAD + 8 * lengths[0]).tolist()
        ints, floats = iter(counts), iter(numbers)
        small = data[_HEAD + 8 * (lengths[0] + lengths[1]) :]
        right_length = _SMALL + 2 * QUARTERS * slots_of(settings.step)
        _require(len(small) == lengths[2] == right_length, "its length is wrong")
        check_settings(_take(ints, SETTINGS), settings, "a partition")
        partition = Partition(settings)
        _read_counters(partition, ints)
        _read_model(partition, ints, floats, small)
        _require(next(ints, None) is None and next(floats, None) is None, "there are bytes after its end")
    except CodecError:
        raise
    except (ValueError, OverflowError) as error:
        raise CodecError(f"state of a partition: it is damaged ({error!r})") from error
    return partition


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _take(numbers: Iterator[_Number], count: int) -> list[_Number]:
    """Take the next numbers; raises ValueError if there are fewer."""
    taken = list(islice(numbers, count))
    if len(taken) != count:
        raise ValueError(f"{count} numbers expected, {len(taken)} found")
    return taken


def _count(ints: Iterator[int]) -> range:
    """Read a count, as a range; raises ValueError if it is negative."""
    (count,) = _take(ints, 1)
    if count < 0:
        raise ValueError(f"negative count {count}")
    return range(count)


def _flag(number: int) -> bool:
    """Read a boolean; raises ValueError if it is neither 0 nor 1."""
    if number not in (0, 1):
        raise ValueError(f"{number} is neither 0 nor 1")
    return number == 1


def encoded_settings(settings: LoadSettings) -> list[int]:
    """Return `SETTINGS` integers: four durations, and a checksum of the time zone."""
    zone = zlib.crc32(settings.zone.encode())
    return [settings.step, settings.horizon, settings.max_gap, settings.delay, zone]


def check_settings(encoded: list[int], settings: LoadSettings, what: str) -> None:
    """Raise CodecError if the state of ``what`` was encoded with other settings."""
    *times, zone = encoded
    *expected, expected_zone = encoded_settings(settings)
    if times != expected:
        old, new = (", ".join(f"{time / 1e6:g}" for time in several) for several in (times, expected))
        raise CodecError(f"state of {what}: made with step, horizon, gap and delay of {old} s, not {new} s")
    if zone != expected_zone:
        raise CodecError(f"state of {what}: made with another time zone than {settings.zone}")


def _counters(partition: Partition) -> list[int]:
    steps = partition.steps
    ends, commits, growth = steps.ends, steps.commits, steps.growth
    out = [partition.newest, *partition.last, len(partition.waiting)]
    for sample in partition.waiting:
        out += sample
    out += (ends.time, ends.begin, ends.end, ends.epoch, ends.doubted)
    out += (commits.time, commits.committed, commits.start, commits.position)
    out += (commits.served, commits.epoch, commits.resets)
    out += (*commits.order.committed, commits.order.pending, commits.order.since)
    out.append(len(commits.marks))
    for mark in commits.marks:
        out += mark
    out += (len(growth.times), *growth.times, *growth.ends)
    out += steps.last_end
    out.append(steps.last_group is not None)
    out += steps.last_group or ()
    return out


def _read_counters(partition: Partition, ints: Iterator[int]) -> None:
    steps = partition.steps
    ends, commits, growth = steps.ends, steps.commits, steps.growth
    (partition.newest,) = _take(ints, 1)
    partition.last = Sample(*_take(ints, 4))
    partition.waiting = [Sample(*_take(ints, 4)) for _ in _count(ints)]
    ends.time, ends.begin, ends.end, ends.epoch, doubted = _take(ints, 5)
    ends.doubted = _flag(doubted)
    commits.time, commits.committed, commits.start, commits.position = _take(ints, 4)
    commits.served, commits.epoch, commits.resets = _take(ints, 3)
    commits.order.committed = _take(ints, 2)
    commits.order.pending, commits.order.since = _take(ints, 2)
    commits.marks = [GroupMark(*_take(ints, 5)) for _ in _count(ints)]
    points = len(_count(ints))
    growth.times, growth.ends = _take(ints, points), _take(ints, points)
    end_time, end, epoch, far, through = _take(ints, 5)
    steps.last_end = EndMark(end_time, end, epoch, _flag(far), _flag(through))
    steps.last_group = GroupMark(*_take(ints, 5)) if _flag(*_take(ints, 1)) else None


def _read_model(partition: Partition, ints: Iterator[int], floats: Iterator[float], small: bytes) -> None:
    model, season = partition.model, partition.model.season
    model.seen, model.run, model.total, model.scored = _take(ints, 4)
    season.quarter, season.steps, season.quarters = _take(ints, 3)
    season.counts = _take(ints, season.slots)
    pending = [_take(ints, 2) for _ in _count(ints)]
    model.levels = _take(floats, len(FORECASTERS))
    model.trends = _take(floats, len(FORECASTERS))
    model.misses = _take(floats, _ERRORS)
    model.miss, model.deviation = _take(floats, 2)
    model.spread, model.recent, model.expected, last = _take(floats, 4)
    model.last = None if np.isnan(last) else last
    season.day, season.week = _take(floats, QUARTERS), _take(floats, WEEK_HOURS)
    season.mean, season.sum, season.above = _take(floats, 3)
    model.pending = [Pending(due, total, tuple(_take(floats, _ERRORS + 1))) for due, total in pending]
    seen, shares, rates = small[:_SEEN], small[_SEEN : -8 * WEEK_QUARTERS], small[-8 * WEEK_QUARTERS :]
    season.shares = np.frombuffer(shares, "<u2").tolist()
    season.day_seen, season.week_seen = list(seen[:QUARTERS]), list(seen[QUARTERS:][:WEEK_HOURS])
    season.usual_seen = list(seen[QUARTERS + WEEK_HOURS :])
    season.latest, season.usual = np.frombuffer(rates, "<f4").reshape(2, WEEK_QUARTERS).tolist()
