"""The figures of the leader's last plan."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan import NO_MEMBER, Assignment, Metrics, Rebalance, quick_lag_bound


class ReportedPlan(Protocol):
    """The parts of a ``PlanReport`` that are recorded."""

    @property
    def target(self) -> Assignment:
        """The planned owners."""

    @property
    def assignment(self) -> Assignment:
        """The owners in this round."""

    @property
    def metrics(self) -> Metrics:
        """The measures of ``target``."""

    @property
    def milliseconds(self) -> float:
        """The time the plan took."""

    @property
    def forecasts(self) -> int | None:
        """Number of partitions with a forecast."""


class Moves(NamedTuple):
    """The moves of one round; a move counts in the first round of its rebalance only.

    Attributes:
        moved: number of partitions taken from a member that could have kept them.
        held_back: number of partitions without an owner in this round.
        waiting: topics and numbers of all partitions that need another round, also from earlier rounds.
    """

    moved: int
    held_back: int
    waiting: frozenset[tuple[str, int]]


def new_moves(result: Rebalance, moved: int, waiting: Set[tuple[str, int]]) -> Moves:
    """Count the moves of a round that no earlier round of its rebalance has counted.

    A member that is busy revokes its partitions rounds later, and each of these rounds plans the same move.

    Args:
        result: the round.
        moved: number of partitions that its target moves.
        waiting: ``Moves.waiting`` of the round before.
    """
    group, owner, target = result.group, result.claims.owner, result.target.owners
    numbers = [
        group.first[topic] + number for topic, number in waiting if number < group.topics.get(topic, 0)
    ]
    waited = np.asarray(numbers, np.int64)
    is_moved = (owner[waited] != NO_MEMBER) & (owner[waited] != target[waited])
    is_held_back = _is_held_back(result.target, result.assigned)
    return Moves(
        moved - int(is_moved.sum()),
        int(is_held_back.sum()) - int(is_held_back[waited].sum()),
        frozenset((hold.topic, hold.partition) for hold in result.holds),
    )


def _is_held_back(target: Assignment, assigned: Assignment) -> npt.NDArray[np.bool_]:
    held: npt.NDArray[np.bool_] = (target.owners != NO_MEMBER) & (assigned.owners == NO_MEMBER)
    return held


def plan_figures(report: ReportedPlan) -> dict[str, float]:
    """Return the figures of a plan by the names of their metrics, as far as its strategy has them."""
    metrics = report.metrics
    figures = {
        "plan-time-ms": report.milliseconds,
        "partitions-kept": metrics.kept,
        "partitions-moved": metrics.moved,
        "partitions-held-back": int(_is_held_back(report.target, report.assignment).sum()),
        "partition-spread": metrics.spread,
        "largest-load": metrics.max_load,
        # Not the tightest bound: the rebalance waits for this one.
        "largest-load-bound": None if metrics.max_load is None else quick_lag_bound(report.target.group),
        "forecasts-used": report.forecasts,
    }
    return {name: float(value) for name, value in figures.items() if value is not None}
