"""The group of stateful consumers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.integration.chaos import checks
from tests.integration.chaos.event_log import EventKind, EventLog, Position
from tests.integration.chaos.group import CLIENT, LOG_LINES, PARTITIONS, ChaosGroup, Process
from tests.integration.chaos.restartable_broker import RestartableBroker
from tests.integration.conftest import FreshNames
from tests.integration.reading import all_records
from tests.integration.stateful.stateful_app import App
from tests.integration.stateful.stateful_app import Member as StatefulMember


class StatefulChaosGroup(ChaosGroup):
    """A group of ``StatefulConsumer``s that count records by key."""

    def __init__(self, broker: RestartableBroker, root: Path) -> None:
        self._app = App(FreshNames(broker.bootstrap), root / "stores", PARTITIONS, commit_interval_ms=300)
        super().__init__("stateful", broker, root / "stateful", self._app.topic, self._app.group)
        self._open.enter_context(self._app)
        self._clients: dict[int, str] = {}

    def grow(self) -> None:
        """Grow the changelog, too, as an operator must."""
        super().grow()
        self._grow(self._app.changelog)
        self._app.partitions = self._partitions

    def _start(self, slot: int, name: str) -> Process:
        # A member restarts on its slot's store, unless the former process is still leaving.
        busy = {process.name for process in self._leaving if process.ended() is None}
        store = f"s{slot}" if f"s{slot}" not in busy else name
        process = self._app.join(
            store,
            bootstrap=self._broker.addresses[slot],
            ledger=str(self._root / f"{name}.jsonl"),
            client_id=name,
            persistent=True,
            **CLIENT,
        )
        self._clients[id(process)] = name
        return process

    def _client(self, process: Process) -> str:
        return self._clients[id(process)]

    def _last_output(self, process: Process) -> str:
        assert isinstance(process, StatefulMember)
        events = [event for event in process.events if event["kind"] != "state"]
        return "\n    ".join(["", *map(str, events[-LOG_LINES:]), str(process.state)])

    def _further_checks(self, logs: list[EventLog]) -> list[str]:
        """Check each task's state against the records of its partition."""
        self._app.given = [Counter() for _ in range(self._partitions)]
        keys: dict[Position, bytes] = {}
        for record in all_records(self._broker.bootstrap, self.topic):
            keys[Position(self.topic, record.partition, record.offset)] = record.key
            self._app.given[record.partition][record.key] += 1
        assert any(event.kind is EventKind.COMMITTED for log in logs for event in log.events)
        return checks.duplicate_updates(self._app.doubles(), keys, logs) + self._fallen_commits(logs)
