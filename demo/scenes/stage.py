"""A run in progress: topic and group, members, traffic, logs to follow, conditions to wait for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.data.events import Flight
from demo.data.replay import Replay
from demo.group.cluster import Cluster
from demo.group.fleet import Fleet
from demo.group.logs import Entry, Event, LogTail, LogWriter, RunLogs, read_log, writing
from demo.member.start import MemberConfig
from demo.scenes.watch import Watch
from demo.settings import Scene
from demo.view.live import Picture, View
from kafka_assignors.errors import BrokerError, KafkaAssignorsError

TICK = 0.1  # s between two looks at the logs
LEAVE_TIMEOUT = 30.0  # s for the members to close; stateful ones flush their stores


@dataclass(frozen=True, slots=True)
class Place:
    """The broker, topic and folder of a run."""

    scene: Scene
    strategy: str  # its wire name; empty in the failover
    bootstrap: str  # ``host:port`` of the broker
    folder: Path  # for its logs; it exists and is empty
    topic: str  # created, and deleted at the end; the group has the same name
    partitions: int  # of the topic
    check_broker: Callable[[], None]  # raises a BrokerError once the broker is known to have ended

    @property
    def title(self) -> str:
        """Name of the run in views and errors."""
        return f"the {self.scene}, {self.strategy}" if self.strategy else f"the {self.scene}"


class Stage:
    """A run in progress."""

    def __init__(self, place: Place, view: View, cluster: Cluster, steps: tuple[str, ...]) -> None:
        self.place, self.view, self.cluster = place, view, cluster
        driver = place.folder / "driver.jsonl"
        self.log = LogWriter(driver)
        self._driver_tail = LogTail(driver)
        self.watch = Watch(place.partitions)
        self._steps, self._step = steps, 0
        self._count: Callable[[], int] = lambda: 0
        self._total: int | None = None
        self._unit = ""
        self._fleet: Fleet | None = None
        self._folder = place.folder
        self._tails: dict[str, LogTail] = {}
        self._gone: set[str] = set()
        self._files: dict[str, Path] = {}
        self._traffic: Replay | None = None

    # --- the run's steps

    def begin(
        self, step: str, *, count: Callable[[], int] = lambda: 0, total: int | None = None, unit: str = ""
    ) -> None:
        """Begin a step; its progress is shown as ``count`` of ``total``."""
        self._step = self._steps.index(step)
        self._count, self._total, self._unit = count, total, unit

    def note(self, event: Event, note: str = "") -> None:
        """Write an entry to the driver's log."""
        self.log.write(Entry(time.monotonic_ns(), event, note=note))

    # --- members

    @contextmanager
    def members(self, act: str = "") -> Iterator[None]:
        """Allow members of one act to be started; at the end of the block all leave.

        Raises:
            KafkaAssignorsError: a member of an act did not leave in time; the next act needs its state.
        """
        self._folder = self.place.folder / act
        with writing(self._folder):
            self._folder.mkdir(exist_ok=True)
        with Fleet(self._folder) as fleet:
            self._fleet, self._tails, self._gone = fleet, {}, set()
            self.watch.begin()
            yield
            for member in self._tails.keys() - self._gone:
                self.leave(member)
            if not self.reached(lambda: fleet.wait(0), LEAVE_TIMEOUT) and act:
                raise KafkaAssignorsError(f"{self.place.title}: members have not left in {LEAVE_TIMEOUT:g} s")
            self._read()

    def start(self, member: str, kind: type[MemberConfig], **options: Any) -> None:
        """Start a member with the options of its kind."""
        path = self._folder / f"{member}.jsonl"
        config = kind(bootstrap=self.place.bootstrap, topic=self.place.topic, log=str(path), **options)
        self._running.start(member, config)
        self._tails[member] = LogTail(path)
        self._files[str(path.relative_to(self.place.folder).with_suffix(""))] = path

    def go(self, member: str) -> None:
        """Let a held member begin."""
        self._running.go(member)

    def leave(self, member: str) -> None:
        """Ask a member to leave."""
        self._gone.add(member)
        self._running.leave(member)

    def kill(self, member: str) -> None:
        """Kill a member with ``kill -9``.

        The driver's note is written once the member is dead, so all entries of the member are before it.
        """
        self._gone.add(member)
        self._running.kill(member)
        self.note("kill", member)
        self._read()
        self.watch.died(member)

    @property
    def _running(self) -> Fleet:
        if self._fleet is None:
            raise RuntimeError("no members are running")
        return self._fleet

    # --- traffic

    def traffic(self, due: Iterator[tuple[float, Flight]]) -> Replay:
        """Create the next traffic, for the caller to start once earlier traffic has ended."""
        self._traffic = Replay(self.place.bootstrap, self.place.topic, due, self.log)
        return self._traffic

    def all_sent(self) -> bool:
        """Whether all records are sent and acknowledged; raises the failure of the traffic."""
        if self._traffic is None or not self._traffic.finished.is_set():
            return False
        self._traffic.check()
        return True

    # --- conditions

    def tick(self) -> None:
        """Check broker, members and traffic, read and show the logs, wait a little."""
        self.place.check_broker()  # first: a member's own error ("connection refused") misleads
        if self._fleet is not None:
            self._fleet.check()
        if self._traffic is not None:
            self._traffic.check()
        self._read()
        total = self._total
        self.view.show(
            Picture(
                title=self.place.title,
                steps=self._steps,
                now=self._step,
                state=f"{self.watch.shares()}   lag {self.watch.lag():,}".strip(),
                done=0 if total is None else min(self._count(), total),
                total=total,
                unit=self._unit,
            )
        )
        time.sleep(TICK)

    def _read(self) -> None:
        for member, tail in self._tails.items():
            for entry in tail.read():
                self.watch.feed(member, entry)
        for entry in self._driver_tail.read():
            if entry.event == "sent":
                self.watch.feed_sent(entry)

    def reached(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Tick until the condition holds; False when ``timeout`` seconds passed first."""
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                return False
            self.tick()
        return True

    def until(self, condition: Callable[[], bool], what: str, timeout: float) -> None:
        """Tick until the condition holds.

        Raises:
            KafkaAssignorsError: it does not hold after ``timeout`` seconds.
        """
        if not self.reached(condition, timeout):
            raise KafkaAssignorsError(f"{self.place.title}: waited {timeout:g} s for {what}")

    def is_calm(self, seconds: float) -> bool:
        """Whether the group has not changed for some seconds."""
        return time.monotonic_ns() - self.watch.last_change >= seconds * 1e9

    def drain(self, timeout: float) -> None:
        """Wait until every record is processed and committed and every partition owned, or until ``timeout``.

        Writes an ``end`` entry; its note says if the time ran out first.

        Raises:
            KafkaAssignorsError: the broker's end offsets differ from those of the log.
        """
        topic = self.place.topic

        def drained() -> bool:
            if self.watch.lag() or None in self.watch.owners():
                return False
            committed = self.cluster.committed(topic, topic)
            return all(committed.get(p, 0) == end for p, end in self.watch.next_offsets().items())

        self.note("end", "" if self.reached(drained, timeout) else f"not drained within {timeout:g} s")
        ends, logged = self.cluster.end_offsets(topic, self.place.partitions), self.watch.next_offsets()
        if ends != logged:
            raise KafkaAssignorsError(
                f"{self.place.title}: the broker's end offsets {ends} are not the log's {logged}"
            )

    def close(self) -> None:
        """Stop the traffic, and close the driver's log."""
        if self._traffic is not None:
            self._traffic.stop()
        self.log.close()

    def logs(self, consumers: int) -> RunLogs:
        """Read all logs."""
        return RunLogs(
            partitions=self.place.partitions,
            consumers=consumers,
            driver=read_log(self.place.folder / "driver.jsonl"),
            members={name: read_log(path) for name, path in self._files.items()},
        )


@contextmanager
def staged(place: Place, view: View, steps: tuple[str, ...], *more_topics: str) -> Iterator[Stage]:
    """Create a topic and a stage; at the end delete the topic, its group and ``more_topics``."""
    with closing(Cluster(place.bootstrap)) as cluster:
        try:
            cluster.create_topic(place.topic, place.partitions)
            with closing(Stage(place, view, cluster, steps)) as stage:
                yield stage
        finally:
            with suppress(BrokerError):
                place.check_broker()
                cluster.delete([place.topic, *more_topics], [place.topic])
