"""The changelogs' topics: made if they are missing, and checked."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError, TopicAlreadyExistsError

from kafka_assignors.errors import ChangelogError, TopologyError
from kafka_assignors.plan.model import TopicPartition
from kafka_assignors.stateful.state.copy import Changelog
from kafka_assignors.stateful.topology import Task, Topology

__all__ = ["changelogs_of"]

log = logging.getLogger("kafka_assignors")

_HEARD_S = 5.0  # a machine may be busy
_LOOK_S = 0.1


def changelogs_of(
    client: Mapping[str, Any], topology: Topology, application: str, *, replication_factor: int = -1
) -> dict[Task, Changelog]:
    """The changelog of each task that has one; topics that are missing are made, compacted.

    A changelog with fewer partitions than its sources (they grew) is no reason not to begin: the tasks that
    have none are left out, which is said, and wait until an operator adds partitions.

    Args:
        client: how to reach the cluster, as kafka-python's clients take it.
        topology: what is processed.
        application: the group.
        replication_factor: of topics that are made; -1: the cluster's default.

    Raises:
        TopologyError: a source topic is missing, or those of a subtopology have not as many partitions each,
            or a changelog has more than its sources, or cannot be seen.
        ChangelogError: a changelog would lose state, or the cluster does not let us.
    """
    try:
        with closing(KafkaAdminClient(**client)) as admin:
            tasks = _tasks(admin, topology)
            logs = topology.changelogs(application)
            _make(admin, {topic: tasks[id] for id, topic in logs.items()}, replication_factor)
            return _checked(admin, logs, tasks)
    except KafkaError as error:
        raise ChangelogError(f"the changelogs of {application!r} cannot be set up: {error}") from error


def _tasks(admin: KafkaAdminClient, topology: Topology) -> dict[str, int]:
    """How many tasks each subtopology has."""
    there = _partitions(admin, topology.topics)
    if missing := [topic for topic in topology.topics if topic not in there]:
        raise TopologyError(f"no topic {', '.join(missing)} in the cluster")
    return topology.tasks(there)


def _described(admin: KafkaAdminClient, topics: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Topics that exist; a broker hears a little later of one that was made just now."""
    until = time.monotonic() + _HEARD_S
    while True:
        found = {one["name"]: one for one in admin.describe_topics(list(topics)) if one["partitions"]}
        if len(found) == len(set(topics)) or time.monotonic() >= until:
            return found
        time.sleep(_LOOK_S)


def _partitions(admin: KafkaAdminClient, topics: Sequence[str]) -> dict[str, int]:
    return {topic: len(one["partitions"]) for topic, one in _described(admin, topics).items()}


def _make(admin: KafkaAdminClient, wanted: Mapping[str, int], replication_factor: int) -> None:
    there = (
        {one["name"] for one in admin.describe_topics(list(wanted)) if one["partitions"]} if wanted else ()
    )
    for topic, count in wanted.items():
        if topic in there:
            continue
        options = {
            "num_partitions": count,
            "replication_factor": replication_factor,
            "configs": {"cleanup.policy": "compact"},
        }
        try:
            admin.create_topics({topic: options}, wait_for_metadata=True)
            log.info("made changelog %s with %d partitions", topic, count)
        except TopicAlreadyExistsError:  # another member was first
            pass


def _checked(
    admin: KafkaAdminClient, logs: Mapping[str, str], tasks: Mapping[str, int]
) -> dict[Task, Changelog]:
    if not logs:
        return {}
    described = _described(admin, list(logs.values()))
    settings = _settings(admin, list(logs.values()))
    _refuse_retention(settings)
    found: dict[Task, Changelog] = {}
    for id, topic in logs.items():
        there = described.get(topic, {})
        count = len(there.get("partitions", ()))
        if count != tasks[id]:
            _refuse_or_warn(id, topic, count, tasks[id])
        topic_id = str(there["topic_id"]) if there.get("topic_id") else None
        keeps = settings.get(topic, {}).get("delete.retention.ms")
        keeps_s = int(keeps) / 1000 if keeps is not None else None
        for partition in range(count):
            found[id, partition] = Changelog(TopicPartition(topic, partition), topic_id, keeps_s)
    return found


def _refuse_or_warn(id: str, topic: str, count: int, tasks: int) -> None:
    """A changelog with other partitions than there are tasks: too few can be mended while others go on."""
    has = f"subtopology {id}: changelog {topic} has {count} partitions, its topics have {tasks}"
    if not 0 < count < tasks:
        raise TopologyError(has)
    log.warning("%s: tasks from %s_%d on wait until it has as many; add partitions to it", has, id, count)


def _settings(admin: KafkaAdminClient, topics: Sequence[str]) -> dict[str, dict[str, str]]:
    """Of topics; of none where the cluster does not tell."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic) for topic in topics]
    try:
        told = admin.describe_configs(resources, config_filter="all")
    except KafkaError as error:  # its rules may not let us look; then it is the user's word
        log.warning("cannot see how the changelogs are compacted: %s", error)
        return {}
    return {
        topic: {name: str(one["value"]) for name, one in settings.items() if one.get("value") is not None}
        for by_topic in told.values()
        for topic, settings in by_topic.items()
    }


def _refuse_retention(settings: Mapping[str, Mapping[str, str]]) -> None:
    for topic, told in settings.items():
        policy = told.get("cleanup.policy", "compact")
        if "delete" in policy.split(","):
            raise ChangelogError(
                f"changelog {topic} has cleanup.policy={policy}: it would lose state; set it to compact"
            )
