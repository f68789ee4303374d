"""The order in which what was processed is made safe, and what is kept when something fails on the way.

Stores are real; the cluster is doubled.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import (
    CommitFailedError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    OutOfOrderSequenceNumberError,
)
from kafka.structs import TopicPartition

from kafka_assignors.errors import (
    ChangelogError,
    ChangelogUnreachableError,
    StateDamagedError,
    StateFullError,
)
from kafka_assignors.plan import TopicPartition as OurPartition
from kafka_assignors.stateful import StateDir, Stores
from kafka_assignors.stateful.changelog_writer import ChangelogWriter, Written
from kafka_assignors.stateful.commits import Commits
from kafka_assignors.stateful.copy import Changelog, Copy
from kafka_assignors.stateful.processing import Processing
from kafka_assignors.stateful.tasks import ActiveTask, Work
from tests.unit.stateful.processes import program

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Cluster:
    """A changelog writer and a consumer, that note in which order they are used.

    Attributes:
        did: what was asked of them.
        log: the changelog: values by partition and key.
        fails: raised by the next writes, or commits.
    """

    def __init__(self) -> None:
        self.did: list[str] = []
        self.log: dict[int, list[tuple[bytes, bytes | None]]] = {0: [], 1: []}
        self.write_fails: Exception | None = None
        self.commit_fails: Exception | None = None
        self.sought: dict[TopicPartition, int] = {}
        self.flows: set[TopicPartition] = set()
        self.committed: dict[TopicPartition, int] = {}
        self.heard_s = 0.1
        self.is_stable = True

    # a consumer
    @property
    def _coordinator(self) -> Any:
        now = time.monotonic()
        return SimpleNamespace(
            config={"session_timeout_ms": 6_000},
            generation_if_stable=lambda: 1 if self.is_stable else None,
            heartbeat=SimpleNamespace(last_send=now - self.heard_s, last_receive=now),
        )

    def commit(self, offsets: Mapping[TopicPartition, Any], timeout_ms: int) -> None:
        assert timeout_ms > 0
        self.did.append("offsets")
        if self.commit_fails is not None:
            raise self.commit_fails
        self.committed |= {at: offset.offset for at, offset in offsets.items()}

    def seek(self, at: TopicPartition, offset: int) -> None:
        self.sought[at] = offset

    def pause(self, *some: TopicPartition) -> None:
        self.flows -= set(some)

    def resume(self, *some: TopicPartition) -> None:
        self.flows |= set(some)

    # a writer
    def write(
        self, changes: Mapping[OurPartition, Mapping[bytes, bytes | None]], allowed: Callable[[], bool]
    ) -> dict[OurPartition, Written]:
        assert allowed()
        self.did.append("changelog")
        if self.write_fails is not None:
            raise self.write_fails
        found = {}
        for at, some in changes.items():
            first = len(self.log[at.partition])
            self.log[at.partition] += some.items()
            found[at] = Written(first, len(some), len(self.log[at.partition]))
        return found


class Records:
    """Records of a partition, one after the other."""

    def __init__(self, at: TopicPartition) -> None:
        self._at = at
        self.next = 0

    def take(self, *keys: bytes) -> list[Any]:
        found = [
            SimpleNamespace(
                topic=self._at.topic,
                partition=self._at.partition,
                offset=self.next + n,
                key=k,
                leader_epoch=1,
            )
            for n, k in enumerate(keys)
        ]
        self.next += len(keys)
        return found


def count(record: Any, store: Any) -> None:
    if record.key == b"bad":
        store.put(b"trace", b"1")
        raise ValueError("bad")
    store.put(record.key, b"%d" % (int(store.get(record.key) or 0) + 1))


class Bench:
    """A member with two tasks, without a cluster."""

    def __init__(self, root: Path, most: int = 10**6) -> None:
        self.cluster = Cluster()
        self.state_dir = StateDir(root, "g")
        stores = Stores()
        self.actives: dict[TopicPartition, ActiveTask] = {}
        self.work = Work()
        for at in (T0, T1):
            changelog = Changelog(OurPartition("log", at.partition))
            copy = Copy(("s", at.partition), changelog, self.state_dir, stores)
            active = ActiveTask(("s", at.partition), count, frozenset({at}), copy, ready=True)
            self.work.actives[active.task] = self.actives[at] = active
        consumer: Any = self.cluster
        writer: Any = self.cluster
        self.commits = Commits(consumer, writer)
        self.stop = threading.Event()
        self.processing = Processing(
            consumer, self.work, self.commits, max_uncommitted_bytes=most, stop=self.stop
        )
        self.records = {at: Records(at) for at in (T0, T1)}

    def process(self, at: TopicPartition, *keys: bytes) -> Any:
        return self.processing.take([(self.actives[at], at, self.records[at].take(*keys))])

    def store(self, at: TopicPartition) -> Any:
        copy = self.actives[at].copy
        assert copy is not None
        return copy.store

    def in_log(self, partition: int) -> dict[bytes, bytes | None]:
        return dict(self.cluster.log[partition])


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for active in bench.actives.values():
        if active.copy is not None:
            active.copy.drop()
    bench.state_dir.close()


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


@pytest.mark.parametrize("error", [KafkaTimeoutError("away"), CommitFailedError()])
def test_offsets_that_cannot_be_committed_are_with_the_next_ones(bench: Bench, error: Exception) -> None:
    bench.process(T0, b"a")
    bench.cluster.commit_fails = error
    assert not bench.processing.commit()
    bench.cluster.commit_fails = None
    assert bench.processing.commit()
    assert bench.cluster.committed == {T0: 1}
    assert bench.in_log(0) == {b"a": b"1"}


def test_offsets_of_what_was_given_back_are_not_committed(bench: Bench) -> None:
    bench.process(T0, b"a")
    bench.process(T1, b"b")
    bench.cluster.commit_fails = KafkaTimeoutError("away")
    assert not bench.processing.commit()
    bench.cluster.commit_fails = None
    bench.commits.forget([T0])
    assert bench.processing.commit()
    assert bench.cluster.committed == {T1: 1}


@pytest.mark.parametrize("sign", ["too old", "joining"])
def test_who_may_be_no_member_any_more_writes_nothing(bench: Bench, sign: str) -> None:
    bench.process(T0, b"a")
    bench.cluster.heard_s = 3.1 if sign == "too old" else 0.1  # half of the session timeout is 3 s
    bench.cluster.is_stable = sign != "joining"
    assert not bench.processing.commit()
    assert bench.cluster.did == []
    bench.cluster.heard_s, bench.cluster.is_stable = 2.5, True
    assert bench.processing.commit()


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


# --- processing --------------------------------------------------------------------------------------------


def test_what_the_callback_raises_leaves_nothing_of_that_record(bench: Bench) -> None:
    """What that task did since the last commit is undone, what others did is committed."""
    bench.process(T0, b"a")
    bench.processing.commit()
    bench.process(T1, b"b")
    with pytest.raises(ValueError, match="bad"):
        bench.process(T0, b"a", b"bad", b"a")
    assert bench.cluster.committed == {T0: 1, T1: 1}
    assert (bench.in_log(0), bench.in_log(1)) == ({b"a": b"1"}, {b"b": b"1"})
    assert dict(bench.store(T0).range()) == {b"a": b"1"}


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
    found = bench.processing.take(
        [(active, T0, bench.records[T0].take(b"d")), (active, T1, bench.records[T1].take(b"e"))]
    )
    assert [one for one, _ in found] == [active]
    assert bench.cluster.sought == {T0: 0, T1: 1}
    assert (active.ready, active.began, active.done) == (False, {}, {})
    assert bench.store(T0).uncommitted == {}


def test_too_much_in_memory_is_committed_in_the_middle_of_a_batch(tmp_path: Path) -> None:
    bench = Bench(tmp_path, most=1_000)
    bench.process(T0, *(b"%d" % n for n in range(50)))
    assert bench.cluster.committed[T0] >= 30
    assert len(bench.in_log(0)) >= 30
    assert bench.cluster.sought == {}


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
        "from kafka_assignors.stateful.copy import Copy\n"
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


# --- the writer --------------------------------------------------------------------------------------------


class Producer:
    """A producer of kafka-python's, as far as it is used."""

    made: list[Producer]

    def __init__(self, raises: list[Exception | None], **config: Any) -> None:
        self.config = config
        self.sent: list[tuple[int, bytes]] = []
        self.closed = False
        self._raises = raises

    def send(self, topic: str, value: bytes | None, key: bytes, partition: int) -> Any:
        self.sent.append((partition, key))
        offset, error = len(self.sent) - 1, self._raises.pop(0) if self._raises else None

        def get(timeout: float) -> Any:
            if error is not None:
                raise error
            return SimpleNamespace(offset=offset)

        return SimpleNamespace(get=get)

    def flush(self) -> None:
        pass

    def close(self, timeout: float) -> None:
        self.closed = True


