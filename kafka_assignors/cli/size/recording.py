"""The size of a group at the end of a recording of the pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import numpy as np

from kafka_assignors.cli.plan.options import DEFAULT_STRATEGY
from kafka_assignors.cli.size.load import Forecasts, GroupLoad, history_of
from kafka_assignors.cli.size.report import SizeReport
from kafka_assignors.cli.size.sizes import ASSUMED_STRATEGY, SizeRequest, size_report
from kafka_assignors.cli.tables import counted, duration
from kafka_assignors.errors import HistoryError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.bucket.model import forecast_parts
from kafka_assignors.forecast.settings import MOST_STEPS_AHEAD, QUARTER
from kafka_assignors.pipeline.backtest.history_shape import MICROSECONDS
from kafka_assignors.pipeline.backtest.recorded import Recorded
from kafka_assignors.simulation.history import History, Levels

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PARTS = 4
"""Maximum number of parts of the horizon.  Each part is a whole number of recorded steps."""

_STEP_US = 300 * MICROSECONDS
"""Shorter recorded steps are joined up to this length, because the model's cost grows with their number."""

_LEARNT = timedelta(days=28)
"""The last four weeks are read and learnt, because the model's usual rates are means over about that time."""


@dataclass(frozen=True, slots=True)
class RecordingRequest:
    """The options that select a recording."""

    folder: str  # of a pipeline, a path or a URI that Spark can read
    until: datetime | None  # size the group at this time; None: the end of the last step
    members: int | None  # at that time; None: unknown
    window_s: float  # current arrivals are the mean over this time


def recorded_size(spark: SparkSession, recording: RecordingRequest, request: SizeRequest) -> SizeReport:
    """Return the size of a group at the end of a recording."""
    from kafka_assignors.pipeline.history import read_history

    [recorded] = read_history(
        spark,
        recording.folder,
        groups=[request.group_id],
        since=_LEARNT,
        until=recording.until,
        recorded_members=recording.members,
    )
    load = load_at_end(recorded, recording, request)
    strategy = request.strategy or DEFAULT_STRATEGY
    end = datetime.fromtimestamp(_end(recorded.history) / MICROSECONDS, timezone.utc)
    report = size_report(request, load, strategy, end.isoformat(timespec="milliseconds"), recorded=True)
    note = f"a recording does not name the group's strategy: {ASSUMED_STRATEGY}"
    return report if request.strategy else report.with_notes(note)


def load_at_end(recorded: Recorded, recording: RecordingRequest, request: SizeRequest) -> GroupLoad:
    """Return the load at the end of a recording: its last arrivals, lag and forecasts.  Pure."""
    history = recorded.history
    rate = history.service_rate if request.rate is None else request.rate
    if rate is None:
        raise HistoryError(
            f"group {request.group_id!r} never had a long backlog, so a member's rate is unknown: give --rate"
        )
    window = min(max(round(recording.window_s / history.step_s), 1), history.steps)
    steps = [history.arrivals[-window:].mean(axis=0) / history.step_s]
    notes = []
    lags = np.where(recorded.lag_age < window, recorded.newest_lag, np.nan)
    lags[recorded.ended] = 0.0
    if unknown := int(np.isnan(lags).sum()):
        notes.append(f"the lag of {counted(unknown, 'partition')} is unknown and counts as none")
    if ended := int(recorded.ended.sum()):
        notes.append(f"{counted(ended, 'partition')} ended long before the recording did: no load is assumed")
    later = later_arrivals(history, _end(history), request.horizon_s)
    forecasts = None
    if later is None:
        notes.append(
            f"the horizon of {duration(1000 * request.horizon_s)} cannot be divided into two or more parts "
            f"of whole steps, at most {MOST_STEPS_AHEAD:,} of the model in all: "
            "the last arrivals are assumed to continue"
        )
    elif np.isnan(later).any():  # all partitions have a history of the same length
        notes.append("the recording is too short for forecasts: the last arrivals are assumed to continue")
    else:
        steps += list(later[1:])
        forecasts = Forecasts("the load model", history.partitions, request.horizon_s)
    for step in steps:
        step[recorded.ended] = 0.0
    return GroupLoad(
        history=history_of(
            request.group_id,
            history.topics,
            steps,
            np.rint(np.nan_to_num(lags)).astype(np.int64),
            horizon_s=request.horizon_s,
            rate=rate,
        ),
        members=recording.members,
        owners=None,
        notes=tuple(notes),
        forecasts=forecasts,
    )


def later_arrivals(history: History, end: int, horizon_s: float) -> Levels | None:
    """Return the records/s that the load model expects in each of two to four parts of a horizon.

    The model learns the arrivals of the last four weeks, including interpolated ones.

    Args:
        history: the recorded arrivals.
        end: end of the last recorded step, microseconds since 1970.
        horizon_s: length of the horizon, seconds.

    Returns:
        An array of shape (parts, partitions).  NaN: the history of a partition is too short.  None instead of
        an array: the horizon cannot be divided into parts of whole steps.
    """
    step_us, horizon_us = (round(seconds * MICROSECONDS) for seconds in (history.step_s, horizon_s))
    for parts in range(_PARTS, 1, -1):
        joinable = [
            count
            for count in range(1, max(_STEP_US // step_us, 1) + 1)
            if not QUARTER % (count * step_us)
            and not horizon_us % (parts * count * step_us)
            and horizon_us <= MOST_STEPS_AHEAD * count * step_us
            # A step of the model must lie within a quarter of an hour.
            and (count == 1 or not end % (count * step_us))
        ]
        if joinable:
            break
    else:
        return None
    joined = joinable[-1]  # steps of the recording in a step of the model
    steps = min(history.steps, _LEARNT // timedelta(microseconds=step_us)) // joined
    arrivals = history.arrivals[history.steps - steps * joined :]
    arrivals = arrivals.reshape(steps, joined, history.partitions).sum(axis=1)
    settings = LoadSettings(step_s=joined * history.step_s, horizon_s=horizon_s)
    expected: Levels = forecast_parts(arrivals, end, settings, parts) * (parts / horizon_s)
    return expected


def _end(history: History) -> int:
    """Return the end of the last step, microseconds since 1970."""
    return round((history.starts_at + history.length_s) * MICROSECONDS)
