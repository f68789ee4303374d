"""Groups of plain consumers, one a family of strategies."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.chaos import checks
from tests.integration.chaos.checks import Balance, Partition
from tests.integration.chaos.crowd import CLIENT, LOG_LINES, PARTITIONS, Crowd, Process
from tests.integration.chaos.fragile import FragileBroker
from tests.integration.chaos.ledger import Kind, Ledger
from tests.integration.chaos.member import run_member
from tests.integration.conftest import FreshNames
from tests.integration.members import MEMBERS


@dataclass(frozen=True, slots=True)
class Family:
    """A group of one kind.

    Attributes:
        strategy: its strategy.
        balance: what the strategy promises.
        consumer: import path of its consumers' class.
        is_static: whether a slot's members share a ``group_instance_id``.
        busy_s: how long the members of slot 0 take for a batch.
    """

    strategy: str
    balance: Balance = checks.even
    consumer: str = "kafka.KafkaConsumer"
    is_static: bool = False
    busy_s: float = 0.0

    @property
    def name(self) -> str:
        """For messages and files."""
        kinds = ["static"] * self.is_static + ["busy"] * (self.busy_s > 0)
        return "-".join([self.strategy, self.consumer.rpartition(".")[2], *kinds])


class PlainMember:
    """A member that reads and records."""

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        self.name = name
        self._pipe, theirs = MEMBERS.Pipe()
        self._process = MEMBERS.Process(target=run_member, args=(theirs, settings), daemon=True)
        self._process.start()
        theirs.close()

    def order(self, line: str) -> None:
        """Tell it to ``close``."""
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
        """Its exit code; None: it runs."""
        return self._process.exitcode


class PlainCrowd(Crowd):
    """A group of consumers with one strategy."""

    def __init__(self, family: Family, broker: FragileBroker, root: Path) -> None:
        names = FreshNames(broker.bootstrap)
        super().__init__(family.name, broker, root / family.name, names.topic(PARTITIONS), names.group())
        self._family = family

    def _unbalanced(self, owned: checks.Owned) -> list[str]:
        return self._family.balance(owned)

    def _start(self, slot: int, name: str) -> Process:
        settings = {
            **CLIENT,
            "consumer_class": self._family.consumer,
            "strategy_name": self._family.strategy,
            "topic": self.topic,
            "group_id": self.group,
            "client_id": name,
            "bootstrap_servers": self._broker.addresses[slot],
            "ledger_path": str(self._root / f"{name}.jsonl"),
            "log": str(self._root / f"{name}.log"),
            "busy_s": self._family.busy_s if slot == 0 else 0.0,
        }
        if self._family.is_static:
            settings["group_instance_id"] = f"instance-{slot}"
        return PlainMember(name, settings)

    def _further(self, ledgers: list[Ledger]) -> list[str]:
        return checks.out_of_order(ledgers) + checks.shared(ledgers) + checks.kept_too_long(ledgers)

    def _differing(self, owned: checks.Owned) -> list[str]:
        own_view = {ledger.member: _last_owned(ledger) for ledger in self.ledgers()}
        return [
            f"{self.name}: {name} believes that it has {sorted(own_view.get(name, ()))}, not {sorted(mine)}"
            for name, mine in owned.items()
            if own_view.get(name) != set(mine)
        ]

    def _last_words(self, process: Process) -> str:
        lines = (self._root / f"{process.name}.log").read_text(encoding="utf-8").splitlines()
        return "\n    ".join(["", *lines[-LOG_LINES:]])


def _last_owned(ledger: Ledger) -> set[Partition]:
    owned = [entry for entry in ledger.entries if entry.kind is Kind.OWNED]
    return {place[:2] for place in owned[-1].places} if owned else set()
