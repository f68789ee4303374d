"""Scales one group after the other through the same day of flights, by KEDA's rule and by ``size --serve``.

An HPA applies both.  docs/benchmarks.md, "Scaling through a day", describes the measurement.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from bench.lag.autoscaler import Autoscaler, Keda
from bench.lag.day import DAY_S, MORNING_S
from bench.lag.forecasts import table
from bench.lag.live.day import HEAD, Due, Lapse, rate_of, traffic
from bench.lag.live.group import play, served
from bench.machine import machine
from bench.programs import exit_on_sigterm
from demo.data.events import find_archive, read_flights
from kafka_assignors.broker import development_broker

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
    given = parser.parse_args(arguments)
    exit_on_sigterm()
    print("\n".join(f"{name}: {value}" for name, value in machine().items()), file=sys.stderr)
    lapse = Lapse(day_s=60 * given.minutes, strategy=given.strategy)
    due = day_of_flights(given.day, lapse)
    rate = rate_of(due, lapse)
    print(
        f"\nday {given.day}: {len(due):,} records in {lapse.day_s:g} s, so a second is "
        f"{lapse.speed / 60:.1f} minutes; a member reads at most {rate:,.0f} records/s\n"
    )
    with development_broker() as broker, tempfile.TemporaryDirectory() as folder:
        table(HEAD, rows_of(due, lapse, broker.bootstrap, Path(folder), given.rules))


if __name__ == "__main__":
    main()
