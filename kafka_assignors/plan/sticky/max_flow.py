"""Fair loads by maximum flow.  The time does not depend on how far off the loads are.

If all members had equal subscriptions, every load would be the mean, rounded down or up.  So send as much as
possible from members above the mean to members below it.  If excess is left, a cut separates the members: on
one side are those that the excess can reach.  In any fair plan no unit crosses the cut, so each side is a
part with its own mean, and is balanced in the same way (the decomposition of convex flows, Groenevelt 1991;
here all parts at once).
"""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.arrays import Mask, Vector
from kafka_assignors.plan.sticky.goals import Load
from kafka_assignors.plan.sticky.residual import Residual
from kafka_assignors.plan.sticky.zero_cost_flow import FlowPhase, Labels


def balance(residual: Residual) -> None:
    """Minimise the sum of the squares of the loads.

    Cost: a few phases of maximum flow each time that parts split.  They split about as often as the logarithm
    of the number of distinct loads.
    """
    residual.price(Load())
    residual.close_hub()
    topics, members = residual.topics, residual.members
    part = np.zeros(topics + members, np.int64)
    while True:
        of_member = part[topics:]
        parts = int(part.max()) + 1
        sizes = np.bincount(of_member, minlength=parts)
        total = np.bincount(of_member, weights=residual.loads, minlength=parts).astype(np.int64)
        mean = (total // np.maximum(sizes, 1))[of_member]
        has_excess, above = _send(
            residual, residual.loads - mean - 1, of_member, np.ones(parts, np.bool_), high=True
        )
        has_deficit, below = _send(residual, residual.loads - mean, of_member, ~has_excess, high=False)
        split = np.where(has_excess[part], above, has_deficit[part] & below)
        # Each part with excess or deficit left splits in two.  Loads are fair when no part splits.
        _, part = np.unique(2 * part + split, return_inverse=True)
        if int(part.max()) + 1 == parts:
            return
        residual.close(part[:topics, None] != part[topics:])


def _send(
    residual: Residual, excess_of: Vector, part: Vector, active: Mask, *, high: bool
) -> tuple[Mask, Mask]:
    """Send units from members with too many to members with too few, in the active parts.

    ``excess_of`` is negative for a member with too few.

    Returns:
        By part, whether excess is left (``high``), or whether a deficit is; by node, whether excess can reach
        it.
    """
    topics = residual.topics
    excess = np.zeros(residual.hub + 1, np.int64)
    excess[topics : residual.hub] = np.where(active[part], excess_of, 0)
    reached = np.zeros(residual.hub, np.bool_)
    before = excess[topics : residual.hub].copy()
    while bool((excess > 0).any()):
        phase = FlowPhase(residual, Labels(residual), excess)
        if not phase.measure():
            reached = phase.reached()[: residual.hub]
            break
        phase.send()
    after = excess[topics : residual.hub]
    residual.loads += after - before
    is_left = after > 0 if high else after < 0
    return np.bincount(part[is_left], minlength=len(active)) > 0, reached
