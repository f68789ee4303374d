"""KEDA's rule and ``size --serve`` scale one group after the other through the same day of flights.

Each decides as an HPA applies it.  docs/benchmarks.md, "Scaling through a day", describes the measurement.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from bench.lag.autoscaler import Autoscaler, Keda
from bench.lag.day import DAY_S, MORNING_S
from bench.lag.live.day import HEAD, Due, Lapse, rate_of, traffic
from bench.lag.live.group import play, served
from bench.machine import machine
from demo.data.events import find_archive, read_flights
from kafka_assignors.broker import development_broker

KEDA_SYNCS = 20
"""Syncs that an HPA waits before it follows less lag: 300 s, its default, by 15 s."""


def rows_of(
    due: Sequence[Due], lapse: Lapse, bootstrap: str, folder: Path, threshold: int
) -> Iterator[tuple[str, ...]]:
    """Yield the row of each rule: KEDA's with its default and with another threshold, and ``size``."""
    keda = KEDA_SYNCS * lapse.sync_s
    rules: dict[str, Callable[[str], AbstractContextManager[Autoscaler]]] = {
        "KEDA, default (`lagThreshold: 10`)": lambda _: nullcontext(Keda(10, keda)),
        f"KEDA, `lagThreshold: {threshold}`": lambda _: nullcontext(Keda(threshold, keda)),
        "`size`": lambda group: served(group, bootstrap, rate_of(due, lapse), lapse, folder / "2"),
    }
    for number, (rule, autoscaler) in enumerate(rules.items()):
        (folder / f"{number}").mkdir()
        yield play(rule, due, lapse, bootstrap=bootstrap, folder=folder / f"{number}", autoscaler=autoscaler)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.lag.live", description=__doc__)
    parser.add_argument("--day", type=int, default=31, help="after the first of 2013 (default 31)")
    parser.add_argument("--minutes", type=float, default=4.0, help="length of the day (default 4)")
    parser.add_argument(
        "--threshold", type=int, help="lagThreshold (default: what a member reads in a second)"
    )
    given = parser.parse_args(arguments)
    print("\n".join(f"{name}: {value}" for name, value in machine().items()), file=sys.stderr)
    lapse = Lapse(day_s=60 * given.minutes)
    flights = read_flights(find_archive(), span=(given.day + 2) * DAY_S)
    due = traffic(flights, flights[0].at // DAY_S * DAY_S + MORNING_S + given.day * DAY_S, lapse)
    rate = rate_of(due, lapse)
    print(
        f"\nday {given.day}: {len(due):,} records in {lapse.day_s:g} s, so a second is "
        f"{lapse.speed / 60:.1f} minutes; a member reads at most {rate:,.0f} records/s\n"
    )
    print(f"| {' | '.join(HEAD)} |\n| --- |{' ---: |' * (len(HEAD) - 1)}", flush=True)
    with development_broker() as broker, tempfile.TemporaryDirectory() as folder:
        threshold = given.threshold or round(rate)
        for row in rows_of(due, lapse, broker.bootstrap, Path(folder), threshold):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
