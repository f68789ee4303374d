"""The metrics of a stateful member, in the registry of its ``KafkaConsumer``.

Each is computed when it is read, from values that the runtime keeps anyway.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from kafka_assignors.metrics import STATEFUL, STATEFUL_GROUP, Recorder
from kafka_assignors.stateful.changelog.reader import ChangelogReader
from kafka_assignors.stateful.runtime.copies import OpenCopies
from kafka_assignors.stateful.runtime.processing import Processing
from kafka_assignors.stateful.runtime.tasks import MemberTasks
from kafka_assignors.wire.stateful.task_section import Task

_WINDOW_MS = 30_000.0
_SAMPLE_MS = 1_000.0  # least time between two samples of the counter


class RestoreRate:
    """Records restored per second since the newest sample that is at least 30 s old, or since the start.

    A reading adds a sample.
    """

    def __init__(self, restored: Callable[[], float], now_ms: float) -> None:
        self._restored = restored
        self._samples = deque([(now_ms, restored())])  # time (ms), records restored until then
        self._lock = threading.Lock()

    def per_second(self, now_ms: float) -> float:
        """Return the rate, in records per second."""
        with self._lock:
            restored = self._restored()
            if now_ms - self._samples[-1][0] >= _SAMPLE_MS:
                self._samples.append((now_ms, restored))
            while len(self._samples) > 1 and now_ms - self._samples[1][0] >= _WINDOW_MS:
                self._samples.popleft()
            since_ms, before = self._samples[0]
        return 1000 * (restored - before) / (now_ms - since_ms) if now_ms > since_ms else 0.0


def register_metrics(
    recorder: Recorder,
    tasks: MemberTasks,
    reader: ChangelogReader,
    *,
    processing: Processing,
    copies: OpenCopies,
) -> None:
    """Add the metrics of a member to its consumer's registry, which ends with the consumer.  Never raises."""

    def actives() -> dict[Task, bool]:  # task -> whether it is ready
        return {task: active.ready for task, active in tasks.actives.copy().items()}

    def restoring() -> set[Task]:
        return {task for task, ready in actives().items() if not ready}

    def lags(of: set[Task]) -> list[int]:
        """Return the measured lags of these tasks' copies."""
        known = reader.lags
        return [known[task] for task in of if task in known]

    values: dict[str, Callable[[float], float]] = {
        "active-running-tasks": lambda _: sum(actives().values()),
        "active-restoring-tasks": lambda _: len(restoring()),
        "standby-tasks": lambda _: len({*tasks.duties.standbys} - actives().keys()),
        "warmup-tasks": lambda _: len({*tasks.duties.warmups} - actives().keys()),
        "restore-lag": lambda _: sum(lags(restoring())),
        "copy-lag": lambda _: sum(lags(tasks.standby_tasks)),
        "copy-lag-max": lambda _: max(lags(tasks.standby_tasks), default=0),
        "restored-records-total": lambda _: reader.applied,
        "restored-records-rate": RestoreRate(lambda: reader.applied, 1000 * time.monotonic()).per_second,
        "last-commit-seconds-ago": lambda _: processing.commit_age_s,
        "last-checkpoint-seconds-ago": lambda _: copies.checkpoint_age_s,
    }
    for metric in STATEFUL:
        recorder.add_gauge(STATEFUL_GROUP, metric.name, values[metric.name])
