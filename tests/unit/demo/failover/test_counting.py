"""The application: what it counts, whatever is done again."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

import pytest

from demo.failover.counting import LINE, LOGBOOK, NUMBER, PLANE, Counter, count_flight, entries_of


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


def counter(store: Kept, key: bytes) -> Counter:
    return Counter.unpacked(store.get(key))


def test_lines_of_carriers_are_counted() -> None:
    store = Kept()
    for record in (flown(0), flown(1, carrier="UA"), flown(2, dest="LAX"), flown(3)):
        count_flight(record, store)
    assert counter(store, LINE + b"AA ORD") == Counter(2, 0, 3)
    assert counter(store, LINE + b"UA ORD") == Counter(1, 0, 1)
    assert counter(store, LINE + b"AA LAX") == Counter(1, 0, 2)


def test_record_that_is_done_again_is_recognised_key_by_key() -> None:
    """Of the second record only the count had reached the changelog, not the logbook."""
    store = Kept()
    count_flight(flown(0), store)
    before = store[PLANE + b"N1"]
    count_flight(flown(1), store)
    store[PLANE + b"N1"] = before
    count_flight(flown(1), store)
    assert counter(store, LINE + b"AA ORD") == Counter(3, 1, 1)
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
            count_flight(flown(offset, carriers[offset]), store)
        if rng.random() < 0.3:  # killed: any of these keys may be in the changelog, no offset is committed
            store = Kept({**safe, **{k: v for k, v in store.items() if rng.random() < 0.5}})
        else:
            position = until
    for carrier in set(carriers):
        counted = counter(store, LINE + carrier.encode() + b" ORD")
        assert counted.times - counted.doubles == carriers.count(carrier)


def test_a_logbook_has_the_last_flights_each_once() -> None:
    store = Kept()
    for offset in [*range(LOGBOOK + 5), LOGBOOK + 3, LOGBOOK + 4]:
        count_flight(flown(offset), store)
    for key in (PLANE + b"N1", NUMBER + b"AA 7"):
        flights = [json.loads(entry)["at"] for entry in entries_of(store[key])]
        assert flights == list(range(5, LOGBOOK + 5))


def test_planes_and_flight_numbers_have_books_of_their_own() -> None:
    store = Kept()
    count_flight(flown(0), store)
    count_flight(flown(1, tail="N2", number=8), store)
    assert {key for key in store if key[:2] in {PLANE, NUMBER}} == {
        PLANE + b"N1",
        PLANE + b"N2",
        NUMBER + b"AA 7",
        NUMBER + b"AA 8",
    }
