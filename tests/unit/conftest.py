from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka import KafkaConsumer

from kafka_assignors import CooperativeStickyAssignor, make_continuous
from tests.unit.consumer.continuous.scripted import Scripted

MakeConsumer = Callable[..., Any]


def joining(made: Any) -> Any:
    """Subscribe a consumer to ``t``, and call its only strategy as a join does; return the strategy."""
    made.subscribe(["t"])
    made._coordinator.group_protocols()
    (assignor,) = made._coordinator._assignors.values()
    return assignor


@pytest.fixture
def consumer() -> Iterator[MakeConsumer]:
    """Makes real consumers that never join: with a fixed API version they need no broker."""
    made: list[KafkaConsumer] = []

    def make(*strategies: Any, **config: Any) -> KafkaConsumer:
        made.append(
            KafkaConsumer(
                bootstrap_servers=f"127.0.0.1:{server.getsockname()[1]}",
                api_version=(2, 5),
                group_id="g",
                partition_assignment_strategy=list(strategies),
                **config,
            )
        )
        return made[-1]

    with socket.create_server(("127.0.0.1", 0)) as server:
        yield make
        for consumer in made:
            consumer.close()


@pytest.fixture
def member(consumer: MakeConsumer) -> Any:
    """Makes a continuous member that owns some partitions."""
    made: list[Scripted] = []

    def make(
        *owned: int,
        auto_commit: bool = False,
        strategy: type = CooperativeStickyAssignor,
        beats: bool = True,
        **config: Any,
    ) -> Scripted:
        client = consumer(strategy, enable_auto_commit=auto_commit, **config)
        assert make_continuous(client)
        if not beats:  # outside a join
            client._coordinator._maybe_start_heartbeat_loop = lambda: None
        made.append(Scripted(client, *owned))
        return made[-1]

    yield make
    for scripted in made:
        scripted.end()
