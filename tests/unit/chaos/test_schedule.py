"""Chaos schedules: the same for a seed, with each kind of fault, and playable."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from tests.integration.chaos.schedule import DOORS, STOPS, Fault, Step, schedule

SLOTS = 3
SESSION_S = 3.0
SEEDS = range(200)


def drawn(seed: int, duration_s: float = 120.0) -> tuple[Step, ...]:
    return schedule(seed, duration_s, slots=SLOTS, session_s=SESSION_S)


def test_a_seed_gives_the_same_faults_and_another_seed_others() -> None:
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_steps_are_in_order_and_end_with_the_duration() -> None:
    for seed in SEEDS:
        times = [step.at_s for step in drawn(seed)]
        assert times == sorted(times)
        assert times[-1] < 120.0


def test_faults_come_by_turns_up_to_the_end() -> None:
    for seed in SEEDS:
        steps = drawn(seed, 600.0)
        gaps = [after.at_s - before.at_s for before, after in itertools.pairwise(steps)]
        assert max([*gaps, 600.0 - steps[-1].at_s]) <= 4.0
        played = Counter(step.fault for step in steps)
        assert min(played[fault] for fault in Fault) >= 0.5 * len(steps) / len(Fault)


def test_two_minutes_have_every_kind_of_fault() -> None:
    for seed in SEEDS:
        assert {step.fault for step in drawn(seed)} == set(Fault)


def test_stops_are_shorter_and_longer_than_a_session() -> None:
    for seed in SEEDS:
        for step in drawn(seed):
            if step.fault is Fault.SHORT_STOP:
                assert 0 < step.for_s < SESSION_S
            if step.fault is Fault.LONG_STOP:
                assert step.for_s > SESSION_S


def test_members_leave_die_and_stop_only_while_present_and_running() -> None:
    for seed in SEEDS:
        present, stopped_until = set(range(SLOTS)), dict.fromkeys(range(SLOTS), 0.0)
        for step in drawn(seed):
            if step.slot is None or step.fault in DOORS:
                continue
            if step.fault is Fault.JOIN:
                assert step.slot not in present
                present.add(step.slot)
                continue
            assert step.slot in present
            assert stopped_until[step.slot] <= step.at_s
            if step.fault in STOPS:
                stopped_until[step.slot] = step.at_s + step.for_s
            else:
                present.remove(step.slot)
            assert present


def test_a_door_or_the_broker_has_one_fault_at_a_time() -> None:
    for seed in SEEDS:
        disturbed_until: dict[int | None, float] = {}
        for step in drawn(seed):
            if step.fault in DOORS or step.fault is Fault.BROKER:
                assert disturbed_until.get(step.slot, 0.0) <= step.at_s
                disturbed_until[step.slot] = step.at_s + step.for_s


def test_topics_grow_only_while_there_is_a_broker() -> None:
    for seed in SEEDS:
        down_until = 0.0
        for step in drawn(seed):
            if step.fault is Fault.BROKER:
                down_until = step.at_s + step.for_s
            assert step.fault is not Fault.GROW or step.at_s >= down_until


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (Step(1.25, Fault.GROW), "   1.2 s  topics grow"),
        (Step(10.0, Fault.SLOW, 2, 3.0), "  10.0 s  door slow (slot 2) for 3.0 s"),
    ],
)
def test_a_step_reads_as_a_line(step: Step, text: str) -> None:
    assert str(step) == text
