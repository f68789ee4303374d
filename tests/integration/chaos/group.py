"""A consumer group under chaos: its faults, its state and its checks.  Base class of all kinds."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from kafka import KafkaAdminClient, KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.errors import InvalidPartitionsError, KafkaError, RetriableError

from tests.integration.chaos import checks
from tests.integration.chaos.checks import Partition
from tests.integration.chaos.event_log import EventLog, Position, read
from tests.integration.chaos.restartable_broker import RestartableBroker
from tests.integration.reading import committed
from tests.support.waiting import until

PARTITIONS = 4
SESSION_S = 3.0
CLIENT: Mapping[str, Any] = {
    "session_timeout_ms": int(1000 * SESSION_S),
    "heartbeat_interval_ms": 300,
    "metadata_max_age_ms": 1000,  # to notice new partitions soon
    "reconnect_backoff_max_ms": 1000,
    "request_timeout_ms": 10_000,
}
LOG_LINES = 30


class Process(Protocol):
    """A member's process."""

    name: str

    def order(self, line: str) -> None:
        """Send it a command: ``close``."""

    def kill(self) -> None:
        """``kill -9``."""

    def signal(self, number: int) -> None:
        """Send it a signal."""

    def ended(self) -> int | None:
        """Return its exit code; None while it runs."""

    def discard(self) -> None:
        """Kill it and release its resources."""


class ChaosGroup(ABC):
    """A group and its topic.

    Attributes:
        name: for messages.
        topic: the topic it reads.
        group_id: its id.
        running: its member processes by slot.
    """

    def __init__(self, name: str, broker: RestartableBroker, root: Path, topic: str, group_id: str) -> None:
        self.name = name
        self.topic = topic
        self.group_id = group_id
        self.running: dict[int, Process] = {}
        self._partitions = PARTITIONS
        self._broker = broker
        self._root = root
        self._leaving: list[Process] = []
        self._started: Counter[int] = Counter()
        self._open = ExitStack()
        self._admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap, reconnect_backoff_max_ms=1000)
        self._open.callback(self._admin.close)
        root.mkdir(parents=True)

    def __enter__(self) -> ChaosGroup:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in [*self.running.values(), *self._leaving]:
            if kind is not None:
                print(f"{self.name}: {process.name}: {self._last_output(process)}")
            process.discard()
        self._open.close()

    # --- faults

    def join(self, slot: int) -> None:
        """Start a member that connects through the slot's proxy."""
        self._started[slot] += 1
        self.running[slot] = self._start(slot, f"{slot}-{self._started[slot]}")

    def kill(self, slot: int) -> None:
        """``kill -9``."""
        self.running.pop(slot).kill()

    def leave(self, slot: int) -> None:
        """Ask a member to leave, without waiting for it."""
        process = self.running.pop(slot)
        process.order("close")
        self._leaving.append(process)

    def suspend(self, slot: int) -> None:
        """Suspend the member's process."""
        self.running[slot].signal(signal.SIGSTOP)

    def resume(self, slot: int) -> None:
        """Resume the member's process."""
        self.running[slot].signal(signal.SIGCONT)

    def grow(self) -> None:
        """Give the topic one more partition."""
        self._partitions += 1
        self._grow(self.topic)

    def _grow(self, topic: str) -> None:
        def grown() -> bool:
            try:
                self._admin.create_partitions({topic: self._partitions})
            except InvalidPartitionsError:  # the response of an earlier request was lost
                return True
            except RetriableError:
                return False
            return True

        until(grown, f"{topic} to grow")

    @abstractmethod
    def _start(self, slot: int, name: str) -> Process:
        """Start a process with the client id ``name``."""

    # --- state

    def unexpected_ends(self) -> list[str]:
        """Members that ended without a request, or with an error."""
        ended = [p for p in self.running.values() if p.ended() is not None]
        ended += [p for p in self._leaving if p.ended()]
        return [f"{self.name}: {p.name} ended with {p.ended()}: {self._last_output(p)}" for p in ended]

    def still_leaving(self) -> list[str]:
        """Members that were asked to leave and have not ended."""
        return [f"{self.name}: {p.name} has not left" for p in self._leaving if p.ended() is None]

    def unsettled(self) -> list[str]:
        """Violations that must disappear after the faults: partitions without one owner, imbalance."""
        try:
            described = self._admin.describe_groups([self.group_id])[self.group_id]
        except KafkaError as error:
            return [f"{self.name}: {error!r}"]
        if described["group_state"] != "Stable":
            return [f"{self.name}: {described['group_state']}"]
        owned = {self._name_of(member["client_id"]): _assigned(member) for member in described["members"]}
        if (running := {self._client(p) for p in self.running.values()}) != owned.keys():
            return [f"{self.name}: the broker's members are {sorted(owned)}, not {sorted(running)}"]
        partitions = {(self.topic, number) for number in range(self._partitions)}
        complaints = checks.ownership_errors(owned, partitions) + self._unbalanced(owned)
        return [f"{self.name}: {complaint}" for complaint in complaints] or self._differing_views(owned)

    def uncommitted(self) -> list[str]:
        """Partitions whose committed offset is not their end offset."""
        try:
            offsets = self._admin.list_group_offsets({self.group_id: None})[self.group_id]
        except KafkaError as error:
            return [f"{self.name}: {error!r}"]
        committed = {(tp.topic, tp.partition): offset.offset for tp, offset in offsets.items()}
        complaints = checks.uncommitted(self._ends(), committed)
        return [f"{self.name}: {complaint}" for complaint in complaints]

    def logs(self) -> list[EventLog]:
        """The event logs of its members."""
        return [read(path) for path in sorted(self._root.glob("*.jsonl"))]

    def complaints(self, acknowledged: set[Position]) -> list[str]:
        """Check the event logs after all members have ended."""
        logs = self.logs()
        complaints = checks.unread_records(acknowledged, logs) + checks.commits_beyond_reads(logs)
        return [f"{self.name}: {complaint}" for complaint in complaints + self._further_checks(logs)]

    def _further_checks(self, logs: list[EventLog]) -> list[str]:
        return []

    def _fallen_commits(self, logs: list[EventLog]) -> list[str]:
        history = committed(self._broker.bootstrap, self.group_id)
        return checks.fallen_commits((Position(c.topic, c.partition, c.offset) for c in history), logs)

    def _unbalanced(self, owned: checks.Owned) -> list[str]:
        return checks.even(owned)

    def _differing_views(self, owned: checks.Owned) -> list[str]:
        """Members whose own view differs from the broker's."""
        return []

    def _name_of(self, client_id: str) -> str:
        return client_id

    def _client(self, process: Process) -> str:
        return process.name

    def _last_output(self, process: Process) -> str:
        return ""

    def _ends(self) -> dict[Partition, int]:
        with KafkaConsumer(bootstrap_servers=self._broker.bootstrap, group_id=None) as consumer:
            partitions = [KafkaPartition(self.topic, number) for number in range(self._partitions)]
            return {(tp.topic, tp.partition): end for tp, end in consumer.end_offsets(partitions).items()}


def _assigned(member: Mapping[str, Any]) -> list[Partition]:
    assignment = member["member_assignment"] or {}
    return [
        (event["topic"], number)
        for event in assignment.get("assigned_partitions", ())
        for number in event["partitions"]
    ]
