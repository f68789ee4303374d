"""Copies the state of one partition out of the arrays of a table, and back.

The arrays hold every model, but counters only while they are plain (see ``table``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kafka_assignors.forecast.bucket.table import State, Table
from kafka_assignors.forecast.counters import EndMark, GroupMark
from kafka_assignors.forecast.model import Model, Pending
from kafka_assignors.forecast.samples import UNKNOWN, Sample, position
from kafka_assignors.forecast.settings import LoadSettings
from kafka_assignors.forecast.steps import MOST_POINTS, Steps

_SAMPLE = ("time", "begin", "end", "committed")
_OF_MODEL = ("seen", "run", "total", "levels", "trends", "deviation", "recent", "expected")
_OF_MIXTURE = ("recent_misses", "lasting_misses", "miss_counts", "miss", "spread")
_OF_SEASON = (
    *("day", "day_seen", "week", "week_seen", "latest", "usual", "usual_seen", "totals"),
    *("shares", "counts"),
)


def read_counters(table: Table, row: int) -> Steps:
    """Return the counters of a partition; new ones if the table does not hold them."""
    settings = table.settings
    steps = Steps(settings)
    state = State(int(table.plain[row]))  # comparing numpy's integers with an IntEnum is slow
    if state == State.NONE:
        return steps
    ends, commits, growth = steps.ends, steps.commits, steps.growth

    def whole(name: str) -> int:
        return int(table.arrays[name][row])

    last = Sample(*map(whole, _SAMPLE))
    step_end = last.time // settings.step * settings.step
    ends.time, ends.begin, ends.end, ends.epoch = last.time, last.begin, last.end, whole("epoch")
    commits.served, commits.epoch, commits.resets = map(whole, ("served", "commit_epoch", "resets"))
    commits.order.committed = [last.committed, whole("recorded")]
    if last.committed != UNKNOWN:
        commits.time, commits.committed, commits.start = last.time, last.committed, last.begin
        commits.position = position(last.begin, last.end, last.committed, settings.reset)
        mark = (step_end, whole("mark_served"), whole("mark_position"), commits.epoch, commits.resets)
        steps.last_group = GroupMark(*mark) if state == State.PLAIN else None
    if state == State.BEGUN:
        return steps
    through = bool(table.mark_through[row])
    steps.last_end = EndMark(step_end, whole("mark_end"), ends.epoch, far=through, through=through)
    ring = (whole("point_first") + np.arange(whole("points"))) % MOST_POINTS
    growth.times, growth.ends = table.point_at[ring, row].tolist(), table.point_end[ring, row].tolist()
    return steps


def write_counters(table: Table, row: int, steps: Steps) -> bool:
    """Write the counters of a partition if they are plain; return whether they are."""
    last = Sample(*(int(table.arrays[name][row]) for name in _SAMPLE))
    if not _is_plain(steps, last, table.settings):
        return False
    commits, growth, group = steps.commits, steps.growth, steps.last_group
    table.clear(row)
    values = {
        "recorded": commits.order.committed[1], "plain": State.PLAIN,
        "epoch": steps.ends.epoch, "commit_epoch": commits.epoch, "resets": commits.resets,
        "served": commits.served, "mark_end": steps.last_end.end, "mark_through": steps.last_end.through,
        "points": len(growth.times),
    }  # fmt: skip
    if group is not None:
        values |= {"mark_served": group.served, "mark_position": group.position}
    for name, value in values.items():
        table.arrays[name][row] = value
    table.point_at[: len(growth.times), row] = growth.times
    table.point_end[: len(growth.ends), row] = growth.ends
    return True


def _is_plain(steps: Steps, last: Sample, settings: LoadSettings) -> bool:
    ends, commits, before = steps.ends, steps.commits, steps.last_end
    step_end = last.time // settings.step * settings.step
    return (
        min(last.time, last.begin, last.end, before.end) >= 0
        and (ends.time, ends.begin, ends.end, ends.doubted) == (*last[:3], False)
        and (before.at, before.epoch) == (step_end, ends.epoch)
        and (commits.order.committed[0], commits.order.pending) == (last.committed, UNKNOWN)
        and all(waiting.at <= before.at for waiting in commits.marks)
        and _has_plain_commit(steps, last, settings)
    )


def _has_plain_commit(steps: Steps, last: Sample, settings: LoadSettings) -> bool:
    commits, group = steps.commits, steps.last_group
    if last.committed == UNKNOWN or group is None:
        return last.committed == commits.time == UNKNOWN and group is None
    known_position = position(last.begin, last.end, last.committed, settings.reset)
    known = (last.time, last.committed, last.begin, known_position)
    return (
        (commits.time, commits.committed, commits.start, commits.position) == known
        and (group.at, group.epoch, group.resets) == (steps.last_end.at, commits.epoch, commits.resets)
        and group.position >= 0
    )


def read_model(table: Table, row: int) -> Model:
    """Return the model of a partition."""
    model = Model(table.settings)
    season = model.season

    def entry(name: str) -> Any:
        return getattr(table, name)[..., row].tolist()  # Python's numbers

    for part, names in ((model, _OF_MODEL), (model.mixture, _OF_MIXTURE), (season, _OF_SEASON)):
        for name in names:
            setattr(part, name, entry(name))
    model.last = None if np.isnan(table.last[row]) else entry("last")
    model.pending = sorted(
        Pending(int(table.due[slot, row]), int(table.due_total[slot, row]), tuple(forecasts))
        for slot, forecasts in enumerate(table.due_forecasts[:, :, row].tolist())
        if table.due[slot, row]
    )
    season.quarter, season.steps, season.quarters = map(entry, ("quarter", "quarter_steps", "quarters"))
    season.sum, season.above, season.mean = map(entry, ("quarter_sum", "above", "season_mean"))
    return model


def write_model(table: Table, row: int, model: Model) -> None:
    """Write the model of a partition back, after `read_model`."""
    season = model.season
    values: dict[str, Any] = {
        **{name: getattr(model, name) for name in _OF_MODEL},
        **{name: getattr(model.mixture, name) for name in _OF_MIXTURE},
        **{name: getattr(season, name) for name in _OF_SEASON},
        "last": np.nan if model.last is None else model.last,
        "quarter": season.quarter, "quarter_steps": season.steps, "quarters": season.quarters,
        "quarter_sum": season.sum, "above": season.above, "season_mean": season.mean,
    }  # fmt: skip
    for name in ("due", "due_total", "due_forecasts"):
        values[name] = np.zeros(table.fields[name].depth, table.fields[name].kind)
    for pending in model.pending:
        slot = table.slot(pending.due - table.settings.horizon)
        values["due"][slot], values["due_total"][slot] = pending.due, pending.total
        values["due_forecasts"][slot] = pending.forecasts
    for name, value in values.items():
        part, array = table.fields[name].part, getattr(table, name)
        if part == "hot" or not np.array_equal(array[..., row], value, equal_nan=True):
            table.changed |= {part} - {"hot"}
            array[..., row] = value
