"""``Changes``: the changes of one record can be dropped alone."""

from __future__ import annotations

from kafka_assignors.stateful.state.changes import Changes


def test_undo_drops_only_the_changes_of_the_record() -> None:
    """Keys that were new, set again, deleted, and deleted and set."""
    changes = Changes()
    for key in (b"a", b"b", b"c"):
        changes.set(key, b"1")
    changes.set(b"gone", None)
    before, size = dict(changes.values), changes.size
    assert list(changes.between(b"a", None)) == [b"a", b"b", b"c", b"gone"]
    changes.begin_record()
    changes.set(b"a", b"22")
    changes.set(b"a", b"333")
    changes.set(b"b", None)
    changes.set(b"c", None)
    changes.set(b"c", b"4")
    changes.set(b"gone", b"5")
    changes.set(b"new", b"6")
    changes.set(b"new", None)
    assert list(changes.between(b"a", None)) == [b"a", b"b", b"c", b"gone", b"new"]
    changes.undo_record()
    assert (changes.values, changes.size) == (before, size)
    assert list(changes.between(b"a", None)) == [b"a", b"b", b"c", b"gone"]


def test_undo_keeps_the_record_before() -> None:
    changes = Changes()
    changes.begin_record()
    changes.set(b"a", b"1")
    changes.begin_record()
    changes.set(b"b", b"1")
    changes.undo_record()
    assert changes.values == {b"a": b"1"}


def test_undo_keeps_committed_changes() -> None:
    changes = Changes()
    changes.begin_record()
    changes.set(b"a", b"1")
    changes.clear()
    changes.undo_record()
    assert (changes.values, changes.size) == ({}, 0)
