"""The traffic of the failover, counted while it is sent."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from demo.data.events import Flight
from demo.data.flight_samples import partition_of
from demo.failover.counting import line_of


def noted(due: Iterator[tuple[float, Flight]], tally: Counter[bytes]) -> Iterator[tuple[float, Flight]]:
    """Yield the same flights; count each in the ``tally`` of its line."""
    for at, flight in due:
        tally[line_of(flight.key, flight.value)] += 1
        yield at, flight


def steady(
    flights: Sequence[Flight], tasks: int, rate: float, over: Callable[[], bool]
) -> Iterator[tuple[float, Flight]]:
    """Yield ``rate`` flights a second until ``over``, one for each task in turn.

    In the order of departure, a task with few destinations would have nothing to do for seconds.
    """
    by_task: dict[int, list[Flight]] = {}
    for flight in flights:
        by_task.setdefault(partition_of(flight.key, tasks), []).append(flight)
    turns = itertools.cycle([itertools.cycle(by_task[task]) for task in sorted(by_task)])
    for number, turn in enumerate(turns):
        if over():
            return
        yield number / rate, next(turn)
