"""The application counts each flight once, however often it is processed."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace
from typing import Any

import pytest

from demo.failover.counting import LINE, LOGBOOK, NUMBER, PLANE, LineCount, count_flight, entries_of


class Kept(dict[bytes, bytes]):
    """A store."""

    def put(self, key: bytes, value: bytes) -> None:
        self[key] = value


def count(store: Any, offset: int, carrier: str = "AA", tail: str = "N1", number: int = 7) -> None:
    flight = {"carrier": carrier, "flight": str(number), "tailnum": tail, "at": offset}
    record: Any = SimpleNamespace(offset=offset, key=b"ORD", value=json.dumps(flight).encode())
    count_flight(record, store)


def test_lines_planes_and_flight_numbers_are_kept_apart() -> None:
    store = Kept()
    count(store, 0)
    count(store, 1, tail="N2", number=8)
    count(store, 2, carrier="UA")
    assert LineCount.unpacked(store[LINE + b"AA ORD"]) == LineCount(2, 0, 1)
    assert LineCount.unpacked(store[LINE + b"UA ORD"]) == LineCount(1, 0, 2)
    logbooks = {PLANE + b"N1", PLANE + b"N2", NUMBER + b"AA 7", NUMBER + b"AA 8", NUMBER + b"UA 7"}
    assert {key for key in store if not key.startswith(LINE)} == logbooks


@pytest.mark.parametrize("seed", range(5))
def test_counts_less_doubles_are_exact_if_any_part_of_the_changes_is_lost(seed: int) -> None:
    rng = random.Random(seed)
    carriers = [rng.choice(["AA", "UA", "DL"]) for _ in range(200)]
    store, position = Kept(), 0
    while position < len(carriers):
        until = min(position + rng.randint(1, 20), len(carriers))
        safe = dict(store)
        for offset in range(position, until):
            count(store, offset, carriers[offset])
        if rng.random() < 0.3:  # killed: any of these keys may be in the changelog, no offset is committed
            store = Kept({**safe, **{k: v for k, v in store.items() if rng.random() < 0.5}})
        else:
            position = until
    for carrier in set(carriers):
        counted = LineCount.unpacked(store[LINE + carrier.encode() + b" ORD"])
        assert counted.times - counted.doubles == carriers.count(carrier)


def test_logbook_has_the_last_flights_each_once() -> None:
    store = Kept()
    for offset in [*range(LOGBOOK + 5), LOGBOOK + 3, LOGBOOK + 4]:
        count(store, offset)
    for key in (PLANE + b"N1", NUMBER + b"AA 7"):
        flights = [json.loads(entry)["at"] for entry in entries_of(store[key])]
        assert flights == list(range(5, LOGBOOK + 5))
