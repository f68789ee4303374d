"""A topology: the topics an application processes, and the state it keeps.

A subtopology is processed task by task.  A task is one partition number in all of the subtopology's topics:
partition 3 of `orders` and of `payments` go to the same member, and share the store ``(subtopology, 3)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_assignors.errors import TopologyError
from kafka_assignors.plan.model import TopicPartition, shown
from kafka_assignors.validators import is_topic
from kafka_assignors.wire.stateful.task_section import Task

_LONGEST_ID = 200  # an id and a partition number also name a directory


@dataclass(frozen=True, slots=True)
class Subtopology:
    """Topics that are processed together, and their state.

    Attributes:
        id: its name, which is part of the changelog's and the directories' names.
        topics: the source topics; all must have the same number of partitions.
        stateful: whether it has a store.
        logged: whether the store has a changelog.  A store without one is lost with its disk, and when
            the task moves.  It is never copied, so all members count as caught up.
        changelog: the changelog topic; None: ``<application>-<id>-changelog``.
    """

    id: str
    topics: tuple[str, ...]
    stateful: bool = True
    logged: bool = True
    changelog: str | None = None

    @property
    def has_changelog(self) -> bool:
        """Whether its state can be restored from a changelog."""
        return self.stateful and self.logged

    def changelog_topic(self, application: str) -> str | None:
        """Return the changelog topic in the group ``application``; None without a changelog.

        Raises:
            TopologyError: the name is no valid topic name; set ``changelog``.
        """
        if not self.has_changelog:
            return None
        topic = self.changelog or f"{application}-{self.id}-changelog"
        if not is_topic(topic):
            raise TopologyError(
                f"subtopology {self.id}: {shown(topic)} is no valid topic name: set `changelog`"
            )
        return topic


@dataclass(frozen=True, slots=True)
class Topology:
    """All subtopologies of one application.  All members have the same, except during a rolling deploy.

    Raises:
        TopologyError: there is no subtopology; two ids are equal, or differ only in case (some disks do not
            tell such names apart); a topic is listed twice, or is also a changelog; a name is invalid; a
            subtopology without logged state has a changelog.
    """

    subtopologies: tuple[Subtopology, ...]

    def __post_init__(self) -> None:
        subtopologies: Any = self.subtopologies
        if not isinstance(subtopologies, tuple) or not all(
            isinstance(subtopology, Subtopology) for subtopology in subtopologies
        ):
            raise TopologyError(
                "subtopologies must be a tuple, also for one: Topology((Subtopology('count', ('orders',)),))"
            )
        if not self.subtopologies:
            raise TopologyError("a topology needs at least one subtopology")
        ids: set[str] = set()
        for subtopology in self.subtopologies:
            _check(subtopology)
            if subtopology.id.lower() in ids:
                raise TopologyError(f"two subtopologies have the id {subtopology.id}, or differ only in case")
            ids.add(subtopology.id.lower())
        changelogs = [subtopology.changelog for subtopology in self.subtopologies if subtopology.changelog]
        topics = [*self.topics, *changelogs]
        for topic in topics:
            if topics.count(topic) > 1:
                raise TopologyError(f"topic {topic} is used twice")

    @property
    def topics(self) -> tuple[str, ...]:
        """All source topics, sorted by name: the consumer's subscription."""
        return tuple(sorted(topic for subtopology in self.subtopologies for topic in subtopology.topics))

    def changelogs(self, application: str) -> dict[str, str]:
        """Return subtopology id -> changelog topic, for the subtopologies with a changelog.

        Raises:
            TopologyError: a name is no valid topic name, or another topic of the topology has it.
        """
        changelogs: dict[str, str] = {}
        for subtopology in self.subtopologies:
            if (topic := subtopology.changelog_topic(application)) is None:
                continue
            if topic in changelogs.values() or topic in self.topics:
                raise TopologyError(
                    f"subtopology {subtopology.id}: changelog {topic} is also another topic of the topology"
                )
            changelogs[subtopology.id] = topic
        return changelogs

    def tasks(self, partitions: Mapping[str, int]) -> dict[str, int]:
        """Return subtopology id -> number of tasks.

        Args:
            partitions: topic -> number of partitions; a missing topic has none.

        Raises:
            TopologyError: topics of one subtopology differ in partitions, so records with the same key would
                be in different tasks.
        """
        counts: dict[str, int] = {}
        for subtopology in self.subtopologies:
            by_topic = {topic: partitions.get(topic, 0) for topic in subtopology.topics}
            if len(set(by_topic.values())) > 1:
                differing = ", ".join(f"{topic} {count}" for topic, count in by_topic.items())
                raise TopologyError(
                    f"subtopology {subtopology.id}: topics must have the same number of partitions, "
                    f"have {differing}"
                )
            counts[subtopology.id] = next(iter(by_topic.values()))
        return counts

    def partitions(self, task: Task) -> tuple[TopicPartition, ...]:
        """Return the source partitions of a task."""
        return tuple(TopicPartition(topic, task[1]) for topic in self[task[0]].topics)

    def tasks_of(self, partitions: Iterable[TopicPartition]) -> set[Task]:
        """Return the tasks of these source partitions; ignores topics outside the topology."""
        ids = {topic: subtopology.id for subtopology in self.subtopologies for topic in subtopology.topics}
        return {(ids[topic], partition) for topic, partition in partitions if topic in ids}

    def __getitem__(self, id: str) -> Subtopology:
        for subtopology in self.subtopologies:
            if subtopology.id == id:
                return subtopology
        raise KeyError(id)


def _check(subtopology: Subtopology) -> None:
    if not is_topic(subtopology.id) or len(subtopology.id) > _LONGEST_ID:
        raise TopologyError(
            f"{_printable(subtopology.id)} is no valid subtopology id: "
            f"use up to {_LONGEST_ID} letters, digits, . _ and -"
        )
    topics: object = subtopology.topics
    if not isinstance(topics, tuple) or not topics:
        raise TopologyError(f"subtopology {subtopology.id}: topics must be a tuple of at least one name")
    for topic in (*subtopology.topics, *([subtopology.changelog] if subtopology.changelog else [])):
        if not is_topic(topic):
            raise TopologyError(f"subtopology {subtopology.id}: {_printable(topic)} is no valid topic name")
    if subtopology.changelog and not subtopology.has_changelog:
        raise TopologyError(
            f"subtopology {subtopology.id}: `changelog` needs `stateful` and `logged`: remove it"
        )


def _printable(name: object) -> str:
    return shown(name) if isinstance(name, str) else repr(name)[:40]
