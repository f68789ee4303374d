"""The examples of README and docs that need a broker, against one."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

from tests.support.examples import Example, examples

LIVE = [example for example in examples() if example.needs_a_broker]


@pytest.fixture(scope="module")
def orders(kafka_bootstrap: str) -> Iterator[str]:
    """The broker, with the topic the examples read and something in it."""
    admin = KafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    admin.create_topics([NewTopic("orders", num_partitions=4, replication_factor=1)])
    producer = KafkaProducer(bootstrap_servers=kafka_bootstrap)
    for i in range(20):
        producer.send("orders", b"%d" % i, partition=i % 4)
    producer.close()
    yield kafka_bootstrap
    admin.delete_topics(["orders"])
    admin.close()


@pytest.fixture
def no_traces() -> Iterator[None]:
    """An example may set a handler of signals."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("no_traces")
@pytest.mark.parametrize("example", LIVE, ids=lambda e: str(e.where))
def test_example_runs(example: Example, orders: str) -> None:
    example.run(orders)
