"""When the leader requests the second round of a cooperative rebalance, if no member does (KIP-429)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from kafka_assignors.plan import NO_GENERATION, Hold

__all__ = ["PATIENCE_S", "NextRound"]

_ROUNDS = 5
"""How often the leader asks for another round because of one and the same hold, at most."""

PATIENCE_S = 1.0
"""How long the leader leaves that to the members that revoke something, seconds.  Asking at once cuts
the round short for members that have not heard of it yet; a member with something to revoke is faster."""

_BUSY_S = 300.0
"""How long a member may be busy where no consumer says, seconds: kafka-python's ``max_poll_interval_ms``."""


@dataclass(frozen=True, slots=True)
class _Wait:
    """How long a hold lasts already.

    Attributes:
        rounds: for how many rounds its member has claimed the partition in spite of it.
        since: generation of the first round that withheld the partition.
        until: time up to which the member may be busy.
        is_busy: whether the member still claims what it had before that round.
    """

    rounds: int
    since: int
    until: float
    is_busy: bool = False


class NextRound:
    """What the leader held back, and for how many rounds it has.

    A member that revokes something requests the next round.  A member that never had what it claims revokes
    nothing: kafka-python's own cooperative members claim what they had before they lost their membership, and
    a broken client claims anything.  So the leader asks, too, and counts rounds.

    A claim older than the round that withheld the partition does not count: its member has joined again while
    its application was busy, and gives the partition back at its next ``poll()``.  That member then asks
    itself.  A claim older than its member's own join is no such claim: the member never had the partition.

    Args:
        clock: seconds.

    Attributes:
        held: holds of the round that is being planned.
        dates: member id -> generation of its claims in that round.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waits: dict[Hold, _Wait] = {}
        self._joined: dict[str, int] = {}  # member id -> a generation that it joined in, or after
        self._led: int | None = None
        self.held: list[Hold] = []
        self.dates: Mapping[str, int] = {}

    @property
    def overdue(self) -> set[Hold]:
        """Holds that should have ended in an earlier round; see ``this_round``.

        A partition is held back twice (its member may have missed the first time), then given to its holder.
        Then the claim is true, so once more; if it still goes on, the holder keeps the partition.
        """
        return {hold for hold, wait in self._waits.items() if wait.rounds % 3 == 2 or wait.rounds >= _ROUNDS}

    @property
    def asks_after_s(self) -> float | None:
        """Seconds after which the leader asks for another round if no member does.  None: it does not."""
        waits = [wait for wait in self._waits.values() if wait.rounds <= _ROUNDS]
        if not waits:
            return None
        if all(wait.is_busy for wait in waits):
            return max(PATIENCE_S, min(wait.until for wait in waits) - self._clock())
        return PATIENCE_S

    @property
    def settling(self) -> bool:
        """Whether something was held back in the last round."""
        return bool(self._waits)

    def begins(self) -> None:
        """A rebalance begins.  A round that it interrupts does not count: not every member heard of it."""
        self.held, self.dates = [], {}

    def ends(self, generation: int, busy_s: float | None = None) -> None:
        """A rebalance has ended, in which ``held`` was held back.

        Args:
            generation: of that rebalance.
            busy_s: the consumer's ``max_poll_interval_ms``, in seconds; None without a consumer.
        """
        held, self.held = self.held, []
        if self.dates:
            newest = 0 if self._led is None else self._led + 1
            self._joined = {member_id: self._joined.get(member_id, newest) for member_id in self.dates}
            self._led = generation
        until = self._clock() + (_BUSY_S if busy_s is None else busy_s)
        self._waits = {hold: self._wait(hold, generation, until) for hold in held}

    def _wait(self, hold: Hold, generation: int, until: float) -> _Wait:
        wait = self._waits.get(hold)
        if wait is None:
            return _Wait(1, generation, until)
        date = self.dates.get(hold.member_id, NO_GENERATION)
        is_possible = date >= self._joined.get(hold.member_id, 0)
        if NO_GENERATION < date < wait.since and is_possible and self._clock() < wait.until:
            return replace(wait, is_busy=True)
        return replace(wait, rounds=wait.rounds + 1, is_busy=False)
