"""Laws of the load model, on random samples of a partition."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.forecast import NO_COMMIT, Sample
from tests.property.forecast.samples import SETTINGS, steady, two_writers, wild
from tests.support.forecast.one_partition import Alone, LoadRow, Partition


def rows_of(samples: list[Sample]) -> list[LoadRow]:
    partition = Alone(SETTINGS)
    rows, _ = partition.take(samples)
    return rows + partition.flush()


def at(samples: list[Sample], time: int, field: int) -> int:
    """An independent oracle: a counter, interpolated between the samples around a time."""
    after = next(n for n, sample in enumerate(samples) if sample.time >= time)
    following, before = samples[after], samples[after - 1]
    if following.time == time:
        return following[field]
    share = (time - before.time) / (following.time - before.time)
    return math.floor(before[field] + (following[field] - before[field]) * share + 1e-6)


@given(steady())
def test_steps_add_up_to_the_growth_of_the_counters(samples: list[Sample]) -> None:
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
def test_order_repetition_and_batches_do_not_change_the_rows(samples: list[Sample], chance: object) -> None:
    """No sample is older than the newest one by more than the delay."""
    expected = rows_of(samples)
    queue = sorted(
        [*samples, *samples[::3]],
        key=lambda sample: sample.time + chance.randrange(SETTINGS.delay),  # type: ignore[attr-defined]
    )
    partition, emitted = Alone(SETTINGS), []
    while queue:
        size = chance.randrange(1, 6)  # type: ignore[attr-defined]
        rows, counts = partition.take(queue[:size])
        assert counts.late <= len(samples[::3])  # a repeated sample counts as late
        emitted += rows
        queue = queue[size:]
    assert emitted + partition.flush() == expected


@given(wild())
def test_numbers_are_never_negative_or_above_the_samples(samples: list[Sample]) -> None:
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


@given(two_writers())
def test_clocks_that_differ_by_less_than_the_slack_cause_no_reset(
    samples: list[Sample],
) -> None:
    """Every served record is counted once, from the first known commit on."""
    partition = Partition(SETTINGS)
    partition.take(samples)
    partition.flush()
    commits = partition.steps.commits
    first = next((sample.committed for sample in samples if sample.committed != NO_COMMIT), 0)
    assert commits.resets == 0
    assert commits.committed == max(sample.committed for sample in samples)
    assert commits.served == commits.committed - first
