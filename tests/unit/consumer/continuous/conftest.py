from __future__ import annotations

from typing import Any

import pytest

from kafka_assignors import CooperativeStickyAssignor, make_continuous
from tests.unit.conftest import MakeConsumer
from tests.unit.consumer.continuous.scripted import Scripted


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
