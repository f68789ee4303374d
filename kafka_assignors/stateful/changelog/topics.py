"""Creates and checks changelog topics, and searches again for partitions that tasks still lack."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError, TopicAlreadyExistsError, TopicAuthorizationFailedError

from kafka_assignors.background import Background
from kafka_assignors.errors import ChangelogError, TopologyError
from kafka_assignors.lag.fetch.link import NO_ROOM, make_client
from kafka_assignors.lag.sources import one_line
from kafka_assignors.plan.model import TopicPartition
from kafka_assignors.stateful.repeated_messages import RepeatedMessages
from kafka_assignors.stateful.state.copy import Changelog
from kafka_assignors.stateful.topology import Topology
from kafka_assignors.wire.stateful.task_section import Task

log = logging.getLogger("kafka_assignors")

_VISIBLE_S = 5.0  # limit of the wait until a broker knows a new topic
_CHECK_EVERY_S = 0.1
_DENIED = TopicAuthorizationFailedError.errno


class KnownChangelogs:
    """Knows the changelog of each task, and finds those of new partitions.  Not thread-safe.

    ``find`` may block, so it runs in the background.  It passes each warning to its argument ``warn``.
    """

    def __init__(
        self,
        known: Mapping[Task, Changelog],
        find: Callable[..., Mapping[Task, Changelog]],
        background: Background | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.known = known
        self._find = partial(find, warn=self._warn)
        self._warnings = RepeatedMessages(clock)
        self._background = background or Background("kafka-assignors-changelog-search")
        self._search: Future[Mapping[Task, Changelog]] | None = None

    def search(self) -> None:
        """Start a search for the changelogs, unless one is under way."""
        if self._search is not None:
            return
        try:
            self._search = self._background.submit(self._find)
        except RuntimeError as error:
            self._warn(f"the search for changelogs cannot start: {error}; trying again")

    def update(self) -> bool:
        """Take the result of a search, if there is one; return whether a search succeeded."""
        if self._search is None or not self._search.done():
            return False
        search, self._search = self._search, None
        try:
            self.known = search.result()
        except (ChangelogError, TopologyError, *NO_ROOM) as error:
            self._warn(f"the search for changelogs failed: {one_line(error)}; trying again")
            return False
        return True

    def stop(self) -> None:
        """Start no more searches."""
        self._background.stop()

    def _warn(self, warning: str) -> None:
        if self._warnings.is_due(warning, warning):
            log.warning(warning)


def changelogs_of(
    client: Mapping[str, Any],
    topology: Topology,
    application: str,
    *,
    replication_factor: int = -1,
    create: bool = True,
    warn: Callable[[str], None] = log.warning,
) -> dict[Task, Changelog]:
    """Return the changelog of each task; with ``create``, first create missing topics, as compacted ones.

    If source topics grew, their changelog has fewer partitions.  The tasks without a changelog partition are
    then left out, with a warning, until an operator adds partitions.

    A ``replication_factor`` of -1 is the cluster's default.  Without ``create``, tasks of a missing changelog
    are left out, with a warning: it may have been deleted, and a new one would lack the state.  Settings that
    cannot be read are not checked, but logged: with ``create`` as a warning, else at debug level.  ``warn``
    gets the other warnings.

    Raises:
        TopologyError: a source topic is missing; the source topics of a subtopology differ in partitions; a
            changelog has more partitions than its sources, or none.
        ChangelogError: a changelog would lose state, or a request fails.
    """
    try:
        with closing(make_client(KafkaAdminClient, **client)) as admin:
            task_counts = _task_counts(admin, topology)
            topics = topology.changelogs(application)
            if create:
                _create(admin, {topic: task_counts[id] for id, topic in topics.items()}, replication_factor)
            else:
                topics = _existing(admin, topics, warn)
            return _checked(admin, topology, topics, task_counts, warn, is_first=create)
    except KafkaError as error:
        raise ChangelogError(f"cannot set up the changelogs of {application!r}: {error}") from error


def _task_counts(admin: KafkaAdminClient, topology: Topology) -> dict[str, int]:
    described = _described(admin, topology.topics)
    if missing := [topic for topic in topology.topics if topic not in described]:
        raise TopologyError(f"source topics do not exist: {', '.join(missing)}")
    return topology.tasks({topic: len(description["partitions"]) for topic, description in described.items()})


def _described(admin: KafkaAdminClient, topics: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Describe the topics that exist; waits up to 5 s, because a broker learns of a new topic late.

    Raises:
        ChangelogError: the cluster does not let us describe a topic.
    """
    until = time.monotonic() + _VISIBLE_S
    while True:
        descriptions = admin.describe_topics(list(topics))
        if denied := [topic["name"] for topic in descriptions if topic["error_code"] == _DENIED]:
            raise ChangelogError(f"not allowed to describe topics {', '.join(denied)}: grant DESCRIBE")
        described = {topic["name"]: topic for topic in descriptions if topic["partitions"]}
        if len(described) == len(set(topics)) or time.monotonic() >= until:
            return described
        time.sleep(_CHECK_EVERY_S)


