"""The states of many partitions as arrays: the last dimension of each has an entry for each partition.

The arrays hold all models, but only *plain* counters, and the rest of this folder relies on that:

- The last sample has the begin and end of the log.  Its commit is known, or no sample so far had a known one.
- The last step ended at the last step boundary up to that sample, with known offsets.  Or no step ended yet.
- No report of a reset is pending (``commit_order``), and no mark of a commit waits for an end offset.

Samples of the sampler alone lead to such states, apart from gaps, resets and a group's first commit.
`absorb` returns whether a state is plain.  Arrays belong to *parts*, which change at different times: ``hot``
with each sample, ``scores`` with each forecast to be scored, ``season`` with each quarter of an hour.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_assignors.forecast.counters import EndMark, GroupMark
from kafka_assignors.forecast.forecasters import FIRST, FORECASTERS, NORMAL, OTHERS
from kafka_assignors.forecast.model import Model, Pending
from kafka_assignors.forecast.samples import UNKNOWN, Sample, position
from kafka_assignors.forecast.season import (
    QUARTERS,
    UNKNOWN_TOTAL,
    WEEK_HOURS,
    WEEK_QUARTERS,
    WHOLE,
    slots_of,
)
from kafka_assignors.forecast.settings import LoadSettings
from kafka_assignors.forecast.steps import MOST_POINTS, Steps

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
RowIndex = Any
"""Selects partitions in an array: ``slice(None)`` for all, which copies nothing, or an array of rows."""

MODELS = len(FORECASTERS)
ERRORS = MODELS + OTHERS


class State(IntEnum):
    """Whether the table holds the counters of a partition: an entry of the array ``plain``."""

    NONE = 0  # the partition is new, or its counters are not plain
    PLAIN = 1
    BEGUN = 2  # the counters are plain, and the first step has not ended


_OF_MODEL = (
    *("seen", "run", "total", "levels", "trends", "recent_misses", "lasting_misses", "miss_counts"),
    *("miss", "deviation", "spread", "recent", "expected"),
)
# Lists of `Season`.
_LISTED = (
    *("day", "day_seen", "week", "week_seen", "latest", "usual", "usual_seen", "totals"),
    *("shares", "counts"),
)
_SAMPLE = ("time", "begin", "end", "committed", "newest")
COUNTERS = (
    *("recorded", "plain", "epoch", "commit_epoch", "resets", "served"),
    *("mark_end", "mark_served", "mark_position", "mark_through"),
    *("point_first", "points", "point_at", "point_end"),
)
"""The arrays that have no meaning for a partition whose counters are not plain."""


class Field(NamedTuple):
    """One array of a table."""

    part: str
    kind: str = "i8"  # numpy's name of the type
    depth: tuple[int, ...] = ()  # shape of the entries of one partition
    start: float = 0  # value for a new partition


def fields(settings: LoadSettings) -> dict[str, Field]:
    """Return the arrays of a table, by name."""
    # Maximum number of forecasts of a partition whose horizon is not over.
    pending = -(-(settings.horizon // settings.step) // Model(settings).stride)
    slots = slots_of(settings.step)
    hot = Field("hot")
    unknown = Field("hot", start=UNKNOWN)
    real = Field("hot", "f8")
    return {
        # the last sample taken, and the time of the newest one
        **dict.fromkeys(_SAMPLE, unknown),
        "recorded": unknown,  # last commit in a sample without end offset
        "plain": Field("hot", "u1"),
        **dict.fromkeys(("epoch", "commit_epoch", "resets", "served"), hot),
        # the end of the last step
        **dict.fromkeys(("mark_end", "mark_served", "mark_position"), hot),
        "mark_through": Field("hot", "u1"),
        # growth of the log: a ring of points
        "point_first": hot,
        "points": hot,
        "point_at": Field("hot", depth=(MOST_POINTS,)),
        "point_end": Field("hot", depth=(MOST_POINTS,)),
        **dict.fromkeys(("seen", "run", "total"), hot),
        **dict.fromkeys(("levels", "trends"), Field("hot", "f8", (MODELS,))),
        **dict.fromkeys(("recent_misses", "lasting_misses"), Field("hot", "f8", (ERRORS,))),
        "miss_counts": Field("hot", depth=(ERRORS,)),
        **dict.fromkeys(("miss", "deviation", "recent", "expected"), real),
        "spread": Field("hot", "f8", start=NORMAL),
        "last": Field("hot", "f8", start=np.nan),
        # forecasts to be scored, by the step they were made in
        "due": Field("scores", depth=(pending,)),
        "due_total": Field("scores", depth=(pending,)),
        "due_forecasts": Field("scores", "f4", (pending, ERRORS + 1)),
        # the season: the current quarter of an hour, and the means
        "quarter": Field("hot", start=-1),
        "quarter_steps": hot,
        "quarters": hot,
        "counts": Field("hot", depth=(slots,)),
        **dict.fromkeys(("quarter_sum", "above"), real),
        "season_mean": Field("season", "f8"),
        "day": Field("season", "f8", (QUARTERS,)),
        "day_seen": Field("season", "u1", (QUARTERS,)),
        "week": Field("season", "f8", (WEEK_HOURS,)),
        "week_seen": Field("season", "u1", (WEEK_HOURS,)),
        **dict.fromkeys(("latest", "usual"), Field("season", "f4", (WEEK_QUARTERS,))),
        "usual_seen": Field("season", "u1", (WEEK_QUARTERS,)),
        "totals": Field("season", "f8", (7,), UNKNOWN_TOTAL),
        "shares": Field("season", "u2", (QUARTERS * slots,), WHOLE // slots),
    }


class Table:
    """Arrays of ``size`` partitions, by the names of `fields`.

    Attributes:
        scale: a new model, for its constants.
        slots: number of slots of a quarter of an hour.
        arrays: the loaded arrays, by name; they are attributes of the table as well.
        load: returns the arrays of a part, by name; they may lack the last partitions.
        changed: the changed parts, ``scores``, ``season`` or both; ``hot`` changes with each sample.
    """

    __slots__ = ("arrays", "changed", "fields", "load", "scale", "settings", "size", "slots")

    def __init__(self, settings: LoadSettings) -> None:
        self.settings = settings
        self.size = 0
        self.scale = Model(settings)
        self.slots = self.scale.season.slots
        self.fields = fields(settings)
        self.load: Callable[[str], dict[str, Any]] = lambda _: {}
        self.changed: set[str] = set()
        self.arrays: dict[str, Any] = {}
        self.grow(0)
        for part in ("hot", "scores", "season"):
            self.part(part)

    def __getattr__(self, name: str) -> Any:
        if name not in self.arrays:
            if name not in self.fields:
                raise AttributeError(name)
            self.part(self.fields[name].part)
        return self.arrays[name]

    @property
    def scored(self) -> Ints:
        """Number of scores, as ``Model.scored``."""
        scores: Ints = self.miss_counts[FIRST]
        return scores

    def part(self, part: str) -> dict[str, Any]:
        """Return the arrays of a part, and load them first if necessary."""
        names = [name for name, field in self.fields.items() if field.part == part]
        if names[0] not in self.arrays:
            loaded = self.load(part)
            self.arrays |= {name: self._filled(name, loaded.get(name)) for name in names}
        return {name: self.arrays[name] for name in names}

    def drop(self, *parts: str) -> None:
        """Drop the arrays of parts; the next use loads them again."""
        self.arrays = {name: a for name, a in self.arrays.items() if self.fields[name].part not in parts}

    def grow(self, size: int) -> None:
        """Add new partitions at the end, up to ``size``."""
        self.size = size
        self.arrays = {name: self._filled(name, array) for name, array in self.arrays.items()}

    def keep(self, rows: Bools) -> None:
        """Keep only the partitions that ``rows`` selects."""
        self.changed |= {"scores", "season"}
        every = self.part("hot") | self.part("scores") | self.part("season")
        self.arrays = {name: array[..., rows] for name, array in every.items()}
        self.size = int(rows.sum())

    def _filled(self, name: str, array: Any) -> Any:
        """Add the partitions that an array lacks; None: it lacks all."""
        field = self.fields[name]
        known = 0 if array is None else array.shape[-1]
        more = np.full((*field.depth, self.size - known), field.start, field.kind)
        return more if array is None else np.concatenate((array, more), axis=-1)

    def clear(self, row: int) -> None:
        """Reset the counters of a partition."""
        for name in COUNTERS:
            self.arrays[name][..., row] = self.fields[name].start

    def absorb(self, row: int, steps: Steps) -> bool:
        """Take over the counters of a partition if they are plain; return whether they are."""
        last = Sample(*(int(self.arrays[name][row]) for name in _SAMPLE[:4]))
        if plain := self._is_plain(steps, last):
            self._write(row, steps)
        return plain

    def _is_plain(self, steps: Steps, last: Sample) -> bool:
        ends, commits, before = steps.ends, steps.commits, steps.last_end
        step_end = last.time // self.settings.step * self.settings.step
        return (
            min(last.time, last.begin, last.end, before.end) >= 0
            and (ends.time, ends.begin, ends.end, ends.doubted) == (*last[:3], False)
            and (before.at, before.epoch) == (step_end, ends.epoch)
            and (commits.order.committed[0], commits.order.pending) == (last.committed, UNKNOWN)
            and all(waiting.at <= before.at for waiting in commits.marks)
            and self._has_plain_commit(steps, last)
        )

    def _has_plain_commit(self, steps: Steps, last: Sample) -> bool:
        commits, group = steps.commits, steps.last_group
        if last.committed == UNKNOWN or group is None:
            return last.committed == commits.time == UNKNOWN and group is None
        known_position = position(last.begin, last.end, last.committed, self.settings.reset)
        known = (last.time, last.committed, last.begin, known_position)
        return (
            (commits.time, commits.committed, commits.start, commits.position) == known
            and (group.at, group.epoch, group.resets) == (steps.last_end.at, commits.epoch, commits.resets)
            and group.position >= 0
        )

    def _write(self, row: int, steps: Steps) -> None:
        commits, growth, group = steps.commits, steps.growth, steps.last_group
        self.clear(row)
        values = {
            "recorded": commits.order.committed[1], "plain": State.PLAIN,
            "epoch": steps.ends.epoch, "commit_epoch": commits.epoch, "resets": commits.resets,
            "served": commits.served, "mark_end": steps.last_end.end, "mark_through": steps.last_end.through,
            "points": len(growth.times),
        }  # fmt: skip
        if group is not None:
            values |= {"mark_served": group.served, "mark_position": group.position}
        for name, value in values.items():
            self.arrays[name][row] = value
        self.point_at[: len(growth.times), row] = growth.times
        self.point_end[: len(growth.ends), row] = growth.ends

    def slot(self, at: int) -> int:
        """Return the index in ``due`` of a forecast made at the end of a step."""
        return int(at // (self.scale.stride * self.settings.step) % len(self.due))

    def restore(self, row: int) -> Steps:
        """Return the counters of a partition."""
        steps = Steps(self.settings)
        state = State(int(self.plain[row]))  # comparing numpy's integers with an IntEnum is slow
        if state == State.NONE:
            return steps
        ends, commits, growth = steps.ends, steps.commits, steps.growth

        def whole(name: str) -> int:
            return int(self.arrays[name][row])

        last = Sample(*map(whole, _SAMPLE[:4]))
        step_end = last.time // self.settings.step * self.settings.step
        ends.time, ends.begin, ends.end, ends.epoch = last.time, last.begin, last.end, whole("epoch")
        commits.served, commits.epoch, commits.resets = map(whole, ("served", "commit_epoch", "resets"))
        commits.order.committed = [last.committed, whole("recorded")]
        if last.committed != UNKNOWN:
            commits.time, commits.committed, commits.start = last.time, last.committed, last.begin
            commits.position = position(last.begin, last.end, last.committed, self.settings.reset)
            mark = (step_end, whole("mark_served"), whole("mark_position"), commits.epoch, commits.resets)
            steps.last_group = GroupMark(*mark) if state == State.PLAIN else None
        if state == State.BEGUN:
            return steps
        through = bool(self.mark_through[row])
        steps.last_end = EndMark(step_end, whole("mark_end"), ends.epoch, far=through, through=through)
        ring = (whole("point_first") + np.arange(whole("points"))) % MOST_POINTS
        growth.times, growth.ends = self.point_at[ring, row].tolist(), self.point_end[ring, row].tolist()
        return steps

    def model(self, row: int) -> Model:
        """Return the model of a partition."""
        model = Model(self.settings)
        season = model.season

        def whole(name: str) -> int:
            return int(getattr(self, name)[row])

        def real(name: str) -> float:
            return float(getattr(self, name)[row])

        def listed(name: str) -> list[Any]:
            values: list[Any] = getattr(self, name)[:, row].tolist()
            return values

        model.seen, model.run, model.total = map(whole, ("seen", "run", "total"))
        model.levels, model.trends = map(listed, ("levels", "trends"))
        model.recent_misses, model.lasting_misses, model.miss_counts = map(
            listed, ("recent_misses", "lasting_misses", "miss_counts")
        )
        model.miss, model.deviation, model.spread = map(real, ("miss", "deviation", "spread"))
        model.recent, model.expected = real("recent"), real("expected")
        model.last = None if np.isnan(self.last[row]) else real("last")
        model.pending = sorted(
            Pending(int(self.due[slot, row]), int(self.due_total[slot, row]), tuple(forecasts))
            for slot, forecasts in enumerate(self.due_forecasts[:, :, row].tolist())
            if self.due[slot, row]
        )
        season.quarter, season.steps, season.quarters = map(whole, ("quarter", "quarter_steps", "quarters"))
        season.sum, season.above, season.mean = map(real, ("quarter_sum", "above", "season_mean"))
        for name in _LISTED:
            setattr(season, name, listed(name))
        return model

    def store(self, row: int, model: Model) -> None:
        """Write the model of a partition back, after `model`."""
        season = model.season
        values: dict[str, Any] = {
            **{name: getattr(model, name) for name in _OF_MODEL},
            "last": np.nan if model.last is None else model.last,
            "quarter": season.quarter, "quarter_steps": season.steps, "quarters": season.quarters,
            "quarter_sum": season.sum, "above": season.above, "season_mean": season.mean,
            **{name: getattr(season, name) for name in _LISTED},
        }  # fmt: skip
        for name in ("due", "due_total", "due_forecasts"):
            values[name] = np.zeros(self.fields[name].depth, self.fields[name].kind)
        for pending in model.pending:
            slot = self.slot(pending.due - self.settings.horizon)
            values["due"][slot], values["due_total"][slot] = pending.due, pending.total
            values["due_forecasts"][slot] = pending.forecasts
        for name, value in values.items():
            part, array = self.fields[name].part, getattr(self, name)
            if part == "hot" or not np.array_equal(array[..., row], value, equal_nan=True):
                self.changed |= {part} - {"hot"}
                array[..., row] = value


def last_samples(table: Table, row: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return time, begin, end and commit of the last sample of each partition in ``row``."""
    return table.time[row], table.begin[row], table.end[row], table.committed[row]
