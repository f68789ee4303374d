"""Groups of our members with Java's and librdkafka's: one owner a partition and fair counts at each step.

Moves are those of the member that leads.  Where one of ours does, no step moves more than it must.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import pytest
from kafka import KafkaConsumer

from bench.javapeer import NoJavaError
from kafka_assignors import ContinuousConsumer, CooperativeStickyAssignor, StickyAssignor
from tests.integration.chaos.checks import even, ownership_errors
from tests.integration.conftest import FreshNames
from tests.integration.foreign.processes import ForeignMember, java_command, java_program, librdkafka_command
from tests.integration.members import HEARTBEAT_MS, SESSION_MS, Group, Member
from tests.support.quick import quick
from tests.support.waiting import until

PARTITIONS = 11
CALM_S = 4 * HEARTBEAT_MS / 1000  # a second round would have begun by then
JAVA = "org.apache.kafka.clients.consumer."
OURS, JAVAS, LIBRDKAFKAS = "ours", "java", "librdkafka"

Owned = Mapping[str, frozenset[tuple[str, int]]]
Order = tuple[tuple[int, ...], ...]  # who joins, and who leaves, by number
EVERY: list[Order] = list(itertools.product(itertools.permutations(range(3)), repeat=2))
# Each kind leads once; it leaves first, last, or between.
QUICK: list[Order] = [((0, 1, 2), (0, 2, 1)), ((1, 2, 0), (2, 0, 1)), ((2, 0, 1), (1, 0, 2))]


class Protocol(NamedTuple):
    """A strategy by each client's name for it, and the members of a group."""

    ours: type
    javas: str
    librdkafkas: str
    kinds: tuple[str, str, str]


COOPERATIVE = Protocol(
    CooperativeStickyAssignor,
    f"{JAVA}CooperativeStickyAssignor",
    "cooperative-sticky",
    (OURS, JAVAS, LIBRDKAFKAS),
)
EAGER = Protocol(StickyAssignor, f"{JAVA}StickyAssignor", "", (OURS, JAVAS, OURS))


def needed_moves(before: Mapping[str, int], members: Sequence[str]) -> int:
    """The fewest partitions that get another owner in any fair plan."""
    share, larger = divmod(PARTITIONS, len(members))
    counts = [before.get(member, 0) for member in members]
    kept = sum(min(count, share) for count in counts) + min(larger, sum(count > share for count in counts))
    return PARTITIONS - kept


@pytest.mark.parametrize(
    ("before", "members", "moves"),
    [
        ({"a": 11}, "ab", 5),
        ({"a": 6, "b": 5}, "abc", 3),
        ({"a": 4, "b": 4, "c": 3}, "bc", 4),
        ({"a": 4, "b": 4, "c": 3}, "abc", 0),
        ({"a": 8, "b": 3}, "ab", 2),
    ],
)
def test_needed_moves_of_small_groups(before: dict[str, int], members: str, moves: int) -> None:
    assert needed_moves(before, members) == moves


