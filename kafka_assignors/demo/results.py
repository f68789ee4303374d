"""The shape of results.json (version 1): what `measure` makes, and all that the report and the tables need.

All times are seconds; points in time count from the first record sent.  Floats are rounded to milliseconds.
"""

from __future__ import annotations

from typing import TypedDict

VERSION = 1


class HoldResult(TypedDict):
    """A member owned a partition from ``start`` to ``end``."""

    member: str
    partition: int
    start: float
    end: float


class WaitResult(TypedDict):
    """Because of a rebalance, records waited from ``start`` to ``end``; ``member`` took them up again."""

    step: int
    partition: int
    member: str
    start: float
    end: float


class PauseResult(TypedDict):
    """The pause of one partition in one step: the sum of its waits.  ``moved``: its owner changed."""

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
    without an owner.
    """

    kind: str
    member: str
    at: float
    settled: float | None
    rebalances: int
    moved: int
    least_moves: int
    paused_partitions: int
    pause_p50: float
    pause_max: float


class MemberResult(TypedDict):
    """A member's life; ``how`` it ended: ``left``, ``killed`` or ``end`` (still there when all was done)."""

    name: str
    pid: int
    start: float
    end: float
    how: str
    processed: int


class LagResult(TypedDict):
    """Records sent and not yet processed at the times ``t``: in total, with no owner, and per owner."""

    t: list[float]
    total: list[int]
    unowned: list[int]
    members: dict[str, list[int]]


class StrategyResult(TypedDict):
    """One strategy's run."""

    strategy: str
    produced: int
    processed: int
    lost: int
    duplicates: int
    moved: int
    least_moves: int
    rebalances: int
    pause_p50: float
    pause_max: float
    usual_wait_p50: float
    usual_wait_p99: float
    drain: float
    end: float
    peak_lag: int
    throughput: float
    double_owned: int
    owned_at_end: int
    steps: list[StepResult]
    pauses: list[PauseResult]
    waits: list[WaitResult]
    holds: list[HoldResult]
    openings: list[HoldResult]
    handovers: list[HandoverResult]
    members: list[MemberResult]
    lag: LagResult


class SettingsResult(TypedDict):
    """What was asked; see `Settings` for the meaning."""

    consumers: int
    partitions: int
    speed: float
    duration: float
    churn: str
    work_ms: float
    warm_up_ms: float
    session_timeout_ms: int
    heartbeat_ms: int
    batch: int


class Results(TypedDict):
    """A whole demo: one entry in ``strategies`` for each that ran."""

    version: int
    started: str
    dataset: str
    settings: SettingsResult
    strategies: list[StrategyResult]
