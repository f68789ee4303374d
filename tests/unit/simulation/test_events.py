"""The queue of a simulation's events."""

from __future__ import annotations

from math import inf

from kafka_assignors.simulation.events import EventQueue


def test_events_come_in_the_order_of_their_times_and_then_of_their_scheduling() -> None:
    events = EventQueue()
    events.schedule(2.0, "stop")
    events.schedule(1.0, "resume", 3)
    events.schedule(2.0, "check", 1)
    assert events.next_at == 1.0
    assert [events.pop() for _ in range(3)] == [("resume", 3), ("stop", 0), ("check", 1)]
    assert events.next_at == inf
