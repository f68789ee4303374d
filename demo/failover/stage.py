"""The failover scene's members and their logs, the traffic, and conditions to wait for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from demo.data.events import Flight
from demo.data.replay import Replay
from demo.failover.acts import RATE, TASKS, Act, ActName, changelog_of
from demo.failover.flow import Ledger, steady
from demo.failover.member import MemberConfig
from demo.failover.timeline import Logs
from demo.failover.watch import GroupWatch
from demo.group.cluster import Cluster
from demo.group.fleet import Fleet
from demo.group.logs import Entry, Event, LogTail, LogWriter, read_log, writing
from demo.group.work import Work
from demo.scenes.stage import TICK, View, ticked_until
from kafka_assignors.errors import KafkaAssignorsError

LEAVE_TIMEOUT = 30.0  # s; stores are brought to disk
MEMBER = "demo.failover.member"
STEPS = (
    "count the flights",
    "cold: one joins",
    "cold: one is killed",
    "start again, with standbys",
    "warm: one joins",
    "warm: one is killed",
    "drain",
    "compare the counts",
)


@dataclass(frozen=True, slots=True)
class Ground:
    """Where the scene happens.

    Args:
        bootstrap: ``host:port`` of the broker.
        folder: of its logs; it exists and is empty.
        topic: to be made, and deleted at the end; the group has the same name.
        session_timeout_ms: after so long without a heartbeat the broker takes a member for dead.
        check_broker: raises a BrokerError once the broker is known to have ended.
    """

    bootstrap: str
    folder: Path
    topic: str
    session_timeout_ms: int
    check_broker: Callable[[], None]

    @property
    def state(self) -> Path:
        """Where the members' state lies."""
        return self.folder / "state"


