"""What is sent."""

from __future__ import annotations

import itertools
import json
from collections import Counter

from demo.data.events import Flight
from demo.data.flight_samples import partition_of
from demo.failover.scene import noted, steady

KEYS = [b"ORD", b"LAX", b"ATL", b"BOS", b"SFO", b"MIA", b"IAD", b"XNA"]


def flight(at: int, key: bytes) -> Flight:
    return Flight(at, key, json.dumps({"carrier": "AA" if at % 2 else "UA", "at": at}).encode())


def test_each_task_in_turn_gets_its_next_flight() -> None:
    flights = [flight(at, KEYS[0] if at % 10 else KEYS[1 + at // 10 % 7]) for at in range(1_000)]
    tasks = sorted({partition_of(one.key, 4) for one in flights})
    sent = list(itertools.islice(steady(flights, 4, 100.0, lambda: False), 5 * len(tasks)))
    assert [partition_of(one.key, 4) for _, one in sent] == tasks * 5
    assert [due for due, _ in sent] == [number / 100 for number in range(len(sent))]
    for task in tasks:
        mine = [one for _, one in sent if partition_of(one.key, 4) == task]
        assert mine == [one for one in flights if partition_of(one.key, 4) == task][:5]


def test_a_task_whose_flights_are_over_begins_again() -> None:
    flights = [flight(0, b"ORD"), flight(1, b"ORD")]
    sent = [one.at for _, one in itertools.islice(steady(flights, 4, 1.0, lambda: False), 5)]
    assert sent == [0, 1, 0, 1, 0]


def test_flow_ends_on_request() -> None:
    left = iter([False, False, True])
    assert len(list(steady([flight(0, b"ORD")], 4, 1.0, lambda: next(left)))) == 2


def test_flights_are_counted_by_line_when_they_are_taken() -> None:
    tally = Counter[bytes]()
    due = noted(iter([(0.0, flight(0, b"ORD")), (0.1, flight(1, b"LAX")), (0.2, flight(2, b"ORD"))]), tally)
    assert not tally
    assert [at for at, _ in itertools.islice(due, 2)] == [0.0, 0.1]
    assert tally == {b"UA ORD": 1, b"AA LAX": 1}
