"""The shape of results.json (version 2) of a back-test.

Times are seconds, but ``started`` and ``starts`` are in ISO 8601.  Lags are records.  The figures of
candidates are rounded to thousandths.  A *candidate* is a strategy with its parameters.  Candidates are
compared in the same *situation*: a load, with members and their service rate, churn and surroundings.
"""

from __future__ import annotations

from typing import Any, TypedDict

KIND = "backtest"
VERSION = 2


class RunResult(TypedDict):
    """The run: ``seconds`` is the wall-clock time of all scenarios together, on ``cores`` cores."""

    history: str
    cores: int
    scenarios: int
    failed: int
    seconds: float


class GroupResult(TypedDict):
    """The history of a group.

    ``unknown`` is the part of the pairs of step and partition whose arrivals are unknown, 0 to 1.  Pairs
    before a partition's first row or after its end do not count.  ``service_rate`` is measured in the
    history; None: the history does not show it.

    Three fields are numbers of partitions:
    - ``never_known``: partitions whose arrivals are unknown in every step, and count as 0.
    - ``appeared``: partitions whose first row is after the first step.
    - ``ended``: partitions that count as empty after their last row.
    """

    group: str
    topics: int
    partitions: int
    starts: str
    steps: int
    step_s: float
    records: int
    unknown: float
    never_known: int
    appeared: int
    ended: int
    service_rate: float | None
    forecasts: bool


class CandidateFigures(TypedDict):
    """The figures of a candidate (see `Outcome`): means over the situations in which it did not fail."""

    drain_s: float | None
    recovery_s: float | None
    largest_lag: float | None
    mean_lag: float | None
    largest_member_lag: float | None
    time_lag_p50: float | None
    time_lag_p99: float | None
    moved: float | None
    r_score: float | None
    rebalances: float | None
    pause_s: float | None


class CandidateResult(CandidateFigures):
    """A candidate, its figures and its place.

    With replicates (draws of the times of the churn), each replicate has its own means over its situations.
    A figure is then the median of these means, and ``intervals`` has their 5th and 95th percentile.  Without
    replicates, ``intervals`` is empty.  A situation without churn is part of each replicate.

    ``drained`` is the number of situations in which the lag drained; ``drain_s`` and ``recovery_s`` are means
    over those in which it drained or recovered.  ``place`` counts from 1, and equal candidates share it.  The
    place comes from comparing each situation, not from the means; see ``reasons``.  None: the candidate is
    not ranked, because it failed where others did not, or was tried only on some groups (those with
    forecasts).
    """

    candidate: str
    strategy: str
    parameters: dict[str, Any]
    place: int | None
    reasons: list[str]
    scenarios: int
    failed: int
    drained: int
    intervals: dict[str, tuple[float, float]]


class GroupRanking(TypedDict):
    """The ranking for one group: figures and places of the candidates in its situations."""

    group: str
    candidates: list[CandidateResult]
    judged_by: int
    notes: list[str]


class LeftOutResult(TypedDict):
    """A recorded group that was not tried, and the reason."""

    group: str
    why: str


class LineResult(TypedDict):
    """The course of one candidate, at the times ``t`` since the start of the history."""

    candidate: str
    t: list[float]
    lag: list[float]
    largest_member_lag: list[float]
    time_lag: list[float]


class PlotResult(TypedDict):
    """One situation of a group, with the courses of the best candidates.

    ``recorded`` is the recorded lag as pairs of time and records; it is empty if the load was scaled.
    """

    group: str
    load: str
    members: int
    churn: str
    service_rate: float
    lines: list[LineResult]
    recorded: list[tuple[float, float]]


class Results(TypedDict):
    """A whole back-test.

    ``candidates`` are in the order of their places.  ``judged_by`` is the number of situations, of all
    groups, by which they are ranked.  ``by_group`` ranks them for each group, in the order of ``groups``.
    ``replicates`` is the number of draws of each churn; 1: the churn as given.  ``scenarios`` are the rows of
    results.parquet, with ``parameters`` as an object.
    """

    kind: str
    version: int
    started: str
    run: RunResult
    replicates: int
    groups: list[GroupResult]
    left_out: list[LeftOutResult]
    candidates: list[CandidateResult]
    judged_by: int
    notes: list[str]
    by_group: list[GroupRanking]
    failures: list[str]
    plots: list[PlotResult]
    scenarios: list[dict[str, Any]]
