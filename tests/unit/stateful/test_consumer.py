"""A member's turns, with doubles of all its parts."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import FencedInstanceIdError
from kafka.structs import TopicPartition

from kafka_assignors.errors import StateClosedError, StateDamagedError
from kafka_assignors.stateful import Holdings, StatefulConsumer, Subtopology, Topology
from kafka_assignors.stateful.ending import Ending
from kafka_assignors.stateful.runtime.events import Assigned, Lost, Revoked
from kafka_assignors.stateful.runtime.parts import Parts
from tests.unit.stateful.bench import Cluster

TOPOLOGY = Topology((Subtopology("s", ("t",)),))
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Everything(Cluster):
    """All parts of a member, that note what is asked of them.

    Attributes:
        turns: what happens in each poll, in turn; after the last one the member is told to end.
        alone: whether nobody else may be writing as this member.
        found: stores that are found damaged in the next turn.
    """

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[Any] = []
        self.alone = True
        self.found: list[Any] = []
        self.done: Any = None

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
        found, self.found = self.found, []
        return found

    def save(self) -> list[Any]:
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
def parts() -> Everything:
    return Everything()


@pytest.fixture
def member(parts: Everything, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StatefulConsumer:
    each: Any = SimpleNamespace(
        **dict.fromkeys(("consumer", "assignor", "reader", "commits", "copies", "processing"), parts),
        lease=SimpleNamespace(
            is_alone=parts.is_alone,
            patience_s=0.0,
            wait_until_alone=parts.wait_until_alone,
        ),
        end=lambda *_: parts.did.append("end"),
    )
    monkeypatch.setattr("kafka_assignors.stateful.consumer.made", lambda *_, **__: each)
    made = StatefulConsumer(TOPOLOGY, print, tmp_path, group_id="g")
    parts.done = made.close
    return made


def test_tasks_begin_when_nobody_else_may_be_writing_to_them(
    parts: Everything, member: StatefulConsumer
) -> None:
    """Those that went meanwhile do not begin at all."""
    parts.alone = False

    def alone() -> None:
        assert parts.about("begin") == []
        parts.alone = True

    parts.turns = [
        lambda: member._events.put(Assigned(frozenset({T0, T1}), "m-1")),
        lambda: member._events.put(Revoked(frozenset({T1}))),
        alone,
        lambda: None,
    ]
    member.run()
    assert parts.about("begin", "end") == ["end s_1", "begin s_0", "end"]


def test_tasks_are_given_back_when_nobody_else_may_be_writing_to_them(
    parts: Everything, member: StatefulConsumer
) -> None:
    parts.turns = [
        lambda: member._events.put(Assigned(frozenset({T0}), "m-1")),
        lambda: member._events.put(Revoked(frozenset({T0}))),
    ]
    member.run()
    assert parts.about("wait_until_alone", "commit", "forget", "end")[:4] == [
        *("wait_until_alone", "commit", "forget", "end s_0"),
    ]


def test_what_was_lost_and_comes_back_begins_anew_and_nothing_of_it_is_committed(
    parts: Everything, member: StatefulConsumer
) -> None:
    """Others may have had it meanwhile; it is given to the member that the group knows now."""
    seen: list[Any] = []

    def lose() -> None:
        seen.extend(member._work.actives.values())
        member._events.put(Lost(frozenset({T0})))
        member._events.put(Assigned(frozenset({T0}), "m-2"))

    parts.turns = [
        lambda: member._events.put(Assigned(frozenset({T0}), "m-1")),
        lose,
        lambda: seen.extend(member._work.actives.values()),
    ]
    member.run()
    assert parts.about("begin", "end", "commit", "forget")[:4] == [
        *("begin s_0", "forget", "end s_0", "begin s_0"),
    ]
    assert [active.member_id for active in seen] == ["m-1", "m-2"]


def test_damaged_stores_are_restored_if_they_are_still_ours(
    parts: Everything, member: StatefulConsumer
) -> None:
    gone: list[Any] = []

    def damage() -> None:
        gone.extend(member._work.actives.values())
        member._events.put(Revoked(frozenset({T1})))
        parts.found = [(active, StateDamagedError("bytes are flipped")) for active in gone]

    parts.turns = [lambda: member._events.put(Assigned(frozenset({T0, T1}), "m-1")), damage]
    member.run()
    assert parts.about("anew") == ["anew s_0"]
    assert len(gone) == 2


def test_who_is_fenced_ends(parts: Everything, member: StatefulConsumer) -> None:
    """kafka-python would go on for ever, as a member that is none."""
    parts.is_static = True

    def fenced() -> None:
        parts.is_fenced = True

    parts.turns = [lambda: None, fenced, lambda: None]
    with pytest.raises(FencedInstanceIdError, match="another consumer has our group_instance_id"):
        member.run()
    assert len(parts.turns) == 1
    assert parts.did[-1] == "end"


def test_nothing_is_sent_when_the_group_has_been_left() -> None:
    """The writer ends first: what it still had would be written by nobody's owner.  And all end."""
    did: list[str] = []

    def part(name: str) -> Any:
        def close(*_: float) -> None:
            did.append(name)
            raise OSError("broken")

        return SimpleNamespace(close=close)

    consumer = SimpleNamespace(close=lambda **_: did.append("consumer"))
    reader: Any = SimpleNamespace(has_ended=True)
    nothing: Any = None
    parts = Parts(
        consumer,
        *(nothing, part("state_dir"), part("writer"), reader, nothing, nothing, part("copies"), nothing),
    )
    parts.end(threading.RLock(), Ending())
    assert did == ["writer", "consumer", "copies", "state_dir"]
    reader.has_ended = False
    parts.end(threading.RLock(), Ending())
    assert did[4:] == ["writer", "consumer", "copies"], "somebody may be writing there"


