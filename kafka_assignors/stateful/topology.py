"""What a user writes: which topics are processed together, and which state that has.

A subtopology is processed task by task.  A task is one partition number over all its source topics:
partition 3 of `orders` and of `payments` go to the same member, and share the store ``(subtopology, 3)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_assignors.errors import TopologyError
from kafka_assignors.plan.model import TopicPartition, shown
from kafka_assignors.wire.task_section import Task

__all__ = ["Subtopology", "Task", "Topology"]

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # what Kafka allows for topics
_LONGEST_ID = 200  # with a partition's number behind it, it is also the name of a directory


@dataclass(frozen=True, slots=True)
class Subtopology:
    """Topics that are processed together, and their state.

    Attributes:
        id: its name: in the names of its changelog and of its directories.
        topics: the source topics; all must have as many partitions.
        stateful: whether it has a store; without one nothing is kept, and nothing restored.
        logged: whether the store is written to a changelog.  One that is not dies with its disk, and is
            nowhere
            else: every member counts as caught up.
        changelog: the changelog's topic; None: ``<application>-<id>-changelog``.
    """

    id: str
    topics: tuple[str, ...]
    stateful: bool = True
    logged: bool = True
    changelog: str | None = None

    @property
    def has_changelog(self) -> bool:
        """Whether there is anything to restore from."""
        return self.stateful and self.logged

    def changelog_topic(self, application: str) -> str | None:
        """The changelog's topic in the group ``application``; None if there is none.

        Raises:
            TopologyError: no topic can have that name; give it one.
        """
        if not self.has_changelog:
            return None
        topic = self.changelog or f"{application}-{self.id}-changelog"
        if not _is_topic(topic):
            raise TopologyError(
                f"subtopology {self.id}: no topic can be called {shown(topic)}: set `changelog`"
            )
        return topic


@dataclass(frozen=True, slots=True)
class Topology:
    """All that one application processes.  Every member of the group has to have the same.

    Raises:
        TopologyError: there is no subtopology; two have the same id (or differ by case only, which some
            disks do not tell apart); a topic is in two of them, or is also a changelog; a name that cannot
            be; a changelog of something that has none.
    """

    subtopologies: tuple[Subtopology, ...]

    def __post_init__(self) -> None:
        given: Any = self.subtopologies
        if not isinstance(given, tuple) or not all(isinstance(one, Subtopology) for one in given):
            raise TopologyError(
                "subtopologies are a tuple, also of one: Topology((Subtopology('count', ('orders',)),))"
            )
        if not self.subtopologies:
            raise TopologyError("a topology without subtopologies")
        ids: set[str] = set()
        for subtopology in self.subtopologies:
            _check(subtopology)
            if subtopology.id.lower() in ids:
                raise TopologyError(f"two subtopologies are called {subtopology.id}, at least but for case")
            ids.add(subtopology.id.lower())
        sources = [topic for subtopology in self.subtopologies for topic in subtopology.topics]
        logs = [subtopology.changelog for subtopology in self.subtopologies if subtopology.changelog]
        for topic in (*sources, *logs):
            if sources.count(topic) + logs.count(topic) > 1:
                raise TopologyError(f"topic {topic} is there twice")

    @property
    def topics(self) -> tuple[str, ...]:
        """All source topics, by name: what the consumer subscribes to."""
        return tuple(sorted(topic for subtopology in self.subtopologies for topic in subtopology.topics))

    def changelogs(self, application: str) -> dict[str, str]:
        """Id -> changelog topic, of the subtopologies that have one.

        Raises:
            TopologyError: a name that no topic can have, or one that is a topic's already.
        """
        found: dict[str, str] = {}
        for subtopology in self.subtopologies:
            if (topic := subtopology.changelog_topic(application)) is None:
                continue
            if topic in found.values() or topic in self.topics:
                raise TopologyError(f"subtopology {subtopology.id}: topic {topic} is not its changelog alone")
            found[subtopology.id] = topic
        return found

    def tasks(self, partitions: Mapping[str, int]) -> dict[str, int]:
        """Id -> how many tasks, by the partitions the topics have now.

        Args:
            partitions: topic -> how many; a topic that does not exist (yet) is not there.

        Raises:
            TopologyError: topics of one subtopology differ.  Records with the same key would meet in no task.
        """
        counts: dict[str, int] = {}
        for subtopology in self.subtopologies:
            found = {topic: partitions.get(topic, 0) for topic in subtopology.topics}
            if len(set(found.values())) > 1:
                said = ", ".join(f"{topic} {count}" for topic, count in found.items())
                raise TopologyError(
                    f"subtopology {subtopology.id}: topics need as many partitions each, have {said}"
                )
            counts[subtopology.id] = next(iter(found.values()))
        return counts

    def partitions(self, task: Task) -> tuple[TopicPartition, ...]:
        """The source partitions of a task."""
        return tuple(TopicPartition(topic, task[1]) for topic in self[task[0]].topics)

    def tasks_of(self, partitions: Iterable[TopicPartition]) -> set[Task]:
        """The tasks those source partitions belong to; other topics are passed over."""
        home = {topic: subtopology.id for subtopology in self.subtopologies for topic in subtopology.topics}
        return {(home[topic], partition) for topic, partition in partitions if topic in home}

    def __getitem__(self, id: str) -> Subtopology:
        for subtopology in self.subtopologies:
            if subtopology.id == id:
                return subtopology
        raise KeyError(id)


def _check(subtopology: Subtopology) -> None:
    if not _is_topic(subtopology.id) or len(subtopology.id) > _LONGEST_ID:
        raise TopologyError(
            f"no subtopology can be called {_said(subtopology.id)}: "
            f"up to {_LONGEST_ID} letters, digits, . _ and -"
        )
    topics: object = subtopology.topics
    if not isinstance(topics, tuple) or not topics:
        raise TopologyError(f"subtopology {subtopology.id}: topics are a tuple of at least one name")
    for topic in (*subtopology.topics, *([subtopology.changelog] if subtopology.changelog else [])):
        if not _is_topic(topic):
            raise TopologyError(f"subtopology {subtopology.id}: no topic can be called {_said(topic)}")
    if subtopology.changelog and not subtopology.has_changelog:
        raise TopologyError(f"subtopology {subtopology.id}: a changelog of what has no logged state")


def _said(name: object) -> str:
    return shown(name) if isinstance(name, str) else repr(name)[:40]


def _is_topic(name: object) -> bool:
    return isinstance(name, str) and name not in {".", ".."} and _NAME.fullmatch(name) is not None