def writer(*raises: Exception | None) -> tuple[ChangelogWriter, list[Producer]]:
    made: list[Producer] = []
    errors = list(raises)

    def connect(**config: Any) -> Any:
        made.append(Producer(errors, **config))
        return made[-1]

    return ChangelogWriter({}, patience_s=4.0, connect=connect), made


CHANGES = {OurPartition("log", 0): {b"a": b"1", b"b": None}}


def test_nothing_is_sent_later_than_patience_allows() -> None:
    """Neither by a retry, nor after waiting for metadata."""
    _, (producer,) = writer()
    config = producer.config
    assert config["acks"] == "all"
    assert config["delivery_timeout_ms"] + config["max_block_ms"] <= 4_000
    assert config["request_timeout_ms"] < config["delivery_timeout_ms"]


def test_a_write_says_where_its_records_are() -> None:
    ours, _ = writer()
    (found,) = ours.write(CHANGES).values()
    assert (found, found.follows(0), found.follows(1)) == (Written(0, 2, 2), True, False)
    assert not Written(3, 2, 6).follows(3), "somebody's record is between them"


def test_large_changes_are_asked_for_again_and_again_whether_they_are_allowed() -> None:
    ours, (producer,) = writer()
    allowed = iter([True, False])
    large = {OurPartition("log", 0): {b"%d" % n: b"x" * 1024 * 1024 for n in range(9)}}
    with pytest.raises(ChangelogUnreachableError, match="gone on without"):
        ours.write(large, lambda: next(allowed))
    assert 0 < len(producer.sent) < 9


def test_what_may_go_by_is_tried_again_by_a_new_producer_where_the_old_one_is_broken() -> None:
    ours, made = writer(KafkaTimeoutError("away"), None, OutOfOrderSequenceNumberError())
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES)
    assert len(made) == 1
    with pytest.raises(ChangelogUnreachableError):
        ours.write(CHANGES)
    assert made[0].closed
    assert ours.write(CHANGES)
    assert len(made) == 2


def test_what_will_never_be_taken_is_said_to_be_so() -> None:
    ours, _ = writer(MessageSizeTooLargeError())
    with pytest.raises(ChangelogError) as caught:
        ours.write(CHANGES)
    assert not isinstance(caught.value, ChangelogUnreachableError)
