"""When a static member requests a rebalance, and when it leaves that to the leader."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import GroupAuthorizationFailedError
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors.assignor.rejoin.static_watch import StaticWatch
from kafka_assignors.plan.cause import Cause


def described(*owned: tuple[str, list[int]], state: str = "Stable") -> Any:
    """A group as the broker describes it: a member for each (member id, partitions of ``t``)."""
    members = [
        SimpleNamespace(
            member_id=member_id,
            client_id="",
            client_host="",
            member_metadata=b"",
            member_assignment=ConsumerProtocolAssignment(0, [("t", numbers)], b"").encode(),
        )
        for member_id, numbers in owned
    ]
    return SimpleNamespace(group_state=state, protocol_type="consumer", members=members)


class FakeAccess:
    """A fake ``CoordinatorAccess``."""

    def __init__(self, *, instance_id: str | None = "i", leader: str = "leader", listed: int = 4) -> None:
        self.watch = StaticWatch()
        self.instance, self.me, self.leader, self.now = instance_id, "me", leader, 5
        self.partitions = {"t": listed}
        self.group: Any = described(("me", [0, 1]), ("leader", [2, 3]))
        self.rejoin_requests = 0
        self.describes = 0
        self.slept: list[float] = []
        self.meanwhile: Callable[[], None] = lambda: None
        self._jobs: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._updated: Callable[[], None] = lambda: None

    def assigned(self, *, leader_watches_lag: bool = False) -> None:
        """Receive an assignment, and run the jobs it starts."""
        self.watch.on_assignment(self, leader_watches_lag=leader_watches_lag)  # type: ignore[arg-type]
        self.work()

    def updated(self, partitions: int) -> None:
        """Update the metadata."""
        self.partitions = {"t": partitions}
        self._updated()
        self.work()

    def work(self) -> None:
        while self._jobs:
            asyncio.run(self._jobs.pop()())

    # as CoordinatorAccess

    def instance_id(self) -> str | None:
        return self.instance

    def member_id(self) -> str:
        return self.me

    def leader_id(self) -> str:
        return self.leader

    def generation(self) -> int:
        return self.now

    def settled_generation(self) -> int:
        return self.now

    def partition_counts(self) -> dict[str, int]:
        return dict(self.partitions)

    def on_metadata_update(self, do: Callable[[], None]) -> None:
        self._updated = do

    def run(self, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._jobs.append(job)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.meanwhile()

    async def describe_group(self) -> Any:
        self.describes += 1
        if isinstance(self.group, Exception):
            raise self.group
        return self.group

    def request_rejoin(self, cause: Cause) -> None:
        assert cause is Cause.STATIC_WATCH
        self.rejoin_requests += 1


def in_rebalance(consumer: FakeAccess) -> FakeAccess:
    """A member that has taken part in a rebalance since it started."""
    consumer.assigned()
    consumer.now += 1
    consumer.assigned()
    assert not consumer.rejoin_requests
    consumer.describes = 0
    return consumer


@pytest.mark.parametrize(
    ("instance_id", "listed", "updated", "describes", "asks"),
    [(None, 9, 12, 0, 0), ("i", 6, 6, 1, 1), ("i", 4, 4, 1, 0)],
    ids=["dynamic", "the topic grew meanwhile", "no new partitions"],
)
def test_restarted_static_member_requests_one_rebalance_for_unowned_partitions(
    instance_id: str | None, listed: int, updated: int, describes: int, asks: int
) -> None:
    """A dynamic member never checks."""
    consumer = FakeAccess(instance_id=instance_id, listed=listed)
    consumer.assigned()
    consumer.updated(updated)
    assert (consumer.describes, consumer.rejoin_requests) == (describes, asks)


def test_error_while_the_metadata_is_compared_does_not_reach_kafka_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would end kafka-python's metadata refresh loop."""
    consumer = in_rebalance(FakeAccess())

    def fail() -> dict[str, int]:
        raise RuntimeError("dictionary changed size during iteration")

    with monkeypatch.context() as broken:
        broken.setattr(consumer, "partition_counts", fail)
        consumer.updated(6)
    consumer.updated(6)
    assert consumer.describes == 1


