"""Who asks for the second round of a cooperative rebalance, should nobody else do it (KIP-429)."""

from __future__ import annotations

from kafka_assignors.plan import Hold

__all__ = ["PATIENCE_S", "NextRound"]

_ROUNDS = 5
"""How often the leader asks for another round because of one and the same hold, at most."""

PATIENCE_S = 1.0
"""How long it leaves that to the members that revoke something, seconds: to ask at once would cut this round
short for members that have not heard of it yet, and who does have something to revoke is faster anyway."""


class NextRound:
    """What the leader held back, and for how many rounds it has.

    Who revokes something asks for the next round, unless it never had what it claims; so the leader asks,
    too.  kafka-python's own cooperative members keep claiming what they had before they lost their
    membership, and a broken client claims whatever it likes; they have nothing to revoke and ask for nothing.
    """

    def __init__(self) -> None:
        self._waited: dict[Hold, int] = {}
        self.held: list[Hold] = []

    @property
    def overdue(self) -> set[Hold]:
        """What should have ended in an earlier round; see ``this_round``.

        Held back twice (its member may have missed the first time), then given to who holds it.  Then its
        claim is true, so once more; and if it goes on, it has it.
        """
        return {hold for hold, rounds in self._waited.items() if rounds % 3 == 2 or rounds >= _ROUNDS}

    @property
    def waits(self) -> bool:
        """Whether it will ask for another round if nobody else does."""
        return any(rounds <= _ROUNDS for rounds in self._waited.values())

    @property
    def settling(self) -> bool:
        """Whether something was held back in the last round."""
        return bool(self._waited)

    def begins(self) -> None:
        """A rebalance begins.  One that it interrupts does not count: not everybody has heard of it."""
        self.held = []

    def ends(self) -> None:
        """A rebalance has ended, in which ``held`` was held back."""
        held, self.held = self.held, []
        self._waited = {hold: self._waited.get(hold, 0) + 1 for hold in held}
