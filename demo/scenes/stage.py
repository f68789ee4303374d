"""What scenes that compare strategies need: members, logs to follow, a view to tell, things to wait for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from demo.figures.measure import RunLogs
from demo.group.cluster import Cluster
from demo.group.fleet import Fleet
from demo.group.logs import Entry, Event, LogTail, LogWriter, read_log
from demo.group.member import MemberConfig
from demo.group.work import Work
from demo.settings import Compared, Settings
from demo.view.watch import Phase, RunView, Snapshot, Watch
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.simulation.churn import Act, client_id

TICK = 0.1  # s between two looks at the logs
START_TIMEOUT = 45.0  # s until the first members share all partitions
CALM = 0.5  # s without a change of ownership and without a warm-up before the work begins
LEAVE_TIMEOUT = 10.0  # s for the members to close when all is done


class View(Protocol):
    """What is told of the progress."""

    def update(self, snapshot: Snapshot) -> None:
        """Show the picture of this moment."""

    def step(self, text: str) -> None:
        """Say that something happened."""

    def work(self, work: Work) -> None:
        """Show how far a long job is."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run happens and what it is called.

    Args:
        scene: which.
        strategy: its wire name.
        bootstrap: ``host:port`` of the broker.
        folder: of this run's logs; it exists and is empty.
        topic: to be made, and deleted at the end; the group has the same name.
        number: of this run in its scene, from 1.
        of: how many runs the scene has.
        check_broker: raises a BrokerError once the broker is known to have ended.
    """

    scene: Compared
    strategy: str
    bootstrap: str
    folder: Path
    topic: str
    number: int
    of: int
    check_broker: Callable[[], None]


def ticked_until(reached: Callable[[], bool], timeout: float, tick: Callable[[], None]) -> bool:
    """Tick until ``reached``; False when ``timeout`` seconds passed first."""
    end = time.monotonic() + timeout
    while not reached():
        if time.monotonic() > end:
            return False
        tick()
    return True


class Stage:
    """One run while it goes on.

    Args:
        settings: what is asked.
        place: where.
        view: is told.
        cluster: the broker.
        fleet: the members.
    """

    def __init__(self, settings: Settings, place: Place, view: View, cluster: Cluster, fleet: Fleet) -> None:
        self.settings, self.place, self.view, self.fleet = settings, place, view, fleet
        self._cluster = cluster
        self._tails: dict[str, LogTail] = {}
        driver = driver_log(place)
        self.log = LogWriter(driver)
        self._driver_tail = LogTail(driver)
        self.watch = Watch(settings.partitions)
        self.phase: Phase = "starting"
        self.zero = time.monotonic()
        self.duration = settings.duration  # s; see RunView
        self.to_send = 0
        self.acts: tuple[Act, ...] = ()
        self.acted = 0

    @property
    def elapsed(self) -> float:
        """Seconds since the work began."""
        return time.monotonic() - self.zero

    def note(self, event: Event, note: str = "") -> None:
        """Write an entry to the driver's log."""
        self.log.write(Entry(time.monotonic_ns(), event, note=note))

    def start(self, member: str, *, held: bool = False) -> None:
        """Start a member."""
        settings, path = self.settings, member_log(self.place, member)
        config = MemberConfig(
            bootstrap=self.place.bootstrap,
            topic=self.place.topic,
            group=self.place.topic,
            client_id=client_id(member),
            strategy=self.place.strategy,
            log=str(path),
            work_ms=settings.work_ms,
            warm_up_ms=settings.warm_up_ms,
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_ms=settings.heartbeat_ms,
            batch=settings.batch,
            held=held,
        )
        self.fleet.start(member, config)
        self._tails[member] = LogTail(path)

    def tick(self) -> None:
        """Look at broker, members and logs, show them, wait a little."""
        self.place.check_broker()  # first: what a member says of it ("connection refused") leads astray
        self.fleet.check()
        for member, tail in self._tails.items():
            for entry in tail.read():
                self.watch.feed(member, entry)
        for entry in self._driver_tail.read():
            if entry.event == "sent":
                self.watch.feed_sent(entry)
        place = self.place
        run = RunView(
            scene=place.scene,
            strategy=place.strategy,
            number=place.number,
            of=place.of,
            phase=self.phase,
            elapsed=self.elapsed,
            duration=self.duration,
            to_send=self.to_send,
            acts=self.acts,
            acted=self.acted,
        )
        self.view.update(self.watch.snapshot(time.monotonic_ns(), run))
        time.sleep(TICK)

    def _until(self, reached: Callable[[], bool], timeout: float) -> bool:
        """Tick until ``reached``; False when ``timeout`` seconds passed first."""
        return ticked_until(reached, timeout, self.tick)

    def settle(self) -> None:
        """Wait until every first member has its share and is warm, and nothing has changed for a while.

        Raises:
            KafkaAssignorsError: it takes too long.
        """
        sharing = min(self.settings.consumers, self.settings.partitions)

        def reached() -> bool:
            owners = self.watch.owners()
            if None in owners or len(set(owners)) < sharing or not self.watch.all_open():
                return False
            return time.monotonic_ns() - self.watch.last_change >= CALM * 1e9

        if not self._until(reached, START_TIMEOUT):
            raise KafkaAssignorsError(
                f"{self.place.strategy}: the first members did not share all partitions within "
                f"{START_TIMEOUT:g} s"
            )

    def drain(self, timeout: float) -> None:
        """Wait until everything sent is processed, committed and owned, and note the end, or that it failed.

        Raises:
            KafkaAssignorsError: what the log says was sent is not what the broker has.
        """
        topic = self.place.topic

        def reached() -> bool:
            if self.watch.lag() or None in self.watch.owners():
                return False
            committed = self._cluster.committed(topic, topic)
            return all(committed.get(p, 0) == end for p, end in self.watch.next_offsets().items())

        drained = self._until(reached, timeout)
        self.note("end", "" if drained else f"not drained within {timeout:g} s")
        self.phase = "done"
        ends = self._cluster.end_offsets(topic, self.settings.partitions)
        logged = self.watch.next_offsets()
        if ends != logged:
            raise KafkaAssignorsError(
                f"{self.place.strategy}: the broker's end offsets {ends} are not the log's {logged}"
            )

    def dismiss(self) -> None:
        """Let all members go that are not gone already."""
        for member in self._tails:
            if member not in {act.member for act in self.acts if act.kind != "join"}:
                self.fleet.leave(member)
        self.fleet.wait(LEAVE_TIMEOUT)

    def logs(self) -> RunLogs:
        """Read everything that was written."""
        return RunLogs(
            partitions=self.settings.partitions,
            consumers=self.settings.consumers,
            driver=read_log(driver_log(self.place)),
            members={member: read_log(member_log(self.place, member)) for member in self._tails},
        )


def driver_log(place: Place) -> Path:
    """Name the driver's log."""
    return place.folder / "driver.jsonl"


def member_log(place: Place, member: str) -> Path:
    """Name a member's log."""
    return place.folder / f"{member}.jsonl"