class Mixed:
    """A group of all clients, as the broker sees it.  Our first member is a ``ContinuousConsumer``.

    Attributes:
        led: steps that a member of ours led.
    """

    def __init__(self, group: Group, protocol: Protocol, java: tuple[Path, str] | None) -> None:
        self.led = 0
        self._group = group
        self._protocol = protocol
        self._java = java
        self._present: dict[str, Member | ForeignMember] = {}
        self._before: Owned = {}

    def __enter__(self) -> Mixed:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for member in self._present.values():
            if isinstance(member, ForeignMember):
                member.kill()

    def join(self, number: int) -> None:
        """Let the member of that number join."""
        kind = self._protocol.kinds[number]
        events = self._events()
        self._present[f"{kind}-{number}"] = self._start(number)
        self._check_step(f"{kind}-{number} joins", events)

    def leave(self, number: int) -> None:
        """Let it leave in order."""
        name = f"{self._protocol.kinds[number]}-{number}"
        events = self._events()
        self._present.pop(name).close()
        if self._present:
            self._check_step(f"{name} leaves", events)

    def _start(self, number: int) -> Member | ForeignMember:
        kind = self._protocol.kinds[number]
        name = f"{kind}-{number}"
        if kind == OURS:
            consumer_type = ContinuousConsumer if number == 0 else KafkaConsumer
            return self._group.join(self._protocol.ours, client_id=name, consumer_type=consumer_type)
        properties = {
            "client.id": name,
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "partition.assignment.strategy": self._protocol.librdkafkas,
        }
        if kind == LIBRDKAFKAS or self._java is None:
            return ForeignMember(name, librdkafka_command(self._group, properties))
        properties["partition.assignment.strategy"] = self._protocol.javas
        words = [f"{key}={value}" for key, value in properties.items()]
        return ForeignMember(name, java_command(*self._java, self._group, *words))

    def _check_step(self, what: str, events: Mapping[str, int]) -> None:
        owned = self._settled(what)
        if any(member.of_kind("rebalance", since=events.get(name, 0)) for name, member in self._ours()):
            self.led += 1
            before = {partition: name for name, mine in self._before.items() for partition in mine}
            moves = sum(before.get(partition) != name for name, mine in owned.items() for partition in mine)
            needed = needed_moves({name: len(mine) for name, mine in self._before.items()}, list(owned))
            assert moves == needed, f"{what}: {moves} moves, {needed} are needed: {self._before} -> {owned}"
        self._before = owned

    def _ours(self) -> list[tuple[str, Member]]:
        return [(name, member) for name, member in self._present.items() if isinstance(member, Member)]

    def _events(self) -> dict[str, int]:
        return {name: len(member.events) for name, member in self._ours()}

    def _settled(self, what: str) -> Owned:
        """Wait until each partition has one owner, counts are fair, and nothing has changed for a while."""
        last: Owned = {}
        since = time.monotonic()

        def settled() -> bool:
            nonlocal last, since
            if (now := self._owned()) != last or self._complaints(now):
                last, since = now, time.monotonic()
            return time.monotonic() - since >= CALM_S

        try:
            until(settled, f"the group to settle after {what}", pause_s=0.1)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self._complaints(last)}, {last}") from None
        return last

    def _complaints(self, owned: Owned) -> list[str]:
        if owned.keys() != self._present.keys():
            return [f"members are {sorted(owned)}, not {sorted(self._present)}"]
        return ownership_errors(owned, self._group.partitions) + even(owned)

    def _owned(self) -> Owned:
        """Partitions by client id; nothing while a rebalance is under way."""
        described = self._group.describe()
        if described["group_state"] != "Stable":
            return {}
        return {
            member["client_id"]: frozenset(
                (entry["topic"], number)
                for entry in (member["member_assignment"] or {}).get("assigned_partitions", ())
                for number in entry["partitions"]
            )
            for member in described["members"]
        }


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str] | None:
    """The launcher and the class path with the Java member; None without a JDK, which fails on CI."""
    try:
        return java_program(tmp_path_factory.mktemp("java"), "GroupMember")
    except NoJavaError:
        return None


def play(fresh: FreshNames, protocol: Protocol, java: tuple[Path, str] | None, order: Order) -> None:
    """Let all members join in one order and leave in another."""
    joins, leaves = order
    with Group(fresh, PARTITIONS) as group, Mixed(group, protocol, java) as mixed:
        for number in joins:
            mixed.join(number)
        assert mixed.led == (len(joins) if protocol.kinds[joins[0]] == OURS else 0)
        for number in leaves:
            mixed.leave(number)


def name_of(order: Order) -> str:
    """Return the test's id."""
    return "-".join("".join(map(str, numbers)) for numbers in order)


@pytest.mark.parametrize("order", quick(EVERY, *QUICK), ids=map(name_of, EVERY))
def test_cooperative_sticky_with_other_clients(
    fresh: FreshNames, java: tuple[Path, str] | None, order: Order
) -> None:
    """Without a JDK a second member of librdkafka's takes the place of Java's."""
    play(fresh, COOPERATIVE, java, order)


@pytest.mark.parametrize("order", quick(EVERY, *QUICK[:2]), ids=map(name_of, EVERY))
def test_sticky_with_other_clients(fresh: FreshNames, java: tuple[Path, str] | None, order: Order) -> None:
    """Two of ours and one of Java's; librdkafka has no such strategy."""
    if java is None:
        pytest.skip("no JDK, so no Java member; its bytes are compared in tests/golden")
    play(fresh, EAGER, java, order)
