"""Records: each whole or not at all, and no more than fit into memory until they are committed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kafka.errors import NodeNotReadyError

from kafka_assignors.errors import ChangelogError, ChangelogUnreachableError, StateDamagedError
from tests.unit.stateful.bench import T0, T1, Bench


def test_what_the_callback_raises_leaves_nothing_of_that_record(bench: Bench) -> None:
    """What was done before it is committed, of its own task, too: it need not be done again."""
    bench.process(T0, b"a")
    bench.processing.commit()
    bench.process(T1, b"b")
    with pytest.raises(ValueError, match="bad"):
        bench.process(T0, b"a", b"c", b"bad", b"a")
    assert bench.cluster.committed == {T0: 3, T1: 1}
    assert (bench.in_log(0), bench.in_log(1)) == ({b"a": b"2", b"c": b"1"}, {b"b": b"1"})
    assert dict(bench.store(T0).range()) == {b"a": b"2", b"c": b"1"}


def test_a_first_record_that_raises_is_not_passed_over(bench: Bench) -> None:
    with pytest.raises(ValueError, match="bad"):
        bench.process(T0, b"bad", b"a")
    assert (bench.cluster.committed, bench.in_log(0)) == ({}, {})


def test_what_the_callback_raises_is_heard_of_when_nothing_can_be_committed(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.cluster.write_fails = ChangelogUnreachableError("away")
    with pytest.raises(ValueError, match="bad"):
        bench.process(T0, b"a", b"bad")
    assert "it will be done again" in caplog.text
    bench.cluster.write_fails = ChangelogError("refused")
    with pytest.raises(ValueError, match="bad"):
        bench.process(T0, b"bad")
    assert "cannot be committed" in caplog.text


def test_a_record_of_a_task_that_is_not_ready_comes_again(bench: Bench) -> None:
    bench.actives[T0].ready = False
    bench.process(T0, b"a", b"b")
    assert bench.cluster.sought == {T0: 0}
    assert bench.cluster.committed == {}
    assert not bench.actives[T0].done


def test_a_damaged_store_is_undone_and_all_records_since_the_commit_come_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of another partition of the task, of which there is a batch in the same poll."""
    active = bench.actives[T0]
    active.partitions |= {T1}
    bench.processing.take([(active, T1, bench.records[T1].take(b"a"))])
    bench.processing.commit()
    bench.processing.take([(active, T1, bench.records[T1].take(b"b"))])
    bench.process(T0, b"c")

    def get(*_: object) -> bytes:
        raise StateDamagedError("bytes are flipped")

    monkeypatch.setattr(type(bench.store(T0)), "get", get)
    bench.processing.take(
        [(active, T0, bench.records[T0].take(b"d")), (active, T1, bench.records[T1].take(b"e"))]
    )
    assert [one for one, _ in bench.processing.damaged()] == [active]
    assert bench.cluster.sought == {T0: 0, T1: 1}
    assert (active.ready, active.began, active.done) == (False, {}, {})
    assert bench.store(T0).uncommitted == {}


def test_a_callback_that_asks_for_text_ends_the_member_with_what_is_wrong(bench: Bench) -> None:
    """It was taken for damage: wiped, restored, and processed again, for ever."""
    bench.actives[T0].process = lambda _, store: store.get("AA")
    with pytest.raises(TypeError, match="a key of str, expected bytes"):
        bench.process(T0, b"a")
    assert bench.processing.damaged() == []


def test_state_that_was_restored_is_of_use_when_a_record_of_its_task_is_committed(bench: Bench) -> None:
    """Then, and not sooner: else it may be restored again and again without a step forward."""
    for active in bench.actives.values():
        assert active.copy is not None
        active.copy.in_doubt = True
    bench.processing.commit()
    assert [active.copy.in_doubt for active in bench.actives.values() if active.copy] == [True, True]
    bench.process(T0, b"a")
    bench.cluster.commit_fails = NodeNotReadyError()
    assert not bench.processing.commit()
    assert [active.copy.in_doubt for active in bench.actives.values() if active.copy] == [True, True]
    bench.cluster.commit_fails = None
    bench.process(T0, b"a")
    assert bench.processing.commit()
    assert [active.copy.in_doubt for active in bench.actives.values() if active.copy] == [False, True]


