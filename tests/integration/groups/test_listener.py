"""``OwnershipListener`` with real records: hooks are called for changes only, after a commit."""

from __future__ import annotations

import pytest

from kafka_assignors import CooperativeStickyAssignor, OwnershipListener, RangeAssignor, StickyAssignor
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.groups.records import READING, Producing, each_once, processed
from tests.integration.member_process import emit
from tests.integration.members import Group, Member, moved
from tests.support.quick import long

PARTITIONS = 6


class PlainHooks(OwnershipListener):
    """Reports its hooks."""

    def gained(self, partitions: frozenset[tuple[str, int]]) -> None:
        """Report it."""
        emit("gained", partitions)

    def lost(self, partitions: frozenset[tuple[str, int]]) -> None:
        """Report it; ``lost`` itself is the consumer's event."""
        emit("gone", partitions)


class AsyncHooks(OwnershipListener):
    """The same listener with coroutines as hooks."""

    async def gained(self, partitions: frozenset[tuple[str, int]]) -> None:
        """Report it."""
        emit("gained", partitions)

    async def lost(self, partitions: frozenset[tuple[str, int]]) -> None:
        """Report it."""
        emit("gone", partitions)


def hooks(member: Member, kind: str, since: int = 0) -> list[TopicPartition]:
    """Return the partitions of all calls of one hook."""
    return sorted(tp for event in member.of_kind(kind, since=since) for tp in event.partitions)


def missed_one(member: Member, since: int) -> bool:
    """Whether another rebalance has interrupted one of the member's generations since then.

    Another member may have owned its partitions then, so an eager consumer's listener starts over.
    """
    states = member.of_kind("state")
    before = [e for e in member.events[:since] if e.kind == "state"][-1].facts["generation"]
    return bool(states[-1].facts["generation"] > before + 1)


def times_assigned(member: Member, strategy: type) -> range:
    """How often a new member may gain its partitions: once, or if eager up to once a generation."""
    generations = {event.facts["generation"] for event in member.of_kind("state")} - {-1}
    return range(1, 2 if strategy is CooperativeStickyAssignor else 1 + max(len(generations), 1))


def assert_hooks_alternate(member: Member) -> None:
    """Only unowned partitions are gained and only owned ones are lost; each call has partitions."""
    owned: frozenset[TopicPartition] = frozenset()
    for event in member.of_kind("gained", "gone"):
        assert event.partitions
        if event.kind == "gained":
            assert not owned & event.partitions
            owned |= event.partitions
        else:
            assert event.partitions <= owned
            owned -= event.partitions


@pytest.mark.parametrize("listener", [PlainHooks, AsyncHooks])
@pytest.mark.parametrize(
    "strategy", [RangeAssignor, StickyAssignor, CooperativeStickyAssignor], ids=lambda strategy: strategy.name
)
def test_no_record_is_lost_or_repeated_in_clean_rebalances(
    fresh: FreshNames, strategy: type, listener: type
) -> None:
    """Two members join and one leaves while records flow; each record is processed once."""
    with Group(fresh, PARTITIONS) as group:
        with Producing(group) as producing:
            first = group.join(strategy, listener=listener, **READING)
            alone = group.settled()
            first.wait_for("processed")
            since = len(first.events)
            second = group.join(strategy, listener=listener, **READING)
            both = group.settled()
            second.wait_for("processed")
            gone, gained = frozenset(moved(alone, both)), frozenset[TopicPartition]()
            if missed_one(first, since) and strategy is not CooperativeStickyAssignor:
                gone, gained = alone[first.name], both[first.name]
            assert hooks(first, "gone", since) == sorted(gone)
            assert hooks(first, "gained", since) == sorted(gained)
            gains = [sorted(times * list(both[second.name])) for times in times_assigned(second, strategy)]
            assert hooks(second, "gained") in gains

            since = len(first.events)
            second.close()
            assert hooks(second, "gone") == hooks(second, "gained")
            again = group.settled()
            gone, gained = frozenset[TopicPartition](), again[first.name] - both[first.name]
            if missed_one(first, since) and strategy is not CooperativeStickyAssignor:
                gone, gained = both[first.name], again[first.name]
            assert hooks(first, "gained", since) == sorted(gained)
            assert hooks(first, "gone", since) == sorted(gone)
        expected = each_once(producing.ends)
        group.wait_until(lambda: processed(first, second).total() >= expected.total(), "all records")
        first.close()
        assert processed(first, second) == expected
        assert group.committed() == producing.ends
        for member in (first, second):
            assert_hooks_alternate(member)
            assert hooks(member, "gained") == hooks(member, "gone")


@pytest.mark.parametrize(
    "strategy", [long(StickyAssignor), CooperativeStickyAssignor], ids=lambda strategy: strategy.name
)
def test_lost_membership_allows_no_commit(fresh: FreshNames, strategy: type) -> None:
    """The new owners have advanced, so a late commit would set their offsets back."""
    with Group(fresh, PARTITIONS) as group:
        with Producing(group) as producing:
            first = group.join(strategy, listener=PlainHooks, **READING)
            group.settled()
            zombie = group.join(strategy, listener=PlainHooks, **READING)
            shared = group.settled()
            zombie.wait_for("processed")
            zombie.freeze()
            since = len(zombie.events)
            group.settled()
            zombie.thaw()
            zombie.wait_for("gone", since=since)
            assert hooks(zombie, "gone", since) == sorted(shared[zombie.name])
            until_lost = [event.kind for event in zombie.events[since:]]
            assert "commit" not in until_lost[: until_lost.index("gone")]
            group.settled()
        expected = each_once(producing.ends)
        group.wait_until(lambda: processed(first, zombie).keys() >= expected.keys(), "all records")
        zombie.close()
        group.settled()
        first.close()
        assert group.committed() == producing.ends
        for member in (first, zombie):
            assert_hooks_alternate(member)
