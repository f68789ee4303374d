"""A member's event log survives the member."""

from __future__ import annotations

from pathlib import Path

from tests.integration.chaos.event_log import EventKind, EventWriter, Position, read


def test_events_are_read_in_the_order_of_writing(tmp_path: Path) -> None:
    path = tmp_path / "m0.jsonl"
    writer = EventWriter(path)
    writer.write(EventKind.READ, [("t", 0, 5), ("t", 1, 7)])
    writer.write(EventKind.OWNED, [("t", 0, 0)], 3)
    log = read(path)
    assert log.member == "m0"
    assert [(event.kind, event.positions, event.generation) for event in log.events] == [
        (EventKind.READ, (Position("t", 0, 5), Position("t", 1, 7)), -1),
        (EventKind.OWNED, (Position("t", 0, 0),), 3),
    ]
    assert log.events[0].at <= log.events[1].at


def test_line_cut_off_by_a_kill_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "m0.jsonl"
    EventWriter(path).write(EventKind.LOST, [("t", 0, 0)])
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:10])
    assert [event.kind for event in read(path).events] == [EventKind.LOST]


def test_missing_file_is_an_empty_log(tmp_path: Path) -> None:
    assert read(tmp_path / "m0.jsonl").events == ()


def test_event_may_have_an_earlier_time(tmp_path: Path) -> None:
    path = tmp_path / "m0.jsonl"
    EventWriter(path).write(EventKind.CONFIRMED, at=5)
    assert [event.at for event in read(path).events] == [5]