def test_a_member_that_was_never_run_lets_go_when_it_is_closed(
    parts: Everything, member: StatefulConsumer
) -> None:
    """Of its directory, threads and connections; and a signal before ``run`` is no error."""
    member.close()
    assert parts.did == ["end"]
    member.close()
    member.run()
    assert parts.did == ["end"]


def test_a_member_that_was_never_run_lets_go_at_the_end_of_its_block(
    parts: Everything, member: StatefulConsumer
) -> None:
    with member:
        assert parts.did == []
    assert parts.did == ["end"]
    with pytest.raises(StateClosedError, match="make a new one"):
        member.run()


def test_a_member_runs_once(parts: Everything, member: StatefulConsumer) -> None:
    member.run()
    member.close()
    assert parts.about("end") == ["end"]
    with pytest.raises(StateClosedError, match="has been run"):
        member.run()


def test_tasks_are_not_committed_when_there_is_no_time_to_be_alone(
    parts: Everything, member: StatefulConsumer
) -> None:
    """Whom they go to must not meet who had our id before."""

    def revoke() -> None:
        parts.alone = False
        member._events.put(Revoked(frozenset({T0})))

    parts.turns = [lambda: member._events.put(Assigned(frozenset({T0}), "m-1")), revoke]
    member.run()
    assert parts.about("wait_until_alone", "commit", "forget")[:2] == ["wait_until_alone", "forget"]


def test_tasks_are_given_back_though_their_commit_raises(
    parts: Everything, member: StatefulConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rebalance goes on, and the next owner does their records again; run() raises the error."""

    def refuse(*_: Any) -> None:
        raise ValueError("not delivered")

    def revoke() -> None:
        monkeypatch.setattr(parts, "commit", refuse)
        member._events.put(Revoked(frozenset({T0})))

    parts.turns = [lambda: member._events.put(Assigned(frozenset({T0}), "m-1")), revoke]
    with pytest.raises(ValueError, match="not delivered"):
        member.run()
    assert parts.about("forget", "end") == ["forget", "end s_0", "end"]
