"""Members of an active/passive group, which commit now and then."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from kafka_assignors import FailoverAssignor, OwnershipListener
from tests.integration.groups.records import READING
from tests.integration.member_process import emit
from tests.integration.members import Group, Member, assert_never_two_owners

COMMIT_EVERY = 50  # records


class Worker(OwnershipListener):
    """Reports its partitions and commits now and then, like a worker that may die at any time."""

    _since = 0

    async def on_partitions_assigned(self, assigned: Collection[Any]) -> None:
        """Report a gained partition before its first record is read."""
        emit("assigned", assigned)
        await super().on_partitions_assigned(assigned)

    async def on_partitions_revoked(self, revoked: Collection[Any]) -> None:
        """Report a partition after its commit."""
        await super().on_partitions_revoked(revoked)
        emit("revoked", revoked)

    async def on_partitions_lost(self, lost: Collection[Any]) -> None:
        """Report it."""
        await super().on_partitions_lost(lost)
        emit("lost", lost)

    def processed(self, record: Any) -> None:
        """Commit the records before this one."""
        self._since += 1
        if self._since % COMMIT_EVERY == 0:
            self._consumer.commit_async(self.offsets())
        super().processed(record)


def join(group: Group, priority: int | None = None, *, preempt: bool = True, **settings: Any) -> Member:
    """Start a member with this priority."""
    options = {"priority": priority, "preempt": preempt}
    return group.join(FailoverAssignor, listener=Worker, options=options, **READING, **settings)


def assert_only_the_active_works(members: Iterable[Member]) -> None:
    """No record is processed by a member that does not own its partition, and no partition has two owners."""
    members = list(members)
    assert_never_two_owners(members)
    for member in members:
        owned: set[tuple[str, int]] = set()
        for event in member.events:
            if event.kind == "assigned":
                owned |= event.partitions
            elif event.kind in {"revoked", "lost"}:
                owned -= event.partitions
            elif event.kind == "processed":
                stray = {(t, p) for t, p, _ in event.facts["offsets"]} - owned
                assert not stray, f"{member.name} processed records of {sorted(stray)}"
