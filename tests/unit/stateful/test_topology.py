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


def test_what_has_logged_state_has_a_changelog() -> None:
    assert TOPOLOGY.changelogs("app") == {"count": "app-count-changelog", "sum": "sums"}


def test_the_consumer_subscribes_to_the_sources() -> None:
    assert TOPOLOGY.topics == ("cancelled", "flights", "notes", "payments", "prices")


def test_a_task_is_a_partition_over_all_sources() -> None:
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
    """Else records of one key would be in two tasks, and with them its state."""
    with pytest.raises(
        TopologyError, match=r"count: topics need as many partitions each, have flights 6, canc"
    ):
        TOPOLOGY.tasks(partitions)


@pytest.mark.parametrize(
    ("subtopologies", "says"),
    [
        ((), "without subtopologies"),
        (Subtopology("a", ("t",)), "a tuple, also of one: Topology"),
        ([Subtopology("a", ("t",))], "a tuple, also of one: Topology"),
        (("a",), "a tuple, also of one: Topology"),
        (None, "a tuple, also of one: Topology"),
        ((Subtopology("a", ("t",)), Subtopology("a", ("u",))), "two subtopologies are called a"),
        ((Subtopology("a", ("t",)), Subtopology("A", ("u",))), "but for case"),
        ((Subtopology("a", ("t",)), Subtopology("b", ("t",))), "topic t is there twice"),
        ((Subtopology("a", ("t", "t")),), "topic t is there twice"),
        ((Subtopology("a", ("t",), changelog="t"),), "topic t is there twice"),
        ((Subtopology("a", ("t",), changelog="l"), Subtopology("b", ("u",), changelog="l")), "topic l is"),
        ((Subtopology("", ("t",)),), "no subtopology can be called"),
        ((Subtopology("a/b", ("t",)),), "no subtopology can be called a/b: up to 200 letters"),
        ((Subtopology("..", ("t",)),), "no subtopology can be called .."),
        ((Subtopology("x" * 201, ("t",)),), "no subtopology can be called"),
        ((Subtopology("a\n", ("t",)),), r"called 'a\\n'"),
        ((Subtopology("a", ("t u",)),), "no topic can be called t u"),
        ((Subtopology("a", ("x" * 250,)),), "no topic can be called"),
        ((Subtopology("a", ()),), "topics are a tuple"),
        ((Subtopology("a", ("t",), changelog="a b"),), "no topic can be called a b"),
        ((Subtopology("a", ("t",), logged=False, changelog="l"),), "no logged state"),
        ((Subtopology("a", ("t",), stateful=False, changelog="l"),), "no logged state"),
    ],
)
def test_what_makes_no_sense_is_refused(subtopologies: tuple[Subtopology, ...], says: str) -> None:
    with pytest.raises(TopologyError, match=says) as caught:
        Topology(subtopologies)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("topics", ["flights", ["flights"], None, (1,)])
def test_topics_of_another_type_are_refused(topics: Any) -> None:
    """A text would be taken for a topic a letter."""
    with pytest.raises(TopologyError):
        Topology((Subtopology("a", topics),))


def test_a_changelog_is_nothing_elses_topic() -> None:
    with pytest.raises(TopologyError, match="app-a-changelog is not its changelog alone"):
        Topology((Subtopology("a", ("t",)), Subtopology("b", ("app-a-changelog",)))).changelogs("app")
    with pytest.raises(TopologyError, match="set `changelog`"):
        Topology((Subtopology("a", ("t",)),)).changelogs("an application")
