"""A group of consumer processes that reads a day from a broker, scaled by a rule."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import numpy as np

from bench.lag.autoscaler import Autoscaler, Hpa, View
from bench.lag.live.day import Cost, Due, Lapse, rate_of, row
from demo.data.replay import Replay
from demo.group.cluster import Cluster
from demo.group.fleet import Fleet
from demo.group.logs import LogTail, LogWriter, read_log
from demo.member.start import WorkerConfig
from kafka_assignors.broker.ports import HOST
from kafka_assignors.simulation.churn import client_id
from kafka_assignors.simulation.history import Levels

SIZE_SYNCS = 40
"""Decisions for which an HPA waits before it scales down: 600 s, as in the guide, at one each 15 s."""

BATCH = 25  # records that a member commits together
READY_S, DRAIN_S, LEAVE_S = 60.0, 120.0, 30.0


class Members:
    """The member processes of a group, and their hours."""

    def __init__(self, fleet: Fleet, config: Callable[[str], WorkerConfig]) -> None:
        self._fleet, self._config = fleet, config
        self._present: list[str] = []
        self._started: dict[str, int] = {}
        self._counted: float | None = None
        self._member_s, self._most, self._scalings = 0.0, 0, 0

    @property
    def size(self) -> int:
        """Number of members, including those that are starting."""
        return len(self._present)

    @property
    def cost(self) -> Cost:
        """The cost until now."""
        return Cost(self._member_s, self._most, self._scalings, self._started)

    def count(self) -> None:
        """Add the members' time since the last call to the cost."""
        now = time.monotonic()
        if self._counted is not None:
            self._member_s += (now - self._counted) * self.size
        self._counted = now

    def scale(self, size: int) -> None:
        """Start members, or let the members that started last leave."""
        if self._counted is not None:
            self._scalings += size != self.size
        while self.size < size:
            member = f"m{len(self._started) + 1}"
            self._started[member] = time.monotonic_ns()
            self._fleet.start(member, self._config(member))
            self._present.append(member)
        while self.size > size:
            self._fleet.leave(self._present.pop())
        self._most = max(self._most, size)


class Served:
    """The advice of ``size --serve``, as KEDA's metrics-api trigger reads it."""

    def __init__(self, url: str, lapse: Lapse) -> None:
        self._url = url
        self._hpa = Hpa(1, lapse.partitions, stabilization_s=SIZE_SYNCS * lapse.sync_s)

    def __call__(self, view: View) -> int:
        """Return the size; without a recent advice the group keeps its size."""
        try:
            with urllib.request.urlopen(self._url, timeout=10) as answer:  # noqa: S310  # http
                advised = json.load(answer)["advised"]
        except (urllib.error.HTTPError, TimeoutError):  # such as a 503: there is no recent size
            return view.replicas
        return self._hpa.replicas(view.now_s, advised, view.replicas)


@contextmanager
def served(
    group_id: str, bootstrap: str, rate: float, lapse: Lapse, folder: Path, *more: str
) -> Iterator[Served]:
    """Run ``kafka-assignors size --serve`` for a group, with more words of the command."""
    options = {
        "--bootstrap": bootstrap,
        "--max-time-lag": f"{lapse.target_s:g}s",
        "--horizon": f"{2 * lapse.target_s:g}s",
        "--rate": f"{rate:.1f}",
        "--every": f"{lapse.look_s:g}s",
        "--serve": f"{HOST}:0",
    }
    words = [*(word for option in options.items() for word in option), *more]
    log = folder / "size.log"
    with (
        log.open("wb") as file,
        subprocess.Popen(
            [sys.executable, "-m", "kafka_assignors", "size", group_id, *words], stdout=file, stderr=file
        ) as running,
    ):
        try:
            url = ""
            while not url:
                if running.poll() is not None:
                    raise RuntimeError(log.read_text())
                time.sleep(0.05)
                url = next((word for word in log.read_text().split() if word.startswith("http://")), "")
            yield Served(url, lapse)
        finally:
            running.terminate()


def play(
    rule: str,
    due: Sequence[Due],
    lapse: Lapse,
    *,
    bootstrap: str,
    folder: Path,
    autoscaler: Callable[[str], AbstractContextManager[Autoscaler]],
) -> tuple[str, ...]:
    """Let a group of its own read the day, scaled by a rule.

    The group's topic, which ``autoscaler`` gets, has the same name as the group.
    """
    topic, rate = f"day-{uuid.uuid4().hex[:8]}", rate_of(due, lapse)

    def config(member: str) -> WorkerConfig:
        return WorkerConfig(
            bootstrap=bootstrap,
            topic=topic,
            client_id=client_id(member),
            log=str(folder / f"{member}.jsonl"),
            session_timeout_ms=10_000,
            heartbeat_ms=500,
            strategy=lapse.strategy,
            work_ms=1000 / rate,
            warm_up_ms=0,
            batch=BATCH,
        )

    driver = folder / "driver.jsonl"
    with (
        closing(Cluster(bootstrap)) as cluster,
        closing(LogWriter(driver)) as log,
        Fleet(folder) as fleet,
    ):
        cluster.create_topic(topic, lapse.partitions)
        group = Members(fleet, config)
        group.scale(1)
        first = LogTail(folder / "m1.jsonl")
        _wait(lambda: any(entry.event == "assigned" for entry in first.read()), READY_S, "the first member")
        with autoscaler(topic) as decide:
            replay = Replay(bootstrap, topic, iter(due), log)
            replay.start()
            began = time.monotonic()
            for tick in range(1, sys.maxsize):
                group.count()
                if replay.finished.wait(max(began + tick * lapse.sync_s - time.monotonic(), 0)):
                    break
                fleet.check()
                group.count()
                lag = lag_of(cluster, topic, lapse.partitions)
                group.scale(decide(View(time.monotonic() - began, lag, lag, None, group.size, group.size)))
            group.count()
            replay.check()
        _wait(lambda: not lag_of(cluster, topic, lapse.partitions).any(), DRAIN_S, "the end of the lag")
        members = {member: read_log(folder / f"{member}.jsonl") for member in group.cost.started}
        cells = row(rule, lapse, group.cost, read_log(driver), members)
        group.scale(0)
        fleet.wait(LEAVE_S)
        cluster.delete([topic], [topic])
        return cells


def lag_of(cluster: Cluster, topic: str, partitions: int) -> Levels:
    """Return the records of each partition that the group has not committed."""
    committed, ends = cluster.committed(topic, topic), cluster.end_offsets(topic, partitions)
    return np.array([max(ends[p] - committed.get(p, 0), 0) for p in range(partitions)], np.float64)


def _wait(condition: Callable[[], bool], timeout_s: float, what: str) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {timeout_s:g} s for {what}")
        time.sleep(0.1)
