"""The turns of a ``StatefulConsumer``, with doubles of all its components."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import FencedInstanceIdError
from kafka.structs import TopicPartition

from kafka_assignors.errors import StateClosedError, StateDamagedError
from kafka_assignors.stateful import Duties, Holdings, StatefulConsumer, Subtopology, Topology
from kafka_assignors.stateful.runtime.assembly import Components
from kafka_assignors.stateful.runtime.events import Assigned, Lost, Revoked
from kafka_assignors.stateful.runtime.tasks import ActiveTask
from kafka_assignors.stateful.shutdown import Shutdown
from tests.unit.stateful.bench import Cluster

TOPOLOGY = Topology((Subtopology("s", ("t",)),))
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Everything(Cluster):
    """Doubles of all components, which record their calls.

    Attributes:
        turns: the action of each poll; after the last one the member is closed.
        alone: whether no other process may write as this member.
        newly_damaged: tasks whose store is damaged in the next turn.
    """

    _metrics = None  # no registry

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[Any] = []
        self.alone = True
        self.leases: list[bool] = []  # the next answers of `is_valid`
        self.is_confirmed = False
        self.confirmed: list[bool] = []  # whether the copies were confirmed before each flush
        self.newly_damaged: list[Any] = []
        self.done: Any = None
        self._fetcher = SimpleNamespace(_next_partition_records=None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def asked(*args: Any, **_: Any) -> Any:
            self.did.append(
                " ".join([name, *(f"{a.task[0]}_{a.task[1]}" for a in args if hasattr(a, "task"))])
            )
            return None

        return asked

    def subscribe(self, topics: list[str], listener: Any) -> None:
        assert (topics, listener.error) == (["t"], None)

    def poll(self, _: int) -> dict[TopicPartition, Any]:
        if not self.turns:
            self.done()
            return {}
        self.turns.pop(0)()
        return {}

    def commit(self, *_: Any, **__: Any) -> bool:  # type: ignore[override]  # of the processing, not the consumer
        self.did.append("commit")
        return True

    def damaged(self) -> list[Any]:
        newly_damaged, self.newly_damaged = self.newly_damaged, []
        return newly_damaged

    def is_valid(self) -> bool:
        return self.leases.pop(0) if self.leases else True

    def confirm(self) -> None:
        self.is_confirmed = True

    def flush_one(self) -> list[Any]:
        self.confirmed.append(self.is_confirmed)
        self.is_confirmed = False
        return []

    def holdings(self) -> Holdings:
        return Holdings()

    def is_alone(self) -> bool:
        return self.alone

    def wait_until_alone(self) -> bool:
        self.did.append("wait_until_alone")
        return self.alone

    def about(self, *names: str) -> list[str]:
        return [line for line in self.did if line.split()[0] in names]


@pytest.fixture
def components() -> Everything:
    return Everything()


@pytest.fixture
def member(components: Everything, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StatefulConsumer:
    components_of_member: Any = SimpleNamespace(
        **dict.fromkeys(("consumer", "assignor", "reader", "commits", "copies", "processing"), components),
        lease=SimpleNamespace(
            observe=lambda: None,
            is_alone=components.is_alone,
            is_valid=components.is_valid,
            patience_s=0.0,
            wait_until_alone=components.wait_until_alone,
        ),
        end=lambda *_: components.did.append("end"),
    )
    monkeypatch.setattr("kafka_assignors.stateful.consumer.assemble", lambda *_, **__: components_of_member)
    member = StatefulConsumer(TOPOLOGY, print, tmp_path, group_id="g")
    components.done = member.close
    return member


def test_assigned_tasks_begin_once_no_other_process_may_write(
    components: Everything, member: StatefulConsumer
) -> None:
    """Tasks revoked meanwhile do not begin at all."""
    components.alone = False

    def alone() -> None:
        assert components.about("begin") == []
        components.alone = True

    components.turns = [
        lambda: member._events.put(Assigned(frozenset({T0, T1}), "m-1")),
        lambda: member._events.put(Revoked(frozenset({T1}))),
        alone,
        lambda: None,
    ]
    member.run()
    assert components.about("begin", "end") == ["end s_1", "begin s_0", "end"]


@pytest.mark.parametrize(("alone", "commits"), [(True, ["commit"]), (False, [])])
def test_revoked_tasks_are_committed_only_if_no_other_process_may_write(
    components: Everything, member: StatefulConsumer, alone: bool, commits: list[str]
) -> None:
    """The next owner must not write beside the process that had our id before."""

    def revoke() -> None:
        components.alone = alone
        member._events.put(Revoked(frozenset({T0})))

    components.turns = [lambda: member._events.put(Assigned(frozenset({T0}), "m-1")), revoke]
    member.run()
    expected = ["wait_until_alone", *commits, "forget", "end s_0"]
    assert components.about("wait_until_alone", "commit", "forget", "end")[: len(expected)] == expected


def test_lost_task_that_is_assigned_again_begins_anew_without_a_commit(
    components: Everything, member: StatefulConsumer
) -> None:
    """Other members may have owned it meanwhile; the new task has the new member id."""
    seen: list[Any] = []

    def lose() -> None:
        seen.extend(member._tasks.actives.values())
        member._events.put(Lost(frozenset({T0})))
        member._events.put(Assigned(frozenset({T0}), "m-2"))

    components.turns = [
        lambda: member._events.put(Assigned(frozenset({T0}), "m-1")),
        lose,
        lambda: seen.extend(member._tasks.actives.values()),
    ]
    member.run()
    assert components.about("begin", "end", "commit", "forget")[:4] == [
        *("begin s_0", "forget", "end s_0", "begin s_0"),
    ]
    assert [active.member_id for active in seen] == ["m-1", "m-2"]


def test_member_that_lost_tasks_joins_again_with_the_lags_of_their_copies(
    components: Everything, member: StatefulConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the lags it would seem to have no state, and the tasks would stay where they restore."""

    def holdings() -> Holdings:
        components.did.append("holdings")
        return Holdings()

    def lose() -> None:
        components.did.clear()
        member._events.put(Lost(frozenset({T0})))

    monkeypatch.setattr(components, "holdings", holdings)
    components.turns = [lambda: member._events.put(Assigned(frozenset({T0}), "m-1")), lose]
    member.run()
    did = components.about("end", "wait_for_lags", "holdings")
    assert did[:3] == ["end s_0", "wait_for_lags", "holdings"]


