"""Where a continuous member is in a rebalance, and what it may do there.  Pure: no calls into kafka-python.

    SETTLED -> JOINING -> ANSWERED -> APPLYING -> SETTLED

JOINING happens on the I/O thread, while the application goes on.  Listeners run inside ``poll()``: before
JOINING and in APPLYING.  A join that fails, or whose membership is lost, is SETTLED again.
"""

from __future__ import annotations

from enum import Enum, auto

from kafka_assignors.plan import TopicPartition

__all__ = ["JoinState", "Phase"]

Partitions = frozenset[TopicPartition]


class Phase(Enum):
    """The steps of a join."""

    SETTLED = auto()
    """No join is under way."""
    JOINING = auto()
    """From JoinGroup to the answer of SyncGroup.  The broker reads nothing else from that connection."""
    ANSWERED = auto()
    """The assignment is here and waits for the next ``poll()``."""
    APPLYING = auto()
    """``poll()`` applies the assignment: listeners may run."""


class JoinState:
    """The phase of a member, with the answer that waits to be applied.

    Attributes:
        phase: where the member is.
        given: partitions of the assignment that waits (ANSWERED); empty otherwise.
        again: whether a rejoin was requested since the assignment came.
        polled: whether ``poll()`` is preparing, awaiting or applying a join.
        closing: whether ``close()`` was called.
    """

    def __init__(self) -> None:
        self.phase = Phase.SETTLED
        self.given: Partitions = frozenset()
        self.again = False
        self.polled = False
        self.closing = False

    @property
    def is_in_flight(self) -> bool:
        """Whether JoinGroup or SyncGroup waits for its answer."""
        return self.phase is Phase.JOINING

    @property
    def waits(self) -> bool:
        """Whether an assignment waits for ``poll()``."""
        return self.phase is Phase.ANSWERED

    @property
    def is_member(self) -> bool:
        """Whether the member goes on with what it has while a join is under way."""
        return self.phase in (Phase.JOINING, Phase.ANSWERED)

    @property
    def may_begin(self) -> bool:
        """Whether a join may begin outside ``poll()``.

        Not while ``poll()`` has one in hand, as its listeners may be running, nor in ``close()``.  A newer
        round replaces an assignment that waits.  The member keeps claiming partitions it must give back until
        the application polls.  The rest of the group does not wait.
        """
        if self.polled or self.closing:
            return False
        return self.phase is Phase.SETTLED or (self.waits and self.again)

    def send(self) -> None:
        """JoinGroup is about to be sent."""
        self._enter(Phase.JOINING)

    def answer(self, given: Partitions) -> None:
        """SyncGroup is answered."""
        self._enter(Phase.ANSWERED)
        self.given = given

    def apply(self) -> Partitions:
        """``poll()`` applies the assignment; returns its partitions."""
        given, again = self.given, self.again
        self._enter(Phase.APPLYING)
        self.again = again
        return given

    def settle(self) -> bool:
        """The join is over, failed or dropped; returns whether another one was requested meanwhile."""
        again = self.again
        self._enter(Phase.SETTLED)
        return again

    def request_again(self) -> None:
        """A rejoin is requested.  kafka-python forgets it when it applies an assignment that waits."""
        if self.waits:
            self.again = True

    def _enter(self, phase: Phase) -> None:
        # Other threads read `phase` alone: it comes last.
        self.given, self.again = frozenset(), False
        self.phase = phase
