"""``bench.lag.errors`` chooses baselines without hindsight."""

from __future__ import annotations

import numpy as np
import pytest

from bench.lag.errors import beside_chosen
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.scoring import baselines


def test_each_step_has_the_baseline_that_was_best_until_then() -> None:
    """Compared with a search of all earlier steps.  The level rises in the last week."""
    settings, chance = LoadSettings(step_s=900, horizon_s=3600), np.random.default_rng(1)
    day = 50 + 40 * np.sin(2 * np.pi * np.arange(28 * 96) / 96)
    records = chance.poisson(day * np.where(np.arange(28 * 96) < 21 * 96, 1, 3)).astype(float)
    forecast, first, ahead = 1.1 * 4 * records, 14 * 96, 4
    came = np.array([records[step + 1 : step + 1 + ahead].sum() for step in range(len(records) - ahead)])
    misses = [np.abs(simple[: len(came)] - came) for simple in baselines(records, settings).values()]
    start = next(step for step in range(len(came)) if not np.isnan([miss[step] for miss in misses]).any())
    chosen = []
    for step in range(first, len(came)):
        until_then = [miss[start : step - ahead + 1].sum() for miss in misses]
        chosen.append(misses[until_then.index(min(until_then))][step])
    expected = np.abs(forecast[: len(came)] - came)[first:].sum() / sum(chosen)
    assert beside_chosen(records, forecast, settings, first) == pytest.approx(expected)
    best = min(miss[first:].sum() for miss in misses)
    assert sum(chosen) > best, "hindsight would have chosen better"


def test_baselines_that_never_missed_give_no_ratio() -> None:
    settings, records = LoadSettings(step_s=900, horizon_s=3600), np.ones(21 * 96)
    assert np.isnan(beside_chosen(records, 5 * records, settings, 14 * 96))
