"""The examples of README and docs that need a broker, against one."""

from __future__ import annotations

import itertools
import signal
import threading
from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

from tests.support.examples import Example, examples

LIVE = [example for example in examples() if example.needs_a_broker]


@pytest.fixture(scope="module")
def orders(kafka_bootstrap: str) -> Iterator[str]:
    """The broker, with the topic the examples read.

    Records are written until the end, because most examples read only new ones.
    """
    over = threading.Event()

    def write() -> None:
        for number in itertools.count():
            producer.send("orders", b"%d" % number, partition=number % 4)
            if over.wait(0.05):
                return

    thread = threading.Thread(target=write)
    with (
        KafkaAdminClient(bootstrap_servers=kafka_bootstrap) as admin,
        KafkaProducer(bootstrap_servers=kafka_bootstrap) as producer,
    ):
        admin.create_topics([NewTopic("orders", num_partitions=4, replication_factor=1)])
        thread.start()
        yield kafka_bootstrap
        over.set()
        thread.join()
        producer.flush()
        admin.delete_topics(["orders"])


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
