"""Laws of the load model, on random histories of a partition."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.forecast import (
    NO_COMMIT,
    UNKNOWN,
    LoadSettings,
    Partition,
    Row,
    Sample,
    decode,
    encode,
)
from kafka_assignors.forecast.settings import SECOND

SETTINGS = LoadSettings(step_s=60, horizon_s=300, delay_s=200, max_gap_s=600)
START = 1_384_000_200 * SECOND


@st.composite
def steady(draw: st.DrawFn) -> list[Sample]:
    """A log that only grows, a group that only goes on, looks at most ten minutes apart."""
    looks = draw(
        st.lists(
            st.tuples(st.integers(1, 600 * SECOND), st.integers(0, 10_000), st.integers(0, 10_000)),
            min_size=2,
            max_size=40,
        )
    )
    time, end, committed, samples = START, 0, 0, []
    for apart, arrived, served in looks:
        time, end = time + apart, end + arrived
        committed = min(end, committed + served)
        samples.append(Sample(time, 0, end, committed))
    return samples


@st.composite
def wild(draw: st.DrawFn) -> list[Sample]:
    """Anything a cluster, its users and their clocks may do; in the order of time."""
    looks = draw(
        st.lists(
            st.tuples(
                st.integers(0, 3_000 * SECOND),
                st.sampled_from([-2, 0, 5, 1_000]),
                st.one_of(st.just(-2), st.integers(0, 5_000)),
                st.one_of(st.sampled_from([-2, NO_COMMIT]), st.integers(0, 6_000)),
            ),
            max_size=40,
        )
    )
    time, samples = START, []
    for apart, *offsets in looks:
        time += apart
        samples.append(Sample(time, *offsets))
    return samples


@st.composite
def two_writers(draw: st.DrawFn) -> list[Sample]:
    """A group that only goes on, its commits recorded by one clock and looked at by another."""
    seconds = st.integers(0, 90)
    made, offset, commits = 0, 0, [(0, 0)]
    for apart, served in draw(st.lists(st.tuples(seconds, st.integers(0, 1_000)), max_size=20)):
        made, offset = made + apart, offset + served
        commits.append((made, offset))
    clock, answered = draw(st.integers(-14, 14)), draw(st.integers(0, 14))
    samples = [Sample(START + (at + clock) * SECOND, UNKNOWN, UNKNOWN, told) for at, told in commits]
    at = 0
    for apart in draw(st.lists(seconds, max_size=20)):
        at += apart
        told = max((told for made, told in commits if made <= at - answered), default=NO_COMMIT)
        samples.append(Sample(START + at * SECOND, 0, 100_000, told))
    return sorted(samples)


def rows_of(samples: list[Sample]) -> list[Row]:
    partition = Partition(SETTINGS)
    rows, _ = partition.take(samples)
    return rows + partition.flush()


def at(samples: list[Sample], time: int, field: int) -> int:
    """A counter at a time, on the line between the looks around it: an oracle of its own."""
    after = next(n for n, sample in enumerate(samples) if sample.time >= time)
    there, before = samples[after], samples[after - 1]
    if there.time == time:
        return there[field]
    share = (time - before.time) / (there.time - before.time)
    return math.floor(before[field] + (there[field] - before[field]) * share + 1e-6)


@given(steady())
def test_steps_add_up_to_what_the_counters_grew_by(samples: list[Sample]) -> None:
    rows = rows_of(samples)
    if not rows:
        return
    first, last = rows[0].step.at - SETTINGS.step, rows[-1].step.at
    for field, name in ((2, "arrived"), (3, "served")):
        total = sum(getattr(row.step, name) for row in rows)
        assert abs(total - (at(samples, last, field) - at(samples, first, field))) <= 1
    assert {row.step.quality for row in rows} <= {"ok", "interpolated"}
    assert [row.step.at for row in rows] == list(range(first + SETTINGS.step, last + 1, SETTINGS.step))


@given(steady(), st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_nor_batches_change_the_rows(
    samples: list[Sample], chance: object
) -> None:
    """As long as no sample is behind the newest one by more than the delay."""
    expected = rows_of(samples)
    queue = sorted(
        [*samples, *samples[::3]],
        key=lambda sample: sample.time + chance.randrange(SETTINGS.delay),  # type: ignore[attr-defined]
    )
    partition, got = Partition(SETTINGS), []
    while queue:
        size = chance.randrange(1, 6)  # type: ignore[attr-defined]
        rows, told = partition.take(queue[:size])
        assert told.late <= len(samples[::3])  # a repetition of one that was taken cannot be told from late
        got += rows
        queue = queue[size:]
        partition = decode(encode(partition), SETTINGS)
    assert got + partition.flush() == expected


@given(wild())
def test_whatever_happens_no_number_is_negative_or_made_up(samples: list[Sample]) -> None:
    rows = rows_of(samples)
    most = max((sample.end for sample in samples), default=0)
    times = [row.step.at for row in rows]
    assert times == sorted(set(times))
    for row in rows:
        step = row.step
        for number in (step.arrived, step.served, step.lag, step.time_lag):
            assert number is None or number >= 0
        assert step.arrived is None or step.arrived <= most
        assert step.lag is None or step.lag <= most
        assert (step.arrived is None) or step.quality in ("ok", "interpolated", "reset")
        if row.outlook is not None:
            assert row.outlook.arrivals >= 0
            assert all(math.isfinite(value) for value in row.outlook if value is not None)


@given(wild())
def test_a_state_is_the_same_after_its_bytes(samples: list[Sample]) -> None:
    partition, got = Partition(SETTINGS), []
    for sample in samples:
        rows, _ = partition.take([sample])
        got += rows
        partition = decode(encode(partition), SETTINGS)
    assert got + partition.flush() == rows_of(samples)


@given(two_writers())
def test_two_writers_whose_clocks_differ_by_less_than_the_slack_set_nobody_back(
    samples: list[Sample],
) -> None:
    """And all that was served is counted once, from the first commit that was told of."""
    partition = Partition(SETTINGS)
    partition.take(samples)
    partition.flush()
    commits = partition.steps.commits
    first = next((sample.committed for sample in samples if sample.committed != NO_COMMIT), 0)
    assert commits.resets == 0
    assert commits.committed == max(sample.committed for sample in samples)
    assert commits.served == commits.committed - first
