"""The order in which what was processed is made safe, and what is kept when something fails on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    StateFullError,
)
from kafka_assignors.plan import TopicPartition as OurPartition
from kafka_assignors.stateful import StateDir, Stores
from kafka_assignors.stateful.state.copy import Changelog, Copy
from tests.unit.stateful.bench import T0, T1, Bench
from tests.unit.stateful.processes import program


def test_first_the_changelog_then_the_store_then_the_offsets(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = bench.store(T0)
    really = store.commit

    def commit(_: object, position: int | None) -> None:
        bench.cluster.did.append("store")
        really(position)

    monkeypatch.setattr(type(store), "commit", commit)
    bench.process(T0, b"a", b"b", b"a")
    assert bench.processing.commit()
    assert bench.cluster.did == ["changelog", "store", "offsets"]
    assert bench.in_log(0) == {b"a": b"2", b"b": b"1"}
    assert (bench.store(T0).position, bench.cluster.committed) == (2, {T0: 3})
    assert bench.processing.commit()
    assert len(bench.cluster.did) == 3, "there was nothing more to do"


def test_what_is_not_in_the_changelog_is_nowhere(bench: Bench) -> None:
    """It is tried again, and nothing is done twice."""
    bench.process(T0, b"a")
    bench.cluster.write_fails = ChangelogUnreachableError("away")
    assert not bench.processing.commit()
    assert (bench.cluster.did, bench.store(T0).position) == (["changelog"], None)
    bench.cluster.write_fails = None
    assert bench.processing.commit()
    assert (bench.in_log(0), bench.cluster.committed) == ({b"a": b"1"}, {T0: 1})


def test_a_changelog_that_refuses_for_good_is_an_error(bench: Bench) -> None:
    bench.process(T0, b"a")
    bench.cluster.write_fails = ChangelogError("too large")
    with pytest.raises(ChangelogError, match="too large"):
        bench.processing.commit()
    assert bench.cluster.committed == {}


@pytest.mark.parametrize(
    "error", [KafkaTimeoutError("away"), CommitFailedError(), RebalanceInProgressError()]
)
def test_offsets_that_cannot_be_committed_are_with_the_next_ones(bench: Bench, error: Exception) -> None:
    bench.process(T0, b"a")
    bench.cluster.commit_fails = error
    assert not bench.processing.commit()
    bench.cluster.commit_fails = None
    assert bench.processing.commit()
    assert bench.cluster.committed == {T0: 1}
    assert bench.in_log(0) == {b"a": b"1"}


@pytest.mark.parametrize("error", [TopicAuthorizationFailedError({"t"}), FencedInstanceIdError()])
def test_offsets_that_will_never_be_taken_end_the_member(bench: Bench, error: Exception) -> None:
    """No second attempt mends that: to go on would be to do all of it for nothing."""
    bench.process(T0, b"a")
    bench.cluster.commit_fails = error
    with pytest.raises(type(error)):
        bench.processing.commit()


def test_at_the_end_offsets_are_committed_in_the_time_there_is(bench: Bench) -> None:
    bench.process(T0, b"a")
    assert bench.processing.commit()
    bench.process(T1, b"a")
    bench.stop.set()
    bench.now += 0.35
    assert bench.processing.commit()
    assert bench.cluster.commit_ms == [5_000, 250]


def test_offsets_of_what_was_given_back_are_not_committed(bench: Bench) -> None:
    bench.process(T0, b"a")
    bench.process(T1, b"b")
    bench.cluster.commit_fails = KafkaTimeoutError("away")
    assert not bench.processing.commit()
    bench.cluster.commit_fails = None
    bench.commits.forget([T0])
    assert bench.processing.commit()
    assert bench.cluster.committed == {T1: 1}


def test_who_may_be_no_member_any_more_writes_nothing(bench: Bench) -> None:
    bench.process(T0, b"a")
    bench.cluster.is_stable = False
    assert not bench.processing.commit()
    assert bench.cluster.did == []
    bench.cluster.is_stable = True
    assert bench.processing.commit()


def test_who_is_another_member_than_its_tasks_were_given_to_writes_nothing(bench: Bench) -> None:
    """The group would take its offsets: it is a member, only not the one that had the tasks."""
    bench.process(T0, b"a")
    bench.cluster.member_id = "m-2"
    with pytest.raises(CommitFailedError, match="s_0, s_1: given to another member"):
        bench.processing.commit()
    assert bench.cluster.did == []


def test_who_has_just_been_forgotten_is_told_of_it_later(bench: Bench) -> None:
    """The next poll tells what is lost; that is no error."""
    bench.process(T0, b"a")
    bench.cluster.member_id = ""
    assert not bench.processing.commit()
    assert bench.cluster.did == []


def test_a_full_disk_commits_what_is_safe_in_the_changelog_then_raises(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.process(T0, b"a")
    bench.process(T1, b"b")
    broken = bench.store(T0)
    really = type(broken).commit

    def commit(store: Any, position: int | None) -> None:
        if store is broken:
            raise StateFullError("no room")
        really(store, position)

    monkeypatch.setattr(type(broken), "commit", commit)
    with pytest.raises(StateFullError):
        bench.processing.commit()
    assert bench.cluster.committed == {T0: 1, T1: 1}
    assert (bench.in_log(0), bench.in_log(1)) == ({b"a": b"1"}, {b"b": b"1"})
    assert bench.store(T1).position == 1


def test_a_store_without_a_changelog_that_fails_is_not_committed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else has what it lost."""
    copy = bench.actives[T0].copy
    assert copy is not None
    monkeypatch.setattr(copy, "changelog", None)
    bench.process(T0, b"a")
    bench.process(T1, b"b")

    def commit(_: Any, position: int | None) -> None:
        if position is None:
            raise StateFullError("no room")

    monkeypatch.setattr(type(copy.store), "commit", commit)
    with pytest.raises(StateFullError):
        bench.processing.commit()
    assert bench.cluster.committed == {T1: 1}


