"""``RateLimit``: bursts of one second, then a steady rate."""

from __future__ import annotations

from kafka_assignors.stateful.changelog.rate_limit import RateLimit
from tests.support.clock import Clock


def test_debt_is_paid_at_the_rate() -> None:
    clock = Clock()
    rate_limit = RateLimit(1000, clock)
    assert not rate_limit.exhausted()
    rate_limit.took(3000)  # a debt of 2000
    assert rate_limit.exhausted()
    clock.now += 1.9
    assert rate_limit.exhausted()
    clock.now += 0.2
    assert not rate_limit.exhausted()


def test_idle_time_saves_up_one_second() -> None:
    clock = Clock()
    rate_limit = RateLimit(1000, clock)
    clock.now += 3600
    assert not rate_limit.exhausted()
    rate_limit.took(1000)
    assert rate_limit.exhausted()
