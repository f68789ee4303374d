"""Fair loads by maximum flow.  The time does not depend on how far off the loads are.

Without restrictions by subscriptions, all loads would be ``mean`` or one more.  So send as much as possible
from members above the mean to members below it.  If excess is left, a cut separates the members: in any fair
plan, all that the members with excess can reach stays on their side.  Each side has its own mean and is
balanced in the same way (the decomposition of convex flows, Groenevelt 1991; here all parts at once).
"""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.sticky.goals import Load, Mask, Vector
from kafka_assignors.plan.sticky.residual import Residual
from kafka_assignors.plan.sticky.zero_cost_flow import FlowPhase, Labels


def balance(residual: Residual) -> None:
    """Minimise the sum of the squares of the loads.

    Cost: a few phases of maximum flow for each generation of parts.  The number of generations is about the
    logarithm of the number of distinct loads.
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
        stuck, above = _send(
            residual, residual.loads - mean - 1, of_member, np.ones(parts, np.bool_), high=True
        )
        rest, below = _send(residual, residual.loads - mean, of_member, ~stuck, high=False)
        split = np.where(stuck[part], above, rest[part] & below)
        # Each part with excess left splits in two.  Loads are fair when no part splits.
        _, part = np.unique(2 * part + split, return_inverse=True)
        if int(part.max()) + 1 == parts:
            return
        residual.close(part[:topics, None] != part[topics:])


def _send(
    residual: Residual, excess_of: Vector, part: Vector, active: Mask, *, high: bool
) -> tuple[Mask, Mask]:
    """Send from members with too much to members with too little, in the active parts.

    Args:
        residual: the network, without its hub.
        excess_of: by member, negative where it has too little.
        part: by member.
        active: by part.
        high: whether to report the excess left, or the deficit left.

    Returns:
        By part, whether excess (or deficit) is left; by node, whether it can be reached from excess.
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
    wrong = after > 0 if high else after < 0
    return np.bincount(part[wrong], minlength=len(active)) > 0, reached