def _create(admin: KafkaAdminClient, wanted: Mapping[str, int], replication_factor: int) -> None:
    existing = {topic["name"] for topic in admin.describe_topics(list(wanted)) if topic["partitions"]}
    for topic, count in wanted.items():
        if topic in existing:
            continue
        options = {
            "num_partitions": count,
            "replication_factor": replication_factor,
            "configs": {"cleanup.policy": "compact"},
        }
        try:
            admin.create_topics({topic: options}, wait_for_metadata=True)
            log.info("created changelog %s with %d partitions", topic, count)
        except TopicAlreadyExistsError:  # another member created it meanwhile
            pass


def _existing(
    admin: KafkaAdminClient, topics: Mapping[str, str], warn: Callable[[str], None]
) -> dict[str, str]:
    described = _described(admin, list(topics.values()))
    for id, topic in topics.items():
        if topic not in described:
            warn(
                f"changelog {topic} does not exist: tasks of subtopology {id} cannot be opened; "
                "create the topic with cleanup.policy=compact, or restart a member, which creates it empty"
            )
    return {id: topic for id, topic in topics.items() if topic in described}


def _checked(
    admin: KafkaAdminClient,
    topology: Topology,
    topics: Mapping[str, str],
    task_counts: Mapping[str, int],
    warn: Callable[[str], None],
    *,
    is_first: bool,
) -> dict[Task, Changelog]:
    """Return the changelog of each task; ``topics`` and ``task_counts`` are by subtopology."""
    if not topics:
        return {}
    described = _described(admin, list(topics.values()))
    counts = {id: len(described.get(topic, {}).get("partitions", ())) for id, topic in topics.items()}
    if any(count > task_counts[id] for id, count in counts.items()):
        task_counts = _task_counts(admin, topology)  # source topics and changelogs may have grown since
    settings = _settings(
        admin,
        [topic for topic in topics.values() if topic in described],
        logging.WARNING if is_first else logging.DEBUG,
    )
    _refuse_retention(settings)
    changelogs: dict[Task, Changelog] = {}
    for id, topic in topics.items():
        description, count = described.get(topic, {}), counts[id]
        if count != task_counts[id]:
            _refuse_or_warn(id, topic, count, task_counts[id], warn)
        topic_id = str(description["topic_id"]) if description.get("topic_id") else None
        keeps_ms = settings.get(topic, {}).get("delete.retention.ms")
        keeps_s = int(keeps_ms) / 1000 if keeps_ms is not None else None
        for partition in range(count):
            changelogs[id, partition] = Changelog(TopicPartition(topic, partition), topic_id, keeps_s)
    return changelogs


def _refuse_or_warn(id: str, topic: str, count: int, tasks: int, warn: Callable[[str], None]) -> None:
    """Warn of too few partitions, because an operator can add some while other tasks run; else refuse."""
    message = f"subtopology {id}: changelog {topic} has {count} partitions, its source topics have {tasks}"
    if not 0 < count < tasks:
        raise TopologyError(message)
    warn(f"{message}: tasks {id}_{count} and above must wait: add partitions to the changelog")


def _settings(admin: KafkaAdminClient, topics: Sequence[str], level: int) -> dict[str, dict[str, str]]:
    """Return topic -> setting -> value; log the topics whose settings cannot be read, at ``level``."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic) for topic in topics]
    known: dict[str, dict[str, Any]] = {}
    problem = "none returned: is DESCRIBE_CONFIGS granted?"
    try:
        known = admin.describe_configs(resources, config_filter="all").get("topic", {})
    except KafkaError as error:
        problem = one_line(error)
    # kafka-python drops the error of a topic, such as an ACL that denies its settings.
    if unknown := [topic for topic in topics if not known.get(topic)]:
        log.log(
            level,
            "cannot read the settings of %s (%s), so their cleanup.policy is not checked, and copies that "
            "are too old are not noticed",
            ", ".join(unknown),
            problem,
        )
    return {
        topic: {
            name: str(setting["value"])
            for name, setting in settings.items()
            if setting.get("value") is not None
        }
        for topic, settings in known.items()
        if settings
    }


def _refuse_retention(settings: Mapping[str, Mapping[str, str]]) -> None:
    for topic, topic_settings in settings.items():
        policy = topic_settings.get("cleanup.policy", "compact")
        if "delete" in policy.split(","):
            raise ChangelogError(
                f"changelog {topic} has cleanup.policy={policy}, which would lose state; set it to compact"
            )
