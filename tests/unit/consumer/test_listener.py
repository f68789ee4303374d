"""The listener's rules, case by case; live groups are in tests/integration/groups/test_listener.py."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from kafka.coordinator.base import Generation
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata, TopicPartition

from kafka_assignors import CooperativeStickyAssignor, OwnershipListener, RangeAssignor
from tests.unit.conftest import MakeConsumer

T0, T1, T2 = (TopicPartition("t", p) for p in range(3))


class Recorder(OwnershipListener):
    """Records hook calls and commits."""

    def __init__(self, consumer: Any) -> None:
        super().__init__(consumer)
        consumer._cluster._partitions["t"] = {}  # the metadata lists the topic
        self.heard: list[tuple[str, list[int]]] = []
        self.committed: list[dict[TopicPartition, OffsetAndMetadata]] = []
        self.fails: set[str] = set()
        consumer._coordinator._commit_offsets_sync_async = self._commit_instead

    async def _commit_instead(self, offsets: dict[TopicPartition, OffsetAndMetadata], **_: Any) -> None:
        self.committed.append(offsets)
        if "commit" in self.fails:
            raise KafkaError("no coordinator")

    def _hear(self, what: str, partitions: Collection[TopicPartition]) -> None:
        self.heard.append((what, sorted(tp.partition for tp in partitions)))
        if what in self.fails:
            raise RuntimeError(what)

    def gained(self, partitions: Collection[TopicPartition]) -> None:
        self._hear("gained", partitions)

    async def lost(self, partitions: Collection[TopicPartition]) -> None:
        self._hear("lost", partitions)

    def rejoin(self, *assigned: TopicPartition, generation: int) -> None:
        """Play kafka-python's part of a rebalance."""
        state, coordinator = self._consumer._subscription, self._consumer._coordinator
        before = state.assigned_partitions()
        ((strategy, assignor),) = coordinator._assignors.items()
        is_eager = isinstance(assignor, RangeAssignor)
        if is_eager:
            run(self.on_partitions_revoked(set(before)))
        coordinator._generation = Generation(generation, "m", strategy)
        state.assign_from_subscribed(assigned)
        if is_eager:
            run(self.on_partitions_assigned(set(assigned)))
            return
        try:
            if revoked := set(before) - set(assigned):
                run(self.on_partitions_revoked(revoked))
        finally:  # as the coordinator does
            if added := set(assigned) - set(before):
                run(self.on_partitions_assigned(added))


class Record:
    """The fields of a record that the listener reads."""

    def __init__(self, partition: TopicPartition, offset: int) -> None:
        self.topic, self.partition = partition
        self.offset, self.leader_epoch = offset, 3


def subscribed(consumer: Any, kind: type[Recorder] = Recorder) -> Any:
    consumer.subscribe(["t"])
    return kind(consumer)


def run(hook: Any) -> None:
    """Run a coroutine that never waits."""
    with pytest.raises(StopIteration):
        hook.send(None)


@pytest.fixture(params=[RangeAssignor, CooperativeStickyAssignor], ids=["eager", "cooperative"])
def listener(request: pytest.FixtureRequest, consumer: MakeConsumer) -> Recorder:
    made: Recorder = subscribed(consumer(request.param))
    return made


def test_hooks_get_only_real_changes(listener: Recorder) -> None:
    """T1 stays all the time."""
    listener.rejoin(T0, T1, generation=1)
    listener.rejoin(T1, T2, generation=2)
    assert listener.heard == [("gained", [0, 1]), ("lost", [0]), ("gained", [2])]
    assert listener.owned == {T1, T2}


def test_processed_offsets_are_committed_before_revocation(listener: Recorder) -> None:
    """With the next offset to read, and the record's leader epoch."""
    listener.rejoin(T0, T1, generation=1)
    listener.processed(Record(T0, 7))
    listener.rejoin(T1, generation=2)
    assert listener.committed == [{T0: OffsetAndMetadata(8, "", 3)}]
    assert listener.offsets() == {}


