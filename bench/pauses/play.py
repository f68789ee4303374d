"""One run of the benchmark of pauses: a group through three events.

Four members (processes) share 48 partitions that get records all the time.  A fifth member joins, then one
member leaves, then one is killed.  Each client plays the same events: ``range`` and ``cooperative-sticky``
with kafka-python's ``KafkaConsumer``, ``cooperative-sticky`` with `ContinuousConsumer`, and if there is a
JDK, Java's consumer with its ``CooperativeStickyAssignor``.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic, OffsetSpec
from kafka.structs import TopicPartition

from bench.javapeer import compiled
from bench.pauses.figures import Delivery, Figures, Ownership, missing, owned_twice, pauses
from bench.programs import ROOT

PYTHON = ("range", "cooperative", "continuous")
JAVA = "java"
MEMBERS = 4
PATIENCE_S = 180.0
AUTO_COMMIT_S = 5.0  # all clients' default
GOLDEN = 0.618  # multiples of it, modulo 1, are spread evenly
MAX_RECORDS = 100_000  # of a batch, which holds all records that arrived while the slow member was busy
SOURCE = Path(__file__).parents[1] / "java" / "PausesMember.java"


@dataclass(frozen=True, slots=True)
class Scene:
    """The settings of a run.

    Attributes:
        slow_s: seconds that one member takes for a batch; 0: no member is slow.
        seed: of the moments of the events, which are the same for each client.  The kills of seeds 0, 1, 2
            and so on are spread evenly over the interval of auto-commit: the last commit decides duplicates.
    """

    slow_s: float = 0.0
    partitions: int = 48
    rate: int = 20
    session_ms: int = 10_000
    heartbeat_ms: int = 3000
    seed: int = 0

    @property
    def quiet_s(self) -> float:
        """Seconds without a change after which a group has settled."""
        return self.heartbeat_ms / 1000 + 1


Command = Callable[[Scene, str, float], list[str | Path]]
"""Scene, topic (also the group's name), seconds a batch -> the command line of a member."""


class Member:
    """A member's process, and the partitions it owns.  It joins on the order ``go``."""

    def __init__(
        self, name: str, command: Sequence[str | Path], note: Callable[[Delivery | Ownership], None]
    ) -> None:
        self.name = name
        self.owned: frozenset[int] = frozenset()
        self._note = note
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def go(self) -> Member:
        self._tell("go")
        return self

    def close(self) -> None:
        """Ask the member to leave the group and end, without waiting."""
        self._tell("close")

    def kill(self) -> None:
        """End the process, as ``kill -9`` does, and count no partitions for it."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self.disown()

    def freeze(self) -> None:
        """Suspend the process (SIGSTOP); other members may own its partitions when it continues."""
        self._process.send_signal(signal.SIGSTOP)
        self.disown()

    def disown(self) -> None:
        """Count no partitions for a member that cannot report their loss."""
        self._change(time.monotonic(), "R", self.owned)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """Kill the process and close its pipes."""
        self._process.kill()
        self._process.communicate()
        self._reader.join()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def _tell(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def _change(self, at: float, letter: str, partitions: frozenset[int]) -> None:
        gained = letter == "A"
        self.owned = self.owned | partitions if gained else self.owned - partitions
        self._note(Ownership(at, self.name, partitions, gained, is_lost=letter == "L"))

    def _read(self) -> None:
        for line in self._process.stdout or ():
            letter, ns, *rest = line.split()
            time_s = int(ns) / 1e9
            if letter == "D":
                for word in rest:
                    partition, _, span = word.partition(":")
                    first, _, last = span.partition("-")
                    self._note(Delivery(time_s, self.name, int(partition), int(first), int(last)))
            elif letter in "ARL":
                partitions = frozenset(int(word) for word in rest[0].split(",")) if rest else frozenset()
                self._change(time_s, letter, partitions)


@dataclass
class Group:
    """The members of one run, and their reports.

    Attributes:
        figures: event -> its figures; ``calm``: before the first event.
        fault: lost records, or partitions with two owners, as text; empty: no fault.
    """

    topic: str
    scene: Scene
    members: list[Member] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    changes: list[Ownership] = field(default_factory=list)
    figures: dict[str, Figures] = field(default_factory=dict)
    fault: str = ""

    def note(self, fact: Delivery | Ownership) -> None:
        """Store a member's report; runs in the thread that reads from the member."""
        (self.deliveries if isinstance(fact, Delivery) else self.changes).append(fact)  # type: ignore[arg-type]

    def measure(self, begin: float, slow: frozenset[str]) -> Figures:
        """Return the figures since ``begin``."""
        return pauses(self.deliveries, self.changes, begin, time.monotonic(), slow)

    def settle(self, begin: float, members: int) -> None:
        """Wait until this many members own all partitions and nothing has changed for a while."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            time.sleep(0.1)
            present = [member.owned for member in self.members if not member.ended]
            changed = max((change.at for change in self.changes), default=begin)
            if (
                sorted(p for owned in present for p in owned) == list(range(self.scene.partitions))
                and sum(map(bool, present)) == members
                and time.monotonic() - max(changed, begin) > self.scene.quiet_s
            ):
                return
        owned = {member.name: sorted(member.owned) for member in self.members}
        raise TimeoutError(f"the group did not settle within {PATIENCE_S:.0f} s: {owned}")


@contextmanager
def traffic(bootstrap: str, topic: str, scene: Scene) -> Iterator[None]:
    """Write to all partitions of a topic, at the scene's rate."""
    stop = threading.Event()
    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=2, acks=1)

    def write() -> None:
        due = time.monotonic()
        while not stop.is_set():
            for partition in range(scene.partitions):
                producer.send(topic, b"x" * 20, partition=partition)
            due += 1 / scene.rate
            stop.wait(max(0.0, due - time.monotonic()))

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        producer.flush()
        producer.close()


