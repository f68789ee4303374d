"""The phases of a continuous member's join, and their transitions.  Pure: no calls into kafka-python.

    SETTLED -> JOINING -> ANSWERED -> APPLYING -> SETTLED

JOINING runs on the I/O thread, while the application works.  Listeners run inside ``poll()``: before JOINING
and in APPLYING.  A join that fails, or whose membership is lost, returns to SETTLED.
"""

from __future__ import annotations

from enum import Enum, auto

from kafka_assignors.plan import TopicPartition

Partitions = frozenset[TopicPartition]


class Phase(Enum):
    """The phases of a join."""

    SETTLED = auto()
    """No join is under way."""
    JOINING = auto()
    """From JoinGroup to the SyncGroup response.  Both requests hold up later ones on the same connection."""
    ANSWERED = auto()
    """The assignment has arrived and waits for the next ``poll()``."""
    APPLYING = auto()
    """``poll()`` applies the assignment: listeners may run."""


class JoinState:
    """The phase of a member's join, with the assignment to apply.

    Attributes:
        phase: the current phase.
        assigned: partitions of the assignment that waits (ANSWERED); empty otherwise.
        is_rejoin_requested: whether a rejoin was requested since the assignment arrived.
        is_in_poll: whether ``poll()`` is preparing, awaiting or applying a join.
        is_closing: whether ``close()`` was called.
    """

    def __init__(self) -> None:
        self.phase = Phase.SETTLED
        self.assigned: Partitions = frozenset()
        self.is_rejoin_requested = False
        self.is_in_poll = False
        self.is_closing = False

    @property
    def is_in_flight(self) -> bool:
        """Whether JoinGroup or SyncGroup is unanswered."""
        return self.phase is Phase.JOINING

    @property
    def is_answered(self) -> bool:
        """Whether an assignment waits for ``poll()``."""
        return self.phase is Phase.ANSWERED

    @property
    def keeps_assignment(self) -> bool:
        """Whether the member keeps its current assignment while a join is under way."""
        return self.phase in (Phase.JOINING, Phase.ANSWERED)

    @property
    def may_begin(self) -> bool:
        """Whether a join may begin outside ``poll()``.

        It may not while ``poll()`` handles a join, because listeners may be running, nor in ``close()``.  If
        a rejoin is requested, a new join replaces an assignment that waits for ``poll()``.  The member then
        still claims partitions that it must revoke at the next poll, but the other members need not wait for
        that poll.
        """
        if self.is_in_poll or self.is_closing:
            return False
        return self.phase is Phase.SETTLED or (self.is_answered and self.is_rejoin_requested)

    def send(self) -> None:
        """Enter JOINING: JoinGroup is about to be sent."""
        self._enter(Phase.JOINING)

    def answer(self, assigned: Partitions) -> None:
        """Enter ANSWERED with the partitions of the SyncGroup response."""
        self._enter(Phase.ANSWERED)
        self.assigned = assigned

    def apply(self) -> Partitions:
        """Enter APPLYING, in ``poll()``; return the partitions of the assignment."""
        assigned, is_rejoin_requested = self.assigned, self.is_rejoin_requested
        self._enter(Phase.APPLYING)
        self.is_rejoin_requested = is_rejoin_requested
        return assigned

    def settle(self) -> bool:
        """Enter SETTLED after a join, also a failed one; return whether a rejoin was requested meanwhile."""
        is_rejoin_requested = self.is_rejoin_requested
        self._enter(Phase.SETTLED)
        return is_rejoin_requested

    def request_rejoin(self) -> None:
        """Keep a request made while an assignment waits; applying the assignment would drop it."""
        if self.is_answered:
            self.is_rejoin_requested = True

    def _enter(self, phase: Phase) -> None:
        # Other threads read only `phase`, so it is set last.
        self.assigned, self.is_rejoin_requested = frozenset(), False
        self.phase = phase
