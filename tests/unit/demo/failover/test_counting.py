"""The application: what it counts, whatever is done again."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

import pytest

from demo.failover.counting import LINE, LOGBOOK, NUMBER, PLANE, LineCount, count_flight, entries_of


@dataclass
class Flown:
    """A record."""

    offset: int
    key: bytes
    value: bytes
    partition: int = 0


class Kept(dict[bytes, bytes]):
    """A store."""

    def put(self, key: bytes, value: bytes) -> None:
        self[key] = value


def flown(offset: int, carrier: str = "AA", dest: str = "ORD", tail: str = "N1", number: int = 7) -> Flown:
    value = {"carrier": carrier, "flight": str(number), "tailnum": tail, "dest": dest, "at": offset}
    return Flown(offset, dest.encode(), json.dumps(value).encode())


def count(record: Any, store: Any) -> None:
    count_flight(record, store)


def line_count(store: Kept, key: bytes) -> LineCount:
    return LineCount.unpacked(store.get(key))


def test_lines_of_carriers_are_counted() -> None:
    store = Kept()
    for record in (flown(0), flown(1, carrier="UA"), flown(2, dest="LAX"), flown(3)):
        count(record, store)
    assert line_count(store, LINE + b"AA ORD") == LineCount(2, 0, 3)
    assert line_count(store, LINE + b"UA ORD") == LineCount(1, 0, 1)
    assert line_count(store, LINE + b"AA LAX") == LineCount(1, 0, 2)


def test_record_that_is_done_again_is_recognised_key_by_key() -> None:
    """Of the second record only the count had reached the changelog, not the logbook."""
    store = Kept()
    count(flown(0), store)
    before = store[PLANE + b"N1"]
    count(flown(1), store)
    store[PLANE + b"N1"] = before
    count(flown(1), store)
    assert line_count(store, LINE + b"AA ORD") == LineCount(3, 1, 1)
    assert [json.loads(entry)["at"] for entry in entries_of(store[PLANE + b"N1"])] == [0, 1]


@pytest.mark.parametrize("seed", range(5))
def test_counts_less_doubles_are_exact_whatever_part_is_done_again(seed: int) -> None:
    rng = random.Random(seed)
    carriers = [rng.choice(["AA", "UA", "DL"]) for _ in range(200)]
    store, position = Kept(), 0
    while position < len(carriers):
        until = min(position + rng.randint(1, 20), len(carriers))
        safe = dict(store)
        for offset in range(position, until):
            count(flown(offset, carriers[offset]), store)
        if rng.random() < 0.3:  # killed: any of these keys may be in the changelog, no offset is committed
            store = Kept({**safe, **{k: v for k, v in store.items() if rng.random() < 0.5}})
        else:
            position = until
    for carrier in set(carriers):
        counted = line_count(store, LINE + carrier.encode() + b" ORD")
        assert counted.times - counted.doubles == carriers.count(carrier)


def test_a_logbook_has_the_last_flights_each_once() -> None:
    store = Kept()
    for offset in [*range(LOGBOOK + 5), LOGBOOK + 3, LOGBOOK + 4]:
        count(flown(offset), store)
    for key in (PLANE + b"N1", NUMBER + b"AA 7"):
        flights = [json.loads(entry)["at"] for entry in entries_of(store[key])]
        assert flights == list(range(5, LOGBOOK + 5))


def test_planes_and_flight_numbers_have_books_of_their_own() -> None:
    store = Kept()
    count(flown(0), store)
    count(flown(1, tail="N2", number=8), store)
    assert {key for key in store if key[:2] in {PLANE, NUMBER}} == {
        PLANE + b"N1",
        PLANE + b"N2",
        NUMBER + b"AA 7",
        NUMBER + b"AA 8",
    }
