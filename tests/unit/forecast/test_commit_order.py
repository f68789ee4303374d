"""CommittedOffset of one group from two writers with two clocks: resets and stale samples."""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random

import pytest

from kafka_assignors.forecast import NO_COMMIT, LoadSettings, Sample
from kafka_assignors.forecast.commit_order import SLACK, CommitOrder
from kafka_assignors.forecast.steps import LoadStep
from tests.support.forecast.one_partition import Partition
from tests.unit.forecast.looks import SETTINGS, look, minutes, rows_of, steps_of

RATE = 10  # records/s, read at once
HOURS = 4


def commit(after_s: float, committed: int) -> Sample:
    return look(after_s, None, committed, begin=None)


def healthy(answered: float, clock: float, seed: int = 3) -> list[Sample]:
    """Make the samples of both writers for a group that keeps up.

    Args:
        answered: seconds from reading the commit to the time of its sample.
        clock: seconds that the broker's clock is ahead of the sampler's.
        seed: seed of the random times.
    """
    chance, until = Random(seed), HOURS * 3600
    commits, at = [(0.0, 0)], 0.0
    while (at := at + chance.uniform(4, 6)) < until:
        commits.append((at, int(RATE * at)))
    samples = [commit(made + clock, offset) for made, offset in commits]
    at, index = 10.0, 0
    while (at := at + chance.uniform(9, 11)) < until:
        while index + 1 < len(commits) and commits[index + 1][0] <= at - answered:
            index += 1
        samples.append(look(at, int(RATE * at), commits[index][1]))
    return sorted(samples)


@pytest.mark.parametrize("clock", [0, -0.25, -1, -3, 1, 3])
@pytest.mark.parametrize("answered", [0, 0.02, 0.1, 0.5])
def test_clock_difference_is_no_reset_of_a_healthy_group(answered: float, clock: float) -> None:
    steps = [row.step for row in rows_of(healthy(answered, clock), LoadSettings())]
    assert len(steps) >= 60 * HOURS - 2
    assert {step.quality for step in steps[1:]} == {"ok"}  # in the first step the end offset is unknown
    served = [step.served for step in steps[1:]]
    assert None not in served
    assert sum(filter(None, served)) == pytest.approx(RATE * 60 * len(served), rel=0.02)
    assert all(step.lag is not None and step.lag <= 10 * RATE for step in steps[1:])


def resets(steps: Iterable[LoadStep]) -> list[float]:
    return [minutes(step) for step in steps if step.quality == "reset"]


