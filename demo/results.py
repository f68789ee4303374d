"""The shape of results.json (version 7): what is measured, and all that the report and the tables need.

``strategies`` are the runs of the replay, made by `measure`, ``backlog`` those of the backlog, made by
`measure_drain`; a scene that was not asked for is empty.  ``pipeline`` is what the pipeline made of all of
them; None: it was not asked for, or its turn has not come.  ``failover`` is the third scene; None likewise.

All times are seconds; points in time count from the first record sent in the replay, and from the word "go"
in the backlog.  Floats are rounded to milliseconds.
"""

from __future__ import annotations

from typing import TypedDict

from demo.failover.results import FailoverResult
from demo.pipeline.results import PipelineResult

VERSION = 7


class HoldResult(TypedDict):
    """A member owned a partition from ``start`` to ``end``."""

    member: str
    partition: int
    start: float
    end: float


class WaitResult(TypedDict):
    """Because of a rebalance, records waited from ``start`` to ``end``; ``member`` took them up again.

    ``moved``: the partition was handed over meanwhile.
    """

    step: int
    partition: int
    member: str
    moved: bool
    start: float
    end: float


class PauseResult(TypedDict):
    """The pause of one partition in one step: the sum of its waits.  ``moved``: it was handed over."""

    step: int
    partition: int
    moved: bool
    seconds: float


class HandoverResult(TypedDict):
    """A partition was gained at ``t`` by another member than its last owner."""

    t: float
    partition: int
    giver: str
    taker: str


class StepResult(TypedDict):
    """One step of the churn and what it cost.

    ``settled`` is the time from the step to the last change of ownership, None if partitions were left
    without an owner.  ``paused`` counts partitions; without any, there is no median and no maximum.
    """

    kind: str
    member: str
    at: float
    settled: float | None
    rebalances: int
    moved: int
    least_moves: int
    paused: int
    pause_total: float
    pause_p50: float | None
    pause_max: float | None


class LagResult(TypedDict):
    """Records sent and not yet processed at the times ``t``: in total, with no owner, and per owner."""

    t: list[float]
    total: list[int]
    unowned: list[int]
    members: dict[str, list[int]]


class StrategyResult(TypedDict):
    """One strategy's run; `measure` defines each figure."""

    strategy: str
    produced: int
    processed: int
    lost: int
    duplicates: int
    moved: int
    least_moves: int
    rebalances: int
    paused: int
    pausable: int
    pause_total: float
    pause_p50: float | None
    pause_max: float | None
    usual_wait_p50: float | None
    usual_wait_p99: float | None
    drain: float
    end: float
    peak_lag: int
    lateness: float
    fault: str
    double_owned: int
    owned_at_end: int
    steps: list[StepResult]
    pauses: list[PauseResult]
    waits: list[WaitResult]
    holds: list[HoldResult]
    openings: list[HoldResult]
    handovers: list[HandoverResult]
    lag: LagResult


class ShareResult(TypedDict):
    """What one member had to do with the backlog.

    ``partitions`` and ``load`` (records) when it began, ``processed`` until the end, ``finished``: when it
    processed its last record, None if it never did any.
    """

    partitions: int
    load: int
    processed: int
    finished: float | None


class DrainResult(TypedDict):
    """One strategy's run over the backlog; `measure_drain` defines each figure."""

    strategy: str
    produced: int
    processed: int
    lost: int
    duplicates: int
    largest_load: int
    least_largest: int
    drain: float
    bound: float
    ratio: float | None
    first_idle: float
    moved: int
    rebalances: int
    fault: str
    double_owned: int
    owned_at_end: int
    shares: dict[str, ShareResult]
    lag: LagResult
    largest: list[int]


class _Since(TypedDict, total=False):
    """What recordings of earlier releases lack."""

    continuous: bool
    """The members were `ContinuousConsumer`s."""


class SettingsResult(_Since):
    """What was asked; see `Settings` for the meaning."""

    scenes: list[str]
    consumers: int
    partitions: int
    speed: float
    duration: float
    churn: str
    backlog: int
    flights: int
    work_ms: float
    warm_up_ms: float
    session_timeout_ms: int
    heartbeat_ms: int
    batch: int
    pipeline: bool


class Results(TypedDict):
    """A whole demo: one entry in ``strategies``, and in ``backlog``, for each that ran.

    ``seconds`` is how long each scene and the pipeline took, preparations included.
    """

    version: int
    started: str
    dataset: str
    settings: SettingsResult
    seconds: dict[str, float]
    strategies: list[StrategyResult]
    backlog: list[DrainResult]
    failover: FailoverResult | None
    pipeline: PipelineResult | None
