"""``Processing``: whole records, within a limit of memory."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.errors import NodeNotReadyError

from kafka_assignors.errors import ChangelogError, ChangelogUnreachableError, StateDamagedError
from kafka_assignors.stateful.runtime.tasks import ActiveTask
from tests.unit.stateful.bench import T0, T1, Bench, break_store

FLIPPED = StateDamagedError("bytes are flipped")


def test_error_of_the_callback_drops_the_changes_of_that_record(bench: Bench) -> None:
    """Earlier work is committed, also of the same task."""
    bench.complete(T0, b"a")
    bench.process(T1, b"b")
    with pytest.raises(ValueError, match="bad"):
        bench.process(T0, b"a", b"c", b"bad", b"a")
    assert bench.cluster.committed == {T0: 3, T1: 1}
    assert (bench.in_log(0), bench.in_log(1)) == ({b"a": b"2", b"c": b"1"}, {b"b": b"1"})
    assert dict(bench.store(T0).range()) == {b"a": b"2", b"c": b"1"}


def test_error_of_the_callback_is_raised_even_if_the_commit_fails(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.cluster.write_fails = ChangelogUnreachableError("away")
    with pytest.raises(ValueError, match="bad"):
        bench.process(T0, b"a", b"bad")
    assert "the last commit failed, records are processed again" in caplog.text
    bench.cluster.write_fails = ChangelogError("refused")
    with pytest.raises(ValueError, match="bad"):
        bench.process(T0, b"bad")
    assert caplog.text.count("the last commit failed, records are processed again") == 2


def test_record_of_a_task_that_is_not_ready_is_read_again(bench: Bench) -> None:
    bench.actives[T0].ready = False
    bench.process(T0, b"a", b"b")
    assert bench.cluster.sought == {T0: 0}
    assert bench.cluster.committed == {}
    assert not bench.actives[T0].done


def test_damaged_store_is_rewound_to_the_last_commit(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for another partition of the task with a batch in the same poll."""
    active = bench.actives[T0]
    active.partitions |= {T1}
    bench.processing.process([(active, T1, bench.records[T1].take(b"a"))])
    bench.processing.commit()
    bench.processing.process([(active, T1, bench.records[T1].take(b"b"))])
    bench.process(T0, b"c")
    break_store(monkeypatch, bench.store(T0), "get", FLIPPED)
    bench.processing.process(
        [(active, T0, bench.records[T0].take(b"d")), (active, T1, bench.records[T1].take(b"e"))]
    )
    assert [task for task, _ in bench.processing.damaged()] == [active]
    assert bench.cluster.sought == {T0: 0, T1: 1}
    assert (active.ready, active.began, active.done) == (False, {}, {})
    assert bench.store(T0).uncommitted == {}


def test_callback_that_uses_text_keys_ends_the_member_with_a_type_error(bench: Bench) -> None:
    """It must not count as damage, which would be restored and raised again forever."""
    bench.actives[T0].process = lambda _, store: store.get("AA")
    with pytest.raises(TypeError, match="a key must be bytes, not str"):
        bench.process(T0, b"a")
    assert bench.processing.damaged() == []


def test_damage_in_a_store_of_the_application_ends_a_member_without_state(bench: Bench) -> None:
    """There is no store of ours to restore, so the task would wait for ever."""

    def read_own_store(record: Any, _: Any) -> None:
        if record.key == b"bad":
            raise FLIPPED

    copy, bench.actives[T0].copy = bench.copy(T0), None
    bench.actives[T0].process = read_own_store
    with pytest.raises(StateDamagedError, match="bytes are flipped"):
        bench.process(T0, b"a", b"bad")
    assert (bench.cluster.committed, bench.processing.damaged()) == ({T0: 1}, [])
    copy.drop()


def test_commit_of_a_record_ends_the_doubt_about_restored_state(bench: Bench) -> None:
    """Not sooner: it could be restored again and again without progress."""
    copies = [bench.copy(at) for at in (T0, T1)]
    for copy in copies:
        copy.in_doubt = True
    bench.processing.commit()
    assert [copy.in_doubt for copy in copies] == [True, True]
    bench.process(T0, b"a")
    bench.cluster.commit_fails = NodeNotReadyError()
    assert not bench.processing.commit()
    assert [copy.in_doubt for copy in copies] == [True, True]
    bench.cluster.commit_fails = None
    assert bench.processing.commit()
    assert [copy.in_doubt for copy in copies] == [False, True]


