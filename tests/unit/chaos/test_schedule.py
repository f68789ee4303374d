"""Chaos schedules are reproducible, contain each kind of fault, and each fault has a target."""

from __future__ import annotations

import itertools
from collections import Counter

from tests.integration.chaos.group import SESSION_S
from tests.integration.chaos.runner import SLOTS
from tests.integration.chaos.schedule import (
    PROXY_FAULTS,
    QUICK_S,
    QUICK_SEED,
    STOP_FAULTS,
    Fault,
    Step,
    schedule,
)

SEEDS = range(200)


def drawn(seed: int, duration_s: float = 120.0) -> tuple[Step, ...]:
    return schedule(seed, duration_s, slots=SLOTS, session_s=SESSION_S)


def test_equal_seeds_give_equal_faults() -> None:
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_steps_of_all_kinds_are_in_order_and_within_a_minute() -> None:
    for seed in SEEDS:
        steps = drawn(seed, 60.0)
        times = [step.at_s for step in steps]
        assert times == sorted(times)
        assert times[-1] < 60.0
        assert {step.fault for step in steps} == set(Fault)


def test_quick_schedule_has_all_kinds_and_stops_a_member_while_others_take_over() -> None:
    steps = drawn(QUICK_SEED, QUICK_S)
    assert {step.fault for step in steps} == set(Fault)
    first_stop, *_ = (step for step in steps if step.fault is Fault.LONG_STOP)
    before = Counter(step.fault for step in steps if step.at_s < first_stop.at_s)
    assert before[Fault.LEAVE] + before[Fault.KILL] == before[Fault.JOIN]  # so all others run
    during = {
        step.fault for step in steps if first_stop.at_s < step.at_s < first_stop.at_s + first_stop.for_s
    }
    assert not during & {Fault.BROKER, Fault.KILL, Fault.LEAVE}


def test_each_fault_occurs_equally_often_until_the_end() -> None:
    for seed in SEEDS[:20]:
        steps = drawn(seed, 600.0)
        gaps = [after.at_s - before.at_s for before, after in itertools.pairwise(steps)]
        assert max([*gaps, 600.0 - steps[-1].at_s]) <= 4.0
        counts = Counter(step.fault for step in steps)
        assert min(counts[fault] for fault in Fault) >= 0.5 * len(steps) / len(Fault)


def test_short_stops_end_before_the_session_and_long_ones_after() -> None:
    for seed in SEEDS:
        for step in drawn(seed):
            if step.fault is Fault.SHORT_STOP:
                assert 0 < step.for_s < SESSION_S
            if step.fault is Fault.LONG_STOP:
                assert step.for_s > SESSION_S


def test_only_running_members_leave_die_or_stop() -> None:
    for seed in SEEDS:
        present, stopped_until = set(range(SLOTS)), dict.fromkeys(range(SLOTS), 0.0)
        for step in drawn(seed):
            if step.slot is None or step.fault in PROXY_FAULTS:
                continue
            if step.fault is Fault.JOIN:
                assert step.slot not in present
                present.add(step.slot)
                continue
            assert step.slot in present
            assert stopped_until[step.slot] <= step.at_s
            if step.fault in STOP_FAULTS:
                stopped_until[step.slot] = step.at_s + step.for_s
            else:
                present.remove(step.slot)
            assert present


def test_proxies_and_the_broker_have_one_fault_at_a_time() -> None:
    for seed in SEEDS:
        disturbed_until: dict[int | None, float] = {}
        for step in drawn(seed):
            if step.fault in PROXY_FAULTS or step.fault is Fault.BROKER:
                assert disturbed_until.get(step.slot, 0.0) <= step.at_s
                disturbed_until[step.slot] = step.at_s + step.for_s


def test_topics_grow_only_while_the_broker_runs() -> None:
    for seed in SEEDS:
        down_until = 0.0
        for step in drawn(seed):
            if step.fault is Fault.BROKER:
                down_until = step.at_s + step.for_s
            assert step.fault is not Fault.GROW or step.at_s >= down_until


def test_step_is_printed_as_a_line() -> None:
    assert str(Step(1.25, Fault.GROW)) == "   1.2 s  topics grow"
    assert str(Step(10.0, Fault.SLOW, 2, 3.0)) == "  10.0 s  proxy slow (slot 2) for 3.0 s"
