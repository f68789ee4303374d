"""The figures of the leader's last plan."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan import NO_MEMBER, Metrics, Rebalance, quick_lag_bound


class Moves(NamedTuple):
    """Partitions moved and held back in one round, without those that an earlier round counted."""

    moved: int  # taken from a member that could have kept them
    held_back: int  # without an owner in this round
    waiting: frozenset[tuple[str, int]]  # not at their target yet, and counted in this or an earlier round


def new_moves(result: Rebalance, moved: int, waiting: Set[tuple[str, int]]) -> Moves:
    """Count the moves of a round that no earlier round of its rebalance has counted.

    A busy member revokes its partitions some rounds late.  In each of these rounds the leader plans the same
    move.  A contested partition that stays with a claimant for a round is not counted in that round.
    ``moved`` is the plan's ``Metrics.moved``, and ``waiting`` is ``Moves.waiting`` of the round before.
    """
    group, owner, target = result.group, result.claims.owner, result.target.owners
    indices = [
        group.first[topic] + number for topic, number in waiting if number < group.topics.get(topic, 0)
    ]
    waited = np.asarray(indices, np.int64)
    is_moved = (owner != NO_MEMBER) & (owner != target)
    is_held_back = _is_held_back(result)
    is_counted = is_moved | is_held_back
    return Moves(
        moved - int(is_moved[waited].sum()),
        int(is_held_back.sum()) - int(is_held_back[waited].sum()),
        frozenset(
            (hold.topic, hold.partition)
            for hold in result.holds
            if is_counted[group.first[hold.topic] + hold.partition]
        ),
    )


def _is_held_back(result: Rebalance) -> npt.NDArray[np.bool_]:
    """By partition: whether it has an owner in the target, but none in this round."""
    held: npt.NDArray[np.bool_] = (result.target.owners != NO_MEMBER) & (result.assigned.owners == NO_MEMBER)
    return held


def plan_figures(
    result: Rebalance, metrics: Metrics, milliseconds: float, forecasts: int | None
) -> dict[str, float]:
    """Return metric name -> value.  Metrics that the strategy does not have are left out."""
    figures = {
        "plan-time-ms": milliseconds,
        "partitions-kept": metrics.kept,
        "partitions-moved": metrics.moved,
        "partitions-held-back": int(_is_held_back(result).sum()),
        "partition-spread": metrics.spread,
        "largest-load": metrics.max_load,
        # A tighter bound would take longer, and the rebalance waits for it.
        "largest-load-bound": None if metrics.max_load is None else quick_lag_bound(result.group),
        "forecasts-used": forecasts,
    }
    return {name: float(value) for name, value in figures.items() if value is not None}
