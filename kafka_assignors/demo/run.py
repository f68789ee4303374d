"""One strategy's run: a fresh topic and group, the members, the replay, the churn, the drain, the checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kafka_assignors.demo.churn import first_members
from kafka_assignors.demo.cluster import Cluster
from kafka_assignors.demo.events import Flight, schedule
from kafka_assignors.demo.fleet import Fleet, client_id
from kafka_assignors.demo.logs import Entry, Event, LogTail, LogWriter, read_log
from kafka_assignors.demo.measure import RunLogs
from kafka_assignors.demo.member import MemberConfig
from kafka_assignors.demo.replay import Replay
from kafka_assignors.demo.settings import Settings
from kafka_assignors.demo.watch import Phase, Snapshot, Watch
from kafka_assignors.errors import BrokerError, KafkaAssignorsError

TICK = 0.1  # s between two looks at the logs
START_TIMEOUT = 45.0  # s until the first members share all partitions
CALM = 1.0  # s without a change of ownership and without a warm-up before the replay begins
LEAVE_TIMEOUT = 10.0  # s for the members to close when all is done


class View(Protocol):
    """What is told of the progress."""

    def update(self, snapshot: Snapshot) -> None:
        """Show the picture of this moment."""

    def step(self, text: str) -> None:
        """Say that something happened."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run happens and what it is called.

    Args:
        bootstrap: ``host:port`` of the broker.
        folder: of this run's logs; it exists and is empty.
        topic: to be made, and deleted at the end; the group has the same name.
        number: of this run, from 1.
        of: how many runs there are.
        check_broker: raises a BrokerError once the broker is known to have ended.
    """

    bootstrap: str
    folder: Path
    topic: str
    number: int
    of: int
    check_broker: Callable[[], None]


def run(strategy: str, settings: Settings, flights: Sequence[Flight], place: Place, view: View) -> RunLogs:
    """Run one strategy from the first join to the last commit.

    Returns:
        What was logged; when the backlog was not drained in time, the note of its ``end`` says so.

    Raises:
        KafkaAssignorsError: a member died by itself, the first members did not share all partitions, or the
            broker's offsets do not agree with the logs.
        BrokerError: the broker ended or refused.
    """
    cluster = Cluster(place.bootstrap)
    with closing(cluster):
        cluster.create_topic(place.topic, settings.partitions)
        try:
            one = _Run(strategy, settings, place, view)
            with closing(one.log), Fleet(place.folder) as fleet:
                one.perform(fleet, schedule(flights, settings.speed, settings.duration), cluster)
        finally:
            with suppress(BrokerError):
                place.check_broker()
                cluster.delete(place.topic, [place.topic])
    return one.logs()


class _Run:
    """The state of a run while it goes on."""

    def __init__(self, strategy: str, settings: Settings, place: Place, view: View) -> None:
        self._strategy, self._settings, self._place, self._view = strategy, settings, place, view
        self._acts = settings.acts()
        self._acted = 0
        self._watch = Watch(settings.partitions)
        self._tails: dict[str, LogTail] = {}
        self._driver = place.folder / "driver.jsonl"
        self._driver_tail = LogTail(self._driver)
        self._phase: Phase = "starting"
        self._zero = time.monotonic()
        self.log = LogWriter(self._driver)

    def perform(self, fleet: Fleet, due: Iterator[tuple[float, Flight]], cluster: Cluster) -> None:
        """Start, replay with churn, drain, check, and let the members go."""
        for member in first_members(self._settings.consumers):
            self._start(fleet, member)
        if not self._until(fleet, self._settled(), START_TIMEOUT):
            raise KafkaAssignorsError(
                f"{self._strategy}: the first members did not share all partitions within {START_TIMEOUT:g} s"
            )
        replay = Replay(self._place.bootstrap, self._place.topic, due, self.log)
        self._zero, self._phase = time.monotonic(), "replaying"
        self._note("replay")
        self._watch.replay_begins()
        replay.start()
        try:
            while not replay.finished.is_set() or self._acted < len(self._acts):
                self._act(fleet)
                self._tick(fleet)
                replay.check()
        finally:
            replay.stop()
        replay.check()
        self._note("sent_all", f"{replay.latest * 1e3:.1f}")
        self._phase = "draining"
        self._tick(fleet)  # the last acknowledgements count too
        self._view.step(f"all {sum(self._watch.next_offsets().values()):,} records sent, draining")
        timeout = self._settings.drain_timeout
        drained = self._until(fleet, self._drained(cluster), timeout)
        self._note("end", "" if drained else f"not drained within {timeout:g} s")
        self._phase = "done"
        self._check_ends(cluster)
        for member in self._tails:
            if member not in {act.member for act in self._acts if act.kind != "join"}:
                fleet.leave(member)
        fleet.wait(LEAVE_TIMEOUT)

    def logs(self) -> RunLogs:
        """Read everything that was written."""
        return RunLogs(
            partitions=self._settings.partitions,
            consumers=self._settings.consumers,
            driver=read_log(self._driver),
            members={member: read_log(self._member_log(member)) for member in self._tails},
        )

    def _member_log(self, member: str) -> Path:
        return self._place.folder / f"{member}.jsonl"

    def _note(self, event: Event, note: str = "") -> None:
        self.log.write(Entry(time.monotonic_ns(), event, note=note))

    def _start(self, fleet: Fleet, member: str) -> None:
        settings, path = self._settings, self._member_log(member)
        config = MemberConfig(
            bootstrap=self._place.bootstrap,
            topic=self._place.topic,
            group=self._place.topic,
            client_id=client_id(member),
            strategy=self._strategy,
            log=str(path),
            work_ms=settings.work_ms,
            warm_up_ms=settings.warm_up_ms,
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_ms=settings.heartbeat_ms,
            batch=settings.batch,
        )
        fleet.start(member, config)
        self._tails[member] = LogTail(path)

    def _act(self, fleet: Fleet) -> None:
        """Do the steps of the churn that are due."""
        while self._acted < len(self._acts) and time.monotonic() - self._zero >= self._acts[self._acted].at:
            act = self._acts[self._acted]
            self._acted += 1
            if act.kind == "kill":
                # The note comes after: what the member logged until it was dead is before it.
                fleet.kill(act.member)
                self._note(act.kind, act.member)
                self._watch.died(act.member)
            else:
                self._note(act.kind, act.member)
                if act.kind == "join":
                    self._start(fleet, act.member)
                else:
                    fleet.leave(act.member)
            self._view.step(f"{act.kind} {act.member}")

    def _tick(self, fleet: Fleet) -> None:
        """Look at broker, members and logs, show them, wait a little."""
        self._place.check_broker()  # first: what a member says of it ("connection refused") leads astray
        fleet.check()
        for member, tail in self._tails.items():
            for entry in tail.read():
                self._watch.feed(member, entry)
        for entry in self._driver_tail.read():
            if entry.event == "sent":
                self._watch.feed_sent(entry)
        self._view.update(
            self._watch.snapshot(
                time.monotonic_ns(),
                strategy=self._strategy,
                number=self._place.number,
                of=self._place.of,
                phase=self._phase,
                elapsed=time.monotonic() - self._zero,
                duration=self._settings.duration,
                acts=self._acts,
                acted=self._acted,
            )
        )
        time.sleep(TICK)

    def _until(self, fleet: Fleet, reached: Callable[[], bool], timeout: float) -> bool:
        """Tick until ``reached``; False when ``timeout`` seconds passed first."""
        end = time.monotonic() + timeout
        while not reached():
            if time.monotonic() > end:
                return False
            self._tick(fleet)
        return True

    def _settled(self) -> Callable[[], bool]:
        """Say whether every first member has its share and is warm, and nothing has changed for a while."""
        sharing = min(self._settings.consumers, self._settings.partitions)

        def reached() -> bool:
            owners = self._watch.owners()
            if None in owners or len(set(owners)) < sharing or not self._watch.all_open():
                return False
            return time.monotonic_ns() - self._watch.last_change >= CALM * 1e9

        return reached

    def _drained(self, cluster: Cluster) -> Callable[[], bool]:
        """Say whether everything sent is processed, committed and owned."""

        def reached() -> bool:
            if self._watch.lag() or None in self._watch.owners():
                return False
            ends = self._watch.next_offsets()
            committed = cluster.committed(self._place.topic, self._place.topic)
            return all(committed.get(partition, 0) == end for partition, end in ends.items())

        return reached

    def _check_ends(self, cluster: Cluster) -> None:
        """Compare what the log says was sent with what the broker has.

        Raises:
            KafkaAssignorsError: they differ.
        """
        ends = cluster.end_offsets(self._place.topic, self._settings.partitions)
        logged = self._watch.next_offsets()
        if ends != logged:
            raise KafkaAssignorsError(
                f"{self._strategy}: the broker's end offsets {ends} are not the log's {logged}"
            )
