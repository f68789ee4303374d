"""Two writers tell of one group, each by its own clock: what is a set-back, and what is old news."""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random

import pytest

from kafka_assignors.forecast import NO_COMMIT, LoadSettings, Partition, Sample
from kafka_assignors.forecast.steps import Step
from kafka_assignors.forecast.told import SLACK, Told
from tests.unit.forecast.looks import SETTINGS, look, minutes, rows_of, steps_of

RATE = 10  # records/s, all read as they come
HOURS = 4


def commit(after_s: float, committed: int) -> Sample:
    return look(after_s, None, committed, begin=None)


def healthy(answered: float, clock: float, seed: int = 3) -> list[Sample]:
    """A group that keeps up, as both writers tell of it.

    Args:
        answered: how long before its own time a look is told the commit, seconds.
        clock: how far the broker's is ahead of that of the looks, seconds.
        seed: of the times.
    """
    chance, until = Random(seed), HOURS * 3600
    commits, at = [(0.0, 0)], 0.0
    while (at := at + chance.uniform(4, 6)) < until:
        commits.append((at, int(RATE * at)))
    samples = [commit(made + clock, offset) for made, offset in commits]
    at, place = 10.0, 0
    while (at := at + chance.uniform(9, 11)) < until:
        while place + 1 < len(commits) and commits[place + 1][0] <= at - answered:
            place += 1
        samples.append(look(at, int(RATE * at), commits[place][1]))
    return sorted(samples)


@pytest.mark.parametrize("clock", [0, -0.25, -1, -3, 1, 3])
@pytest.mark.parametrize("answered", [0, 0.02, 0.1, 0.5])
def test_a_healthy_group_is_never_set_back_by_its_clocks(answered: float, clock: float) -> None:
    steps = [row.step for row in rows_of(healthy(answered, clock), LoadSettings())]
    assert len(steps) >= 60 * HOURS - 2
    assert {step.quality for step in steps[1:]} == {"ok"}  # in the first one the end was not seen yet
    served = [step.served for step in steps[1:]]
    assert None not in served
    assert sum(filter(None, served)) == pytest.approx(RATE * 60 * len(served), rel=0.02)
    assert all(step.lag is not None and step.lag <= 10 * RATE for step in steps[1:])


def resets(steps: Iterable[Step]) -> list[float]:
    return [minutes(step) for step in steps if step.quality == "reset"]