def test_damaged_stores_are_restored_if_the_task_is_still_owned(
    components: Everything, member: StatefulConsumer
) -> None:
    gone: list[Any] = []

    def damage() -> None:
        gone.extend(member._tasks.actives.values())
        member._events.put(Revoked(frozenset({T1})))
        components.newly_damaged = [(active, StateDamagedError("bytes are flipped")) for active in gone]

    components.turns = [lambda: member._events.put(Assigned(frozenset({T0, T1}), "m-1")), damage]
    member.run()
    assert components.about("restore_damaged") == ["restore_damaged s_0"]
    assert len(gone) == 2


@pytest.mark.parametrize("in_s", [600, 4_000])
def test_probing_rebalance_comes_once_after_the_interval_at_the_latest(
    components: Everything, member: StatefulConsumer, monkeypatch: pytest.MonkeyPatch, in_s: float
) -> None:
    """Our clock may step back, and the leader's may be ahead of ours."""
    now = {"time": 1e9, "monotonic": 50.0}
    rejoins: list[object] = []
    clock = SimpleNamespace(time=lambda: now["time"], monotonic=lambda: now["monotonic"])
    monkeypatch.setattr("kafka_assignors.stateful.consumer.time", clock)
    monkeypatch.setattr("kafka_assignors.stateful.consumer.request_rejoin", rejoins.append)

    def due() -> None:
        assert rejoins == []
        now["monotonic"] = 650.0

    components.turns = [
        lambda: member._events.put(Duties(probe_at=1e9 + in_s)),
        lambda: now.update(time=1e9 - 3600, monotonic=649.0),
        due,
        lambda: now.update(monotonic=2000.0),
    ]
    member.run()
    assert (len(rejoins), member.duties.probe_at) == (1, None)


def test_copies_of_active_tasks_are_confirmed_while_the_lease_is_valid(
    components: Everything, member: StatefulConsumer
) -> None:
    components.leases = [True, False]
    components.turns = [lambda: None, lambda: None]
    member.run()
    assert components.confirmed[:2] == [True, False]


