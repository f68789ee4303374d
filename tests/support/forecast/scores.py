"""Scores of the load model on sampled flights."""

from __future__ import annotations

import numpy as np

from demo.data.flight_samples import FlightSamples
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.bucket import Bucket, Samples
from kafka_assignors.forecast.bucket.rows import MISSING, LoadRows
from kafka_assignors.forecast.scoring import Score, Totals, compare, score


def scored(samples: FlightSamples, settings: LoadSettings) -> Score:
    """Run the model over all partitions, and compare its forecasts to the arrivals."""
    bucket, partitions = Bucket(settings), range(samples.ends.shape[1])
    looks = [(row, *sample) for row in partitions for sample in samples.of(row)]
    bucket.rows_of([("flights", "flights", row) for row in partitions])
    rows, _ = bucket.take(Samples(*np.array(looks, np.int64).T))
    rows = LoadRows.joined([rows, bucket.flush()])
    sums = [_totals(LoadRows(*(column[rows.row == row] for column in rows)), settings) for row in partitions]
    return score(Totals(*(sum(column) for column in zip(*sums, strict=True))))


def _totals(rows: LoadRows, settings: LoadSettings) -> Totals:
    if not len(rows.at):
        return Totals(*(0,) * len(Totals._fields))
    step = (rows.at - rows.at.min()) // settings.step
    arrived, forecast, error = np.full((3, int(step.max()) + 1), np.nan)
    arrived[step] = np.where(rows.arrived == MISSING, np.nan, rows.arrived)
    forecast[step], error[step] = rows.arrivals, rows.error
    return compare(arrived, forecast, error, settings)
