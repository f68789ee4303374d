"""Real consumer processes and their group, for tests.

    with Group(fresh, 24) as group:
        a, b = group.join(StickyAssignor), group.join(StickyAssignor)
        before = group.settled()
        b.kill()
        after = group.settled()

A member receives commands and sends events over a pipe.  It dies with the test, even while stopped.  All
times are ``time.monotonic_ns``, which on Linux is one clock for all processes.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from types import TracebackType
from typing import Any, cast

from kafka import KafkaAdminClient

from kafka_assignors import Assignor
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.member_process import Event, run_member
from tests.support.group.described import assigned_in
from tests.support.waiting import PATIENCE_S

# Forked from a process that has imported everything, so that members start quickly.
MEMBERS = multiprocessing.get_context("forkserver")
MEMBERS.set_forkserver_preload(["pytest", "kafka_assignors", "tests.integration.member_process"])

SESSION_MS = 6000
HEARTBEAT_MS = 500
QUIET_S = 0.15

Owned = dict[str, frozenset[TopicPartition]]
"""Name of a member -> its partitions."""


# --- events of members -----------------------------------------------------------------------------------


def about(member: Member, fact: str) -> Any:
    """Return a fact of a member's last reported state."""
    state = member.state()
    assert state is not None
    return state.facts[fact]


def moved(before: Owned, after: Owned) -> set[TopicPartition]:
    """Partitions whose owner changed."""
    then = {tp: name for name, owned in before.items() for tp in owned}
    return {tp for name, owned in after.items() for tp in owned if then.get(tp, name) != name}


def assert_never_two_owners(members: Iterable[Member]) -> None:
    """No member was assigned a partition before its former owner revoked it, lost it or died."""
    owner: dict[TopicPartition, str] = {}
    for _, name, event in sorted(
        ((e.at, m.name, e) for m in members for e in m.events), key=lambda entry: entry[:2]
    ):
        if event.kind == "assigned":
            for tp in event.partitions:
                assert owner.get(tp, name) == name, f"{name} was given {tp} while {owner[tp]} still had it"
                owner[tp] = name
        elif event.kind in {"revoked", "lost", "died", "frozen"}:
            gone = event.partitions if event.kind in {"revoked", "lost"} else list(owner)
            for tp in gone:
                if owner.get(tp) == name:
                    del owner[tp]


# --- the parent's side ---------------------------------------------------------------------------------


