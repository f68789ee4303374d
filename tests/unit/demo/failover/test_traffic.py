"""The steady traffic of the failover."""

from __future__ import annotations

from itertools import count, cycle, islice

from demo.data.events import Flight
from demo.data.flight_samples import partition_of
from demo.failover.scene import steady

KEYS = (b"ORD", b"LAX", b"ATL", b"BOS", b"SFO", b"MIA", b"IAD", b"XNA")


def test_each_task_in_turn_gets_its_next_flight_until_the_end() -> None:
    """Flights of a task that are over begin again."""
    flights = [Flight(at, KEYS[at % 8], b"") for at in range(24)]
    tasks = sorted({partition_of(key, 4) for key in KEYS})
    looks = count()
    sent = list(steady(flights, 4, 100.0, lambda: next(looks) == 60))
    assert [due for due, _ in sent] == [number / 100 for number in range(60)]
    assert [partition_of(flight.key, 4) for _, flight in sent] == list(islice(cycle(tasks), 60))
    for task in tasks:
        of_task = [flight for _, flight in sent if partition_of(flight.key, 4) == task]
        all_of_task = cycle(flight for flight in flights if partition_of(flight.key, 4) == task)
        assert of_task == list(islice(all_of_task, len(of_task)))
