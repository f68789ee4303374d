"""Groups of plain consumers."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.chaos import checks
from tests.integration.chaos.checks import Balance, Partition
from tests.integration.chaos.event_log import EventKind, EventLog
from tests.integration.chaos.group import CLIENT, LOG_LINES, PARTITIONS, SESSION_S, ChaosGroup, Process
from tests.integration.chaos.member import FENCED, run_member
from tests.integration.chaos.restartable_broker import RestartableBroker
from tests.integration.conftest import FreshNames
from tests.integration.members import MEMBERS


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """Strategy and consumers of a group.

    Attributes:
        strategy: name of its strategy.
        balance: checks the balance that the strategy guarantees; None: members keep all they own instead.
        consumer: import path of its consumers' class.
        is_static: whether a slot's members share a ``group_instance_id``.
        busy_s: time that members of slot 0 take for a batch (s).
        auto_commit: whether ``poll()`` commits what the last one returned.
    """

    strategy: str
    balance: Balance | None = checks.even
    consumer: str = "kafka.KafkaConsumer"
    is_static: bool = False
    busy_s: float = 0.0
    auto_commit: bool = False

    @property
    def name(self) -> str:
        """Name in messages and files."""
        kinds = {"static": self.is_static, "busy": self.busy_s > 0, "auto-commit": self.auto_commit}
        of_kind = [kind for kind, is_kind in kinds.items() if is_kind]
        return "-".join([self.strategy, self.consumer.rpartition(".")[2], *of_kind])


class MemberProcess:
    """A plain member's process."""

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        self.name = name
        self.started_at = time.monotonic_ns()
        self._pipe, theirs = MEMBERS.Pipe()
        self._process = MEMBERS.Process(target=run_member, args=(theirs, settings), daemon=True)
        self._process.start()
        theirs.close()

    def order(self, line: str) -> None:
        """Send it a command: ``close``."""
        self._pipe.send(line)

    def kill(self) -> None:
        """``kill -9``."""
        self._process.kill()
        self._process.join()
        self._pipe.close()

    discard = kill

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def ended(self) -> int | None:
        """Return its exit code; None while it runs."""
        return self._process.exitcode


class PlainChaosGroup(ChaosGroup):
    """A group of consumers with one strategy."""

    def __init__(self, config: GroupConfig, broker: RestartableBroker, root: Path) -> None:
        names = FreshNames(broker.bootstrap)
        super().__init__(config.name, broker, root / config.name, names.topic(PARTITIONS), names.group())
        self._family = config

    def unexpected_ends(self) -> list[str]:
        """As inherited, after a restart of fenced members, as a supervisor would restart them.

        A killed broker forgets the member ids that it gave out in an unfinished rebalance.  It then fences
        the static members that had just got them.
        """
        for slot, process in list(self.running.items()):
            assert isinstance(process, MemberProcess)
            is_forgotten = any(process.started_at < killed_at for killed_at, _ in self._broker.outages)
            if self._family.is_static and is_forgotten and process.ended() == FENCED:
                process.discard()
                self.join(slot)
        return super().unexpected_ends()

    def unsettled(self) -> list[str]:
        """As inherited, with fenced members restarted."""
        return self.unexpected_ends() or super().unsettled()

    def _unbalanced(self, owned: checks.Owned) -> list[str]:
        return self._family.balance(owned) if self._family.balance else []

    def _start(self, slot: int, name: str) -> Process:
        settings = {
            **CLIENT,
            "consumer_class": self._family.consumer,
            "strategy_name": self._family.strategy,
            "topic": self.topic,
            "group_id": self.group_id,
            "client_id": name,
            "bootstrap_servers": self._broker.addresses[slot],
            "events_path": str(self._root / f"{name}.jsonl"),
            "log": str(self._root / f"{name}.log"),
            "busy_s": self._family.busy_s if slot == 0 else 0.0,
            "auto_commit": self._family.auto_commit,
        }
        if self._family.is_static:
            settings["group_instance_id"] = f"instance-{slot}"
        return MemberProcess(name, settings)

    def _name_of(self, client_id: str) -> str:
        """Return the process of a member; a broker that replaces a static member keeps its client id."""
        process = self.running.get(int(_slot_of(client_id))) if self._family.is_static else None
        return client_id if process is None else process.name

    def _further_checks(self, logs: list[EventLog]) -> list[str]:
        instance = _slot_of if self._family.is_static else str
        complaints = [
            *checks.reads_out_of_order(logs),
            *checks.shared_partitions(logs, instance),
            *checks.late_revocations(logs, instance),
            *checks.losses_without_cause(logs, SESSION_S, self._broker.outages),
        ]
        if self._family.balance is None:
            complaints += checks.taken_partitions(logs, PARTITIONS)
        # A KafkaConsumer may continue at an old position: it keeps its positions if it loses its membership
        # in the middle of a join, and it keeps unread answers to OffsetFetch.
        return complaints + (self._fallen_commits(logs) if "Continuous" in self._family.consumer else [])

    def _differing_views(self, owned: checks.Owned) -> list[str]:
        own_view = {log.member: _last_owned(log) for log in self.logs()}
        return [
            f"{self.name}: {name} believes it owns {sorted(own_view.get(name, ()))}, not {sorted(partitions)}"
            for name, partitions in owned.items()
            if own_view.get(name) != set(partitions)
        ]

    def _last_output(self, process: Process) -> str:
        lines = (self._root / f"{process.name}.log").read_text(encoding="utf-8").splitlines()
        return "\n    ".join(["", *lines[-LOG_LINES:]])


def _slot_of(member: str) -> str:
    return member.partition("-")[0]


def _last_owned(log: EventLog) -> set[Partition]:
    owned = [event for event in log.events if event.kind is EventKind.OWNED]
    return {position[:2] for position in owned[-1].positions} if owned else set()
