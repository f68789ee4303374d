"""The shape of results.json (version 2) of a back-test.

Times are seconds, lags are records, floats are rounded to thousandths.  A *candidate* is a strategy with its
parameters; a *situation* is a load with members, churn and surroundings, in which candidates are compared.
"""

from __future__ import annotations

from typing import Any, TypedDict

__all__ = [
    "KIND",
    "VERSION",
    "CandidateResult",
    "GroupRanking",
    "GroupResult",
    "LeftOutResult",
    "LineResult",
    "PlotResult",
    "Results",
    "RunResult",
]

KIND = "backtest"
VERSION = 2


class RunResult(TypedDict):
    """What was run: ``seconds`` is the time all scenarios took together, on ``cores`` cores."""

    history: str
    cores: int
    scenarios: int
    failed: int
    seconds: float


class GroupResult(TypedDict):
    """One group's history.

    ``unknown`` is the part of the arrivals that was interpolated, ``never_known`` counts partitions taken for
    empty, ``appeared`` those first seen later than the others.  ``service_rate`` is what the history itself
    tells, None if it does not.
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
    service_rate: float | None
    forecasts: bool


class CandidateResult(TypedDict):
    """A candidate's figures: means over the situations it did not fail in; `Outcome` defines each.

    In ``drained`` of them all was worked off, ``drain_s`` and ``recovery_s`` are means over those.  ``place``
    counts from 1 and is shared by those that do not differ; it does not come of the means, but of each
    situation, as ``reasons`` tell.  None: it failed where others did not, or was only tried on some groups
    (with forecasts), and is not ranked.
    """

    candidate: str
    strategy: str
    parameters: dict[str, Any]
    place: int | None
    reasons: list[str]
    scenarios: int
    failed: int
    drained: int
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


class GroupRanking(TypedDict):
    """What is best for one group: the candidates' figures and places in its situations alone."""

    group: str
    candidates: list[CandidateResult]
    judged_by: int
    notes: list[str]


class LeftOutResult(TypedDict):
    """A group that was recorded and not tried, and why."""

    group: str
    why: str


class LineResult(TypedDict):
    """One candidate's course, at the times ``t`` since the start of the history."""

    candidate: str
    t: list[float]
    lag: list[float]
    largest_member_lag: list[float]
    time_lag: list[float]


class PlotResult(TypedDict):
    """One situation of a group, and how the best candidates did in it.

    ``recorded`` is the lag as it really was, [time, records]; empty where the load is not the recorded one.
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

    ``candidates`` are in the order of their places, ranked by ``judged_by`` situations of all groups
    together; ``by_group`` ranks them for each group by itself, in the order of ``groups``.  ``scenarios`` are
    the rows of results.parquet.
    """

    kind: str
    version: int
    started: str
    run: RunResult
    groups: list[GroupResult]
    left_out: list[LeftOutResult]
    candidates: list[CandidateResult]
    judged_by: int
    notes: list[str]
    by_group: list[GroupRanking]
    failures: list[str]
    plots: list[PlotResult]
    scenarios: list[dict[str, Any]]
