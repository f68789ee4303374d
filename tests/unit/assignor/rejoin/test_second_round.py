"""When the leader requests another round, and which holds it ends."""

from __future__ import annotations

import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors import CooperativeStickyAssignor
from kafka_assignors.assignor.rejoin.second_round import PATIENCE_S, SecondRound
from kafka_assignors.plan import NO_GENERATION, Hold
from tests.unit.conftest import MakeConsumer

HOLD = Hold("t", 0, "m")


class Rounds:
    """Rounds in which partition 0 is held back from generation 8 on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.second = SecondRound(lambda: self.now)
        self.generation = 7

    def play(self, date: int, held: bool = True, busy_s: float | None = None) -> None:
        """Play a round; the member sends claims from generation ``date``."""
        self.generation += 1
        self.second.begin()
        self.second.held, self.second.generations = [HOLD] if held else [], {"m": date}
        self.second.end(self.generation, busy_s)


@pytest.fixture
def rounds() -> Rounds:
    return Rounds()


def test_hold_that_outlasts_its_round_is_overdue(rounds: Rounds) -> None:
    rounds.play(7)
    assert (rounds.second.overdue, rounds.second.rejoin_after_s) == (set(), PATIENCE_S)
    rounds.play(8)
    assert (rounds.second.overdue, rounds.second.rejoin_after_s) == ({HOLD}, PATIENCE_S)


def test_claim_without_a_generation_counts(rounds: Rounds) -> None:
    rounds.play(NO_GENERATION)
    rounds.play(NO_GENERATION)
    assert rounds.second.overdue == {HOLD}


def test_leader_waits_for_a_busy_member(rounds: Rounds) -> None:
    """The member rejoins with its old claims until its application polls; then it requests a round itself."""
    for _ in range(10):
        rounds.play(7)
        rounds.now += 10
    assert rounds.second.overdue == set()
    assert rounds.second.is_settling
    assert rounds.second.rejoin_after_s == 300 - 100


def test_claim_older_than_the_members_join_counts(rounds: Rounds) -> None:
    """The leader has led since generation 8; a newcomer owned nothing in generation 7."""
    rounds.play(7, held=False)
    rounds.second.begin()
    for generation in (9, 10):
        rounds.second.begin()
        rounds.second.held, rounds.second.generations = [Hold("t", 0, "newcomer")], {"m": 8, "newcomer": 7}
        rounds.second.end(generation)
    assert rounds.second.overdue == {Hold("t", 0, "newcomer")}


@pytest.mark.parametrize(("busy_s", "interval_s"), [(None, 300), (1800.0, 1800)])
def test_leader_waits_for_a_busy_member_for_the_poll_interval(
    busy_s: float | None, interval_s: float, rounds: Rounds
) -> None:
    for rounds.now in (0.0, interval_s - 100.0):
        rounds.play(7, busy_s=busy_s)
    assert rounds.second.rejoin_after_s == 100
    rounds.now = interval_s + 1.0
    rounds.play(7, busy_s=busy_s)
    assert rounds.second.overdue == {HOLD}
    assert rounds.second.rejoin_after_s == PATIENCE_S


def test_leader_waits_for_its_own_consumers_poll_interval(consumer: MakeConsumer) -> None:
    client = consumer(CooperativeStickyAssignor, max_poll_interval_ms=1_800_000)
    (assignor,) = client._coordinator._assignors.values()
    client.subscribe(["t"])
    client._coordinator.group_protocols()  # the assignor meets its consumer
    for generation in (8, 9):
        assignor._second_round.held, assignor._second_round.generations = [HOLD], {"m": 7}
        assignor.on_assignment(ConsumerProtocolAssignment(0, [], b""), generation)
    assert 1700 < assignor._second_round.rejoin_after_s <= 1800


def test_hold_ends_when_its_member_revokes(rounds: Rounds) -> None:
    rounds.play(7)
    rounds.play(7)
    rounds.play(8, held=False)
    assert rounds.second.rejoin_after_s is None
    assert not rounds.second.is_settling


def test_leader_requests_no_round_after_five_for_one_hold(rounds: Rounds) -> None:
    for generation in range(7, 13):
        assert rounds.second.is_settling == (generation > 7)
        rounds.play(generation)
    assert rounds.second.rejoin_after_s is None
    assert not rounds.second.is_settling  # the next rebalance is another one


def test_interrupted_round_does_not_count(rounds: Rounds) -> None:
    rounds.play(7)
    rounds.second.held = [HOLD]
    rounds.second.begin()
    rounds.play(8)
    assert rounds.second.overdue == {HOLD}
