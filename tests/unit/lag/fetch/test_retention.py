from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kafka.errors import KafkaError, KafkaTimeoutError

from kafka_assignors.lag import Offsets
from kafka_assignors.lag.fetch.retention import (
    AGAIN_S,
    Retentions,
    limits_request,
    read_limits,
    read_sizes,
    sizes_request,
)
from kafka_assignors.lag.retention import Retention
from kafka_assignors.plan import TopicPartition

T0, T1, DENIED = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("denied", 0)
LOG = Offsets(1_000, 2_000, 1_500)


@pytest.mark.parametrize(
    ("configs", "limits"),
    [
        (
            {"cleanup.policy": "delete", "retention.ms": "1000", "retention.bytes": "-1"},
            Retention(1_000, None),
        ),
        (
            {"cleanup.policy": "compact,delete", "retention.ms": "-1", "retention.bytes": "9"},
            Retention(None, 9),
        ),
        ({"cleanup.policy": "compact", "retention.ms": "1000", "retention.bytes": "9"}, Retention()),
        ({"cleanup.policy": "", "retention.ms": "1000"}, Retention()),
        (
            {"retention.ms": "1000", "retention.bytes": "9", "remote.storage.enable": "true"},
            Retention(1_000, None),
        ),
        ({"retention.bytes": "9", "remote.storage.enable": "false"}, Retention(None, 9)),
        ({}, Retention()),
    ],
)
def test_limits_of_topics(configs: dict[str, str], limits: Retention) -> None:
    entries = [SimpleNamespace(name=name, value=value) for name, value in configs.items()]
    rows = [
        SimpleNamespace(error_code=0, resource_name="t", configs=entries),
        SimpleNamespace(error_code=29, resource_name="denied", configs=[]),
    ]
    assert read_limits(SimpleNamespace(results=rows)) == {"t": limits}


def test_sizes_of_logs() -> None:
    def row(number: int, size: int, *, is_future_key: bool = False) -> SimpleNamespace:
        return SimpleNamespace(partition_index=number, partition_size=size, is_future_key=is_future_key)

    topic = SimpleNamespace(name="t", partitions=[row(0, 5), row(1, 7, is_future_key=True)])
    results = [SimpleNamespace(topics=[topic]), SimpleNamespace(topics=[])]
    answer = SimpleNamespace(API_VERSION=4, error_code=0, results=results)
    assert read_sizes(answer) == {TopicPartition("t", 0): 5}


def test_sizes_are_requested_topic_by_topic() -> None:
    """A list that is searched once for each topic takes half a second for 500 topics."""

    class Once(list[TopicPartition]):
        def __iter__(self) -> Iterator[TopicPartition]:
            looks.append(1)
            return super().__iter__()

    looks: list[int] = []
    request = sizes_request(Once([T1, TopicPartition("b", 0), T0]))
    assert [(topic.topic, topic.partitions) for topic in request.topics] == [("b", [0]), ("t", [1, 0])]
    assert len(looks) == 1


