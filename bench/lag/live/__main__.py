"""Scales one group after the other through the same day of flights, by KEDA's rule and by ``size --serve``.

An HPA applies both.  docs/benchmarks.md, "Scaling through a day", describes the measurement.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path

import numpy as np

from bench.lag.autoscaler import SYNC_S, Autoscaler, Keda, ScaledGroup
from bench.lag.day import DAY_S, MORNING_S, STRATEGIES
from bench.lag.live.day import HEAD, Due, Lapse, rate_of, traffic
from bench.lag.live.group import play, served
from bench.machine import machine
from demo.data.events import find_archive, read_flights
from demo.data.flight_samples import partition_of
from kafka_assignors.broker import development_broker
from kafka_assignors.simulation import History, Pauses

SLOWER = SYNC_S / Lapse().sync_s
KEDA_SYNCS = 20
"""Decisions for which an HPA waits before it scales down: its default of 300 s, at one each 15 s."""


def day_of_flights(day: int, lapse: Lapse) -> list[Due]:
    """Return the traffic of a day, counted from the first of 2013."""
    flights = read_flights(find_archive(), span=(day + 2) * DAY_S)
    return traffic(flights, flights[0].at // DAY_S * DAY_S + MORNING_S + day * DAY_S, lapse)


def rows_of(
    due: Sequence[Due], lapse: Lapse, bootstrap: str, folder: Path, rules: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the row of each rule: the ``lagThreshold`` of KEDA's rule, or ``size`` with options."""
    keda = KEDA_SYNCS * lapse.sync_s
    for number, rule in enumerate(rules):
        place = folder / f"{number}"
        place.mkdir()

        def autoscaler(
            group: str, rule: str = rule, place: Path = place
        ) -> AbstractContextManager[Autoscaler]:
            if rule.isdigit():
                return nullcontext(Keda(int(rule), keda))
            return served(group, bootstrap, rate_of(due, lapse), lapse, place, *rule.split()[1:])

        name = f"KEDA, `lagThreshold: {rule}`" if rule.isdigit() else f"`{rule}`"
        yield play(name, due, lapse, bootstrap=bootstrap, folder=place, autoscaler=autoscaler)


def waits_of_rule(due: Sequence[Due], lapse: Lapse, rule: str, runs: int) -> tuple[str, ...]:
    """Return a row of longest waits, real seconds, of simulated groups that KEDA's rule scales.

    A real second is ``SLOWER`` simulated seconds, so that the HPA decides as often as on a broker.  Each run
    draws the time in which a member starts, from 1.2 to 4 s, and the members' rate, from 70 to 100 %.
    """
    place = cache(lambda key: partition_of(key, lapse.partitions))
    edges = range(int(lapse.day_s) + 1), range(lapse.partitions + 1)
    arrivals, _, _ = np.histogram2d([at for at, _ in due], [place(flight.key) for _, flight in due], edges)
    random, waits = np.random.default_rng(1), []
    for _ in range(runs):
        history = History(
            "day",
            SLOWER,
            {"day": lapse.partitions},
            arrivals.astype(np.int64),
            np.zeros(lapse.partitions, np.int64),
            service_rate=random.uniform(0.7, 1) * rate_of(due, lapse) / SLOWER,
        )
        pauses = Pauses(start_s=random.uniform(1.2, 4) * SLOWER, heartbeat_s=0.5 * SLOWER)
        outcome = ScaledGroup(history, STRATEGIES["counts"], pauses, Keda(int(rule))).play()
        waits.append(outcome.time_lag_max / SLOWER)
    over = sum(wait > lapse.target_s for wait in waits)
    return rule, *(f"{wait:.1f} s" for wait in (min(waits), float(np.median(waits)), max(waits))), f"{over}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.lag.live", description=__doc__)
    parser.add_argument("--day", type=int, default=31, help="after the first of 2013 (default 31)")
    parser.add_argument("--minutes", type=float, default=4.0, help="length of the day (default 4)")
    parser.add_argument(
        "--rules",
        nargs="+",
        default=["10", "size"],
        help="in their order: a lagThreshold of KEDA's rule, size, or 'size' with more of its options "
        "(default: 10, KEDA's default, and size)",
    )
    parser.add_argument(
        "--strategy",
        default=Lapse().strategy,
        help="of the group, a name or module:Class (default %(default)s)",
    )
    parser.add_argument(
        "--simulate",
        type=int,
        metavar="RUNS",
        help="only the longest waits of KEDA's rules by cooperative-sticky, without a broker",
    )
    given = parser.parse_args(arguments)
    print("\n".join(f"{name}: {value}" for name, value in machine().items()), file=sys.stderr)
    lapse = Lapse(day_s=60 * given.minutes, strategy=given.strategy)
    due = day_of_flights(given.day, lapse)
    rate = rate_of(due, lapse)
    print(
        f"\nday {given.day}: {len(due):,} records in {lapse.day_s:g} s, so a second is "
        f"{lapse.speed / 60:.1f} minutes; a member reads at most {rate:,.0f} records/s\n"
    )
    if given.simulate:
        print("| lagThreshold | shortest of the longest waits | median | longest | runs over the target |")
        print("| ---: | ---: | ---: | ---: | ---: |")
        for rule in given.rules:
            if rule.isdigit():
                print(f"| {' | '.join(waits_of_rule(due, lapse, rule, given.simulate))} |", flush=True)
        return
    print(f"| {' | '.join(HEAD)} |\n| --- |{' ---: |' * (len(HEAD) - 1)}", flush=True)
    with development_broker() as broker, tempfile.TemporaryDirectory() as folder:
        for row in rows_of(due, lapse, broker.bootstrap, Path(folder), given.rules):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
