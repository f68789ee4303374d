"""A member's ledger outlives its member."""

from __future__ import annotations

from pathlib import Path

from tests.integration.chaos.ledger import Kind, Place, Writer, read


def test_entries_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "m0.jsonl"
    writer = Writer(path)
    writer.write(Kind.READ, [("t", 0, 5), ("t", 1, 7)])
    writer.write(Kind.OWNED, [("t", 0, 0)], 3)
    ledger = read(path)
    assert ledger.member == "m0"
    first, second = ledger.entries
    assert (first.kind, first.places, first.generation) == (
        Kind.READ,
        (Place("t", 0, 5), Place("t", 1, 7)),
        -1,
    )
    assert (second.kind, second.places, second.generation) == (Kind.OWNED, (Place("t", 0, 0),), 3)
    assert first.at <= second.at


def test_a_line_cut_off_by_a_kill_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "m0.jsonl"
    Writer(path).write(Kind.LOST, [("t", 0, 0)])
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:10])
    assert [entry.kind for entry in read(path).entries] == [Kind.LOST]


def test_a_member_that_wrote_nothing(tmp_path: Path) -> None:
    assert read(tmp_path / "m0.jsonl").entries == ()
