"""``Pace``: a second's worth at once, then as much as the time brings."""

from __future__ import annotations

from kafka_assignors.stateful.changelog.pace import Pace


class Clock:
    """Stands still unless moved."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_without_a_rate_nothing_waits() -> None:
    pace = Pace(None, Clock())
    pace.took(10**12)
    assert not pace.exhausted()


def test_who_took_more_than_there_was_waits_for_as_long_as_that_takes() -> None:
    clock = Clock()
    pace = Pace(1000, clock)
    assert not pace.exhausted()
    pace.took(3000)  # 2000 more than a second has
    assert pace.exhausted()
    clock.now += 1.9
    assert pace.exhausted()
    clock.now += 0.2
    assert not pace.exhausted()


def test_who_takes_nothing_saves_up_one_second_and_no_more() -> None:
    clock = Clock()
    pace = Pace(1000, clock)
    clock.now += 3600
    assert not pace.exhausted()
    pace.took(1000)
    assert pace.exhausted()