class FailoverStage:
    """The scene while it goes on.

    Args:
        ground: where.
        view: is told.
        cluster: the broker.
    """

    def __init__(self, ground: Ground, view: View, cluster: Cluster) -> None:
        self.ground, self.view, self.cluster = ground, view, cluster
        driver = ground.folder / "driver.jsonl"
        with writing(driver):
            driver.touch()
        self.log = LogWriter(driver)
        self._driver_tail = LogTail(driver)
        self.watch = GroupWatch(TASKS)
        self.ledger = Ledger()
        self.step = 0
        self.total: int | None = None  # records to count, while that is what is waited for
        self._act: Act | None = None
        self._fleet: Fleet | None = None
        self._tails: dict[str, LogTail] = {}
        self._files: dict[tuple[ActName, str], Path] = {}
        self._traffic: Replay | None = None
        self._over = False

    # --- what is done

    def note(self, event: Event, note: str = "") -> None:
        """Write an entry to the driver's log."""
        self.log.write(Entry(time.monotonic_ns(), event, note=note))

    def say(self, step: str, text: str) -> None:
        """A step begins."""
        self.step = STEPS.index(step)
        self.view.step(f"failover: {text}")

    @contextmanager
    def act(self, act: Act) -> Iterator[None]:
        """Members of one act may be started within; all have left at its end."""
        folder = self.ground.folder / act.name
        with writing(folder):
            folder.mkdir()
        with Fleet(folder, MEMBER) as fleet:
            self._act, self._fleet, self._tails = act, fleet, {}
            self.watch.begin()
            self.note("act", act.name)
            yield
            for member in self._tails:
                fleet.leave(member)
            self.until(lambda: fleet.wait(0), "the members to leave", LEAVE_TIMEOUT)
            self._read()

    def start(self, member: str) -> None:
        """Start a member."""
        act, fleet = self._now()
        path = self.ground.folder / act.name / f"{member}.jsonl"
        fleet.start(
            member,
            MemberConfig(
                bootstrap=self.ground.bootstrap,
                topic=self.ground.topic,
                group=self.ground.topic,
                client_id=member,
                log=str(path),
                store_dir=str(self.ground.state / act.store_dir(member)),
                standbys=act.standbys,
                recovery_lag=act.recovery_lag,
                warmups=act.warmups,
                session_timeout_ms=self.ground.session_timeout_ms,
            ),
        )
        self._tails[member] = LogTail(path)
        self._files[act.name, member] = path

    def kill(self, member: str) -> None:
        """``kill -9``."""
        _, fleet = self._now()
        fleet.kill(member)
        self._read()  # what it logged until then
        self.watch.died(member)
        del self._tails[member]

    def note_changelog(self) -> None:
        """Write down how much there is to restore."""
        changelog = changelog_of(self.ground.topic)
        for task, end in sorted(self.cluster.end_offsets(changelog, TASKS).items()):
            self.log.write(Entry(time.monotonic_ns(), "changelog", (task,), last=end))

    def changelog_bytes(self) -> int:
        """What the changelog takes on the broker's disk."""
        return self.cluster.log_bytes(changelog_of(self.ground.topic))

    def committed(self) -> dict[int, int]:
        """The group's committed offsets, per partition."""
        return self.cluster.committed(self.ground.topic, self.ground.topic)

    # --- what is sent

    def send(self, due: Iterator[tuple[float, Flight]]) -> None:
        """Begin to send; what was sent before is."""
        self._traffic = Replay(self.ground.bootstrap, self.ground.topic, self.ledger.noted(due), self.log)
        self._traffic.start()

    def send_steadily(self, flights: Sequence[Flight]) -> None:
        """Begin the traffic that goes on."""
        self.send(steady(flights, TASKS, RATE, lambda: self._over))

    def stop_sending(self) -> None:
        """No more is sent, and all that was is acknowledged."""
        self._over = True
        self.until(self.all_sent, "the last records to be acknowledged", 30.0)

    def all_sent(self) -> bool:
        """Whether what was to be sent is, and acknowledged."""
        return self._traffic is not None and self._traffic.finished.is_set()

    # --- what is waited for

    def tick(self) -> None:
        """Look at broker, members and logs, show them, wait a little.

        Raises:
            BrokerError: the broker has ended, or a record was not acknowledged.
            KafkaAssignorsError: a member ended that should run.
        """
        self.ground.check_broker()  # first: what a member says of it leads astray
        if self._fleet is not None:
            self._fleet.check()
        if self._traffic is not None:
            self._traffic.check()
        self._read()
        lag = self.watch.lag()
        said = f"{self.watch.shares()}   lag {lag:,}"
        done = min(self.watch.processed, self.total) if self.total is not None else 0
        self.view.work(Work("the failover", STEPS, self.step, said, done, self.total))
        time.sleep(TICK)

    def reached(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Tick until the condition holds; False when so many seconds passed first."""
        return ticked_until(condition, timeout, self.tick)

    def until(self, condition: Callable[[], bool], what: str, timeout: float) -> None:
        """Tick until the condition holds.

        Raises:
            KafkaAssignorsError: it takes too long.
        """
        if not self.reached(condition, timeout):
            raise KafkaAssignorsError(f"failover: waited {timeout:g} s for {what}")

    def close(self) -> None:
        """Stop what still runs."""
        self._over = True
        if self._traffic is not None:
            self._traffic.stop()
        self.log.close()

    def logs(self) -> Logs:
        """Read everything that was written."""
        return Logs(
            tasks=TASKS,
            driver=read_log(self.ground.folder / "driver.jsonl"),
            members={name: read_log(path) for name, path in self._files.items()},
        )

    def _read(self) -> None:
        for member, tail in self._tails.items():
            for entry in tail.read():
                self.watch.feed(member, entry)
        for entry in self._driver_tail.read():
            if entry.event == "sent":
                self.watch.feed_sent(entry)

    def _now(self) -> tuple[Act, Fleet]:
        if self._act is None or self._fleet is None:
            raise RuntimeError("no act goes on")
        return self._act, self._fleet
