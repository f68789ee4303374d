"""The log that a stateful member keeps of itself."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from demo.group.logs import Entry, LogWriter, read_log
from demo.member.stateful import StateLog
from kafka_assignors.stateful import Duties

MS = 1_000_000


class Member:
    """A member, looked at by its log at times in ms."""

    def __init__(self, folder: Path) -> None:
        self._path, self._now = folder / "log", 0
        self._seen = SimpleNamespace(duties=Duties(), ready=frozenset(), lags={}, restored={})
        self._state = StateLog(cast(Any, self._seen), LogWriter(self._path), lambda: self._now * MS)

    def look(self, at: int, **changes: object) -> list[Entry]:
        """Return all entries after one more look, with their times in ms."""
        self._now = at
        self._seen.__dict__.update(changes)
        self._state.look()
        return read_log(self._path)


@pytest.fixture
def member(tmp_path: Path) -> Member:
    """A member without duties, whose log has this."""
    member = Member(tmp_path)
    assert [entry.event for entry in member.look(100)] == ["standbys", "state", "warmups"]
    return member


def test_only_changes_are_logged(member: Member) -> None:
    assert len(member.look(120)) == 3
    duties = Duties(warmups=(("count", 3),), probe_at=1.0, generation=4)
    assert member.look(130, duties=duties)[3:] == [
        Entry(130 * MS, "state", generation=4, note="probing"),
        Entry(130 * MS, "warmups", (3,)),
    ]


def test_probing_rebalance_is_logged_when_the_member_requests_it(member: Member) -> None:
    member.look(110, duties=Duties(probe_at=1.0, generation=4))
    member.look(120, duties=Duties(generation=4))  # requested
    member.look(140, duties=Duties(probe_at=2.0, generation=5))
    entries = member.look(160, duties=Duties(generation=6))  # another member's rebalance came first
    assert [entry for entry in entries if entry.event == "probe"] == [Entry(120 * MS, "probe")]


def test_restored_records_are_logged_before_the_task_is_ready(member: Member) -> None:
    assert len(member.look(110, restored={("count", 2): 7})) == 3  # too soon
    assert member.look(120, restored={("count", 2): 9}, ready=frozenset({("count", 2)}))[3:] == [
        Entry(120 * MS, "restored", (2,), last=9),
        Entry(120 * MS, "state", (2,)),
    ]


def test_largest_lag_of_the_standbys_is_logged_from_time_to_time(member: Member) -> None:
    first, second = ("count", 1), ("count", 2)
    member.look(160, duties=Duties(standbys=(first, second)), lags={first: 5})
    member.look(220, lags={first: 5, second: 9})
    member.look(230, lags={first: 0, second: 0})
    entries = member.look(280, lags={first: 0, second: 1})[3:]
    assert [(entry.t // MS, entry.partitions, entry.last) for entry in entries] == [
        (160, (1, 2), -1),
        (220, (1, 2), 9),
        (280, (1, 2), 1),
    ]
