"""A group of stateful members, what it was given, and what is in its changelog in the end.

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
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.structs import TopicPartition

from kafka_assignors.stateful import StateDir, Stores
from tests.integration.conftest import FreshNames

DEADLINE_S = 60.0
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

    def __init__(self, name: str, settings: dict[str, Any], news: threading.Condition) -> None:
        self.name = name
        self.events: list[Event] = []
        self._news = news
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
        """What it said last about itself."""
        return next((e for e in reversed(self.events) if e["kind"] == "state"), _NOTHING)

    @property
    def ready(self) -> set[int]:
        """Its tasks that are processed."""
        return set(self.state["ready"])

    def of_kind(self, kind: str) -> list[Event]:
        """Its events of a kind."""
        return [event for event in self.events if event["kind"] == kind]

    def logged(self, text: str) -> list[str]:
        """What it logged that has this in it."""
        return [e["message"] for e in self.of_kind("log") if text in e["message"]]

    def order(self, line: str) -> None:
        """Tell it to do something."""
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
        """Leave in order; it must have ended well."""
        self.order("close")
        self.wait()
        assert self.of_kind("ended"), self.events[-5:]

    def wait(self) -> int:
        """Wait for its end."""
        code = self._process.wait(DEADLINE_S)
        self._end()
        return code

    def discard(self) -> None:
        """Leave nothing behind."""
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
            with self._news:
                self.events.append(json.loads(line))
                self._news.notify_all()


class App:
    """The application: a topic, a group, members, and their stores.

    Args:
        fresh: where to get a topic and a group.
        root: for the members' stores.
        partitions: of the topic; as many tasks.
        options: of all members.
    """

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
        self.news = threading.Condition()
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

    # --- what goes in

    def produce(
        self, count: int, *, keys: int = 97, value: bytes = b"x", partition: int | None = None
    ) -> None:
        """Write so many records, dealt over partitions and keys."""
        sent = []
        for number in range(count):
            at = number % self.partitions if partition is None else partition
            key = b"k%d" % (number % keys)
            sent.append(self._producer.send(self.topic, key=key, value=value, partition=at))
            self.given[at][key] += 1
        self._producer.flush()
        for future in sent:
            future.get(timeout=10)

    def policy(self, cleanup: str) -> None:
        """What the broker may do with the changelog's old records."""
        self.admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, self.changelog, configs={"cleanup.policy": cleanup})]
        )

    # --- who is there

    def join(self, name: str | None = None, *, bootstrap: str | None = None, **settings: Any) -> Member:
        """Start a member; one of a name that was there before finds its state again."""
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
            self.news,
        )
        self.members.append(member)
        return member

    def task_dir(self, name: str, partition: int) -> Path:
        """Where a member has a task's state."""
        return self.root / name / self.group / f"count_{partition}"

    def close(self) -> None:
        """All members that run leave in order."""
        for member in self.members:
            if member.ended() is None:
                member.close()

    # --- waiting

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        """Look whenever there is news, and every so often."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {DEADLINE_S} s for {what}")
            with self.news:
                self.news.wait(0.05)

    def wait_until_all_are_ready(self, *members: Member) -> None:
        """Each task is processed, by one of these members each."""
        self.wait_until(
            lambda: sorted(p for m in members for p in m.ready) == list(range(self.partitions)),
            "all tasks to be processed",
        )

    def committed(self) -> dict[int, int]:
        """Partition -> committed offset."""
        found = self.admin.list_group_offsets({self.group: None})[self.group]
        return {tp.partition: at.offset for tp, at in found.items() if at.offset >= 0}

    def done(self) -> bool:
        """Whether everything that was written is committed."""
        committed = self.committed()
        return all(committed.get(p, 0) >= sum(given.values()) for p, given in enumerate(self.given))

    def wait_until_done(self) -> None:
        """Everything that was written is processed and committed."""
        self.wait_until(self.done, "everything to be committed")

    # --- what comes out

    def changelog_ends(self) -> dict[int, int]:
        """Partition of the changelog -> its end."""
        with self._changelog_reader() as reader:
            return {at.partition: end for at, end in reader.end_offsets(list(reader.assignment())).items()}

    @contextmanager
    def _changelog_reader(self) -> Iterator[Any]:
        reader = KafkaConsumer(bootstrap_servers=self.bootstrap, group_id=None, auto_offset_reset="earliest")
        try:
            reader.assign([TopicPartition(self.changelog, p) for p in range(self.partitions)])
            yield reader
        finally:
            reader.close()

    def state(self) -> list[dict[bytes, bytes]]:
        """What the changelog makes of each task's state; each copy on disk that is at its end has just that.

        Members must have ended.
        """
        found: list[dict[bytes, bytes]] = [{} for _ in range(self.partitions)]
        with self._changelog_reader() as reader:
            ends = reader.end_offsets(list(reader.assignment()))
            while any(reader.position(at) < end for at, end in ends.items()):
                for at, records in reader.poll(100).items():
                    for record in records:
                        if record.value is None:
                            found[at.partition].pop(record.key, None)
                        else:
                            found[at.partition][record.key] = record.value
        for name in {member.name for member in self.members}:
            self._check_copies(self.root / name, found, {at.partition: end for at, end in ends.items()})
        return found

    def _check_copies(self, store_dir: Path, found: list[dict[bytes, bytes]], ends: dict[int, int]) -> None:
        stores = Stores()
        with StateDir(store_dir, self.group) as there:
            for task, checkpoint in there.tasks().items():
                if not isinstance(checkpoint, dict) or not checkpoint:
                    continue
                (position,) = checkpoint.values()
                if position.offset == ends[task[1]]:
                    with there.claim(task) as mine, stores.open(mine.store_path) as store:
                        assert dict(store.range()) == found[task[1]], f"{store_dir}, task {task}"

    def doubles(self) -> int:
        """Nothing is lost; returns how often a record was done twice."""
        extra = 0
        for partition, (state, given) in enumerate(zip(self.state(), self.given, strict=True)):
            records = {int(key[2:]) for key in state if key.startswith(b"r:")}
            assert records == set(range(sum(given.values()))), f"partition {partition}: records are lost"
            counts = {key[2:]: int(value) for key, value in state.items() if key.startswith(b"n:")}
            assert counts.keys() == given.keys()
            assert all(counts[key] >= given[key] for key in given), f"partition {partition}: updates are lost"
            extra += sum(counts.values()) - sum(given.values())
        return extra

    def assert_exact(self) -> None:
        """Every record was counted once."""
        assert self.doubles() == 0
