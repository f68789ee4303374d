"""The order of a commit, and the work it keeps when a step fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from kafka.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    KafkaTimeoutError,
    RebalanceInProgressError,
    TopicAuthorizationFailedError,
)

from kafka_assignors.errors import (
    ChangelogError,
    ChangelogUnreachableError,
    StateDamagedError,
    StateError,
    StateFullError,
)
from kafka_assignors.plan import TopicPartition as OurPartition
from kafka_assignors.stateful import Position, StateDir, Stores
from kafka_assignors.stateful.state.copy import Changelog, Copy
from tests.unit.stateful.bench import T0, T1, Bench, break_store
from tests.unit.stateful.processes import program

FLIPPED = StateDamagedError("bytes are flipped")


def test_commit_writes_changelog_then_store_then_offsets(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = bench.store(T0)
    really = store.commit

    def commit(_: object, position: int | None) -> None:
        bench.cluster.did.append("store")
        really(position)

    monkeypatch.setattr(type(store), "commit", commit)
    bench.complete(T0, b"a", b"b", b"a")
    assert bench.cluster.did == ["changelog", "store", "offsets"]
    assert bench.in_log(0) == {b"a": b"2", b"b": b"1"}
    assert (bench.store(T0).position, bench.cluster.committed) == (2, {T0: 3})
    assert bench.processing.commit()
    assert len(bench.cluster.did) == 3, "there was no more work"


def test_commit_confirms_the_copy(bench: Bench) -> None:
    """Else a copy of a process that is suspended after the commit would count as behind its changelog."""
    bench.complete(T0, b"a", b"b")
    assert bench.copy(T0).confirmed == bench.copy(T0).position == 2


def test_changes_not_in_the_changelog_are_not_committed(bench: Bench) -> None:
    """A retry writes them once."""
    bench.process(T0, b"a")
    bench.cluster.write_fails = ChangelogUnreachableError("away")
    assert not bench.processing.commit()
    assert (bench.cluster.did, bench.store(T0).position) == (["changelog"], None)
    bench.cluster.write_fails = None
    assert bench.processing.commit()
    assert (bench.in_log(0), bench.cluster.committed) == ({b"a": b"1"}, {T0: 1})


def test_permanent_error_of_a_changelog_is_raised(bench: Bench) -> None:
    bench.process(T0, b"a")
    bench.cluster.write_fails = ChangelogError("too large")
    with pytest.raises(ChangelogError, match="too large"):
        bench.processing.commit()
    assert bench.cluster.committed == {}


@pytest.mark.parametrize(
    "error", [KafkaTimeoutError("away"), CommitFailedError(), RebalanceInProgressError()]
)
def test_uncommitted_offsets_are_committed_with_the_next_ones(bench: Bench, error: Exception) -> None:
    bench.process(T0, b"a")
    bench.cluster.commit_fails = error
    assert not bench.processing.commit()
    bench.cluster.commit_fails = None
    assert bench.processing.commit()
    assert bench.cluster.committed == {T0: 1}
    assert bench.in_log(0) == {b"a": b"1"}


@pytest.mark.parametrize("error", [TopicAuthorizationFailedError({"t"}), FencedInstanceIdError()])
def test_permanent_refusal_of_offsets_ends_the_member(bench: Bench, error: Exception) -> None:
    """A retry cannot help, so further work would be in vain."""
    bench.process(T0, b"a")
    bench.cluster.commit_fails = error
    with pytest.raises(type(error)):
        bench.processing.commit()


def test_closing_member_commits_offsets_in_the_time_left(bench: Bench) -> None:
    bench.complete(T0, b"a")
    bench.process(T1, b"a")
    bench.stop.set()
    bench.now += 0.35
    assert bench.processing.commit()
    assert bench.cluster.commit_ms == [5_000, 250]


def test_offsets_of_revoked_partitions_are_not_committed(bench: Bench) -> None:
    bench.process(T0, b"a")
    bench.process(T1, b"b")
    bench.cluster.commit_fails = KafkaTimeoutError("away")
    assert not bench.processing.commit()
    bench.cluster.commit_fails = None
    bench.commits.forget([T0])
    assert bench.processing.commit()
    assert bench.cluster.committed == {T1: 1}


def test_member_with_a_new_id_writes_nothing_for_tasks_of_the_old_id(bench: Bench) -> None:
    """The group would take the offsets, because the new id is a member, too."""
    bench.process(T0, b"a")
    bench.cluster.member_id = "m-2"
    with pytest.raises(CommitFailedError, match="s_0, s_1: assigned to an earlier member id"):
        bench.processing.commit()
    assert bench.cluster.did == []


def test_member_without_an_id_commits_nothing_and_raises_nothing(bench: Bench) -> None:
    """The next poll reports the lost tasks."""
    bench.process(T0, b"a")
    bench.cluster.member_id = ""
    assert not bench.processing.commit()
    assert bench.cluster.did == []


@pytest.mark.parametrize("logged", [True, False])
def test_full_disk_commits_offsets_of_changes_in_the_changelog_then_raises(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, logged: bool
) -> None:
    """Lost changes of a store without a changelog exist nowhere else."""
    if not logged:
        monkeypatch.setattr(bench.copy(T0), "changelog", None)
    bench.process(T0, b"a")
    bench.process(T1, b"b")
    break_store(monkeypatch, bench.store(T0), "commit", StateFullError("no room"))
    with pytest.raises(StateFullError):
        bench.processing.commit()
    assert bench.cluster.committed == {**({T0: 1} if logged else {}), T1: 1}
    assert (bench.in_log(0), bench.in_log(1)) == ({b"a": b"1"} if logged else {}, {b"b": b"1"})
    assert bench.store(T1).position == 1


def test_store_found_damaged_by_a_commit_is_suspended_and_others_go_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its changes are in the changelog, so its offsets are committed."""
    bench.processing.resume_ready()
    bench.process(T0, b"a")
    bench.process(T1, b"b")
    break_store(monkeypatch, bench.store(T0), "commit", FLIPPED)
    assert bench.processing.commit()
    assert bench.cluster.committed == {T0: 1, T1: 1}
    assert [(active, str(error)) for active, error in bench.processing.damaged()] == [
        (bench.actives[T0], "bytes are flipped")
    ]
    assert bench.processing.damaged() == [], "it is returned once"
    assert [bench.actives[at].ready for at in (T0, T1)] == [False, True]
    assert bench.cluster.flows == {T1}
    assert bench.cluster.sought == {}, "no record is processed again"
    assert bench.store(T0).uncommitted == {}
    assert bench.processing.commit()
    assert bench.in_log(0) == {b"a": b"1"}, "it was written once"