def play(bootstrap: str, kind: str, command: Command, scene: Scene) -> Group:
    """Play the events for one kind of client.  The group has the figures, and a fault if there was one."""
    topic = f"{kind}-{uuid.uuid4().hex[:8]}"
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(topic, num_partitions=scene.partitions, replication_factor=1)])
    group = Group(topic, scene)
    slow = frozenset({"m1"} if scene.slow_s else ())

    # Start all processes first, because a starting process would slow down the others.
    prepared = [
        Member(name, command(scene, topic, scene.slow_s if name in slow else 0.0), group.note)
        for name in (f"m{number}" for number in range(MEMBERS + 1))
    ]

    def join() -> None:
        group.members.append(prepared[len(group.members)].go())

    def leave() -> None:
        group.members[2].close()

    def kill() -> None:
        group.members[3].kill()

    moments = random.Random(scene.seed)
    try:
        for count in range(1, MEMBERS + 1):
            join()
            if count == 1:  # so that the first member leads
                group.settle(time.monotonic(), 1)
        group.settle(time.monotonic(), MEMBERS)
        with traffic(bootstrap, topic, scene):
            begin = time.monotonic()
            group.settle(begin, MEMBERS)
            group.figures["calm"] = group.measure(begin + 2, slow)  # after the first records
            for act, left in ((join, MEMBERS + 1), (leave, MEMBERS), (kill, MEMBERS - 1)):
                moment_s = moments.uniform(0, scene.heartbeat_ms / 1000)  # anywhere between two heartbeats
                if act is kill:
                    moment_s = scene.seed * GOLDEN % 1 * AUTO_COMMIT_S
                time.sleep(moment_s)
                begin = time.monotonic()
                act()
                group.settle(begin + (scene.session_ms / 1000 if act is kill else 0), left)
                group.figures[act.__name__] = group.measure(begin - 0.5, slow)
        group.fault = _fault(admin, group)
    finally:
        for member in prepared:
            member.end()
        admin.delete_topics([topic])
        admin.close()
    return group


def _fault(admin: KafkaAdminClient, group: Group) -> str:
    """Return a fault, empty if there is none: lost records, or partitions that two members owned.

    Members have some seconds to deliver the last records.
    """
    partitions = [TopicPartition(group.topic, number) for number in range(group.scene.partitions)]
    ends = admin.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
    until = time.monotonic() + 10 + 2 * group.scene.slow_s
    while lost := missing(group.deliveries, {tp.partition: end.offset for tp, end in ends.items()}):
        if time.monotonic() > until:
            return f"{lost} records were not delivered"
        time.sleep(0.2)
    twice = owned_twice(group.changes)
    history = [change for change in group.changes if change.partitions & set(twice[:1])]
    return f"partitions with two owners: {twice}; the changes of the first: {history}" if twice else ""


def commands(bootstrap: str, kinds: Sequence[str], folder: Path) -> dict[str, Command]:
    """Return a function for each kind of member that makes its command line.

    Raises:
        NoJavaError: the kinds include Java, and there is no JDK.
    """

    def python(kind: str) -> Command:
        def command(scene: Scene, topic: str, batch_s: float) -> list[str | Path]:
            config = {
                "bootstrap_servers": bootstrap,
                "group_id": topic,
                "session_timeout_ms": scene.session_ms,
                "heartbeat_interval_ms": scene.heartbeat_ms,
                "auto_offset_reset": "earliest",
                "max_poll_records": MAX_RECORDS,
            }
            order = {"kind": kind, "topic": topic, "batch_s": batch_s, "config": config}
            return [sys.executable, "-m", "bench.pauses.member", json.dumps(order)]

        return command

    command_of = {kind: python(kind) for kind in kinds if kind != JAVA}
    if JAVA in kinds:
        java, class_path = compiled(folder, SOURCE)

        def command(scene: Scene, topic: str, batch_s: float) -> list[str | Path]:
            jvm = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", class_path, SOURCE.stem]
            numbers = (scene.session_ms, scene.heartbeat_ms, MAX_RECORDS, batch_s)
            return [java, *jvm, bootstrap, topic, *map(str, numbers)]

        command_of[JAVA] = command
    return command_of