class Member:
    """A consumer process, controlled by the test."""

    def __init__(
        self, name: str, topics: Collection[str], settings: Mapping[str, Any], news: threading.Condition
    ) -> None:
        self.name = name
        self.topics = frozenset(topics)
        self.events: list[Event] = []
        self.present = True  # closed, dead and stopped members are not
        self._news = news
        self._pipe, theirs = MEMBERS.Pipe()
        self._process = MEMBERS.Process(
            target=run_member, args=(theirs, {"topics": sorted(topics), **settings}), daemon=True
        )
        self._process.start()
        theirs.close()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def go(self) -> None:
        """Join the group."""
        self._pipe.send("go")

    def close(self) -> None:
        """Leave the group and end."""
        self._pipe.send("close")
        self.wait_for("closed")
        self._end()

    def kill(self) -> None:
        """``kill -9``."""
        self._process.kill()
        self._process.join()
        self._note("died")
        self._end()

    def freeze(self) -> None:
        """Suspend the process (SIGSTOP)."""
        self.present = False
        self._signal(signal.SIGSTOP)
        self._note("frozen")

    def thaw(self) -> None:
        """Resume the process (SIGCONT)."""
        self.present = True
        self._note("thawed")
        self._signal(signal.SIGCONT)

    def of_kind(self, *kinds: str, since: int = 0) -> list[Event]:
        """Its events of these kinds, from the event number ``since`` on."""
        return [event for event in self.events[since:] if event.kind in kinds]

    def rebalances(self) -> int:
        """How many plans and callbacks it has seen; a line of a log is none."""
        return len(self.of_kind("rebalance", "assigned", "revoked", "lost"))

    def state(self) -> Event | None:
        """Its last reported state."""
        return next((event for event in reversed(self.events) if event.kind == "state"), None)

    def wait_for(self, kind: str, *, since: int = 0) -> Event:
        """Wait for an event of that kind."""
        wait_until(self._news, lambda: self.of_kind(kind, since=since), f"{self.name}: {kind}")
        return self.of_kind(kind, since=since)[0]

    def discard(self) -> None:
        """Kill the process and close the pipe, in any state."""
        self._process.kill()
        self._end()

    def _end(self) -> None:
        self.present = False
        self._process.join()
        self._reader.join()
        self._pipe.close()  # twice is fine

    def _signal(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    @property
    def crashed(self) -> bool:
        """Whether it ended without a request."""
        return self.present and not self.of_kind("closed") and not self._process.is_alive()

    def _note(self, kind: str) -> None:
        with self._news:
            self.events.append(Event(time.monotonic_ns(), kind))

    def _read(self) -> None:
        while True:
            try:
                event = self._pipe.recv()
            except (EOFError, OSError):
                return
            with self._news:
                self.events.append(event)
                self._news.notify_all()


class Group:
    """A consumer group on a broker: its topics, its members, and whether it has settled."""

    def __init__(self, fresh: FreshNames, *partitions: int) -> None:
        self.bootstrap = fresh.bootstrap
        self.group_id = fresh.group()
        self.topics = fresh.topics(*partitions)
        self.partitions = {
            TopicPartition(t, p)
            for t, count in zip(self.topics, partitions, strict=True)
            for p in range(count)
        }
        self.members: list[Member] = []
        self._prepared: list[Member] = []  # these, and who was never let in
        self._news = threading.Condition()
        self._admin = KafkaAdminClient(bootstrap_servers=fresh.bootstrap)

    def __enter__(self) -> Group:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for member in self._prepared:
            member.discard()
        self._admin.close()

    # --- its members ---

    def prepare(
        self,
        *strategies: type,
        topics: Collection[str] | None = None,
        listener: type | None = None,
        **consumer: Any,
    ) -> Member:
        """Start a process that joins after ``go``; until then it is not a member."""
        settings = {
            "strategies": strategies,
            "listener_type": listener,
            "bootstrap_servers": self.bootstrap,
            "group_id": self.group_id,
            "session_timeout_ms": SESSION_MS,
            "heartbeat_interval_ms": HEARTBEAT_MS,
            **consumer,
        }
        member = Member("unnamed", self.topics if topics is None else topics, settings, self._news)
        self._prepared.append(member)
        return member

    def enter(self, member: Member) -> Member:
        """Let a prepared member join."""
        member.name = f"m{len(self.members)}"
        self.members.append(member)
        member.go()
        return member

    def join(self, *strategies: type, **settings: Any) -> Member:
        """Let one more member join, without waiting for it."""
        return self.enter(self.prepare(*strategies, **settings))

    def join_all(self, count: int, *strategies: type, **settings: Any) -> list[Member]:
        """Let several members join, the first of which leads."""
        waiting = [self.prepare(*strategies, **settings) for _ in range(count)]
        first = self.enter(waiting[0])
        first.wait_for("rebalance" if issubclass(strategies[0], Assignor) else "state")
        return [first, *(self.enter(member) for member in waiting[1:])]

    def present(self) -> list[Member]:
        """The expected members of the group."""
        return [member for member in self.members if member.present]

    # --- its state ---

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for a condition on the members' events or the broker."""
        wait_until(self._news, condition, what)

    def describe(self) -> Mapping[str, Any]:
        """The group as the broker sees it."""
        return cast("Mapping[str, Any]", self._admin.describe_groups([self.group_id])[self.group_id])

    def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        self._admin.create_partitions({topic: partitions})
        self.partitions |= {TopicPartition(topic, p) for p in range(partitions)}

    def committed(self) -> dict[TopicPartition, int]:
        """The committed offsets, from the broker."""
        committed = self._admin.list_group_offsets({self.group_id: None})[self.group_id]
        return {
            TopicPartition(tp.topic, tp.partition): commit.offset
            for tp, commit in committed.items()
            if commit.offset >= 0
        }

    def settled(self) -> Owned:
        """Wait until no partition moves; then every partition must have exactly one owner.

        Settled: all members are in the same generation, none wants to join again, the broker calls the group
        stable, its members and their partitions are those the members report; and all that once more after
        a short while.
        """
        seen: tuple[int, Owned] | None = None
        since = time.monotonic()

        def quiet() -> bool:
            nonlocal seen, since
            assert not (crashed := [m.name for m in self.members if m.crashed]), f"{crashed} crashed"
            now = self._agreed()
            if now is None or now != seen:
                seen, since = now, time.monotonic()
            return seen is not None and time.monotonic() - since >= QUIET_S

        try:
            self.wait_until(quiet, "the group to settle")
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self._picture()}") from None
        assert seen is not None
        self.assert_one_owner(seen[1])
        return seen[1]

    def assert_one_owner(self, owned: Owned) -> None:
        """Every partition of a subscribed topic has exactly one owner, which subscribes to it."""
        topics = {member.name: member.topics for member in self.members}
        owners = Counter(tp for partitions in owned.values() for tp in partitions)
        wanted = {tp for tp in self.partitions if any(tp.topic in topics[name] for name in owned)}
        shared = sorted(tp for tp, count in owners.items() if count > 1)
        assert not shared, f"more than one owner: {shared}\n{self._picture()}"
        assert not wanted - owners.keys(), f"no owner: {sorted(wanted - owners.keys())}\n{self._picture()}"
        stray = [(name, tp) for name, tps in owned.items() for tp in tps if tp.topic not in topics[name]]
        assert owners.keys() == wanted, f"owned and not wanted: {sorted(owners.keys() - wanted)}"
        assert not stray, f"not subscribed: {stray}"

    def _agreed(self) -> tuple[int, Owned] | None:
        """The generation and the assignment, if members and broker agree and no rebalance is due."""
        states = {member.name: member.state() for member in self.present()}
        joined = [state for state in states.values() if state is not None and not state.facts["joining"]]
        if len(joined) != len(states) or len({state.facts["generation"] for state in joined}) != 1:
            return None
        described = self.describe()
        by_id = {state.facts["member_id"]: state.partitions for state in joined}
        if described["group_state"] != "Stable" or by_id != _assignments(described):
            return None
        return joined[0].facts["generation"], {
            name: s.partitions for name, s in states.items() if s is not None
        }

    def _picture(self) -> str:
        lines = [f"broker: {self.describe()['group_state']} {_assignments(self.describe())}"]
        for member in self.members:
            state = member.state()
            lines.append(f"{member.name} ({'' if member.present else 'not '}present): {state}")
            lines += [f"    {e.facts['message']}" for e in member.of_kind("log")[-5:]]
        return "\n".join(lines)


def wait_until(
    news: threading.Condition, condition: Callable[[], object], what: str, deadline_s: float = PATIENCE_S
) -> None:
    """Wait for a condition, checked after each event and every 50 ms."""
    deadline = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {deadline_s} s for {what}")
        with news:
            news.wait(0.05)


def _assignments(described: Mapping[str, Any]) -> dict[str, frozenset[TopicPartition]]:
    return {
        member["member_id"]: frozenset(
            TopicPartition(topic, partition)
            for topic, numbers in assigned_in(member["member_assignment"] or {}).items()
            for partition in numbers
        )
        for member in described["members"]
    }
