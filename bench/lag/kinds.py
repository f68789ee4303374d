"""Weeks of synthetic arrivals, by kind of traffic.  Pure: a seed gives the same records everywhere.

A partition's rate has a daily and a weekly pattern (a quiet night, a peak, a quiet weekend), a peak hour and
a mean of its own.  Records arrive at random (Poisson).  Most kinds change one thing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

DAY_S = 86_400
BEGIN_S = 1_383_523_200  # Monday, 2013-11-04 00:00 UTC


class Grid(NamedTuple):
    """The steps of a history.

    Attributes:
        days: begin of each step, days after a Monday, shape (steps, 1).
        step_s: length of a step.
        last: length of the history, days.
        chance: generator of its random numbers.
    """

    days: Floats
    step_s: int
    last: float
    chance: np.random.Generator


def seasonal(grid: Grid, partitions: int) -> Floats:
    """Return rates (records/s) with a daily and a weekly pattern."""
    chance = grid.chance
    mean = 10 ** chance.uniform(-2, 1, partitions)  # 1 to 1,000 records in 100 s
    peak, depth = chance.uniform(8, 20, partitions) / 24, chance.uniform(0.3, 0.95, partitions)
    second = chance.uniform(0, 0.4, partitions)
    turn = 2 * np.pi * (grid.days - peak)
    day = 1 + depth * np.cos(turn) + second * depth * np.cos(2 * turn)
    weekend = np.where(grid.days % 7 >= 5, chance.uniform(0.3, 1.0, partitions), 1.0)
    return mean * np.maximum(day, 0.02) * weekend


def steady(grid: Grid, partitions: int) -> Floats:
    return seasonal(grid, partitions)


def flat(grid: Grid, partitions: int) -> Floats:
    """Constant rates."""
    return 10 ** grid.chance.uniform(-2, 1, partitions) * np.ones_like(grid.days)


def growing(grid: Grid, partitions: int) -> Floats:
    """3 % more each day."""
    return seasonal(grid, partitions) * 1.03 ** (grid.days - grid.last)


def doubled(grid: Grid, partitions: int) -> Floats:
    """Twice as much since a week before the last day."""
    return seasonal(grid, partitions) * np.where(grid.days >= grid.last - 8, 2.0, 1.0)


def halved(grid: Grid, partitions: int) -> Floats:
    """Half as much since noon of the last day but one."""
    return seasonal(grid, partitions) * np.where(grid.days >= grid.last - 1.5, 0.5, 1.0)


def wandering(grid: Grid, partitions: int) -> Floats:
    """The level is a random walk, by about a third a day."""
    walk = grid.chance.normal(0, 0.35 * np.sqrt(grid.step_s / DAY_S), (len(grid.days), partitions))
    return seasonal(grid, partitions) * np.exp(np.cumsum(walk, axis=0))


def spiky(grid: Grid, partitions: int) -> Floats:
    """Ten times as much for ten minutes, about twice a day, at random times."""
    length = max(1, 600 // grid.step_s)
    begins = grid.chance.random((len(grid.days), partitions)) < 2 * grid.step_s / DAY_S
    begun = np.cumsum(begins, axis=0)
    over = np.zeros_like(begun)
    over[length:] = begun[:-length]
    return seasonal(grid, partitions) * np.where(begun > over, 10.0, 1.0)


def hourly_jobs(grid: Grid, partitions: int) -> Floats:
    """A job writes for ten minutes at the same minute of each hour, or of every third hour."""
    every = grid.chance.choice([3600, 10_800], partitions)
    begin = 300 * grid.chance.integers(0, 12, partitions)
    busy = (np.rint(grid.days * DAY_S).astype(int) - begin) % every < 600
    return 10 ** grid.chance.uniform(-1, 1, partitions) * np.where(busy, 10.0, 0.1)


def nightly_jobs(grid: Grid, partitions: int) -> Floats:
    """A job writes for half an hour at the same time each day, beside the usual traffic."""
    begin = 300 * grid.chance.integers(0, 288, partitions)
    busy = (np.rint(grid.days * DAY_S).astype(int) - begin) % DAY_S < 1800
    rate = seasonal(grid, partitions)
    return rate + np.where(busy, 20 * rate.mean(axis=0), 0.0)


KINDS: dict[str, Callable[[Grid, int], Floats]] = {
    kind.__name__.replace("_", " "): kind
    for kind in (
        steady, flat, growing, doubled, halved, wandering, spiky, hourly_jobs, nightly_jobs,
    )
}  # fmt: skip


def arrivals(kind: str, seed: int, *, partitions: int, weeks: int, step_s: int) -> tuple[Floats, Floats]:
    """Return records by step and partition, and the rates (records a step) they were drawn from."""
    steps = weeks * 7 * DAY_S // step_s
    days = np.arange(steps, dtype=np.float64)[:, None] * (step_s / DAY_S)
    chance = np.random.default_rng([seed, list(KINDS).index(kind)])
    rates = KINDS[kind](Grid(days, step_s, weeks * 7, chance), partitions) * step_s
    return chance.poisson(rates).astype(float), rates