def test_commit_of_earlier_work_does_not_end_the_doubt_about_state_damaged_since(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = bench.copy(T0)
    bench.process(T0, b"a")
    bench.cluster.commit_fails = NodeNotReadyError()
    assert not bench.processing.commit()
    break_store(monkeypatch, copy.store, "get", FLIPPED)
    bench.process(T0, b"b")
    copy.in_doubt = True  # as when it is wiped
    bench.cluster.commit_fails = None
    assert bench.processing.commit()
    assert bench.cluster.committed == {T0: 1}
    assert copy.in_doubt


def test_state_damaged_by_its_commit_stays_in_doubt(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changelog and offsets are written, which proves nothing about the store."""
    copy = bench.copy(T0)
    copy.in_doubt = True
    bench.process(T0, b"a")
    break_store(monkeypatch, copy.store, "commit", FLIPPED)
    assert bench.processing.commit()
    assert bench.cluster.committed == {T0: 1}
    assert copy.in_doubt


@pytest.mark.parametrize("bench", [{"most": 1_000}], indirect=True)
def test_full_memory_commits_in_the_middle_of_a_batch(bench: Bench) -> None:
    bench.process(T0, *(b"%d" % n for n in range(50)))
    assert bench.cluster.committed[T0] >= 30
    assert len(bench.in_log(0)) >= 30
    assert bench.cluster.sought == {}


@pytest.mark.parametrize("bench", [{"most": 1_000}], indirect=True)
def test_limit_of_memory_holds_for_all_tasks_together(bench: Bench) -> None:
    batches = [
        (bench.actives[at], at, bench.records[at].take(b"%d" % n)) for n in range(20) for at in (T0, T1)
    ]
    bench.processing.process(batches)
    assert sum(active.uncommitted_bytes for active in bench.actives.values()) < 1_200
    assert min(bench.cluster.committed[at] for at in (T0, T1)) >= 15


def test_memory_of_all_tasks_is_summed_once_a_poll(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member may own a thousand tasks, and a poll may bring a record of each."""
    asked: list[ActiveTask] = []

    def uncommitted_bytes(active: ActiveTask) -> int:
        asked.append(active)
        return 1

    monkeypatch.setattr(ActiveTask, "uncommitted_bytes", property(uncommitted_bytes))
    active = bench.actives[T0]
    bench.processing.process([(active, T0, bench.records[T0].take(b"a")) for _ in range(50)])
    assert asked.count(bench.actives[T1]) == 1


@pytest.mark.parametrize("bench", [{"most": 1_000}], indirect=True)
def test_damage_found_while_another_task_is_processed_wipes_only_the_damaged_store(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit in between finds the damage."""
    bench.process(T0, b"a")
    break_store(monkeypatch, bench.store(T0), "commit", FLIPPED)
    bench.process(T1, *(b"%d" % n for n in range(20)))
    assert [active for active, _ in bench.processing.damaged()] == [bench.actives[T0]]
    assert (bench.actives[T1].ready, bench.cluster.sought) == (True, {})
    assert bench.processing.commit()
    assert bench.cluster.committed == {T0: 1, T1: 20}


def test_damage_found_during_a_revocation_is_only_rewound(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partitions are not assigned to the consumer any more, so they cannot be paused."""
    bench.process(T0, b"a")
    bench.cluster.assigned -= {T0}
    break_store(monkeypatch, bench.store(T0), "commit", FLIPPED)
    bench.processing.commit()
    [(active, _)] = bench.processing.damaged()
    assert (active, active.ready, active.done) == (bench.actives[T0], False, {})
    assert bench.cluster.sought == {}


@pytest.mark.parametrize("bench", [{"most": 1_000}], indirect=True)
def test_damage_found_in_the_middle_of_its_own_batch_stops_the_batch(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_store(monkeypatch, bench.store(T0), "commit", FLIPPED)
    bench.process(T0, *(b"%d" % n for n in range(20)))
    assert [active for active, _ in bench.processing.damaged()] == [bench.actives[T0]]
    assert bench.cluster.committed == bench.cluster.sought
    assert 0 < bench.cluster.sought[T0] < 20


@pytest.mark.parametrize("bench", [{"interval_s": 1.0}], indirect=True)
def test_long_batch_is_committed_at_each_interval(bench: Bench) -> None:
    """Otherwise the whole batch would be processed again after a crash."""
    committed = []

    def slow(record: Any, store: Any) -> None:
        committed.append(bench.cluster.committed.get(T0, 0))
        bench.now += 0.25

    bench.actives[T0].process = slow
    bench.process(T0, *(b"%d" % n for n in range(10)))
    assert committed == [0] * 4 + [4] * 4 + [8] * 2


@pytest.mark.parametrize("bench", [{"interval_s": 1.0}], indirect=True)
def test_failed_commit_in_a_batch_ends_the_turn(bench: Bench) -> None:
    """Attempts may take long, and a member that does not poll is removed from the group."""
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
    assert (tried[4:], bench.cluster.sought) == ([1] * 4, {T0: 8}), "it makes progress between two attempts"


@pytest.mark.parametrize("bench", [{"most": 1_000}], indirect=True)
def test_full_memory_pauses_all_tasks_until_a_commit_succeeds(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.processing.resume_ready()
    assert bench.cluster.flows == {T0, T1}
    bench.cluster.write_fails = ChangelogUnreachableError("away")
    bench.process(T0, *(b"%d" % n for n in range(50)))
    again = bench.cluster.sought[T0]
    assert 0 < again < 20
    assert bench.cluster.flows == set()
    assert "processing waits for a commit" in caplog.text
    bench.process(T1, b"x")
    bench.processing.resume_ready()
    assert (bench.cluster.sought[T1], bench.cluster.flows) == (0, set())
    bench.cluster.write_fails = None
    assert bench.processing.commit()
    bench.processing.resume_ready()
    assert bench.cluster.flows == {T0, T1}
    assert bench.cluster.committed == {T0: again}


def test_shutdown_stops_processing_before_the_next_record(bench: Bench) -> None:
    bench.stop.set()
    bench.process(T0, b"a", b"b")
    assert (bench.cluster.sought, bench.actives[T0].done) == ({T0: 0}, {})
