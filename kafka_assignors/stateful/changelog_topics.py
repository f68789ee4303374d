"""The changelogs' topics: made if they are missing, and checked."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError, TopicAlreadyExistsError

from kafka_assignors.errors import ChangelogError, TopologyError
from kafka_assignors.plan.model import TopicPartition
from kafka_assignors.stateful.copy import Changelog
from kafka_assignors.stateful.topology import Task, Topology

__all__ = ["changelogs_of"]

log = logging.getLogger("kafka_assignors")


def changelogs_of(
    client: Mapping[str, Any], topology: Topology, application: str, *, replication_factor: int = -1
) -> dict[Task, Changelog]:
    """The changelog of each task that has one; topics that are missing are made, compacted.

    Args:
        client: how to reach the cluster, as kafka-python's clients take it.
        topology: what is processed.
        application: the group.
        replication_factor: of topics that are made; -1: the cluster's default.

    Raises:
        TopologyError: a source topic is missing, or those of a subtopology have not as many partitions each,
            or a changelog has others than its sources.
        ChangelogError: a changelog would lose state, or the cluster does not let us.
    """
    try:
        with closing(KafkaAdminClient(**client)) as admin:
            tasks = topology.tasks(_partitions(admin, topology.topics))
            logs = topology.changelogs(application)
            if missing := [s.id for s in topology.subtopologies if not tasks[s.id]]:
                topics = ", ".join(topology[missing[0]].topics)
                raise TopologyError(f"subtopology {missing[0]}: no topic {topics} in the cluster")
            _make(admin, {topic: tasks[id] for id, topic in logs.items()}, replication_factor)
            return _checked(admin, logs, tasks)
    except KafkaError as error:
        raise ChangelogError(f"the changelogs of {application!r} cannot be set up: {error}") from error


def _partitions(admin: KafkaAdminClient, topics: Sequence[str]) -> dict[str, int]:
    return {
        one["name"]: len(one["partitions"])
        for one in admin.describe_topics(list(topics))
        if one["partitions"]
    }


def _make(admin: KafkaAdminClient, wanted: Mapping[str, int], replication_factor: int) -> None:
    there = _partitions(admin, list(wanted)) if wanted else {}
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
    described = {one["name"]: one for one in admin.describe_topics(list(logs.values()))}
    _refuse_retention(admin, list(logs.values()))
    found: dict[Task, Changelog] = {}
    for id, topic in logs.items():
        there = described.get(topic, {})
        if (count := len(there.get("partitions", ()))) != tasks[id]:
            raise TopologyError(
                f"subtopology {id}: changelog {topic} has {count} partitions, its topics have {tasks[id]}"
            )
        topic_id = str(there["topic_id"]) if there.get("topic_id") else None
        for partition in range(count):
            found[id, partition] = Changelog(TopicPartition(topic, partition), topic_id)
    return found


def _refuse_retention(admin: KafkaAdminClient, topics: Sequence[str]) -> None:
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic) for topic in topics]
    try:
        told = admin.describe_configs(resources, config_filter="all")
    except KafkaError as error:  # its rules may not let us look; then it is the user's word
        log.warning("cannot see whether the changelogs are compacted: %s", error)
        return
    for by_topic in told.values():
        for topic, settings in by_topic.items():
            policy = str(settings.get("cleanup.policy", {}).get("value", "compact"))
            if "delete" in policy.split(","):
                raise ChangelogError(
                    f"changelog {topic} has cleanup.policy={policy}: it would lose state; set it to compact"
                )