def test_restarted_leader_requests_a_rebalance_when_the_topic_grows() -> None:
    """The broker names its former member id as leader, which has left the group."""
    consumer = FakeAccess(leader="i-before")
    consumer.assigned()
    consumer.updated(5)
    assert consumer.rejoin_requests == 1


def test_member_leaves_new_partitions_to_the_leader_that_planned() -> None:
    """That leader watches the metadata itself."""
    consumer = in_rebalance(FakeAccess())
    consumer.updated(6)
    assert (consumer.describes, consumer.rejoin_requests) == (1, 0)


def test_member_requests_a_rebalance_when_its_leader_has_restarted() -> None:
    consumer = in_rebalance(FakeAccess())
    consumer.group = described(("me", [0, 1]), ("leader-again", [2, 3]))
    consumer.updated(6)
    assert consumer.rejoin_requests == 1


def test_partitions_assigned_meanwhile_cause_no_rebalance() -> None:
    """The member's metadata was older than the leader's."""
    consumer = in_rebalance(FakeAccess(leader="gone"))
    consumer.group = described(("me", [0, 1, 4]), ("other", [2, 3, 5]))
    consumer.updated(6)
    consumer.updated(6)
    assert (consumer.describes, consumer.rejoin_requests) == (1, 0)


def test_rejoin_with_a_new_member_id_counts_as_a_restart() -> None:
    """After a lost connection: a new member id, the old assignment, and no rebalance."""
    consumer = in_rebalance(FakeAccess())
    consumer.me, consumer.partitions = "me-again", {"t": 6}
    consumer.assigned()
    assert consumer.rejoin_requests == 1


def test_rebalance_that_begins_meanwhile_ends_the_check() -> None:
    consumer = FakeAccess(listed=6)
    consumer.meanwhile = lambda: setattr(consumer, "now", 6)
    consumer.assigned()
    assert (consumer.describes, consumer.rejoin_requests) == (0, 0)


@pytest.mark.parametrize(
    "group",
    [described(("me", []), state="PreparingRebalance"), GroupAuthorizationFailedError("g")],
    ids=["rebalance", "not allowed"],
)
@pytest.mark.parametrize("succeeds", [2, 4, 5])
def test_failed_check_is_repeated_soon_and_with_the_next_update(group: Any, succeeds: int) -> None:
    consumer = FakeAccess(listed=6)
    good, consumer.group = consumer.group, group

    def recover() -> None:
        if len(consumer.slept) == succeeds:
            consumer.group = good

    consumer.meanwhile = recover
    consumer.assigned()
    assert consumer.describes == min(succeeds, 4)
    assert consumer.slept[1:] == [1.0, 2.0, 4.0][: succeeds - 1]
    assert consumer.rejoin_requests == (succeeds < 5)
    consumer.updated(6)
    assert consumer.rejoin_requests == 1


def test_member_with_an_undecodable_assignment_may_own_anything() -> None:
    consumer = FakeAccess(listed=6)
    consumer.group.members[1].member_assignment = b"\xff\xff\xff"
    consumer.assigned()
    assert consumer.rejoin_requests == 0


@pytest.mark.parametrize(("leader", "asks"), [("i-before", 1), ("leader", 0)])
def test_member_requests_a_rebalance_if_no_leader_watches_lag(leader: str, asks: int) -> None:
    """Every partition has an owner."""
    consumer = FakeAccess(leader=leader)
    consumer.assigned(leader_watches_lag=True)
    assert consumer.rejoin_requests == asks


def test_members_check_one_after_the_other() -> None:
    """In an order of their instance ids, the same in each process, within 1.5 s."""

    def delay(instance_id: str) -> float:
        consumer = FakeAccess(instance_id=instance_id, listed=6)
        consumer.assigned()
        (slept,) = consumer.slept
        return slept

    delays = [delay(f"worker-{i}") for i in range(50)]
    assert delays == [delay(f"worker-{i}") for i in range(50)]
    assert len(set(delays)) > 40
    assert 0.3 <= min(delays) <= max(delays) <= 1.5
