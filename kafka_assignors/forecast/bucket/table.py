"""The states of many partitions as arrays: the last dimension of each has an entry for each partition.

The arrays hold all models, but only *plain* counters.  Plain counters meet these conditions, and the rest of
this folder relies on them:

- The last sample has the begin and end of the log.  Its commit is known, or no sample so far had a known one.
- The last step ended at the last step boundary up to that sample, with known offsets.  Or there was
  no step boundary yet.
- No report of a reset is pending (``commit_order``), and no mark of a commit waits for an end offset.

A partition that only the sampler reports is in such a state, except at a gap, a reset or the group's first
commit.  `write_counters` returns whether a state is plain and past its first step boundary.

Arrays belong to *parts*, which change at different times: ``hot`` with each sample, ``scores`` with each
forecast to be scored, ``season`` with each quarter of an hour.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_assignors.forecast.forecasters import FIRST, FORECASTERS, NORMAL, OTHERS
from kafka_assignors.forecast.model import Model
from kafka_assignors.forecast.samples import UNKNOWN
from kafka_assignors.forecast.season import (
    QUARTERS,
    UNKNOWN_TOTAL,
    WEEK_HOURS,
    WEEK_QUARTERS,
    WHOLE,
    slots_of,
)
from kafka_assignors.forecast.settings import LoadSettings
from kafka_assignors.forecast.steps import MOST_POINTS

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
    BEGUN = 2  # the counters are plain, and no step boundary has passed yet


COUNTERS = (
    *("recorded", "plain", "epoch", "commit_epoch", "resets", "served"),
    *("mark_end", "mark_served", "mark_position", "mark_through"),
    *("point_first", "points", "point_at", "point_end"),
)
"""The array ``plain``, and the arrays whose entries are valid only where ``plain`` is set."""


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
        **dict.fromkeys(("time", "begin", "end", "committed", "newest"), unknown),
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
        """Number of scores, as ``Mixture.scored``."""
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

    def slot(self, at: int) -> int:
        """Return the index in ``due`` of a forecast made at the end of a step."""
        return int(at // (self.scale.stride * self.settings.step) % len(self.due))


def last_samples(table: Table, row: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return time, begin, end and commit of the last sample of each partition in ``row``."""
    return table.time[row], table.begin[row], table.end[row], table.committed[row]
