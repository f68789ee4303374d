"""Decides when the leader requests the second round of a cooperative rebalance (KIP-429).

A hold is a partition that the leader has not given to its new owner yet, because another member claims it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from kafka_assignors.plan import NO_GENERATION, Hold

_ROUNDS = 5
"""Maximum number of rounds that the leader requests for one hold while the member is not busy."""

PATIENCE_S = 1.0
"""Seconds after which the leader requests the next round itself.  A member that revokes partitions requests
it sooner.  An immediate request would end the present round before some members have their assignment."""

_BUSY_S = 300.0
"""Seconds a member may be busy if no setting is known: the default of ``max_poll_interval_ms``."""


@dataclass(frozen=True, slots=True)
class _Wait:
    """How long a hold has lasted."""

    rounds: int  # number of rounds that ended with this hold, without those in which the member was busy
    since: int  # generation of the first round that held the partition back
    until: float  # time up to which the member's application may be busy
    is_busy: bool = False  # whether the member still sends the claims it had before that first round


class SecondRound:
    """Counts the rounds for which the leader holds partitions back.

    A member that revokes partitions requests the next round.  But a member may claim a partition that it does
    not own, and then revokes nothing: kafka-python's own cooperative members repeat the claims of a lost
    membership, and a broken client may claim anything.  So the leader requests rounds, too, and counts them.

    The first round of a hold is counted.  A later round is not counted if the member's claim is older than
    the first round.  The member then counts as busy: it probably joined outside ``poll()``, and has not
    applied an assignment since.  At its next ``poll()`` it revokes the partition and requests a round.  After
    ``max_poll_interval_ms`` each round is counted.  A claim that is older than the first join under
    this member id comes from a lost membership.  The member has nothing to revoke, so the round is counted.

    Attributes:
        held: holds of the current round.
        generations: member id -> generation of its claims in the current round.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waits: dict[Hold, _Wait] = {}
        self._joined: dict[str, int] = {}  # member id -> earliest generation in which it may have joined
        self._last_led: int | None = None  # the last generation that this member led
        self.held: list[Hold] = []
        self.generations: Mapping[str, int] = {}

    @property
    def overdue(self) -> set[Hold]:
        """Return holds that should have ended in an earlier round; see ``plan.this_round``.

        The counted rounds of a hold:

        - 1 and 2 hold the partition back, because the claimant may have missed the first;
        - 3 assigns it to the claimant, so that its next claim is true, or to the new owner, if the claimant
          does not subscribe to the topic;
        - 4 and 5 hold it back again;
        - from 6 on, as in 3, each time.
        """
        return {hold for hold, wait in self._waits.items() if wait.rounds == 2 or wait.rounds >= _ROUNDS}

    @property
    def rejoin_after_s(self) -> float | None:
        """Seconds after which the leader requests another round if no member does; None: never."""
        waits = [wait for wait in self._waits.values() if wait.rounds <= _ROUNDS]
        if not waits:
            return None
        if all(wait.is_busy for wait in waits):
            return max(PATIENCE_S, min(wait.until for wait in waits) - self._clock())
        return PATIENCE_S

    @property
    def is_settling(self) -> bool:
        """Whether this rebalance needs another round, because the last one held partitions back."""
        return self.rejoin_after_s is not None

    def begin(self) -> None:
        """Begin a round.  An interrupted round does not count, because members may have missed it."""
        self.held, self.generations = [], {}

    def end(self, generation: int, busy_s: float | None = None) -> None:
        """End a round, and count it for its holds.

        ``busy_s`` is the consumer's ``max_poll_interval_ms`` in seconds; None without a consumer.
        """
        held, self.held = self.held, []
        if self.generations:  # this member led the round
            earliest = 0 if self._last_led is None else self._last_led + 1
            self._joined = {
                member_id: self._joined.get(member_id, earliest) for member_id in self.generations
            }
            self._last_led = generation
        until = self._clock() + (_BUSY_S if busy_s is None else busy_s)
        self._waits = {hold: self._wait(hold, generation, until) for hold in held}

    def _wait(self, hold: Hold, generation: int, until: float) -> _Wait:
        """Return how long a hold of the round that ends now has lasted."""
        wait = self._waits.get(hold)
        if wait is None:
            return _Wait(1, generation, until)
        claimed = self.generations.get(hold.member_id, NO_GENERATION)
        is_old = NO_GENERATION < claimed < wait.since
        may_be_true = claimed >= self._joined.get(hold.member_id, 0)
        if is_old and may_be_true and self._clock() < wait.until:
            return replace(wait, is_busy=True)
        return replace(wait, rounds=wait.rounds + 1, is_busy=False)
