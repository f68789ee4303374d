"""Topologies of several topics and subtopologies: with state, without, and with state without a changelog."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaProducer

from kafka_assignors.stateful import RuntimeOptions, StatefulConsumer, Subtopology, Topology
from tests.integration.conftest import FreshNames
from tests.integration.reading import all_records
from tests.support.waiting import until

KEYS = 11


def count(record: Any, store: Any) -> None:
    """Count each key, of both topics."""
    store.put(record.key, b"%d" % (int(store.get(record.key) or b"0") + 1))


@contextmanager
def running(consumer: StatefulConsumer) -> Iterator[None]:
    """Run a consumer on a thread; its error is raised here."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            consumer.run()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        consumer.close()
        thread.join()
    assert raised == []


def test_topics_of_a_task_share_its_state_and_subtopologies_share_nothing(
    fresh: FreshNames, tmp_path: Path
) -> None:
    """Two topics of one task, one without state, and one whose state has no changelog; two members."""
    left, right, free, local = fresh.topics(3, 3, 2, 2)
    group = fresh.group("topologies")
    topology = Topology(
        (
            Subtopology("count", (left, right)),
            Subtopology("free", (free,), stateful=False),
            Subtopology("local", (local,), logged=False),
        )
    )
    seen: Counter[tuple[int, int]] = Counter()  # of the stateless one: partition and offset
    locally: dict[tuple[int, bytes], int] = {}

    def look(record: Any, store: Any) -> None:
        assert store is None
        seen[record.partition, record.offset] += 1

    def count_locally(record: Any, store: Any) -> None:
        count(record, store)
        locally[record.partition, record.key] = int(store.get(record.key))

    def member(name: str) -> StatefulConsumer:
        return StatefulConsumer(
            topology,
            {"count": count, "free": look, "local": count_locally},
            tmp_path / name,
            options=RuntimeOptions(commit_interval_ms=100, probing_rebalance_interval_ms=1_000),
            group_id=group,
            bootstrap_servers=fresh.bootstrap,
            session_timeout_ms=6_000,
            heartbeat_interval_ms=300,
        )

    topics = {left: 3, right: 3, free: 2, local: 2}
    given: Counter[tuple[str, int, bytes]] = Counter()

    def produce(times: int) -> None:
        for topic, partitions in topics.items():
            for number in range(times):
                partition, key = number % partitions, b"k%d" % (number % KEYS)
                producer.send(topic, key=key, value=b"x", partition=partition)
                given[topic, partition, key] += 1
        producer.flush()

    def done() -> bool:
        committed = {
            (tp.topic, tp.partition): committed.offset
            for tp, committed in admin.list_group_offsets({group: None})[group].items()
        }
        wanted: Counter[tuple[str, int]] = Counter()
        for (topic, partition, _), times in given.items():
            wanted[topic, partition] += times
        return all(committed.get(tp, 0) >= offset for tp, offset in wanted.items())

    with (
        KafkaProducer(bootstrap_servers=fresh.bootstrap, linger_ms=5) as producer,
        KafkaAdminClient(bootstrap_servers=fresh.bootstrap) as admin,
    ):
        a, b = member("a"), member("b")
        with running(a):
            until(lambda: len(a.ready) == 7, "one member to have all tasks")
            produce(600)
            until(done, "everything to be committed")
            with running(b):
                until(
                    lambda: b.ready and len(a.ready) + len(b.ready) == 7 and not a.ready & b.ready,
                    "the second to get tasks",
                )
                produce(600)
                until(done, "everything to be committed")
            until(lambda: len(a.ready) == 7, "the first to have all tasks again")
            produce(300)
            until(done, "everything to be committed")

    expected: Counter[tuple[int, bytes]] = Counter()
    for (topic, partition, key), times in given.items():
        if topic in (left, right):
            expected[partition, key] += times
    changes = all_records(fresh.bootstrap, f"{group}-count-changelog")
    assert {(change.partition, change.key): int(change.value) for change in changes} == expected
    assert seen == Counter({(p, offset): 1 for p in range(2) for offset in range(750)})
    # State without a changelog does not move: a new owner counts from its own state.
    assert locally.keys() == {(p, key) for topic, p, key in given if topic == local}
    assert all(0 < times <= given[local, p, key] for (p, key), times in locally.items())
