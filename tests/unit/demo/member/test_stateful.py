"""What a member logs of itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demo.group.logs import Entry, LogWriter, read_log
from demo.member.stateful import StateLog
from kafka_assignors.stateful import Duties
from kafka_assignors.wire.stateful.task_section import Task

MS = 1_000_000


class Looked:
    """A member."""

    def __init__(self) -> None:
        self.duties = Duties()
        self.ready: frozenset[Task] = frozenset()
        self.lags: Mapping[Task, int] = {}
        self.restored: Mapping[Task, int] = {}


def looks(path: Path, member: Any) -> tuple[StateLog, list[int]]:
    now = [0]
    return StateLog(member, LogWriter(path), lambda: now[0]), now


def test_only_changes_are_logged(tmp_path: Path) -> None:
    member, path = Looked(), tmp_path / "log"
    state, now = looks(path, member)
    for tick in (100, 120, 140):
        now[0] = tick * MS
        state.look()
    assert [(entry.t, entry.event) for entry in read_log(path)] == [
        (100 * MS, "standbys"),
        (100 * MS, "state"),
        (100 * MS, "warmups"),
    ]
    member.duties = Duties(warmups=(("count", 3),), probe_at=1.0, generation=4)
    now[0] = 150 * MS
    state.look()
    assert read_log(path)[3:] == [
        Entry(150 * MS, "state", generation=4, note="probing"),
        Entry(150 * MS, "warmups", (3,)),
    ]


def test_probing_rebalance_is_logged_when_the_member_requests_it(tmp_path: Path) -> None:
    member, path = Looked(), tmp_path / "log"
    state, now = looks(path, member)
    for tick, duties in (
        (100, Duties(probe_at=1.0, generation=4)),
        (120, Duties(generation=4)),  # requested
        (140, Duties(probe_at=2.0, generation=5)),
        (160, Duties(generation=6)),  # another member's rebalance came first
    ):
        member.duties, now[0] = duties, tick * MS
        state.look()
    assert [entry for entry in read_log(path) if entry.event == "probe"] == [Entry(120 * MS, "probe")]


def test_restored_records_are_logged_before_the_task_is_ready(tmp_path: Path) -> None:
    member, path = Looked(), tmp_path / "log"
    state, now = looks(path, member)
    now[0] = 100 * MS
    state.look()
    member.restored = {("count", 2): 7}
    now[0] = 110 * MS
    state.look()
    assert len(read_log(path)) == 3  # not so often
    member.restored, member.ready = {("count", 2): 9}, frozenset({("count", 2)})
    now[0] = 120 * MS
    state.look()
    assert read_log(path)[3:] == [
        Entry(120 * MS, "restored", (2,), last=9),
        Entry(120 * MS, "state", (2,)),
    ]


def test_how_far_standbys_are_is_logged_every_so_often(tmp_path: Path) -> None:
    member, path = Looked(), tmp_path / "log"
    member.duties = Duties(standbys=(("count", 1), ("count", 2)))
    member.lags = {("count", 1): 5}
    state, now = looks(path, member)
    for tick, lags in ((100, {1: 5}), (160, {1: 5, 2: 9}), (170, {1: 0, 2: 0}), (220, {1: 0, 2: 1})):
        member.lags = {("count", task): lag for task, lag in lags.items()}
        now[0] = tick * MS
        state.look()
    lines = [(entry.t // MS, entry.last) for entry in read_log(path) if entry.event == "standbys"]
    assert lines == [(100, -1), (160, 9), (220, 1)]
