"""A cluster with groups and logs, behind the calls of a link."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.record.memory_records import MemoryRecordsBuilder

from kafka_assignors.plan import TopicPartition
from tests.unit.lag.cluster import Cluster, FakeLink, run_now
from tests.unit.lag.coordinators import Brokers

T0 = TopicPartition("t", 0)


class WholeCluster(FakeLink):
    """A link to brokers that coordinate groups, and lead ``t-0`` with 10 records.

    Each group commits at the length of its name.  The records are 1,000, 900, ... seconds old.

    Attributes:
        list_error: error code of the list of groups.
        listed: the groups in that list; None: all.
        connected: number of connections so far.
        is_open: whether the last one is open.
        known: brokers that the link knows since its last look.
        cluster_id: as the cluster's metadata has it.
    """

    cluster_id = "c1"

    def __init__(self, *groups: str) -> None:
        self.groups = Brokers(list(groups))
        super().__init__(self.groups)
        self.logs = Cluster({T0: (0, 10)})
        records = MemoryRecordsBuilder(2, 0, 10_000, offset=0)
        for offset in range(10):
            records.append(timestamp=int((time.time() - 100 * (10 - offset)) * 1000), key=None, value=b"x")
        records.close()
        self.logs.batches[T0] = [(9, bytes(records.buffer()))]
        self.list_error = 0
        self.listed: list[str] | None = None
        self.connected = 0
        self.is_open = False
        self.known: list[Any] = []
        self.refresh_error: Exception | None = None

    def connect(self, *_: object) -> WholeCluster:
        assert not self.is_open
        self.connected += 1
        self.is_open = True
        self.leaders.clear()
        self.known = super().brokers()
        return self

    async def refresh_metadata(self) -> None:
        if self.refresh_error is not None:
            raise self.refresh_error
        self.known = super().brokers()

    def brokers(self) -> list[Any]:
        return self.known

    def shut(self) -> None:
        self.is_open = False

    def wait_shut(self, timeout_s: float) -> bool:
        return timeout_s > 0

    async def send(self, request: Any, node: int | None = None, *, request_timeout_ms: float) -> Any:
        if isinstance(request, (FetchRequest, ListOffsetsRequest, MetadataRequest)):
            return self.logs.answer(request, node, request_timeout_ms)
        if isinstance(request, ListGroupsRequest):
            names = (
                [] if self.list_error else self.groups.coordinators if self.listed is None else self.listed
            )
            groups = [SimpleNamespace(group_id=name, protocol_type="consumer") for name in names]
            return SimpleNamespace(error_code=self.list_error, groups=groups)
        return self.groups.answer(request, node, request_timeout_ms)

    def call_soon(self, call: Callable[..., Any], *args: Any) -> Any:
        self._check_open()
        return super().call_soon(call, *args)

    def run(self, call: Callable[..., Any], *args: Any, timeout_s: float) -> Any:
        self._check_open()
        assert timeout_s > 0
        result = []

        async def keep() -> None:
            result.append(await call(*args))

        run_now(keep())
        return result[0]

    def _check_open(self) -> None:
        """Fail as kafka-python's loop does after its end."""
        if not self.is_open:
            raise RuntimeError("NetworkSelector closed!")