def test_store_without_a_changelog_found_damaged_by_a_commit_is_rewound(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.copy(T0), "changelog", None)
    bench.process(T0, b"a", b"b")
    break_store(monkeypatch, bench.store(T0), "commit", FLIPPED)
    bench.processing.commit()
    assert [active for active, _ in bench.processing.damaged()] == [bench.actives[T0]]
    assert (bench.cluster.committed, bench.cluster.sought) == ({}, {T0: 0})


def test_store_found_damaged_after_the_offsets_is_suspended(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it moves past the records of a failed attempt in the changelog."""
    bench.process(T0, b"a")
    bench.cluster.log[0] += [(b"a", b"1")]
    break_store(monkeypatch, bench.store(T0), "apply", FLIPPED)
    assert bench.processing.commit()
    assert bench.cluster.committed == {T0: 1}
    assert [active for active, _ in bench.processing.damaged()] == [bench.actives[T0]]


def test_store_does_not_move_past_records_of_another_writer(bench: Bench) -> None:
    """Unless the group takes the offsets: then this member is the owner, and the record is repaired.

    It may be a failed write of this member that arrived although its changes were undone.
    """
    bench.process(T0, b"a")
    bench.cluster.log[0] += [(b"x", b"7")]
    bench.cluster.commit_fails = CommitFailedError()
    assert not bench.processing.commit()
    assert bench.store(T0).position is None, "its next owner restores from before the other record"
    assert bench.store(T0).get(b"a") == b"1"
    bench.cluster.commit_fails = None
    assert bench.processing.commit()
    assert bench.in_log(0) == {b"x": None, b"a": b"1"}
    assert bench.store(T0).position == 3


@pytest.mark.parametrize(("left", "keys"), [(0, b"c"), (1, b"cd")])
def test_changelog_truncated_or_created_again_while_in_use_is_logged(
    bench: Bench, caplog: pytest.LogCaptureFixture, left: int, keys: bytes
) -> None:
    """Also if the write ends beyond the store's position."""
    bench.complete(T0, b"a", b"b")
    del bench.cluster.log[0][left:]
    bench.complete(T0, *(bytes([key]) for key in keys))
    assert (
        f"wrote changelog offset {left} after 1, so the topic was created again or truncated" in caplog.text
    )
    assert bench.store(T0).position == left + len(keys)


# --- copies and the first checkpoint -----------------------------------------------------------------------

CHANGELOG = Changelog(OurPartition("log", 0), "id-1")
Open = Callable[[Changelog | None], Copy]


@pytest.fixture
def state_dir(tmp_path: Path) -> Iterator[StateDir]:
    with StateDir(tmp_path, "g") as state_dir:
        yield state_dir


@pytest.fixture
def open_copy(state_dir: StateDir) -> Open:
    """Opens the copy of one task, with or without a changelog."""
    return lambda changelog: Copy(("s", 0), changelog, state_dir, Stores())


def test_new_store_has_a_checkpoint(state_dir: StateDir, open_copy: Open) -> None:
    """A store without one is wiped, because its changelog is unknown."""
    open_copy(CHANGELOG).drop()
    assert state_dir.tasks() == {("s", 0): {CHANGELOG.partition: Position(0, "id-1")}}


@pytest.mark.parametrize(
    ("has_checkpoint", "topic_id", "reason"),
    [(False, "id-1", "there is no checkpoint"), (True, "id-2", "deleted and created again")],
)
def test_store_of_an_unknown_or_earlier_topic_is_wiped(
    has_checkpoint: bool,
    topic_id: str,
    reason: str,
    *,
    open_copy: Open,
    state_dir: StateDir,
    caplog: pytest.LogCaptureFixture,
) -> None:
    copy = open_copy(CHANGELOG)
    copy.apply([(b"a", b"1")], 1)
    copy.close()
    if not has_checkpoint:
        (state_dir.path / "s_0" / "checkpoint").unlink()
    again = open_copy(replace(CHANGELOG, topic_id=topic_id))
    assert (again.position, dict(again.store.range())) == (0, {})
    assert reason in caplog.text
    again.close()


@pytest.mark.parametrize("had_changelog", [False, True])
def test_store_without_a_changelog_is_kept_when_it_gets_one(had_changelog: bool, open_copy: Open) -> None:
    """It has the only copy of its state; also an earlier changelog lacks the changes made without it."""
    if had_changelog:
        copy = open_copy(CHANGELOG)
        copy.apply([(b"a", b"1")], 1)
        copy.close()
    copy = open_copy(None)
    copy.store.put(b"a", b"2")
    copy.store.commit()
    copy.close()
    with pytest.raises(StateError, match="task s_0 was kept without a changelog"):
        open_copy(CHANGELOG)
    copy = open_copy(None)
    assert copy.store.get(b"a") == b"2"
    copy.close()


def test_commits_of_a_store_without_a_changelog_outlive_a_killed_process(tmp_path: Path) -> None:
    """It keeps RocksDB's own log, so commits are there without a flush."""
    code = (
        "import sys, time\n"
        "from kafka_assignors.stateful import StateDir, Stores\n"
        "from kafka_assignors.stateful.state.copy import Copy\n"
        "copy = Copy(('s', 0), None, StateDir(sys.argv[1], 'g'), Stores())\n"
        "copy.store.put(b'a', b'1'); copy.store.commit()\n"
        "print('done', flush=True); time.sleep(60)\n"
    )
    with program(code, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        process.kill()
    with StateDir(tmp_path, "g") as there:
        copy = Copy(("s", 0), None, there, Stores())
        assert copy.store.get(b"a") == b"1"
        copy.close()
