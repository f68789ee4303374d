"""The load of a group for its size, at the end of a recording of the pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import numpy as np

from kafka_assignors.cli.size.load import GroupLoad, history_of
from kafka_assignors.cli.size.report import SizeReport
from kafka_assignors.cli.size.sizes import DEFAULT, SizeRequest, size_report
from kafka_assignors.cli.tables import counted
from kafka_assignors.errors import HistoryError
from kafka_assignors.pipeline.backtest.recorded import MICROSECONDS, LoadColumns, Recorded, assemble
from kafka_assignors.simulation.history import History, Levels
from kafka_assignors.strategies import load_strategy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording, as the options say.

    Attributes:
        folder: folder of a pipeline, a path or a URI that Spark can read.
        until: the end to size the group at; None: the last step.
        members: number of members then; None: unknown.
        window_s: arrivals are the mean of this time.
    """

    folder: str
    until: datetime | None
    members: int | None
    window_s: float


def recorded_size(spark: SparkSession, recording: Recording, request: SizeRequest) -> SizeReport:
    """Return the size of a group at the end of a recording.

    Raises:
        HistoryError: there is no such recording, or a member's rate is neither given nor measured in it.
    """
    from kafka_assignors.pipeline.history import read_columns

    rows = read_columns(spark, recording.folder, request.group_id, until=recording.until)
    recorded = assemble(request.group_id, rows, recorded_members=recording.members)
    load = load_at_end(rows, recorded, recording, request)
    name = request.strategy or DEFAULT
    by_load = recorded.history.expected is not None and load_strategy(name).by_forecast
    end = datetime.fromtimestamp(int(rows.time.max()) / MICROSECONDS, timezone.utc)
    report = size_report(
        request, load, name, end.isoformat(timespec="milliseconds"), by_load=by_load, recorded=True
    )
    guess = f"a recording does not have the strategy: sizes are planned with {DEFAULT} (--strategy)"
    return report if request.strategy else report.with_notes(guess)


def load_at_end(
    rows: LoadColumns, recorded: Recorded, recording: Recording, request: SizeRequest
) -> GroupLoad:
    """Return the load at the end of a recording: its last arrivals, lag and forecasts.  Pure.

    Args:
        rows: the rows of the group.
        recorded: the history made of them.
        recording: the options.
        request: what to size.

    Raises:
        HistoryError: a member's rate is neither given nor measured.
    """
    history = recorded.history
    rate = history.service_rate if request.rate is None else request.rate
    if rate is None:
        raise HistoryError(
            f"group {request.group_id!r} never had a long backlog, so a member's rate is unknown: give --rate"
        )
    window = min(max(round(recording.window_s / history.step_s), 1), history.steps)
    steps = [history.arrivals[-window:].mean(axis=0) / history.step_s]
    notes = []
    lags = _last_lags(rows, history, window)
    if unknown := int(np.isnan(lags).sum()):
        notes.append(f"the lag of {counted(unknown, 'partition')} is unknown and counts as none")
    if history.expected is None or history.horizon_s is None:
        notes.append("the recording has no forecasts: its last arrivals are taken to last")
    else:
        forecast = _last(history.expected[-window:]) / history.horizon_s
        if unknown := int(np.isnan(forecast).sum()):
            notes.append(
                f"{counted(unknown, 'partition')} without a forecast: the last arrivals are taken to last"
            )
        steps.append(np.where(np.isnan(forecast), steps[0], forecast))
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
    )


def _last_lags(rows: LoadColumns, history: History, window: int) -> Levels:
    """Return the last known lag of each partition in the last steps; NaN if there is none."""
    since = int(rows.time.max()) - round(window * history.step_s * MICROSECONDS)
    known = rows.where(~np.isnan(rows.lag) & (rows.time > since))
    first = dict(zip(history.topics, np.cumsum([0, *history.topics.values()]).tolist(), strict=False))
    place = np.array([first[topic] for topic in known.topic], np.int64) + known.partition
    order = np.argsort(known.time, kind="stable")
    lags = np.full(history.partitions, np.nan)
    lags[place[order]] = known.lag[order]  # of a repeated place the last value stays
    return lags


def _last(table: Levels) -> Levels:
    """Return the last known value of each column; NaN if there is none."""
    last: Levels = np.full(table.shape[1], np.nan)
    for values in table:
        last = np.where(np.isnan(values), last, values)
    return last
