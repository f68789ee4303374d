"""What a user writes is checked before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_assignors.errors import TopologyError
from kafka_assignors.plan import TopicPartition
from kafka_assignors.stateful import Subtopology, Topology

TOPOLOGY = Topology(
    (
        Subtopology("count", ("flights", "cancelled")),
        Subtopology("print", ("notes",), stateful=False),
        Subtopology("cache", ("prices",), logged=False),
        Subtopology("sum", ("payments",), changelog="sums"),
    )
)


def test_subtopologies_with_logged_state_have_a_changelog() -> None:
    assert TOPOLOGY.changelogs("app") == {"count": "app-count-changelog", "sum": "sums"}


def test_topics_are_the_sorted_sources() -> None:
    assert TOPOLOGY.topics == ("cancelled", "flights", "notes", "payments", "prices")


def test_task_is_one_partition_of_all_sources() -> None:
    assert TOPOLOGY.partitions(("count", 3)) == (TopicPartition("flights", 3), TopicPartition("cancelled", 3))
    given = [TopicPartition("cancelled", 3), TopicPartition("flights", 3), TopicPartition("notes", 0)]
    assert TOPOLOGY.tasks_of([*given, TopicPartition("unknown", 7)]) == {("count", 3), ("print", 0)}
    with pytest.raises(KeyError):
        TOPOLOGY.partitions(("unknown", 3))


def test_there_are_as_many_tasks_as_partitions() -> None:
    partitions = {"flights": 6, "cancelled": 6, "notes": 2, "payments": 1}
    assert TOPOLOGY.tasks(partitions) == {"count": 6, "print": 2, "cache": 0, "sum": 1}


@pytest.mark.parametrize("partitions", [{"flights": 6, "cancelled": 5}, {"flights": 6}])
def test_topics_of_a_task_have_equal_partitions(partitions: dict[str, int]) -> None:
    """Records of one key, and its state, would be in two tasks otherwise."""
    with pytest.raises(
        TopologyError, match=r"count: topics must have the same number of partitions, have flights 6, canc"
    ):
        TOPOLOGY.tasks(partitions)


@pytest.mark.parametrize(
    ("subtopologies", "message"),
    [
        ((), "at least one subtopology"),
        (Subtopology("a", ("t",)), "a tuple, also for one: Topology"),
        ([Subtopology("a", ("t",))], "a tuple, also for one: Topology"),
        (("a",), "a tuple, also for one: Topology"),
        (None, "a tuple, also for one: Topology"),
        ((Subtopology("a", ("t",)), Subtopology("a", ("u",))), "two subtopologies have the id a"),
        ((Subtopology("a", ("t",)), Subtopology("A", ("u",))), "differ only in case"),
        ((Subtopology("a", ("t",)), Subtopology("b", ("t",))), "topic t is used twice"),
        ((Subtopology("a", ("t", "t")),), "topic t is used twice"),
        ((Subtopology("a", ("t",), changelog="t"),), "topic t is used twice"),
        ((Subtopology("a", ("t",), changelog="l"), Subtopology("b", ("u",), changelog="l")), "topic l is"),
        ((Subtopology("", ("t",)),), "is no valid subtopology id"),
        ((Subtopology("a/b", ("t",)),), "a/b is no valid subtopology id: use up to 200 letters"),
        ((Subtopology("..", ("t",)),), r"\.\. is no valid subtopology id"),
        ((Subtopology("x" * 201, ("t",)),), "is no valid subtopology id"),
        ((Subtopology("a\n", ("t",)),), r"'a\\n' is no valid"),
        ((Subtopology("a", ("t u",)),), "t u is no valid topic name"),
        ((Subtopology("a", ("x" * 250,)),), "is no valid topic name"),
        ((Subtopology("a", ()),), "topics must be a tuple"),
        ((Subtopology("a", ("t",), changelog="a b"),), "a b is no valid topic name"),
        ((Subtopology("a", ("t",), logged=False, changelog="l"),), "needs `stateful` and `logged`"),
        ((Subtopology("a", ("t",), stateful=False, changelog="l"),), "needs `stateful` and `logged`"),
    ],
)
def test_invalid_topologies_are_refused(subtopologies: tuple[Subtopology, ...], message: str) -> None:
    with pytest.raises(TopologyError, match=message) as caught:
        Topology(subtopologies)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("topics", ["flights", ["flights"], None, (1,)])
def test_topics_of_another_type_are_refused(topics: Any) -> None:
    """A string would count as one topic a letter."""
    with pytest.raises(TopologyError):
        Topology((Subtopology("a", topics),))


def test_changelog_must_not_be_another_topic_of_the_topology() -> None:
    with pytest.raises(TopologyError, match="app-a-changelog is also another topic"):
        Topology((Subtopology("a", ("t",)), Subtopology("b", ("app-a-changelog",)))).changelogs("app")
    with pytest.raises(TopologyError, match="set `changelog`"):
        Topology((Subtopology("a", ("t",)),)).changelogs("an application")
