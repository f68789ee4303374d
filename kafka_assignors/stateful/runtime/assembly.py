"""Creates the components of a stateful consumer, all or none, and closes them in order."""

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
from kafka_assignors.lag.fetch.link import make_client
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.stateful.changelog.reader import ChangelogReader
from kafka_assignors.stateful.changelog.topics import KnownChangelogs, changelogs_of
from kafka_assignors.stateful.changelog.writer import ChangelogWriter
from kafka_assignors.stateful.duties import Duties, Holdings
from kafka_assignors.stateful.group.assignor import StatefulAssignor
from kafka_assignors.stateful.runtime.commits import Commits
from kafka_assignors.stateful.runtime.copies import OpenCopies
from kafka_assignors.stateful.runtime.lease import Lease
from kafka_assignors.stateful.runtime.processing import Processing
from kafka_assignors.stateful.runtime.repair import last_values
from kafka_assignors.stateful.runtime.tasks import MemberTasks
from kafka_assignors.stateful.settings import RuntimeOptions, checked_config
from kafka_assignors.stateful.shutdown import Shutdown
from kafka_assignors.stateful.state.state_dir import StateDir
from kafka_assignors.stateful.state.stores import Stores
from kafka_assignors.stateful.topology import Topology

log = logging.getLogger("kafka_assignors")

_STEP_S = 5.0  # limit of each closing step that may wait


@dataclass(frozen=True, slots=True)
class Components:
    """The components of one member."""

    consumer: Any
    assignor: StatefulAssignor
    state_dir: StateDir
    writer: ChangelogWriter
    reader: ChangelogReader
    lease: Lease
    commits: Commits
    copies: OpenCopies
    processing: Processing

    def end(self, lock: threading.RLock, shutdown: Shutdown) -> None:
        """Close all components in order; an error is logged and does not stop the others."""
        shutdown.set()
        with lock:  # the writer closes first, because nothing may be sent after the member left the group
            self._step(partial(self.writer.close, shutdown.left_s(_STEP_S)))
        # Without the lock: a revocation may go on after an interrupted poll, and its thread needs the lock.
        leave_ms = round(1000 * shutdown.left_s(_STEP_S))
        self._step(partial(self.consumer.close, autocommit=False, timeout_ms=max(1, leave_ms)))
        with lock:
            self._step(partial(self.copies.close, shutdown.left_s(_STEP_S)))
            if self.reader.has_ended:  # otherwise its stores are open, and the directory must stay locked
                self._step(partial(self.state_dir.close, shutdown.left_s(_STEP_S)))

    def _step(self, do: Callable[[], object]) -> None:
        try:
            do()
        except Exception:
            log.exception("closing: a step failed")


def assemble(
    topology: Topology,
    store_dir: str | os.PathLike[str],
    options: RuntimeOptions,
    consumer_config: Mapping[str, Any],
    *,
    tasks: MemberTasks,
    holdings: Callable[[], Holdings],
    on_duties: Callable[[Duties], object],
    shutdown: Shutdown,
) -> Components:
    """Create the components of a member.  The member joins in the first poll after its consumer subscribes.

    Raises:
        KafkaAssignorsError: see ``StatefulConsumer``; nothing stays open.
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
            **options.assignor_options,
        )
        find_changelogs = partial(
            changelogs_of,
            settings.client,
            topology,
            settings.group_id,
            replication_factor=options.changelog_replication_factor,
        )
        # First, so that a wrong changelog is refused before the clients are created.
        changelogs = find_changelogs()
        # If the constructor fails (the cluster may be gone by now), ``make_client`` ends its thread.
        consumer = make_client(ContinuousConsumer, **config, partition_assignment_strategy=[assignor])
        undo.callback(consumer.close, autocommit=False)
        lease = Lease(consumer, shutdown)
        writer = ChangelogWriter(
            settings.client,
            patience_s=lease.patience_s,
            max_request_size=options.changelog_max_request_size,
            compression=options.changelog_compression,
            shutdown=shutdown,
        )
        undo.callback(writer.close)
        reader = ChangelogReader(
            settings.client,
            standby_bytes_per_s=options.standby_bytes_per_s,
            fetch_max_bytes=options.restore_fetch_bytes,
            shutdown=shutdown,
        )
        undo.callback(reader.close)
        copies = OpenCopies(
            topology,
            tasks,
            state_dir,
            Stores(options.store),
            reader=reader,
            changelogs=KnownChangelogs(changelogs, partial(find_changelogs, create=False)),
        )
        read = partial(last_values, settings.client)
        commits = Commits(consumer, writer, lease, shutdown, options.before_commit, read=read)
        processing = Processing(
            consumer,
            tasks,
            commits,
            max_uncommitted_bytes=options.max_uncommitted_bytes,
            commit_interval_s=options.commit_interval_ms / 1000,
            shutdown=shutdown,
        )
        undo.pop_all()
    return Components(consumer, assignor, state_dir, writer, reader, lease, commits, copies, processing)
