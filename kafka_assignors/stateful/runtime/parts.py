"""What a stateful consumer is made of: made in order, or not at all, and ended in order."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafka_assignors.consumer import ContinuousConsumer
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.stateful.changelog.reader import ChangelogReader
from kafka_assignors.stateful.changelog.topics import changelogs_of
from kafka_assignors.stateful.changelog.writer import ChangelogWriter
from kafka_assignors.stateful.duties import Duties, Holdings
from kafka_assignors.stateful.ending import Ending
from kafka_assignors.stateful.group.assignor import StatefulAssignor
from kafka_assignors.stateful.runtime.commits import Commits
from kafka_assignors.stateful.runtime.copies import Copies
from kafka_assignors.stateful.runtime.lease import Lease
from kafka_assignors.stateful.runtime.processing import Processing
from kafka_assignors.stateful.runtime.tasks import Work
from kafka_assignors.stateful.settings import RuntimeOptions, checked_config
from kafka_assignors.stateful.state.state_dir import StateDir
from kafka_assignors.stateful.state.stores import Stores
from kafka_assignors.stateful.topology import Topology

__all__ = ["Parts", "made"]

log = logging.getLogger("kafka_assignors")

_STEP_S = 5.0  # for a step that waits for the cluster


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one member; each has a module of its own."""

    consumer: Any
    assignor: StatefulAssignor
    state_dir: StateDir
    writer: ChangelogWriter
    reader: ChangelogReader
    lease: Lease
    commits: Commits
    copies: Copies
    processing: Processing

    def end(self, one_at_a_time: threading.RLock, ending: Ending) -> None:
        """Let go of everything, in order, whatever fails on the way.

        Args:
            one_at_a_time: held by whoever uses these parts.
            ending: how long that may take.
        """
        ending.set()
        with one_at_a_time:  # nothing is sent by who has left the group
            self._step(partial(self.writer.close, ending.left_s(_STEP_S)))
        # Without the lock: it waits for who gives tasks back, on a thread of its own.
        leave_ms = round(1000 * ending.left_s(_STEP_S))
        self._step(partial(self.consumer.close, autocommit=False, timeout_ms=max(1, leave_ms)))
        with one_at_a_time:
            self._step(partial(self.copies.close, ending.left_s(_STEP_S)))
            if self.reader.has_ended:  # else its stores are open, and the directory stays ours
                self._step(self.state_dir.close)

    def _step(self, do: Callable[[], object]) -> None:
        try:
            do()
        except Exception:
            log.exception("ending a stateful consumer: a step failed")


def made(
    topology: Topology,
    store_dir: str | os.PathLike[str],
    options: RuntimeOptions,
    consumer_config: Mapping[str, Any],
    *,
    work: Work,
    holdings: Callable[[], Holdings],
    on_duties: Callable[[Duties], object],
    stop: Ending,
) -> Parts:
    """Make the parts of a member, which joins when its consumer subscribes.

    Args:
        topology: see ``StatefulConsumer``, for this and the next three.
        store_dir: where state lies.
        options: how it runs.
        consumer_config: as for ``KafkaConsumer``.
        work: what the member has to do.
        holdings: see ``StatefulOptions``.
        on_duties: see ``StatefulOptions``.
        stop: ends the processing of a batch before the next record, and says how long anything may wait then.

    Raises:
        KafkaAssignorsError: see ``StatefulConsumer``; nothing is left behind.
    """
    config = checked_config(consumer_config)
    settings = fetch_settings(config, None, None)
    with ExitStack() as undo:
        state_dir = StateDir(store_dir, settings.group_id)
        undo.callback(state_dir.close)
        assignor = StatefulAssignor(
            topology=topology,
            process_id=state_dir.process_id,
            holdings=holdings,
            on_duties=on_duties,
            **options.planning,
        )
        find_changelogs = partial(
            changelogs_of,
            *(settings.client, topology, settings.group_id),
            replication_factor=options.changelog_replication_factor,
        )
        changelogs = find_changelogs()  # what is wrong with them is said before anything is begun
        consumer = ContinuousConsumer(**config, partition_assignment_strategy=[assignor])
        undo.callback(consumer.close, autocommit=False)
        lease = Lease(consumer, stop)
        writer = ChangelogWriter(
            settings.client,
            patience_s=lease.patience_s,
            max_request_size=options.changelog_max_request_size,
            compression=options.changelog_compression,
            ending=stop,
        )
        undo.callback(writer.close)
        reader = ChangelogReader(
            settings.client,
            standby_bytes_per_s=options.standby_bytes_per_s,
            fetch_max_bytes=options.restore_fetch_bytes,
            ending=stop,
        )
        undo.callback(reader.close)
        copies = Copies(
            *(topology, work, state_dir, Stores(options.store)),
            reader=reader,
            changelogs=changelogs,
            find_changelogs=find_changelogs,
        )
        commits = Commits(consumer, writer, lease, stop, options.before_commit)
        processing = Processing(
            *(consumer, work, commits),
            max_uncommitted_bytes=options.max_uncommitted_bytes,
            commit_interval_s=options.commit_interval_ms / 1000,
            stop=stop,
        )
        undo.pop_all()
    return Parts(consumer, assignor, state_dir, writer, reader, lease, commits, copies, processing)
