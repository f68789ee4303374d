"""Scores of the load model on sampled flights."""

from __future__ import annotations

import numpy as np

from demo.data.flight_samples import FlightSamples
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.scoring import Score, Totals, compare, score
from tests.support.one_partition import LoadRow, Partition


def scored(samples: FlightSamples, settings: LoadSettings) -> Score:
    """Run the model over all partitions, and compare its forecasts to the arrivals."""
    sums = []
    for number in range(samples.ends.shape[1]):
        partition = Partition(settings)
        rows, _ = partition.take(samples.of(number))
        sums.append(_totals(rows + partition.flush(), settings))
    return score(Totals(*(sum(column) for column in zip(*sums, strict=True))))


def _totals(rows: list[LoadRow], settings: LoadSettings) -> Totals:
    if not rows:
        return Totals(*(0,) * len(Totals._fields))
    first, last = rows[0].step.at, rows[-1].step.at
    figures = np.full((3, (last - first) // settings.step + 1), np.nan)
    for row in rows:
        known = (row.step.arrived, row.outlook and row.outlook.arrivals, row.outlook and row.outlook.error)
        step = (row.step.at - first) // settings.step
        figures[:, step] = [np.nan if figure is None else figure for figure in known]
    arrived, forecast, error = figures
    return compare(arrived, forecast, error, settings)