class Broker:
    """Describes topic ``t``, whose logs have 8 bytes a record, and denies the others."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.errors: dict[str, KafkaError] = {}
        self.size_error = 0
        self.refusal = 29  # error code of the topics other than ``t``

    async def send(self, request: Any, node: int | None = None) -> Any:
        kind = type(request).__name__.removesuffix("Request")
        self.sent.append(kind)
        if kind in self.errors:
            raise self.errors[kind]
        if kind == "DescribeLogDirs":
            rows = [
                SimpleNamespace(partition_index=p, partition_size=8_000, is_future_key=False)
                for p in request.topics[0].partitions
            ]
            directory = SimpleNamespace(topics=[SimpleNamespace(name="t", partitions=rows)])
            return SimpleNamespace(API_VERSION=4, error_code=self.size_error, results=[directory])
        configs = [SimpleNamespace(name="retention.bytes", value="9")]
        return SimpleNamespace(
            results=[
                SimpleNamespace(
                    error_code=self.refusal * (each.resource_name != "t"),
                    error_message=None,
                    resource_name=each.resource_name,
                    configs=configs,
                )
                for each in request.resources
            ]
        )


class Looks:
    """Looks at the retention of partitions, at a time of the test's choice."""

    def __init__(self) -> None:
        self.broker = Broker()
        self.notes: list[str] = []
        self.now = 0.0
        self._retentions = Retentions(self.notes.append, lambda: self.now)

    def kept(self) -> set[str | TopicPartition]:
        """Return the topics and logs whose figures are kept."""
        return {*self._retentions._limits, *self._retentions._record_bytes}

    def look(self, *tps: TopicPartition) -> dict[TopicPartition, Retention]:
        link = SimpleNamespace(leaders=dict.fromkeys(tps, 1))
        asking = self._retentions.ask(cast(Any, self.broker), cast(Any, link), dict.fromkeys(tps, LOG))
        with pytest.raises(StopIteration) as done:
            asking.send(None)
        return cast("dict[TopicPartition, Retention]", done.value.value)


def test_retention_is_asked_once_and_rarely_again() -> None:
    looks = Looks()
    assert looks.look(T0) == {T0: Retention(None, 9, 8.0)}
    assert looks.look(T0) == {T0: Retention(None, 9, 8.0)}
    assert looks.broker.sent == ["DescribeConfigs", "DescribeLogDirs"]
    assert looks.look(T0, T1)[T1] == Retention(None, 9, 8.0)
    assert looks.broker.sent == ["DescribeConfigs", *["DescribeLogDirs"] * 2]
    looks.now = AGAIN_S
    looks.look(T0)
    assert looks.broker.sent[3:] == ["DescribeConfigs", "DescribeLogDirs"]


def test_missing_rights_are_named_once() -> None:
    looks = Looks()
    looks.broker.size_error = 31
    for looks.now in (0, AGAIN_S):
        assert looks.look(T0, DENIED) == {T0: Retention(None, 9, None)}
    assert looks.notes == [
        "retention unknown: a broker does not return the configuration of topic denied: "
        "the client needs the right DescribeConfigs on the topic",
        "retention unknown: a broker does not return the sizes of logs: "
        "the client needs the right Describe on the cluster",
    ]


def test_topics_and_logs_that_are_gone_are_forgotten() -> None:
    """A watched pattern may see many come and go."""
    looks = Looks()
    looks.look(T0)
    looks.now = AGAIN_S - 1
    looks.look(DENIED)
    assert looks.kept() == {"t", T0}, "they may come back"
    looks.now = AGAIN_S
    looks.look(DENIED)
    assert looks.kept() == set()


@pytest.mark.parametrize(("error", "asked"), [(KafkaTimeoutError("slow"), 2), (KafkaError("odd"), 1)])
def test_failure_that_passes_is_asked_again_at_the_next_look(error: KafkaError, asked: int) -> None:
    looks = Looks()
    looks.broker.errors = {"DescribeConfigs": error}
    assert looks.look(T0) == looks.look(T0) == {}
    assert looks.broker.sent == ["DescribeConfigs"] * asked
    assert len(looks.notes) == 1


@pytest.mark.parametrize(("code", "asked"), [(3, 2), (29, 1)])
def test_topic_that_a_broker_does_not_know_yet_is_asked_again_at_the_next_look(code: int, asked: int) -> None:
    looks = Looks()
    looks.broker.refusal = code
    assert looks.look(DENIED) == looks.look(DENIED) == {}
    assert looks.broker.sent == ["DescribeConfigs"] * asked


def test_limits_are_requested_once_a_topic() -> None:
    resources = limits_request({"b", "a"}).resources
    assert [each.resource_name for each in resources] == ["a", "b"]
    assert resources[0].configuration_keys == [
        *("cleanup.policy", "retention.ms", "retention.bytes", "remote.storage.enable")
    ]