def reset_samples(
    until: int, reset_at: int, back: int, stale: float = 0.0, clock: float = 0.0
) -> list[Sample]:
    """Make the samples of both writers for a group reset by ``back`` records.

    The group commits every 5 s, the sampler samples every 10 s.
    """

    def committed(at: float) -> int:
        made = 5 * (at // 5)
        return int(RATE * made) - (back if made >= reset_at else 0)

    recorded = [commit(at + clock, committed(at)) for at in range(0, until, 5)]
    sampled = [look(at, RATE * at, committed(at - stale), begin=7) for at in range(2, until, 10)]
    return sorted([*recorded, *sampled])


@pytest.mark.parametrize("clock", [0, -3, 3])
@pytest.mark.parametrize("reset_at", [600, 605, 630, 655])
@pytest.mark.parametrize("back", [20, 100, 3_000])
def test_reset_reported_by_both_writers_is_found_once_and_at_once(
    reset_at: int, back: int, clock: float
) -> None:
    """A small reset is found as well, though later commits are soon beyond the sampler's last one."""
    steps = steps_of(reset_samples(1_200, reset_at, back, 0.5, clock))
    partition = Partition(SETTINGS)
    partition.take(reset_samples(1_200, reset_at, back, 0.5, clock))
    partition.flush()
    assert partition.steps.commits.resets == (back > 50)  # a reset between two commits is invisible
    if back > 50:
        sampled_at = next(at for at in range(2, 1_200, 10) if at - 0.5 >= reset_at)
        at = math.ceil(min(reset_at + clock, sampled_at) / 60)
        assert resets(steps) == [at]
        assert [step.served is None for step in steps] == [minutes(step) == at for step in steps]


def test_reset_reported_by_the_sampler_alone_is_found_at_once() -> None:
    """The recorder has stopped."""
    samples = [sample for sample in reset_samples(1_200, 600, 3_000) if sample.end >= 0 or sample < look(590)]
    assert resets(steps_of(samples)) == [11]


def test_reset_reported_by_the_recorder_alone_is_found_at_once() -> None:
    samples = [sample for sample in reset_samples(1_200, 600, 3_000) if sample.end < 0 or sample < look(590)]
    assert resets(steps_of(samples)) == [10]


@pytest.mark.parametrize("sampler_first", [False, True])
def test_lower_commit_of_a_new_writer_is_a_reset_after_the_slack(sampler_first: bool) -> None:
    """The first writer has stopped before the second one starts."""

    def report(at: float, offset: int, by_sampler: bool) -> Sample:
        return look(at, 10_000, offset) if by_sampler else commit(at, offset)

    before = [report(at, 1_000, sampler_first) for at in (0, 60)]
    after = [report(60 + at, 100 + at, not sampler_first) for at in range(5, 120, 5)]
    order = CommitOrder()
    changes = [order.observe(sample, 1_000, before[-1].time) for sample in [*before, *after]]
    assert changes[:2] == ["advanced", "advanced"]
    first_reset = changes.index("reset")
    assert changes[2:first_reset] == ["stale"] * 5
    assert ([*before, *after][first_reset]).time - before[-1].time == SLACK


def test_sample_with_a_commit_from_before_the_reset_does_not_undo_it() -> None:
    """The sampler read the commit before the reset, and the end offset after it."""
    samples = [
        look(0, 1_000, 900), commit(5, 910), look(60, 1_100, 910),
        commit(61, 200), look(61.3, 1_110, 910), commit(65, 230), look(120, 1_200, 260), commit(121, 280),
        look(180, 1_300, 320),
    ]  # fmt: skip
    steps = steps_of(samples)
    assert [step.quality for step in steps] == ["ok", "reset", "ok"]
    assert [step.served for step in steps] == [10, None, 60]
    assert [step.lag for step in steps] == [190, 940, 980]


def test_commit_of_a_deleted_topic_does_not_count_for_the_new_one() -> None:
    """The clock of the commit is ahead of the sample that shows the new topic."""
    samples = [
        look(-1, 890, 800), commit(0, 800), look(0, 900, 800), look(60, 40, 0), commit(61.5, 850),
        commit(64, 20), look(120, 100, 40), commit(122, 60), look(180, 160, 90),
    ]  # fmt: skip
    steps = steps_of(samples)
    assert [step.quality for step in steps] == ["reset", "ok", "ok"]
    assert [(step.served, step.lag) for step in steps] == [(None, 40), (40, 60), (50, 70)]


@pytest.mark.parametrize("end", [20, 5])  # the commit is reset, or the topic is created again
def test_records_served_stay_within_64_bits_after_the_largest_commit(end: int) -> None:
    most = 2**63 - 1  # a broker accepts it
    samples = [
        commit(0, 0), look(0, 10, 0), commit(30, most), look(60, 10, most), look(120, end, 5),
        commit(150, 6), look(180, 30, 6),
    ]  # fmt: skip
    steps = [row.step for row in rows_of(samples)]
    assert steps == [step._replace(end_known=True) for step in steps_of(samples)]
    assert [step.served for step in steps] == [most, None, 1]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_removed_commit_is_one_reset_in_either_order_of_the_writers(order: tuple[int, int]) -> None:
    gone = [look(61, 110, NO_COMMIT), commit(61, NO_COMMIT)]
    first, second = (gone[index] for index in order)
    samples = [commit(0, 90), look(0, 100, 90), look(60, 110, 90), commit(60, 90),
               first, second._replace(time=second.time + 1_000_000), look(120, 120, NO_COMMIT)]  # fmt: skip
    partition = Partition(SETTINGS)
    partition.take(samples)
    partition.flush()
    assert partition.steps.commits.resets == 1
    assert resets(steps_of(samples)) == [2]


def test_sample_read_before_the_first_commit_does_not_remove_it() -> None:
    samples = [look(0, 100, NO_COMMIT), look(60, 110, NO_COMMIT), commit(61, 50), look(61.2, 112, NO_COMMIT),
               look(120, 120, 60), commit(121, 61), look(180, 130, 100)]  # fmt: skip
    steps = steps_of(samples)
    assert [step.quality for step in steps] == ["ok", "ok", "ok"]
    assert [step.served for step in steps] == [0, None, 40]


def test_reset_is_found_once_by_a_sampler_slower_than_the_slack() -> None:
    """The first sample after the reset is a minute later, and lower than the one before."""
    recorded = [commit(at, 10 * at - (3_000 if at >= 605 else 0)) for at in range(0, 1_200, 5)]
    sampled = [
        look(at, 10 * at, 10 * at - (3_000 if at >= 605 else 0), begin=3) for at in range(0, 1_200, 60)
    ]
    assert resets(steps_of(sorted([*recorded, *sampled]))) == [11]


def changes_of(*samples: Sample, known: Iterable[int]) -> list[str]:
    """Observe samples, each just after a sample of the known commit."""
    order = CommitOrder()
    return [
        order.observe(sample, committed, sample.time - 1)
        for sample, committed in zip(samples, known, strict=True)
    ]


def test_second_writer_counts_again_once_it_reported_the_reset() -> None:
    """This holds within the slack as well."""
    samples = [
        look(0, 100, 90), commit(1, 90), commit(5, 20), look(6, 100, 90), look(9, 100, 25), look(12, 100, 40),
    ]  # fmt: skip
    assert changes_of(*samples, known=[-2, 90, 90, 20, 20, 25]) == [
        "advanced", "advanced", "reset", "stale", "advanced", "advanced",
    ]  # fmt: skip


def test_writer_without_samples_before_the_reset_is_never_stale() -> None:
    samples = [commit(0, 90), commit(5, 20), look(9, 100, 30)]
    assert changes_of(*samples, known=[-2, 90, 20]) == ["advanced", "reset", "advanced"]