def test_failed_commit_does_not_fail_the_rebalance(
    listener: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    listener.fails.add("commit")
    listener.rejoin(T0, generation=1)
    listener.processed(Record(T0, 7))
    listener.rejoin(T1, generation=2)
    assert (
        "commit of 1 revoked partitions failed, so their next owners read records again: KafkaError"
        in caplog.text
    )
    assert listener.owned == {T1}


def test_offsets_of_a_deleted_topic_do_not_hold_up_the_others(listener: Recorder) -> None:
    """A broker refuses them, and kafka-python would repeat the commit for 5 s."""
    listener.rejoin(T0, T1, generation=1)
    listener.processed(Record(T0, 7))
    del listener._consumer._cluster._partitions["t"]
    listener.rejoin(T1, generation=2)
    assert [list(offsets) for offsets in listener.committed] == [[], [T0]]


def test_lost_membership_commits_nothing(listener: Recorder) -> None:
    listener.rejoin(T0, generation=1)
    listener.processed(Record(T0, 7))
    run(listener.on_partitions_lost({T0}))
    assert listener.heard[-1] == ("lost", [0])
    assert not listener.committed
    assert not listener.offsets()


def test_record_processed_after_the_loss_is_not_committed(listener: Recorder) -> None:
    """A worker thread finishes after the revocation; the new owner may be far ahead."""
    listener.rejoin(T0, T1, generation=1)
    listener.rejoin(T1, generation=2)
    listener.processed(Record(T0, 7))
    assert listener.offsets() == {}


def test_partition_subscribed_again_is_lost_and_gained(listener: Recorder) -> None:
    """kafka-python calls no hook when it unsubscribes; another member may have owned the partition."""
    listener.rejoin(T0, T1, generation=1)
    listener.processed(Record(T0, 7))
    listener._consumer.unsubscribe()
    listener._consumer.subscribe(["t"])
    listener.rejoin(T0, generation=4)
    assert listener.heard[1:] == [("lost", [0, 1]), ("gained", [0])]
    assert listener.offsets() == {}


def test_failing_lost_hook_does_not_skip_the_gained_hook(listener: Recorder) -> None:
    """The error reaches kafka-python."""
    listener.rejoin(T0, generation=1)
    listener.fails.add("lost")
    with pytest.raises(RuntimeError, match="lost"):
        listener.rejoin(T1, generation=2)
    assert listener.heard[-1] == ("gained", [1])
    assert listener.owned == {T1}


def test_close_loses_all_partitions(listener: Recorder) -> None:
    listener.rejoin(T0, T1, generation=1)
    listener.processed(Record(T1, 7))
    listener._consumer._closed = True
    run(listener.on_partitions_revoked({T0, T1}))
    listener._consumer._closed = False
    assert listener.heard[-1] == ("lost", [0, 1])
    assert listener.committed == [{T1: OffsetAndMetadata(8, "", 3)}]


def test_eager_consumer_that_missed_a_generation_loses_all_partitions(consumer: MakeConsumer) -> None:
    """In generation 2 another member may have owned them."""
    listener = subscribed(consumer(RangeAssignor))
    listener.rejoin(T0, generation=1)
    listener.rejoin(T0, generation=3)
    assert listener.heard == [("gained", [0]), ("lost", [0]), ("gained", [0])]


def test_hooks_need_not_be_overridden(consumer: MakeConsumer) -> None:
    """The listener then only commits before revocation."""
    listener = OwnershipListener(consumer(RangeAssignor))
    run(listener.on_partitions_assigned({T0}))
    assert listener.owned == {T0}


def test_offsets_of_unsubscribed_partitions_are_not_offered_for_a_commit(consumer: MakeConsumer) -> None:
    """Another member owns T0 now; a cooperative listener does not hear of it."""
    made = consumer(CooperativeStickyAssignor)
    listener = subscribed(made)
    listener.rejoin(T0, T1, generation=1)
    listener.processed(Record(T0, 7))
    listener.processed(Record(T1, 8))
    made._subscription.unsubscribe()
    made.subscribe(["t"])
    made._subscription.assign_from_subscribed([T1])
    assert listener.offsets() == {T1: OffsetAndMetadata(9, "", 3)}


def test_hook_of_lost_partitions_sees_their_offsets(consumer: MakeConsumer) -> None:
    class Flushing(Recorder):
        async def lost(self, partitions: Collection[TopicPartition]) -> None:
            self.seen = {tp: offset.offset for tp, offset in self.offsets().items() if tp in partitions}

    listener = subscribed(consumer(CooperativeStickyAssignor), Flushing)
    listener.rejoin(T0, T1, generation=1)
    listener.processed(Record(T0, 7))
    listener.rejoin(T1, generation=2)
    assert listener.seen == {T0: 8}
