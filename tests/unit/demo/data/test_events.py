from __future__ import annotations

import importlib.util
import io
import itertools
import json
import sys
import zipfile
from pathlib import Path

import pytest

from demo.data.events import Flight, backlog, find_archive, parse_flights, read_flights, schedule
from kafka_assignors.errors import KafkaAssignorsError, MissingExtraError

CSV = """\
year,dep_delay,arr_delay,carrier,flight,tailnum,origin,dest,distance,minute,time_hour
2013,2,11,UA,1545,N14228,EWR,IAH,1400,30,2013-01-01T11:00:00Z
2013,4,20,UA,1714,N24211,LGA,IAH,1416,29,2013-01-01T10:00:00Z
2013,2,33,AA,1141,N619AA,JFK,MIA,1089,40,2013-01-01T10:00:00Z
"""


def test_flights_are_ordered_by_departure_and_keyed_by_destination() -> None:
    flights = parse_flights(io.StringIO(CSV))
    assert [json.loads(flight.value)["flight"] for flight in flights] == ["1714", "1141", "1545"]
    assert [flight.key for flight in flights] == [b"IAH", b"MIA", b"IAH"]
    assert flights[1].at - flights[0].at == 11 * 60
    assert flights[0].at == 1357036140  # 2013-01-01T10:29:00Z


def test_only_the_asked_span_is_kept() -> None:
    assert len(parse_flights(io.StringIO(CSV), span=11 * 60)) == 2


def test_more_than_the_asked_span_is_kept_if_that_many_are_wanted() -> None:
    keys = [flight.key for flight in parse_flights(io.StringIO(CSV), span=0, at_least=2)]
    assert keys == [b"IAH", b"MIA"]
    assert len(parse_flights(io.StringIO(CSV), span=0, at_least=99)) == 3
    assert len(parse_flights(io.StringIO(CSV), span=11 * 60, at_least=1)) == 2
    assert parse_flights(io.StringIO(CSV.splitlines()[0]), span=0, at_least=1) == []


def test_a_backlog_is_due_at_once_and_begins_again_after_the_last_flight() -> None:
    flights = parse_flights(io.StringIO(CSV))
    due = list(backlog(flights, 5))
    assert {time for time, _ in due} == {0.0}
    assert [flight for _, flight in due] == [*flights, *flights[:2]]


def test_the_real_file_is_read_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # an import of it fails
    flights = read_flights(find_archive(), span=31 * 86400)
    assert len(flights) == pytest.approx(27_004, abs=900)  # January has 27,004 flights
    assert flights == sorted(flights)
    assert len({flight.key for flight in flights}) > 90


def test_a_missing_package_says_which_extra_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"kafka-assignors\[demo\]"):
        find_archive()


@pytest.mark.parametrize("content", [b"not a zip", None])
def test_a_broken_archive_is_one_error(tmp_path: Path, content: bytes | None) -> None:
    archive = tmp_path / "flights.csv.zip"
    if content is None:
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("flights.csv", "year,month\n2013,1\n")
    else:
        archive.write_bytes(content)
    with pytest.raises(KafkaAssignorsError, match="does not hold the flights"):
        read_flights(archive)


def test_a_replay_keeps_the_distances_at_its_speed_and_ends_in_time() -> None:
    flights = [Flight(1000, b"a", b""), Flight(1060, b"b", b""), Flight(1120, b"c", b"")]
    assert list(schedule(flights, speed=60, duration=2)) == [(0.0, flights[0]), (1.0, flights[1])]


def test_a_replay_longer_than_the_data_begins_again() -> None:
    flights = [Flight(0, b"a", b""), Flight(400, b"b", b"")]
    due = [time for time, _ in itertools.islice(schedule(flights, speed=100, duration=1e9), 5)]
    assert due == [0, 4, 40, 44, 80]
    assert list(schedule([], speed=1, duration=1)) == []
