"""The flights, and their schedules."""

from __future__ import annotations

import io
import itertools
import json
import sys
import zipfile
from pathlib import Path

import pytest

from demo.data.events import Flight, backlog, find_archive, parse_flights, read_flights, schedule
from kafka_assignors.errors import KafkaAssignorsError

CSV = """\
year,dep_delay,arr_delay,carrier,flight,tailnum,origin,dest,distance,minute,time_hour
2013,2,11,UA,1545,N14228,EWR,IAH,1400,30,2013-01-01T11:00:00Z
2013,4,20,UA,1714,N24211,LGA,IAH,1416,29,2013-01-01T10:00:00Z
2013,2,33,AA,1141,N619AA,JFK,MIA,1089,40,2013-01-01T10:00:00Z
"""


@pytest.mark.parametrize(
    ("span", "at_least", "count"),
    [(float("inf"), 0, 3), (11 * 60, 1, 2), (0, 2, 2), (0, 99, 3)],
    ids=["all", "a span", "a number", "fewer than wanted"],
)
def test_flights_are_ordered_by_departure_and_keyed_by_destination(
    span: float, at_least: int, count: int
) -> None:
    flights = parse_flights(io.StringIO(CSV), span, at_least)
    assert (
        [(flight.at, flight.key, json.loads(flight.value)["flight"]) for flight in flights]
        == [
            (1357036140, b"IAH", "1714"),  # 2013-01-01T10:29:00Z
            (1357036800, b"MIA", "1141"),
            (1357039800, b"IAH", "1545"),
        ][:count]
    )


def test_real_file_is_read_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # an import of it fails
    flights = read_flights(find_archive(), span=31 * 86400)
    assert len(flights) == pytest.approx(27_004, abs=900)  # January has 27,004 flights
    assert len({flight.key for flight in flights}) > 90


@pytest.mark.parametrize("content", [b"not a zip", None])
def test_broken_archive_is_one_error(tmp_path: Path, content: bytes | None) -> None:
    archive = tmp_path / "flights.csv.zip"
    if content is None:
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("flights.csv", "year,month\n2013,1\n")
    else:
        archive.write_bytes(content)
    with pytest.raises(KafkaAssignorsError, match="does not hold the flights"):
        read_flights(archive)


def test_replay_and_backlog_begin_again_after_the_last_flight() -> None:
    """A backlog is due at once; the next year of a replay begins an hour after the last departure."""
    flights = [Flight(0, b"a", b""), Flight(400, b"b", b"")]
    assert list(backlog(flights, 3)) == [(0.0, flights[0]), (0.0, flights[1]), (0.0, flights[0])]
    due = itertools.islice(schedule(flights, speed=100, duration=1e9), 4)
    assert list(due) == [(0, flights[0]), (4, flights[1]), (40, flights[0]), (44, flights[1])]
    assert list(schedule(flights, speed=100, duration=4)) == [(0, flights[0])]
    assert list(schedule([], speed=1, duration=1)) == []
