"""Plays the faults of a seed to all groups at once, and judges what they did."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

from tests.integration.chaos.crowd import SESSION_S, Crowd
from tests.integration.chaos.fragile import FragileBroker
from tests.integration.chaos.ledger import Place
from tests.integration.chaos.plain import Family, PlainCrowd
from tests.integration.chaos.schedule import Fault, Step, schedule
from tests.integration.chaos.stateful import StatefulCrowd
from tests.integration.proxy import Proxy
from tests.support.waiting import until

SLOTS = 3
PATIENCE_S = 150.0
_CALM_S = 2.0  # an owner that stays for so many heartbeats stays
_EVERY_S = 0.2
_KEYS = 17
_SLOW_S = 0.2

Look = Callable[[], Sequence[str]]


class Producing:
    """Writes a record to each partition of some topics every so often, over all faults.

    Attributes:
        acknowledged: the records that the broker took.
    """

    def __init__(self, bootstrap: str, topics: Collection[str]) -> None:
        self.acknowledged: set[Place] = set()
        self._topics = topics
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            enable_idempotence=False,  # a record more in the log is no matter here
            delivery_timeout_ms=600_000,
            metadata_max_age_ms=1000,
            reconnect_backoff_max_ms=1000,
            max_block_ms=1000,
        )
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Producing:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._producer.close(timeout=0)

    def end(self) -> None:
        """Write no more; returns when all is acknowledged."""
        self._stop()
        self._producer.flush(timeout=PATIENCE_S)

    def _stop(self) -> None:
        self._enough.set()
        self._thread.join()

    def _run(self) -> None:
        turn = 0
        while not self._enough.wait(_EVERY_S):
            turn += 1
            for topic in self._topics:
                with suppress(KafkaError):  # no metadata: the next turn tries again
                    self._write(topic, b"k%d" % (turn % _KEYS))

    def _write(self, topic: str, key: bytes) -> None:
        for number in self._producer.partitions_for(topic) or ():
            self._producer.send(topic, key=key, value=b"x", partition=number).add_callback(self._note)

    def _note(self, taken: Any) -> None:
        self.acknowledged.add(Place(taken.topic, taken.partition, taken.offset))


class Director:
    """Has each step happen, and end, in its time."""

    def __init__(self, broker: FragileBroker, crowds: Sequence[Crowd]) -> None:
        self._broker = broker
        self._crowds = crowds
        self._began = time.monotonic()
        self._to_do: list[tuple[float, int, Callable[[], object]]] = []

    def play(self, steps: Iterable[Step]) -> None:
        """Play all; each fault is over when this returns."""
        for step in steps:
            self._at(step.at_s, partial(self._play, step))
        while self._to_do:
            at_s, _, act = heapq.heappop(self._to_do)
            until(lambda: time.monotonic() >= self._began + at_s, f"second {at_s:.1f}")  # noqa: B023
            assert not (wrong := _all(self._crowds, Crowd.wrong)), "\n".join(wrong)
            act()
        self._broker.wait_ready()

    def _at(self, at_s: float, act: Callable[[], object]) -> None:
        heapq.heappush(self._to_do, (at_s, len(self._to_do), act))

    def _play(self, step: Step) -> None:
        undo = self._begin(step)
        if undo is not None:
            self._at(step.at_s + step.for_s, undo)

    def _begin(self, step: Step) -> Callable[[], object] | None:
        """Let a fault begin; return what ends it."""
        if step.fault is Fault.BROKER:
            self._broker.kill()
            return self._broker.start
        if step.slot is None:
            self._each(lambda crowd: crowd.grow())
            return None
        if step.fault in _DOORS:
            door = self._broker.doors[step.slot]
            _DOORS[step.fault](door)
            return door.reset
        slot = step.slot
        self._each(lambda crowd: _MEMBERS[step.fault](crowd, slot))
        return partial(self._each, lambda crowd: crowd.go_on(slot)) if step.for_s else None

    def _each(self, act: Callable[[Crowd], object]) -> None:
        for crowd in self._crowds:
            act(crowd)


def _set_mode(mode: str, door: Proxy) -> None:
    door.mode = mode  # type: ignore[assignment]


def _slow_down(door: Proxy) -> None:
    door.delay_s = _SLOW_S


_DOORS: dict[Fault, Callable[[Proxy], None]] = {
    Fault.SLOW: _slow_down,
    Fault.SILENT: partial(_set_mode, "stall"),
    Fault.CUT: partial(_set_mode, "cut"),
    Fault.SHUT: partial(_set_mode, "shut"),
}
_MEMBERS: dict[Fault, Callable[[Crowd, int], None]] = {
    Fault.KILL: lambda crowd, slot: crowd.kill(slot),
    Fault.SHORT_STOP: lambda crowd, slot: crowd.stop(slot),
    Fault.LONG_STOP: lambda crowd, slot: crowd.stop(slot),
    Fault.LEAVE: lambda crowd, slot: crowd.leave(slot),
    Fault.JOIN: lambda crowd, slot: crowd.join(slot),
}


def play(seed: int, root: Path, families: Sequence[Family], *, faults_s: float) -> tuple[Step, ...]:
    """Run a group of each family, and one of stateful consumers, through the faults of a seed.

    Args:
        seed: of the schedule.
        root: for the broker's data, ledgers, logs and stores.
        families: of the plain groups.
        faults_s: how long faults come.

    Returns:
        What was played.

    Raises:
        AssertionError: something was lost, or never came to rest.
    """
    steps = schedule(seed, faults_s, slots=SLOTS, session_s=SESSION_S)
    print(f"seed {seed}; ledgers and logs are in {root}", *steps, sep="\n")
    with ExitStack() as stack:
        broker = stack.enter_context(FragileBroker(root / "broker", SLOTS))
        crowds: list[Crowd] = [
            *(stack.enter_context(PlainCrowd(family, broker, root)) for family in families),
            stack.enter_context(StatefulCrowd(broker, root)),
        ]
        unsettled = partial(_all, crowds, Crowd.unsettled)
        for crowd in crowds:
            for slot in range(SLOTS):
                crowd.join(slot)
        _wait(unsettled, "the groups to settle", calm_s=_CALM_S)
        with Producing(broker.bootstrap, [crowd.topic for crowd in crowds]) as producing:
            Director(broker, crowds).play(steps)
            _wait(unsettled, "the groups to settle", calm_s=_CALM_S)
            producing.end()
        _wait(partial(_all, crowds, Crowd.lagging), "all records to be committed")
        for crowd in crowds:
            for slot in list(crowd.running):
                crowd.leave(slot)
        _wait(partial(_all, crowds, Crowd.still_leaving), "all members to leave")
        complaints = [*_all(crowds, Crowd.wrong)]
        for crowd in crowds:
            mine = {place for place in producing.acknowledged if place.topic == crowd.topic}
            assert mine, f"{crowd.name}: no record was acknowledged"
            complaints += crowd.complaints(mine)
        assert not complaints, "\n".join(complaints)
    return steps


def _all(crowds: Iterable[Crowd], look: Callable[[Crowd], Sequence[str]]) -> list[str]:
    return [complaint for crowd in crowds for complaint in look(crowd)]


def _wait(look: Look, what: str, *, calm_s: float = 0.0) -> None:
    """Wait until there is nothing to complain of, and has been nothing for so long."""
    since: float | None = None

    def calm() -> bool:
        nonlocal since
        if look():
            since = None
            return False
        since = since or time.monotonic()
        return time.monotonic() - since >= calm_s

    try:
        until(calm, what, patience_s=PATIENCE_S, pause_s=0.5)
    except AssertionError as error:
        raise AssertionError("\n".join([str(error), *look()])) from None
