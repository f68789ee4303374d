"""Applies the faults of a seed to all groups at once, then checks the groups."""

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
from kafka.errors import KafkaError, KafkaTimeoutError

from tests.integration.chaos.event_log import Position
from tests.integration.chaos.group import SESSION_S, ChaosGroup
from tests.integration.chaos.plain_groups import GroupConfig, PlainChaosGroup
from tests.integration.chaos.restartable_broker import RestartableBroker
from tests.integration.chaos.schedule import Fault, Step, schedule
from tests.integration.chaos.stateful_group import StatefulChaosGroup
from tests.integration.proxy import Proxy
from tests.support.waiting import until

SLOTS = 3
PATIENCE_S = 150.0
_CALM_S = 2.0  # several heartbeats without a rebalance
_EVERY_S = 0.2
_KEYS = 17
_SLOW_S = 0.2

Check = Callable[[], Sequence[str]]


class BackgroundProducer:
    """Writes a record to each partition of the topics every 0.2 s, during all faults.

    Attributes:
        acknowledged: the records that the broker acknowledged.
    """

    def __init__(self, bootstrap: str, topics: Collection[str]) -> None:
        self.acknowledged: set[Position] = set()
        self._topics = topics
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            enable_idempotence=False,  # duplicate records do not matter here
            delivery_timeout_ms=600_000,
            metadata_max_age_ms=1000,
            reconnect_backoff_max_ms=1000,
            max_block_ms=1000,
        )
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> BackgroundProducer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        try:
            self._producer.close(timeout=0)
        except KafkaTimeoutError:  # records may be pending after a failure, which must be shown
            # close() gave up before it ended the thread, which would try to connect in later tests.
            self._producer._sender.force_close()
            self._producer._sender.join(PATIENCE_S)

    def end(self) -> None:
        """Stop writing; returns when all records are acknowledged."""
        self._stop()
        self._producer.flush(timeout=PATIENCE_S)

    def _stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        turn = 0
        while not self._stopped.wait(_EVERY_S):
            turn += 1
            for topic in self._topics:
                with suppress(KafkaError):  # no metadata: the next turn tries again
                    self._write(topic, b"k%d" % (turn % _KEYS))

    def _write(self, topic: str, key: bytes) -> None:
        for number in self._producer.partitions_for(topic) or ():
            self._producer.send(topic, key=key, value=b"x", partition=number).add_callback(self._add)

    def _add(self, record: Any) -> None:
        self.acknowledged.add(Position(record.topic, record.partition, record.offset))


class FaultInjector:
    """Begins and ends each fault at its time."""

    def __init__(self, broker: RestartableBroker, groups: Sequence[ChaosGroup]) -> None:
        self._broker = broker
        self._groups = groups
        self._began = time.monotonic()
        self._queue: list[tuple[float, int, Callable[[], object]]] = []

    def run(self, steps: Iterable[Step]) -> None:
        """Run all steps; each fault is over when this returns."""
        for step in steps:
            self._at(step.at_s, partial(self._run_step, step))
        while self._queue:
            at_s, _, act = heapq.heappop(self._queue)
            until(lambda: time.monotonic() >= self._began + at_s, f"second {at_s:.1f}")  # noqa: B023
            assert not (ended := _all(self._groups, ChaosGroup.unexpected_ends)), "\n".join(ended)
            act()
        self._broker.wait_ready()

    def _at(self, at_s: float, act: Callable[[], object]) -> None:
        heapq.heappush(self._queue, (at_s, len(self._queue), act))

    def _run_step(self, step: Step) -> None:
        undo = self._begin(step)
        if undo is not None:
            self._at(step.at_s + step.for_s, undo)

    def _begin(self, step: Step) -> Callable[[], object] | None:
        """Begin a fault; return the function that ends it."""
        if step.fault is Fault.BROKER:
            self._broker.kill()
            return self._broker.start
        if step.slot is None:
            self._each(lambda group: group.grow())
            return None
        if step.fault in _PROXY_ACTIONS:
            proxy = self._broker.proxies[step.slot]
            _PROXY_ACTIONS[step.fault](proxy)
            return proxy.reset
        slot = step.slot
        self._each(lambda group: _MEMBER_ACTIONS[step.fault](group, slot))
        return partial(self._each, lambda group: group.resume(slot)) if step.for_s else None

    def _each(self, act: Callable[[ChaosGroup], object]) -> None:
        for group in self._groups:
            act(group)


