"""A group of stateful members, its input, and the content of its changelog at the end.

with App(fresh, tmp_path, partitions=4) as app:
    app.produce(1_000)
    a = app.join()
    app.wait_until_done()
    app.close()
    app.assert_exact()
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec
from kafka.structs import TopicPartition

from kafka_assignors.stateful import StateDir, Stores
from tests.integration.conftest import FreshNames
from tests.integration.reading import all_records
from tests.support.waiting import PATIENCE_S, until

MEMBER = "tests.integration.stateful.stateful_member"
ROOT = Path(__file__).parents[3]

Event = dict[str, Any]

_NOTHING: Event = {
    "ready": [],
    "warmups": [],
    "lags": [],
    "probing": False,
    "generation": -1,
    "restored": 0,
    "processed": 0,
}


class Member:
    """A member's process, as the test sees it."""

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        self.name = name
        self.events: list[Event] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", MEMBER, json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def state(self) -> Event:
        """Its last reported state."""
        return next((e for e in reversed(self.events) if e["kind"] == "state"), _NOTHING)

    @property
    def ready(self) -> set[int]:
        """Its tasks that are processed."""
        return set(self.state["ready"])

    def of_kind(self, kind: str) -> list[Event]:
        """Its events of a kind."""
        return [event for event in self.events if event["kind"] == kind]

    def logged(self, text: str) -> list[str]:
        """Its log lines with this text."""
        return [e["message"] for e in self.of_kind("log") if text in e["message"]]

    def order(self, line: str) -> None:
        """Send it an order."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """``kill -9``."""
        self._process.kill()
        self._end()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def ended(self) -> int | None:
        """Its exit code; None: it runs."""
        return self._process.poll()

    def close(self) -> None:
        """Close it in order; it must succeed."""
        self.order("close")
        self.wait()
        assert self.of_kind("ended"), self.events[-5:]

    def wait(self) -> int:
        """Wait for its end."""
        code = self._process.wait(PATIENCE_S)
        self._end()
        return code

    def discard(self) -> None:
        """Kill it if it still runs."""
        self._process.kill()
        self._end()

    def _end(self) -> None:
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.events.append(json.loads(line))


class App:
    """The application: a topic, a group, members, and their stores."""

    def __init__(self, fresh: FreshNames, root: Path, partitions: int = 4, **options: Any) -> None:
        self.bootstrap = fresh.bootstrap
        self.group = fresh.group("stateful")
        self.topic = fresh.topic(partitions)
        self.changelog = f"{self.group}-count-changelog"
        self.partitions = partitions
        self.given: list[Counter[bytes]] = [Counter() for _ in range(partitions)]  # by partition
        self.members: list[Member] = []
        self.root = root
        self._options = {
            "commit_interval_ms": 100,
            "probing_rebalance_interval_ms": 1_000,
            "acceptable_recovery_lag": 100,
            **options,
        }
        self._producer = KafkaProducer(bootstrap_servers=self.bootstrap, linger_ms=5)
        self.admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)

    def __enter__(self) -> App:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        for member in self.members:
            if kind is not None:
                print(f"{member.name}: exit code {member.ended()}", *member.events[-25:], sep="\n    ")
            member.discard()
        self._producer.close()
        self.admin.close()

    # --- input

    def produce(
        self, count: int, *, keys: int = 97, value: bytes = b"x", partition: int | None = None
    ) -> None:
        """Write records, dealt over partitions and keys."""
        sent = []
        for number in range(count):
            to = number % self.partitions if partition is None else partition
            key = b"k%d" % (number % keys)
            sent.append(self._producer.send(self.topic, key=key, value=value, partition=to))
            self.given[to][key] += 1
        self._producer.flush()
        for future in sent:
            future.get(timeout=10)

    def write_changelog(self, partition: int, key: bytes, value: bytes) -> None:
        """Write a record to the changelog, as a former owner of the task."""
        self._producer.send(self.changelog, key=key, value=value, partition=partition).get(timeout=10)

    def policy(self, cleanup: str) -> None:
        """Set the changelog's cleanup policy."""
        self.admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, self.changelog, configs={"cleanup.policy": cleanup})]
        )

    # --- members

    def join(self, name: str | None = None, *, bootstrap: str | None = None, **settings: Any) -> Member:
        """Start a member; the same name finds the same state again."""
        name = name or f"m{len(self.members)}"
        options = {**self._options, **settings.pop("options", {})}
        member = Member(
            name,
            {
                "bootstrap_servers": [bootstrap or self.bootstrap],
                "group_id": self.group,
                "topics": [self.topic],
                "store_dir": str(self.root / name),
                "session_timeout_ms": 6_000,
                "heartbeat_interval_ms": 300,
                "options": options,
                **settings,
            },
        )
        self.members.append(member)
        return member

    def task_dir(self, name: str, partition: int) -> Path:
        """The directory of a member's task."""
        return self.root / name / self.group / f"count_{partition}"

    def close(self) -> None:
        """Close all running members in order."""
        for member in self.members:
            if member.ended() is None:
                member.close()

    # --- waiting

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for a condition that may ask the broker."""
        until(condition, what, pause_s=0.05)

    def wait_until_all_are_ready(self, *members: Member) -> None:
        """Wait until each task is ready on exactly one of these members."""
        self.wait_until(
            lambda: sorted(p for m in members for p in m.ready) == list(range(self.partitions)),
            "all tasks to be processed",
        )

    def committed(self) -> dict[int, int]:
        """Partition -> committed offset."""
        offsets = self.admin.list_group_offsets({self.group: None})[self.group]
        return {tp.partition: committed.offset for tp, committed in offsets.items() if committed.offset >= 0}

    def done(self) -> bool:
        """Whether all records are committed."""
        committed = self.committed()
        return all(committed.get(p, 0) >= sum(given.values()) for p, given in enumerate(self.given))

    def wait_until_done(self) -> None:
        """Wait until all records are committed."""
        self.wait_until(self.done, "everything to be committed")

    # --- results

    def changelog_ends(self) -> dict[int, int]:
        """Changelog partition -> end offset."""
        partitions = [TopicPartition(self.changelog, p) for p in range(self.partitions)]
        # A new client: one that was idle while the broker was killed again and again may know no broker.
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
            ends = admin.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
        return {tp.partition: end.offset for tp, end in ends.items()}

    def state(self) -> list[dict[bytes, bytes]]:
        """Read each task's state from the changelog, and compare it with all copies on disk at its end.

        Members must have ended.
        """
        states: list[dict[bytes, bytes]] = [{} for _ in range(self.partitions)]
        for record in all_records(self.bootstrap, self.changelog):
            if record.value is None:
                states[record.partition].pop(record.key, None)
            else:
                states[record.partition][record.key] = record.value
        ends = self.changelog_ends()
        for name in {member.name for member in self.members}:
            self._check_copies(self.root / name, states, ends)
        return states

    def _check_copies(self, store_dir: Path, states: list[dict[bytes, bytes]], ends: dict[int, int]) -> None:
        stores = Stores()
        with StateDir(store_dir, self.group) as there:
            for task, checkpoint in there.tasks().items():
                if not isinstance(checkpoint, dict) or not checkpoint:
                    continue
                (position,) = checkpoint.values()
                if position.offset == ends[task[1]]:
                    with there.claim(task) as mine, stores.open(mine.store_path) as store:
                        assert dict(store.range()) == states[task[1]], f"{store_dir}, task {task}"

    def doubles(self) -> Counter[tuple[int, bytes]]:
        """Check that nothing is lost; return partition and key -> records processed twice."""
        extra: Counter[tuple[int, bytes]] = Counter()
        for partition, (state, given) in enumerate(zip(self.state(), self.given, strict=True)):
            records = {int(key[2:]) for key in state if key.startswith(b"r:")}
            assert records == set(range(sum(given.values()))), f"partition {partition}: records are lost"
            counts = {key[2:]: int(value) for key, value in state.items() if key.startswith(b"n:")}
            assert counts.keys() == given.keys()
            assert all(counts[key] >= given[key] for key in given), f"partition {partition}: updates are lost"
            extra += Counter({(partition, key): counts[key] - given[key] for key in given})
        return extra

    def assert_exact(self) -> None:
        """Check that every record was counted once."""
        assert not self.doubles()
