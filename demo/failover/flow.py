"""Pure: what is sent: flights to begin with, then a steady flow of those after them."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from demo.data.events import Flight
from demo.data.flight_samples import partition_of


@dataclass(slots=True)
class Tally:
    """Records by carrier, and by destination."""

    carriers: Counter[str] = field(default_factory=Counter)
    destinations: Counter[str] = field(default_factory=Counter)

    @property
    def records(self) -> int:
        """All of them."""
        return self.carriers.total()


class Ledger:
    """What was sent, counted as it goes.

    Attributes:
        tally: so far.
    """

    def __init__(self) -> None:
        self.tally = Tally()

    def noted(self, due: Iterator[tuple[float, Flight]]) -> Iterator[tuple[float, Flight]]:
        """The same flights, each counted when it is taken."""
        for at, flight in due:
            carrier, destination = told_of(flight)
            self.tally.carriers[carrier] += 1
            self.tally.destinations[destination] += 1
            yield at, flight


def told_of(flight: Flight) -> tuple[str, str]:
    """Carrier and destination."""
    return str(json.loads(flight.value)["carrier"]), flight.key.decode()


def steady(
    flights: Sequence[Flight], tasks: int, rate: float, over: Callable[[], bool]
) -> Iterator[tuple[float, Flight]]:
    """So many flights a second, until told that it is over; each task in turn gets its next one.

    In their own order, a task with few destinations would have nothing to do for seconds.  Who has had all of
    its flights begins again.

    Args:
        flights: ordered by departure; at least one.
        tasks: of the topic, as many as partitions.
        rate: records/s, of all tasks together.
        over: asked before each flight.
    """
    by_task: dict[int, list[Flight]] = {}
    for flight in flights:
        by_task.setdefault(partition_of(flight.key, tasks), []).append(flight)
    turns = itertools.cycle([itertools.cycle(by_task[task]) for task in sorted(by_task)])
    for number, turn in enumerate(turns):
        if over():
            return
        yield number / rate, next(turn)
