"""The counters of a partition as integers, and back.  Pure.  The bucket's codec checks version and damage."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import accumulate, islice, pairwise

from kafka_assignors.errors import CodecError
from kafka_assignors.forecast.counters import EndMark, GroupMark
from kafka_assignors.forecast.settings import LoadSettings
from kafka_assignors.forecast.steps import Steps

SETTINGS = 5  # number of integers that encode the settings


def encoded_settings(settings: LoadSettings) -> list[int]:
    """Return `SETTINGS` integers: four durations, and a checksum of the time zone."""
    zone = zlib.crc32(settings.zone.encode())
    return [settings.step, settings.horizon, settings.max_gap, settings.delay, zone]


def check_settings(encoded: list[int], settings: LoadSettings) -> None:
    """Raise CodecError if the state was encoded with other settings; ``reset`` may differ."""
    *times, zone = encoded
    *expected, expected_zone = encoded_settings(settings)
    if times != expected:
        old, new = (", ".join(f"{time / 1e6:g}" for time in several) for several in (times, expected))
        raise CodecError(
            f"state of partitions: made with step, horizon, gap and delay of {old} s, not {new} s"
        )
    if zone != expected_zone:
        raise CodecError(f"state of partitions: made with another time zone than {settings.zone}")


def encode(steps: Steps) -> list[int]:
    """Encode counters: about a hundred integers, and five for each mark that waits for an end offset.

    Points of the growth are stored as differences, which compress well.
    """
    ends, commits, growth = steps.ends, steps.commits, steps.growth
    ints = [ends.time, ends.begin, ends.end, ends.epoch, int(ends.doubted)]
    ints += (commits.time, commits.committed, commits.start, commits.position)
    ints += (commits.served, commits.epoch, commits.resets)
    ints += (*commits.order.committed, commits.order.pending, commits.order.since)
    ints.append(len(commits.marks))
    for mark in commits.marks:
        ints += mark
    ints.append(len(growth.times))
    for points in (growth.times, growth.ends):
        ints += (point - before for before, point in pairwise([0, *points]))
    ints += map(int, steps.last_end)
    ints.append(int(steps.last_group is not None))
    ints += steps.last_group or ()
    return ints


def decode(ints: Iterator[int], settings: LoadSettings) -> Steps:
    """Decode the next counters from an iterator of integers that `encode` returned."""
    steps = Steps(settings)
    ends, commits, growth = steps.ends, steps.commits, steps.growth

    def take(count: int) -> list[int]:
        return list(islice(ints, count))

    ends.time, ends.begin, ends.end, ends.epoch, doubted = take(5)
    ends.doubted = bool(doubted)
    commits.time, commits.committed, commits.start, commits.position = take(4)
    commits.served, commits.epoch, commits.resets = take(3)
    commits.order.committed = take(2)
    commits.order.pending, commits.order.since, marks = take(3)
    commits.marks = [GroupMark(*take(5)) for _ in range(marks)]
    (points,) = take(1)
    growth.times, growth.ends = list(accumulate(take(points))), list(accumulate(take(points)))
    at, end, epoch, far, through = take(5)
    steps.last_end = EndMark(at, end, epoch, far=bool(far), through=bool(through))
    (has_group,) = take(1)
    steps.last_group = GroupMark(*take(5)) if has_group else None
    return steps
