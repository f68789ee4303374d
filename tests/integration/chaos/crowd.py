"""A group that lives through the faults, and how it is: what all kinds have in common."""

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
from kafka import TopicPartition as TheirPartition
from kafka.errors import InvalidPartitionsError, KafkaError, RetriableError

from tests.integration.chaos import checks
from tests.integration.chaos.checks import Partition
from tests.integration.chaos.fragile import FragileBroker
from tests.integration.chaos.ledger import Ledger, Place, read
from tests.support.waiting import until

PARTITIONS = 4
SESSION_S = 3.0
CLIENT: Mapping[str, Any] = {
    "session_timeout_ms": int(1000 * SESSION_S),
    "heartbeat_interval_ms": 300,
    "metadata_max_age_ms": 1000,  # so that a topic that grows is noticed
    "reconnect_backoff_max_ms": 1000,
    "request_timeout_ms": 10_000,
}
LOG_LINES = 30


class Process(Protocol):
    """A member's process."""

    name: str

    def order(self, line: str) -> None:
        """Tell it to ``close``."""

    def kill(self) -> None:
        """``kill -9``."""

    def signal(self, number: int) -> None:
        """Send it a signal."""

    def ended(self) -> int | None:
        """Its exit code; None: it runs."""

    def discard(self) -> None:
        """Leave nothing behind."""


class Crowd(ABC):
    """A group and its topic.

    Attributes:
        name: for messages.
        topic: what it reads.
        group: its id.
        running: its members by slot.
    """

    def __init__(self, name: str, broker: FragileBroker, root: Path, topic: str, group: str) -> None:
        self.name = name
        self.topic = topic
        self.group = group
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

    def __enter__(self) -> Crowd:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in [*self.running.values(), *self._leaving]:
            if kind is not None:
                print(f"{self.name}: {process.name}: {self._last_words(process)}")
            process.discard()
        self._open.close()

    # --- what befalls it

    def join(self, slot: int) -> None:
        """Start a member behind the slot's door."""
        self._started[slot] += 1
        self.running[slot] = self._start(slot, f"{slot}-{self._started[slot]}")

    def kill(self, slot: int) -> None:
        """``kill -9``."""
        self.running.pop(slot).kill()

    def leave(self, slot: int) -> None:
        """Tell a member to leave; it is not waited for."""
        process = self.running.pop(slot)
        process.order("close")
        self._leaving.append(process)

    def stop(self, slot: int) -> None:
        """Stop the process where it is."""
        self.running[slot].signal(signal.SIGSTOP)

    def go_on(self, slot: int) -> None:
        """Let it go on, as if nothing had happened."""
        self.running[slot].signal(signal.SIGCONT)

    def grow(self) -> None:
        """Give the topic one more partition."""
        self._partitions += 1
        self._grow(self.topic)

    def _grow(self, topic: str) -> None:
        def grown() -> bool:
            try:
                self._admin.create_partitions({topic: self._partitions})
            except InvalidPartitionsError:  # an answer got lost, and it has them
                return True
            except RetriableError:
                return False
            return True

        until(grown, f"{topic} to grow")

    @abstractmethod
    def _start(self, slot: int, name: str) -> Process:
        """Start a process that calls itself ``name`` to the broker."""

    # --- how it is

    def wrong(self) -> list[str]:
        """What no member may do at any time: end without being told to, or badly."""
        found = [p for p in self.running.values() if p.ended() is not None]
        found += [p for p in self._leaving if p.ended()]
        return [f"{self.name}: {p.name} ended with {p.ended()}: {self._last_words(p)}" for p in found]

    def still_leaving(self) -> list[str]:
        """Members that were told to leave and have not ended."""
        return [f"{self.name}: {p.name} has not left" for p in self._leaving if p.ended() is None]

    def unsettled(self) -> list[str]:
        """What has yet to come true once all faults are over: one owner a partition, balanced."""
        try:
            described = self._admin.describe_groups([self.group])[self.group]
        except KafkaError as error:
            return [f"{self.name}: {error!r}"]
        if described["group_state"] != "Stable":
            return [f"{self.name}: {described['group_state']}"]
        owned = {member["client_id"]: _given(member) for member in described["members"]}
        if (here := {self._client(p) for p in self.running.values()}) != owned.keys():
            return [f"{self.name}: the broker's members are {sorted(owned)}, not {sorted(here)}"]
        partitions = {(self.topic, number) for number in range(self._partitions)}
        complaints = checks.not_owned_once(owned, partitions) + self._unbalanced(owned)
        return [f"{self.name}: {each}" for each in complaints] or self._differing(owned)

    def lagging(self) -> list[str]:
        """What is not committed."""
        try:
            found = self._admin.list_group_offsets({self.group: None})[self.group]
        except KafkaError as error:
            return [f"{self.name}: {error!r}"]
        committed = {(at.topic, at.partition): offset.offset for at, offset in found.items()}
        return [f"{self.name}: {each}" for each in checks.lagging(self._ends(), committed)]

    def ledgers(self) -> list[Ledger]:
        """What its members have written."""
        return [read(path) for path in sorted(self._root.glob("*.jsonl"))]

    def complaints(self, acknowledged: set[Place]) -> list[str]:
        """Judge its life, once all members have ended.

        Args:
            acknowledged: records of its topic.
        """
        ledgers = self.ledgers()
        found = checks.unread(acknowledged, ledgers) + checks.overcommitted(ledgers)
        return [f"{self.name}: {each}" for each in found + self._further(ledgers)]

    def _further(self, ledgers: list[Ledger]) -> list[str]:
        return []

    def _unbalanced(self, owned: checks.Owned) -> list[str]:
        return checks.even(owned)

    def _differing(self, owned: checks.Owned) -> list[str]:
        """Members that do not have what the broker says."""
        return []

    def _client(self, process: Process) -> str:
        return process.name

    def _last_words(self, process: Process) -> str:
        return ""

    def _ends(self) -> dict[Partition, int]:
        consumer = KafkaConsumer(bootstrap_servers=self._broker.bootstrap, group_id=None)
        try:
            at = [TheirPartition(self.topic, number) for number in range(self._partitions)]
            return {(one.topic, one.partition): end for one, end in consumer.end_offsets(at).items()}
        finally:
            consumer.close()


def _given(member: Mapping[str, Any]) -> list[Partition]:
    assignment = member["member_assignment"] or {}
    return [
        (entry["topic"], number)
        for entry in assignment.get("assigned_partitions", ())
        for number in entry["partitions"]
    ]