def both(until: int, back_at: int, back: int, stale: float = 0.0, clock: float = 0.0) -> list[Sample]:
    """Both writers, of a group that is set back by so many records: a commit every 5 s, a look every 10 s."""

    def committed(at: float) -> int:
        made = 5 * (at // 5)
        return int(RATE * made) - (back if made >= back_at else 0)

    records = [commit(at + clock, committed(at)) for at in range(0, until, 5)]
    looks = [look(at, RATE * at, committed(at - stale), begin=7) for at in range(2, until, 10)]
    return sorted([*records, *looks])


@pytest.mark.parametrize("clock", [0, -3, 3])
@pytest.mark.parametrize("back_at", [600, 605, 630, 655])
@pytest.mark.parametrize("back", [20, 100, 3_000])
def test_a_set_back_that_both_tell_of_is_found_once_and_at_once(
    back_at: int, back: int, clock: float
) -> None:
    """Also a small one: the next commits are soon beyond what looks have told."""
    steps = steps_of(both(1_200, back_at, back, 0.5, clock))
    partition = Partition(SETTINGS)
    partition.take(both(1_200, back_at, back, 0.5, clock))
    partition.flush()
    assert partition.steps.commits.resets == (back > 50)  # in between commits nobody can tell
    if back > 50:
        looked = next(at for at in range(2, 1_200, 10) if at - 0.5 >= back_at)
        at = math.ceil(min(back_at + clock, looked) / 60)
        assert resets(steps) == [at]
        assert [step.served is None for step in steps] == [minutes(step) == at for step in steps]


def test_a_set_back_of_which_looks_alone_tell_is_found_by_the_first() -> None:
    """Nobody records commits any more."""
    samples = [sample for sample in both(1_200, 600, 3_000) if sample.end >= 0 or sample < look(590)]
    assert resets(steps_of(samples)) == [11]


def test_a_set_back_of_which_records_alone_tell_is_found_by_the_first() -> None:
    samples = [sample for sample in both(1_200, 600, 3_000) if sample.end < 0 or sample < look(590)]
    assert resets(steps_of(samples)) == [10]


@pytest.mark.parametrize("told_by_looks", [False, True])
def test_a_writer_that_never_told_of_the_group_is_believed_after_the_slack(told_by_looks: bool) -> None:
    """Only the other one had, and has nothing to say any more."""

    def tell(at: float, offset: int, by_look: bool) -> Sample:
        return look(at, 10_000, offset) if by_look else commit(at, offset)

    before = [tell(at, 1_000, told_by_looks) for at in (0, 60)]
    after = [tell(60 + at, 100 + at, not told_by_looks) for at in range(5, 120, 5)]
    told = Told()
    heard = [told.hear(sample, 1_000, before[-1].time) for sample in [*before, *after]]
    assert heard[:2] == ["on", "on"]
    found = heard.index("back")
    assert heard[2:found] == ["stale"] * 5
    assert ([*before, *after][found]).time - before[-1].time == SLACK


def test_a_look_from_before_the_set_back_does_not_undo_it() -> None:
    """The commit was asked for before, the end after."""
    samples = [
        look(0, 1_000, 900), commit(5, 910), look(60, 1_100, 910),
        commit(61, 200), look(61.3, 1_110, 910), commit(65, 230), look(120, 1_200, 260), commit(121, 280),
        look(180, 1_300, 320),
    ]  # fmt: skip
    steps = steps_of(samples)
    assert [step.quality for step in steps] == ["ok", "reset", "ok"]
    assert [step.served for step in steps] == [10, None, 60]
    assert [step.lag for step in steps] == [190, 940, 980]


def test_a_commit_from_before_the_topic_was_made_again_says_nothing_of_the_new_one() -> None:
    """It was made by a clock that is ahead of the look that tells of the new topic."""
    samples = [
        look(-1, 890, 800), commit(0, 800), look(0, 900, 800), look(60, 40, 0), commit(61.5, 850),
        commit(64, 20), look(120, 100, 40), commit(122, 60), look(180, 160, 90),
    ]  # fmt: skip
    steps = steps_of(samples)
    assert [step.quality for step in steps] == ["reset", "ok", "ok"]
    assert [(step.served, step.lag) for step in steps] == [(None, 40), (40, 60), (50, 70)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_commit_that_is_gone_is_one_set_back_whoever_tells_it_first(order: tuple[int, int]) -> None:
    gone = [look(61, 110, NO_COMMIT), commit(61, NO_COMMIT)]
    first, second = (gone[place] for place in order)
    samples = [commit(0, 90), look(0, 100, 90), look(60, 110, 90), commit(60, 90),
               first, second._replace(time=second.time + 1_000_000), look(120, 120, NO_COMMIT)]  # fmt: skip
    partition = Partition(SETTINGS)
    partition.take(samples)
    partition.flush()
    assert partition.steps.commits.resets == 1
    assert resets(steps_of(samples)) == [2]


def test_the_first_commit_is_not_gone_because_a_look_was_asked_before_it() -> None:
    samples = [look(0, 100, NO_COMMIT), look(60, 110, NO_COMMIT), commit(61, 50), look(61.2, 112, NO_COMMIT),
               look(120, 120, 60), commit(121, 61), look(180, 130, 100)]  # fmt: skip
    steps = steps_of(samples)
    assert [step.quality for step in steps] == ["ok", "ok", "ok"]
    assert [step.served for step in steps] == [0, None, 40]


def test_looks_further_apart_than_the_slack_tell_once_of_what_records_told() -> None:
    """The first look after it is a minute later, and lower than the look before."""
    records = [commit(at, 10 * at - (3_000 if at >= 605 else 0)) for at in range(0, 1_200, 5)]
    looks = [look(at, 10 * at, 10 * at - (3_000 if at >= 605 else 0), begin=3) for at in range(0, 1_200, 60)]
    assert resets(steps_of(sorted([*records, *looks]))) == [11]


def words(*samples: Sample, taken: Iterable[int]) -> list[str]:
    """What is heard in each sample, when the group is known by such a commit, taken just before it."""
    told = Told()
    return [told.hear(sample, by, sample.time - 1) for sample, by in zip(samples, taken, strict=True)]


def test_what_the_second_writer_tells_of_a_set_back_counts_as_soon_as_it_is_told() -> None:
    """Within the slack, too; and with that it is heard like before: what is told next is no old news."""
    samples = [
        look(0, 100, 90), commit(1, 90), commit(5, 20), look(6, 100, 90), look(9, 100, 25), look(12, 100, 40),
    ]  # fmt: skip
    assert words(*samples, taken=[-2, 90, 90, 20, 20, 25]) == ["on", "on", "back", "stale", "on", "on"]


def test_a_writer_that_never_told_of_the_group_has_nothing_to_make_good_after_a_set_back() -> None:
    assert words(commit(0, 90), commit(5, 20), look(9, 100, 30), taken=[-2, 90, 20]) == ["on", "back", "on"]