def _breaks(bench: Bench, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """The first task's store is found damaged when that is called."""
    broken = bench.store(T0)
    really = getattr(type(broken), method)

    def fails(store: Any, *args: Any) -> Any:
        if store is broken:
            raise StateDamagedError("bytes are flipped")
        return really(store, *args)

    monkeypatch.setattr(type(broken), method, fails)


def test_a_store_found_damaged_in_a_commit_is_set_aside_and_the_rest_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it did is in its changelog, which it is restored from: its offsets are committed."""
    bench.processing.let_flow()
    bench.process(T0, b"a")
    bench.process(T1, b"b")
    _breaks(bench, monkeypatch, "commit")
    assert bench.processing.commit()
    assert bench.cluster.committed == {T0: 1, T1: 1}
    assert [(active, str(error)) for active, error in bench.processing.damaged()] == [
        (bench.actives[T0], "bytes are flipped")
    ]
    assert bench.processing.damaged() == [], "it is told once"
    assert [bench.actives[at].ready for at in (T0, T1)] == [False, True]
    assert bench.cluster.flows == {T1}
    assert bench.cluster.sought == {}, "nothing has to be done again"
    assert bench.store(T0).uncommitted == {}
    assert bench.processing.commit()
    assert bench.in_log(0) == {b"a": b"1"}, "it was written once"


def test_a_store_without_a_changelog_found_damaged_in_a_commit_has_its_records_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = bench.actives[T0].copy
    assert copy is not None
    monkeypatch.setattr(copy, "changelog", None)
    bench.process(T0, b"a", b"b")
    _breaks(bench, monkeypatch, "commit")
    bench.processing.commit()
    assert [active for active, _ in bench.processing.damaged()] == [bench.actives[T0]]
    assert (bench.cluster.committed, bench.cluster.sought) == ({}, {T0: 0})


def test_a_store_found_damaged_after_the_offsets_is_set_aside_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it passes over what an attempt of its own left in the changelog."""
    bench.process(T0, b"a")
    bench.cluster.log[0] += [(b"a", b"1")]
    _breaks(bench, monkeypatch, "apply")
    assert bench.processing.commit()
    assert bench.cluster.committed == {T0: 1}
    assert [active for active, _ in bench.processing.damaged()] == [bench.actives[T0]]


def test_a_store_does_not_pass_over_what_somebody_else_wrote(bench: Bench) -> None:
    """Unless the group takes the offsets: then it is ours, and it was an attempt that failed halfway."""
    bench.process(T0, b"a")
    bench.cluster.log[0] += [(b"x", b"7")]
    bench.cluster.commit_fails = CommitFailedError()
    assert not bench.processing.commit()
    assert bench.store(T0).position is None, "who takes over its copy reads from before the other's record"
    assert bench.store(T0).get(b"a") == b"1"
    bench.cluster.commit_fails = None
    assert bench.processing.commit()
    assert bench.store(T0).position == 2


def test_a_changelog_that_was_made_again_is_said(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.process(T0, b"a", b"b")
    bench.processing.commit()
    bench.cluster.log[0].clear()
    bench.process(T0, b"c")
    assert bench.processing.commit()
    assert "the topic was made again while in use" in caplog.text
    assert bench.store(T0).position == 1


# --- copies and the first checkpoint -----------------------------------------------------------------------


def test_a_store_has_a_checkpoint_from_the_beginning(tmp_path: Path) -> None:
    """Without one nobody would know which topic's its records are, and it would have to be wiped."""
    changelog = Changelog(OurPartition("log", 0), "id-1")
    with StateDir(tmp_path, "g") as there:
        Copy(("s", 0), changelog, there, Stores()).drop()
        ((position,),) = [
            checkpoint.values() for checkpoint in there.tasks().values() if isinstance(checkpoint, dict)
        ]
        assert (position.offset, position.topic_id) == (0, "id-1")


def test_a_store_without_a_checkpoint_is_wiped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    changelog = Changelog(OurPartition("log", 0), "id-1")
    with StateDir(tmp_path, "g") as there:
        copy = Copy(("s", 0), changelog, there, Stores())
        copy.apply([(b"a", b"1")], 1)
        copy.close()
        (tmp_path / "g" / "s_0" / "checkpoint").unlink()
        again = Copy(("s", 0), changelog, there, Stores())
        assert (again.position, dict(again.store.range())) == (0, {})
        assert "there is no checkpoint" in caplog.text
        again.close()


def test_state_of_a_topic_that_was_made_again_is_wiped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with StateDir(tmp_path, "g") as there:
        copy = Copy(("s", 0), Changelog(OurPartition("log", 0), "id-1"), there, Stores())
        copy.apply([(b"a", b"1")], 1)
        copy.close()
        again = Copy(("s", 0), Changelog(OurPartition("log", 0), "id-2"), there, Stores())
        assert (again.position, again.store.get(b"a")) == (0, None)
        assert "deleted and made again" in caplog.text
        again.close()


def test_a_store_without_a_changelog_outlives_a_process_that_is_killed(tmp_path: Path) -> None:
    """It keeps a log of its own: what was committed is there, though it was never flushed."""
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
