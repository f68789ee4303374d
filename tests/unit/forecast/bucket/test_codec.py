"""The state of a bucket as bytes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from kafka_assignors.errors import CodecError
from kafka_assignors.forecast import UNKNOWN
from kafka_assignors.forecast.bucket import codec
from kafka_assignors.forecast.bucket.bucket import Bucket
from kafka_assignors.forecast.bucket.steps import Samples, concatenated
from kafka_assignors.forecast.bucket.table import Ints
from kafka_assignors.forecast.season import QUARTERS
from kafka_assignors.forecast.settings import SECOND
from tests.unit.forecast.looks import SETTINGS, START, look

PARTITIONS = 100


def samples(first: int, last: int) -> Samples:
    """Return samples every 10 s of a hundred partitions, in the order of times."""
    looks = [
        (n, look(10 * n, (7 + p) * n, (6 + p) * n)) for n in range(first, last) for p in range(PARTITIONS)
    ]
    rows = np.tile(np.arange(PARTITIONS), last - first)
    return Samples(rows, *np.array([sample for _, sample in looks], np.int64).T)


@pytest.fixture(scope="module")
def stored() -> dict[str, bytes]:
    bucket = Bucket(SETTINGS)
    bucket.rows_of([("group", "topic", number) for number in range(PARTITIONS)])
    bucket.take(samples(0, 541))
    return codec.encode(bucket)


def test_look_writes_less_than_a_kilobyte_a_partition(stored: dict[str, bytes]) -> None:
    """Partitions are sampled every 10 s for an hour; the season is written once a quarter of an hour."""
    parts, written = dict(stored), []
    for n in range(541, 900):
        bucket = codec.decode(SETTINGS, parts.get)
        bucket.take(samples(n, n + 1))
        changed = codec.encode(bucket)
        assert not changed.keys() & {"names", "odd"}
        written.append(sum(map(len, changed.values())) / PARTITIONS)
        parts |= changed
    assert np.mean(written) < 450
    assert np.median(written) < 250
    assert sum(size > 1_000 for size in written) <= 5


def test_new_partitions_are_folded_together() -> None:
    """A hundred partitions begin, and end their first steps, without a state of their own in ``odd``."""
    parts: dict[str, bytes] = {}
    steps = 0
    for n in range(1, 40):
        bucket = codec.decode(SETTINGS, parts.get)
        bucket.rows_of([("group", "topic", number) for number in range(PARTITIONS)])
        rows, _ = bucket.take(samples(n, n + 1))
        steps += len(rows.at)
        assert not bucket.odd
        parts |= codec.encode(bucket)
    assert steps == 3 * PARTITIONS


def test_commits_from_the_offsets_topic_cost_a_few_bytes_more() -> None:
    """Counters of such partitions are odd; their models stay in the arrays, which change little."""
    parts, written = dict[str, bytes](), []
    for n in range(1, 200):
        bucket = codec.decode(SETTINGS, parts.get)
        bucket.rows_of([("group", "topic", number) for number in range(PARTITIONS)])
        looks = samples(n, n + 1)
        unknown = np.full(PARTITIONS, UNKNOWN)
        commits = Samples(looks.row, looks.time + 3_000_000, unknown, unknown, looks.committed + 1)
        bucket.take(concatenated([looks, commits]))
        changed = codec.encode(bucket)
        written.append(sum(map(len, changed.values())) / PARTITIONS)
        parts |= changed
    assert len(bucket.odd) == PARTITIONS
    assert np.median(written[100:]) < 450
    assert sum(size > 1_000 for size in written[100:]) <= 4


def test_odd_counters_are_written_only_with_samples_of_their_partitions(stored: dict[str, bytes]) -> None:
    bucket = codec.decode(SETTINGS, stored.get)
    later = samples(541, 560)
    first = later.row == 0
    unknown = np.where(first, UNKNOWN, later.end)
    bucket.take(later._replace(end=unknown))
    assert set(bucket.odd) == {0}
    assert "odd" in codec.encode(bucket)
    more = samples(560, 561)
    bucket.take(more.where(more.row != 0))
    assert "odd" not in codec.encode(bucket)
    bucket.take(more.where(more.row == 0)._replace(end=np.array([UNKNOWN])))
    bucket.flush()
    assert "odd" in codec.encode(bucket)


def test_forecasts_without_arrivals_keep_a_few_days_of_the_season() -> None:
    """Commits alone end steps whose arrivals are unknown; the models learn nothing, and forecast in gaps."""
    bucket = Bucket(SETTINGS)
    row = bucket.rows_of([("group", "topic", 0), ("group", "topic", 1)])
    hour = 3_600_000_000
    for n in range(600):  # minutes, then hours that are gaps
        time = START * SECOND + (n * 60_000_000 if n < 30 else (n - 29) * hour + 30 * 60_000_000)
        bucket.take(Samples(row, row * 0 + time, row * 0, row + 10 * n, row + 9 * n))
    seasons: Any = bucket._models._seasons
    assert 0 < len(seasons._added) <= 4 * QUARTERS + 8


@pytest.mark.parametrize(("partitions", "looks", "is_alone"), [
    (1, 541, True), (6, 541, True), (9, 541, False), (1, 25, False),
])  # fmt: skip
def test_few_partitions_learn_many_steps_one_partition_after_the_other(
    partitions: int, looks: int, is_alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone: list[int] = []
    learn = Bucket._learn_alone

    def noted(bucket: Bucket, rows: Ints, *rest: Any) -> None:
        alone.extend(rows.tolist())
        learn(bucket, rows, *rest)

    monkeypatch.setattr(Bucket, "_learn_alone", noted)
    bucket = Bucket(SETTINGS)
    bucket.rows_of([("group", "topic", number) for number in range(partitions)])
    given = samples(0, looks)
    bucket.take(given.where(given.row < partitions))
    assert alone == [*range(partitions)] * is_alone


def test_decoded_state_is_encoded_to_the_same_bytes(stored: dict[str, bytes]) -> None:
    bucket = codec.decode(SETTINGS, stored.get)
    bucket.changed.update(("names", "odd"))
    bucket.table.changed.update(("scores", "season"))
    again = codec.encode(bucket)
    assert {part: again[part] for part in stored} == stored


def test_season_is_read_only_when_a_step_ends(stored: dict[str, bytes]) -> None:
    read = []

    def load(part: str) -> bytes | None:
        read.append(part)
        return stored.get(part)

    bucket = codec.decode(SETTINGS, load)
    bucket.take(samples(541, 542))
    codec.encode(bucket)
    assert read == ["names", "hot", "odd"]
    bucket.take(samples(542, 549))
    assert set(read) == set(codec.PARTS)


@pytest.mark.parametrize("part", ["names", "hot", "season"])
def test_damaged_or_missing_part_is_refused(stored: dict[str, bytes], part: str) -> None:
    whole = stored[part]
    for damaged in (b"", whole[:3], whole[:-1], whole + b"\0", whole[:40] + b"\xff" + whole[41:]):
        parts = {**stored, part: damaged}
        if part == "hot" and not damaged:
            continue
        with pytest.raises(CodecError, match=rf"state of partitions \({part}\)"):
            codec.decode(SETTINGS, parts.get).take(samples(541, 560))


def test_state_of_another_version_is_refused(stored: dict[str, bytes]) -> None:
    for version in (7, 9):
        other = {**stored, "hot": bytes([version]) + stored["hot"][1:]}
        with pytest.raises(CodecError, match=f"version {version}, expected 8"):
            codec.decode(SETTINGS, other.get)


def test_state_encoded_with_other_settings_is_refused(stored: dict[str, bytes]) -> None:
    with pytest.raises(CodecError, match="of 60, 900, 600, 120 s, not 60, 1800, 600, 120 s"):
        codec.decode(dataclasses.replace(SETTINGS, horizon_s=1800), stored.get)
    with pytest.raises(CodecError, match="another time zone than Asia/Tokyo"):
        codec.decode(dataclasses.replace(SETTINGS, zone="Asia/Tokyo"), stored.get)


def test_damaged_odd_counters_are_refused() -> None:
    """Counters whose last sample is a commit alone fit in no array."""
    bucket = Bucket(SETTINGS)
    row = bucket.rows_of([("group", "topic", 0)])
    for sample in (look(0, 0, 0), look(60, 5, 5), look(300, None, 7, begin=None), look(600, 9, 8)):
        bucket.take(Samples(row, *np.array([sample]).T))
    assert bucket.odd
    parts = codec.encode(bucket)
    again = codec.decode(SETTINGS, parts.get)
    again.changed.add("odd")
    assert codec.encode(again)["odd"] == parts["odd"]
    whole = parts["odd"]
    for damaged in (b"", whole[:3], whole[:-1], whole + b"\0", whole[:40] + b"\xff" + whole[41:]):
        with pytest.raises(CodecError, match=r"state of partitions \(odd\)"):
            codec.decode(SETTINGS, {**parts, "odd": damaged}.get)


@pytest.mark.parametrize("odd", [False, True])
def test_forgotten_partitions_leave_the_rows_of_the_others(stored: dict[str, bytes], odd: bool) -> None:
    """Partitions with an even number are dropped, and one of them comes again as a new one."""
    bucket, other = codec.decode(SETTINGS, stored.get), codec.decode(SETTINGS, stored.get)
    even = np.arange(PARTITIONS) % 2 == 0
    if odd:
        last = samples(540, 541)
        unknown = np.full(PARTITIONS, UNKNOWN)
        commits = Samples(last.row, last.time + 1, unknown, unknown, last.committed + last.row % 5)
        for each in (bucket, other):
            each.take(commits)
            each.flush()
            assert len(each.odd) == PARTITIONS
    assert odd or len(bucket.flush(even).at)
    bucket.forget(even)
    assert bucket.keys == [("group", "topic", number) for number in range(1, PARTITIONS, 2)]
    parts = codec.encode(bucket)
    bucket = codec.decode(SETTINGS, parts.get)
    more = samples(541, 600)
    few = more.where(~even[more.row])
    rows, _ = bucket.take(few._replace(row=bucket.rows_of([("group", "topic", n) for n in few.row.tolist()])))
    expected, _ = other.take(more)
    numbers = np.array([number for _, _, number in bucket.keys])
    mine = sorted(zip(numbers[rows.row], *rows[1:], strict=True))
    theirs = sorted(values for values in zip(*expected, strict=True) if values[0] % 2)
    assert mine == theirs
    assert bucket.rows_of([("group", "topic", 0)]).tolist() == [PARTITIONS // 2]
    assert bucket.table.time[PARTITIONS // 2] == UNKNOWN
    assert bucket.table.seen[PARTITIONS // 2] == 0