def test_fenced_member_ends(components: Everything, member: StatefulConsumer) -> None:
    """kafka-python would poll forever without a membership."""
    components.is_static = True

    def fenced() -> None:
        components.is_fenced = True

    components.turns = [lambda: None, fenced, lambda: None]
    with pytest.raises(FencedInstanceIdError, match="another consumer joined with our group_instance_id"):
        member.run()
    assert len(components.turns) == 1
    assert components.did[-1] == "end"


def test_closing_member_commits_until_its_changelogs_are_repaired(
    components: Everything, member: StatefulConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its offsets are committed, so the next owner would restore the replaced values."""
    active = member._tasks.actives["s", 0] = ActiveTask(("s", 0), print, "m-1", unproven=7)

    def commit() -> bool:
        if "commit" in components.did:
            active.unproven = None
        components.did.append("commit")
        return True

    monkeypatch.setattr(components, "commit", commit)
    member.run()
    assert components.about("commit", "end") == ["commit", "commit", "end"]


def test_closing_member_commits_while_no_revocation_does(
    components: Everything, member: StatefulConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A revocation that outlasts the poll handles its events on a thread of its own."""
    taken: list[bool] = []

    def commit() -> bool:
        other = threading.Thread(target=lambda: taken.append(member._lock.acquire(blocking=False)))
        other.start()
        other.join()
        return True

    monkeypatch.setattr(components, "commit", commit)
    member.run()
    assert taken == [False]


def test_writer_closes_before_the_member_leaves_and_all_components_close() -> None:
    """A writer that closed later would write without owning the tasks."""
    did: list[str] = []

    def part(name: str) -> Any:
        def close(*_: float) -> None:
            did.append(name)
            raise OSError("broken")

        return SimpleNamespace(close=close)

    consumer = SimpleNamespace(close=lambda **_: did.append("consumer"))
    reader: Any = SimpleNamespace(has_ended=True)
    nothing: Any = None
    components = Components(
        consumer,
        nothing,
        part("state_dir"),
        part("writer"),
        reader,
        nothing,
        nothing,
        part("copies"),
        nothing,
    )
    components.end(threading.RLock(), Shutdown())
    assert did == ["writer", "consumer", "copies", "state_dir"]
    reader.has_ended = False
    components.end(threading.RLock(), Shutdown())
    assert did[4:] == ["writer", "consumer", "copies"], "the reader may still write to its stores"


def test_closing_a_member_that_never_ran_closes_its_components(
    components: Everything, member: StatefulConsumer
) -> None:
    """The directory, threads and connections; a signal before ``run`` is no error."""
    member.close()
    assert components.did == ["end"]
    member.close()
    member.run()
    assert components.did == ["end"]


def test_with_block_closes_a_member_that_never_ran(components: Everything, member: StatefulConsumer) -> None:
    with member:
        assert components.did == []
    assert components.did == ["end"]
    with pytest.raises(StateClosedError, match="create a new one"):
        member.run()


def test_member_runs_once(components: Everything, member: StatefulConsumer) -> None:
    member.run()
    member.close()
    assert components.about("end") == ["end"]
    with pytest.raises(StateClosedError, match="ran or was closed"):
        member.run()


def test_failed_commit_of_revoked_tasks_is_logged_as_work_to_repeat(
    components: Everything,
    member: StatefulConsumer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The commit's own line says that it is tried again; this member does not for these tasks."""
    monkeypatch.setattr(components, "commit", lambda *wait_s: not wait_s)  # `_finish` does not wait
    components.turns = [lambda: member._events.put(Revoked(frozenset({T0, T1})))]
    member.run()
    assert caplog.messages == [
        "revoked 2 partitions, but not all work is committed: the next owners process the rest again"
    ]


def test_revoked_tasks_are_given_up_though_their_commit_raises(
    components: Everything, member: StatefulConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rebalance goes on, the next owner processes the records again, and run() raises the error."""

    def refuse(*_: Any) -> None:
        raise ValueError("not delivered")

    def revoke() -> None:
        monkeypatch.setattr(components, "commit", refuse)
        member._events.put(Revoked(frozenset({T0})))

    components.turns = [lambda: member._events.put(Assigned(frozenset({T0}), "m-1")), revoke]
    with pytest.raises(ValueError, match="not delivered"):
        member.run()
    assert components.about("forget", "end") == ["forget", "end s_0", "end"]
