"""The changelogs of all tasks, which are searched again if a task has none."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from kafka_assignors.background import Background
from kafka_assignors.errors import ChangelogError, TopologyError
from kafka_assignors.stateful.state.copy import Changelog
from kafka_assignors.wire.stateful.task_section import Task

log = logging.getLogger("kafka_assignors")


class KnownChangelogs:
    """Knows the changelog of each task, and finds those of new partitions.  Not thread-safe.

    Args:
        find: finds the changelogs again; may block, so it runs in the background.
        background: the thread of ``find``; None: a new one.

    Attributes:
        known: the changelog of each task.
    """

    def __init__(
        self,
        known: Mapping[Task, Changelog],
        find: Callable[[], Mapping[Task, Changelog]],
        background: Background | None = None,
    ) -> None:
        self.known = known
        self._find = find
        self._background = background or Background("kafka-assignors-changelog-search")
        self._search: Future[Mapping[Task, Changelog]] | None = None

    def search(self) -> None:
        """Start to find the changelogs again, unless a search is under way."""
        if self._search is None:
            self._search = self._background.submit(self._find)

    def update(self) -> bool:
        """Take the result of a search; return whether there is one."""
        if self._search is None or not self._search.done():
            return False
        search, self._search = self._search, None
        try:
            self.known = search.result()
        except (ChangelogError, TopologyError) as error:
            log.warning("a task has no changelog: %s; trying again", error)
            return False
        return True

    def stop(self) -> None:
        """Start no more searches."""
        self._background.stop()
