"""Short forms for samples of one partition."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_assignors.forecast import UNKNOWN, LoadSettings, Sample
from kafka_assignors.forecast.settings import SECOND
from kafka_assignors.forecast.steps import LoadStep, Steps
from tests.support.forecast.one_partition import Alone, LoadRow

START = 1_384_000_200  # s; a Saturday, 2013-11-09 12:30:00 UTC; a whole quarter of an hour
SETTINGS = LoadSettings(step_s=60, horizon_s=900, delay_s=120, max_gap_s=600)


def look(
    after_s: float, end: int | None = None, committed: int | None = None, begin: int | None = 0
) -> Sample:
    """Make a sample so many seconds after the start; None: unknown."""
    offsets = (UNKNOWN if offset is None else offset for offset in (begin, end, committed))
    return Sample(round((START + after_s) * SECOND), *offsets)


def steps_of(samples: Iterable[Sample], settings: LoadSettings = SETTINGS) -> list[LoadStep]:
    """Return the steps of samples in order."""
    steps = Steps(settings)
    return [step for sample in samples for step in steps.take(sample)]


def rows_of(samples: Iterable[Sample], settings: LoadSettings = SETTINGS) -> list[LoadRow]:
    """Return all rows of samples in any order."""
    partition = Alone(settings)
    rows, _ = partition.take(samples)
    return rows + partition.flush()


def minutes(step: LoadStep) -> float:
    """Return the end of a step, in minutes after the start."""
    return (step.at / SECOND - START) / 60
