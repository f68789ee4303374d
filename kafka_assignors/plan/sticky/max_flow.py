"""Fair loads by maximum flow, whatever the sizes: the time does not depend on how far off they are.

All loads of a group would be ``mean`` or one more, were it not for the subscriptions.  So send as much as can
be sent from who has more to who has less.  If something is left, a cut parts the members: what those that
have too much can reach is theirs alone, and the others get nothing of it in any fair plan.  Both parts have
means of their own, and so on (the decomposition of convex flows, Groenevelt 1991; here all parts at once).
"""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.sticky.goals import Load, Mask, Vector
from kafka_assignors.plan.sticky.residual import Residual
from kafka_assignors.plan.sticky.zero_cost_flow import Labels, Phase

__all__ = ["balance"]


def balance(residual: Residual) -> None:
    """Make the sum of the squares of the loads least.

    Cost: a few phases of maximum flow for each generation of parts, of which there are about as many as the
    logarithm of the number of different loads.
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
        # Each part with something left over falls in two; when none does the loads are fair.
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
        high: whether what is left over counts, or what is missing.

    Returns:
        By part, whether there is something left over (or missing); by node, whether it can be reached from
        where something is left over.
    """
    topics = residual.topics
    excess = np.zeros(residual.hub + 1, np.int64)
    excess[topics : residual.hub] = np.where(active[part], excess_of, 0)
    reached = np.zeros(residual.hub, np.bool_)
    before = excess[topics : residual.hub].copy()
    while bool((excess > 0).any()):
        phase = Phase(residual, Labels(residual), excess)
        if not phase.measure():
            reached = phase.reached()[: residual.hub]
            break
        phase.send()
    after = excess[topics : residual.hub]
    residual.loads += after - before
    wrong = after > 0 if high else after < 0
    return np.bincount(part[wrong], minlength=len(active)) > 0, reached
