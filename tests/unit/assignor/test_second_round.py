"""When the leader asks for another round, and which holds it ends."""

from __future__ import annotations

from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors import CooperativeStickyAssignor
from kafka_assignors.assignor.second_round import PATIENCE_S, SecondRound
from kafka_assignors.plan import NO_GENERATION, Hold
from tests.unit.conftest import MakeConsumer

HOLD = Hold("t", 0, "m")


class Rounds:
    """Rounds in which partition 0 is held back from generation 8 on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.next = SecondRound(lambda: self.now)
        self.generation = 7

    def play(self, date: int, held: bool = True, busy_s: float | None = None) -> None:
        """One round; the member claims what it had in generation ``date``."""
        self.generation += 1
        self.next.begins()
        self.next.held, self.next.dates = [HOLD] if held else [], {"m": date}
        self.next.ends(self.generation, busy_s)


def test_a_hold_that_goes_on_in_spite_of_its_round_is_overdue() -> None:
    rounds = Rounds()
    rounds.play(7)
    assert (rounds.next.overdue, rounds.next.rejoin_after_s) == (set(), PATIENCE_S)
    rounds.play(8)
    assert (rounds.next.overdue, rounds.next.rejoin_after_s) == ({HOLD}, PATIENCE_S)


def test_a_claim_without_a_generation_counts() -> None:
    rounds = Rounds()
    rounds.play(NO_GENERATION)
    rounds.play(NO_GENERATION)
    assert rounds.next.overdue == {HOLD}


def test_a_busy_member_is_waited_for() -> None:
    """It joins on its I/O thread, claiming what it had, until its application polls; then it asks itself."""
    rounds = Rounds()
    for _ in range(10):
        rounds.play(7)
        rounds.now += 10
    assert rounds.next.overdue == set()
    assert rounds.next.is_settling
    assert rounds.next.rejoin_after_s == 300 - 100


def test_a_claim_from_before_its_member_joined_counts() -> None:
    """The leader has led since generation 8; a newcomer cannot have had anything in generation 7."""
    rounds = Rounds()
    rounds.play(7, held=False)
    rounds.next.begins()
    for generation in (9, 10):
        rounds.next.begins()
        rounds.next.held, rounds.next.dates = [Hold("t", 0, "newcomer")], {"m": 8, "newcomer": 7}
        rounds.next.ends(generation)
    assert rounds.next.overdue == {Hold("t", 0, "newcomer")}


def test_a_busy_member_is_waited_for_as_long_as_the_consumers_poll_interval() -> None:
    rounds = Rounds()
    for now in (0.0, 1700.0):
        rounds.now = now
        rounds.play(7, busy_s=1800.0)
    assert rounds.next.rejoin_after_s == 100
    rounds.now = 1801.0
    rounds.play(7, busy_s=1800.0)
    assert rounds.next.overdue == {HOLD}


def test_the_leader_waits_by_its_own_poll_interval(consumer: MakeConsumer) -> None:
    client = consumer(CooperativeStickyAssignor, max_poll_interval_ms=1_800_000)
    (assignor,) = client._coordinator._assignors.values()
    client.subscribe(["t"])
    client._coordinator.group_protocols()  # the assignor meets its consumer
    for generation in (8, 9):
        assignor._second_round.held, assignor._second_round.generations = [HOLD], {"m": 7}
        assignor.on_assignment(ConsumerProtocolAssignment(0, [], b""), generation)
    assert 1700 < assignor._second_round.rejoin_after_s <= 1800


def test_a_busy_member_is_not_waited_for_longer_than_a_member_may_be_busy() -> None:
    rounds = Rounds()
    rounds.play(7)
    rounds.now = 301
    rounds.play(7)
    assert rounds.next.overdue == {HOLD}
    assert rounds.next.rejoin_after_s == PATIENCE_S


def test_a_member_that_gave_back_is_forgotten() -> None:
    rounds = Rounds()
    rounds.play(7)
    rounds.play(7)
    rounds.play(8, held=False)
    assert rounds.next.rejoin_after_s is None
    assert not rounds.next.is_settling


def test_the_leader_lets_a_stubborn_hold_be_after_five_rounds() -> None:
    rounds = Rounds()
    for generation in range(7, 13):
        rounds.play(generation)
    assert rounds.next.rejoin_after_s is None


def test_an_interrupted_round_does_not_count() -> None:
    rounds = Rounds()
    rounds.play(7)
    rounds.next.held = [HOLD]
    rounds.next.begins()
    rounds.play(8)
    assert rounds.next.overdue == {HOLD}