def test_state_that_is_damaged_as_it_is_committed_has_been_of_no_use(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its changes are safe in the changelog, and the offsets committed: that says nothing of the store."""

    def commit(*_: object) -> None:
        raise StateDamagedError("bytes are flipped")

    copy = bench.actives[T0].copy
    assert copy is not None
    copy.in_doubt = True
    bench.process(T0, b"a")
    monkeypatch.setattr(type(copy.store), "commit", commit)
    assert bench.processing.commit()
    assert bench.cluster.committed == {T0: 1}
    assert copy.in_doubt


def test_too_much_in_memory_is_committed_in_the_middle_of_a_batch(tmp_path: Path) -> None:
    bench = Bench(tmp_path, most=1_000)
    bench.process(T0, *(b"%d" % n for n in range(50)))
    assert bench.cluster.committed[T0] >= 30
    assert len(bench.in_log(0)) >= 30
    assert bench.cluster.sought == {}


def test_damage_found_while_another_task_is_processed_is_not_that_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store that is wiped has to be the one that is damaged."""
    bench = Bench(tmp_path, most=1_000)
    bench.process(T0, b"a")
    broken, really = bench.store(T0), type(bench.store(T0)).commit

    def commit(store: Any, position: int | None) -> None:
        if store is broken:
            raise StateDamagedError("bytes are flipped")
        really(store, position)

    monkeypatch.setattr(type(broken), "commit", commit)
    bench.process(T1, *(b"%d" % n for n in range(20)))
    assert [active for active, _ in bench.processing.damaged()] == [bench.actives[T0]]
    assert (bench.actives[T1].ready, bench.cluster.sought) == (True, {})
    assert bench.processing.commit()
    assert bench.cluster.committed == {T0: 1, T1: 20}
    bench.close()


def test_damage_found_while_a_task_is_given_back_is_only_undone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The consumer has let go of its partitions before the listener hears of it: they cannot be paused."""

    def commit(*_: object) -> None:
        raise StateDamagedError("bits fell over")

    bench.process(T0, b"a")
    bench.cluster.assigned -= {T0}
    monkeypatch.setattr(type(bench.store(T0)), "commit", commit)
    bench.processing.commit()
    [(active, _)] = bench.processing.damaged()
    assert (active, active.ready, active.done) == (bench.actives[T0], False, {})
    assert bench.cluster.sought == {}


def test_damage_found_in_the_middle_of_its_own_batch_stops_it_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, most=1_000)

    def commit(_: Any, position: int | None) -> None:
        raise StateDamagedError("bytes are flipped")

    monkeypatch.setattr(type(bench.store(T0)), "commit", commit)
    bench.process(T0, *(b"%d" % n for n in range(20)))
    assert [active for active, _ in bench.processing.damaged()] == [bench.actives[T0]]
    assert bench.cluster.committed == bench.cluster.sought
    assert 0 < bench.cluster.sought[T0] < 20
    bench.close()


def test_a_batch_that_takes_long_is_committed_in_between(tmp_path: Path) -> None:
    """At each interval: else what a whole batch did would be done again after a crash."""
    bench = Bench(tmp_path, interval_s=1.0)
    committed = []

    def slow(record: Any, store: Any) -> None:
        committed.append(bench.cluster.committed.get(T0, 0))
        bench.now += 0.25

    bench.actives[T0].process = slow
    bench.process(T0, *(b"%d" % n for n in range(10)))
    assert committed == [0] * 4 + [4] * 4 + [8] * 2
    bench.close()


def test_a_batch_whose_commit_fails_in_between_lets_the_consumer_be_polled(tmp_path: Path) -> None:
    """Attempts may take longer than all else: without a poll for too long the group goes on without us."""
    bench = Bench(tmp_path, interval_s=1.0)
    bench.cluster.write_fails = ChangelogUnreachableError("away")
    tried: list[int] = []

    def slow(record: Any, store: Any) -> None:
        store.put(b"a", b"1")
        bench.now += 0.25
        tried.append(bench.cluster.did.count("changelog"))

    bench.actives[T0].process = slow
    bench.process(T0, *(b"%d" % n for n in range(10)))
    assert (tried, bench.cluster.sought) == ([0] * 4, {T0: 4})
    bench.records[T0].next = 4
    bench.process(T0, *(b"%d" % n for n in range(4, 10)))
    assert (tried[4:], bench.cluster.sought) == ([1] * 4, {T0: 8}), "it gets on between two attempts"
    bench.close()


def test_too_much_that_cannot_be_committed_stops_the_flow_until_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(tmp_path, most=1_000)
    bench.processing.let_flow()
    assert bench.cluster.flows == {T0, T1}
    bench.cluster.write_fails = ChangelogUnreachableError("away")
    bench.process(T0, *(b"%d" % n for n in range(50)))
    again = bench.cluster.sought[T0]
    assert 0 < again < 20
    assert bench.cluster.flows == set()
    assert "nothing more is taken" in caplog.text
    bench.process(T1, b"x")
    bench.processing.let_flow()
    assert (bench.cluster.sought[T1], bench.cluster.flows) == (0, set())
    bench.cluster.write_fails = None
    assert bench.processing.commit()
    bench.processing.let_flow()
    assert bench.cluster.flows == {T0, T1}
    assert bench.cluster.committed == {T0: again}


def test_who_is_told_to_stop_does_so_before_the_next_record(bench: Bench) -> None:
    bench.stop.set()
    bench.process(T0, b"a", b"b")
    assert (bench.cluster.sought, bench.actives[T0].done) == ({T0: 0}, {})