def _set_mode(mode: str, proxy: Proxy) -> None:
    proxy.mode = mode  # type: ignore[assignment]


def _slow_down(proxy: Proxy) -> None:
    proxy.delay_s = _SLOW_S


_PROXY_ACTIONS: dict[Fault, Callable[[Proxy], None]] = {
    Fault.SLOW: _slow_down,
    Fault.SILENT: partial(_set_mode, "stall"),
    Fault.CUT: partial(_set_mode, "cut"),
    Fault.SHUT: partial(_set_mode, "shut"),
}
_MEMBER_ACTIONS: dict[Fault, Callable[[ChaosGroup, int], None]] = {
    Fault.KILL: lambda group, slot: group.kill(slot),
    Fault.SHORT_STOP: lambda group, slot: group.suspend(slot),
    Fault.LONG_STOP: lambda group, slot: group.suspend(slot),
    Fault.LEAVE: lambda group, slot: group.leave(slot),
    Fault.JOIN: lambda group, slot: group.join(slot),
}


def run_chaos(seed: int, root: Path, configs: Sequence[GroupConfig], *, faults_s: float) -> tuple[Step, ...]:
    """Run a group of each configuration, and one of stateful consumers, through the faults of a seed.

    Args:
        seed: of the schedule.
        root: directory for the broker's data, event logs, logs and stores.
        configs: of the plain groups.
        faults_s: duration of the schedule (s).

    Returns:
        The schedule.

    Raises:
        AssertionError: a check failed, or a group did not settle.
    """
    steps = schedule(seed, faults_s, slots=SLOTS, session_s=SESSION_S)
    print(f"seed {seed}; event logs and logs are in {root}", *steps, sep="\n")
    with ExitStack() as stack:
        broker = stack.enter_context(RestartableBroker(root / "broker", SLOTS))
        groups: list[ChaosGroup] = [
            *(stack.enter_context(PlainChaosGroup(config, broker, root)) for config in configs),
            stack.enter_context(StatefulChaosGroup(broker, root)),
        ]
        unsettled = partial(_all, groups, ChaosGroup.unsettled)
        for group in groups:
            for slot in range(SLOTS):
                group.join(slot)
        _wait(unsettled, "the groups to settle", calm_s=_CALM_S)
        with BackgroundProducer(broker.bootstrap, [group.topic for group in groups]) as producer:
            FaultInjector(broker, groups).run(steps)
            _wait(unsettled, "the groups to settle", calm_s=_CALM_S)
            producer.end()
        _wait(partial(_all, groups, ChaosGroup.uncommitted), "all records to be committed")
        for group in groups:
            for slot in list(group.running):
                group.leave(slot)
        _wait(partial(_all, groups, ChaosGroup.still_leaving), "all members to leave")
        complaints = [*_all(groups, ChaosGroup.unexpected_ends)]
        for group in groups:
            acknowledged = {position for position in producer.acknowledged if position.topic == group.topic}
            assert acknowledged, f"{group.name}: no record was acknowledged"
            complaints += group.complaints(acknowledged)
        assert not complaints, "\n".join(complaints)
    return steps


def _all(groups: Iterable[ChaosGroup], check: Callable[[ChaosGroup], Sequence[str]]) -> list[str]:
    return [complaint for group in groups for complaint in check(group)]


def _wait(check: Check, what: str, *, calm_s: float = 0.0) -> None:
    """Wait until the check has had no complaints for ``calm_s``."""
    since: float | None = None

    def is_calm() -> bool:
        nonlocal since
        if check():
            since = None
            return False
        since = since or time.monotonic()
        return time.monotonic() - since >= calm_s

    try:
        until(is_calm, what, patience_s=PATIENCE_S, pause_s=0.5)
    except AssertionError as error:
        raise AssertionError("\n".join([str(error), *check()])) from None
