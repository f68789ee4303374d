"""Pins undocumented parts of kafka-python that the fetcher uses; and the life of its thread."""

from __future__ import annotations

import inspect
import socket
import threading
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.cluster import ClusterMetadata
from kafka.errors import KafkaError
from kafka.net.compat import KafkaNetClient
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

from kafka_assignors.errors import LagError, LagUnreachableError
from kafka_assignors.lag import LagFetcher
from kafka_assignors.lag.fetch import link as fetch_link
from kafka_assignors.lag.fetch.link import Link, client_without_topic_creation, make_client
from kafka_assignors.plan import TopicPartition
from tests.support.waiting import until

NOWHERE = {"bootstrap_servers": "127.0.0.1:1"}


@pytest.mark.parametrize("kind", [KafkaAdminClient, KafkaConsumer])
def test_client_that_cannot_connect_leaves_no_thread(kind: type) -> None:
    before = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        for _ in range(3):
            with pytest.raises(KafkaError):
                make_client(kind, bootstrap_servers=address, bootstrap_timeout_ms=100)
    until(lambda: threading.active_count() <= before, "the threads to end")


@pytest.mark.parametrize("kind", [KafkaAdminClient, KafkaConsumer])
def test_thread_that_cannot_start_is_the_error(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that the client's end cannot wait for it."""

    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        make_client(kind, **NOWHERE)


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (ClusterMetadata.refresh_metadata, []),
        (KafkaNetClient.__init__, ["net", "manager"]),
        (KafkaConnectionManager.bootstrap, ["timeout_ms", "refresh"]),
        (KafkaConnectionManager.bootstrap_async, ["timeout_ms", "refresh"]),
        (KafkaConnectionManager.call_soon, ["coro", "args"]),
        (KafkaConnectionManager.get_connection, ["node_id"]),
        (KafkaConnectionManager.send, ["request", "node_id", "request_timeout_ms"]),
        (NetworkSelector.call_soon_threadsafe, ["callback"]),
        (NetworkSelector.run_forever, []),
        (NetworkSelector.sleep, ["delay"]),
        (NetworkSelector.stop, ["timeout_ms"]),
    ],
    ids=lambda it: getattr(it, "__qualname__", ""),
)
def test_used_parts_of_kafka_python_exist(call: Any, arguments: list[str]) -> None:
    assert set(arguments) <= set(inspect.signature(call).parameters)


def test_used_settings_exist_in_kafka_python() -> None:
    for client in KafkaAdminClient, KafkaConsumer, KafkaProducer:
        assert "kafka_client" in client.DEFAULT_CONFIG
    assert "slow_task_threshold_secs" in NetworkSelector.DEFAULT_CONFIG
    assert isinstance(KafkaConnectionManager.bootstrapped, property)
    assert isinstance(KafkaConnection.sasl_enabled, property)


def test_client_never_creates_topics() -> None:
    """kafka-python's own option for this does not reach its metadata requests."""
    option = ClusterMetadata(allow_auto_create_topics=False)
    client = client_without_topic_creation(**NOWHERE)
    try:
        for cluster in option, client.cluster:
            assert cluster.metadata_request().allow_auto_topic_creation is False
    finally:
        client.close()


def test_link_constructor_does_not_wait() -> None:
    """kafka-python's own admin client would raise here after half a minute, and leave its thread."""
    link = Link(NOWHERE)
    link.shut()
    link.shut()
    assert link.wait_shut(10)


def test_link_shut_before_its_thread_starts_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_begin = threading.Event()
    run = fetch_link._Loop.run_forever

    def late(self: Any) -> None:
        may_begin.wait(10)
        run(self)

    monkeypatch.setattr(fetch_link._Loop, "run_forever", late)
    link = Link(NOWHERE)
    link.shut()
    may_begin.set()
    assert link.wait_shut(10)


def test_crashed_loop_raises_and_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    works = NetworkSelector._schedule_tasks

    def broken(self: Any) -> None:
        monkeypatch.setattr(NetworkSelector, "_schedule_tasks", works)  # for closing it
        raise MemoryError("broken")

    # The thread reports it as any thread does.
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(NetworkSelector, "_schedule_tasks", broken)
    fetcher = LagFetcher(NOWHERE, group_id="g")
    with pytest.raises(LagError):
        fetcher.fetch([TopicPartition("t", 0)], 1000)
    link = fetcher._link
    fetcher.close()
    assert link is None or link.wait_shut(10)


def test_fetch_after_the_links_thread_ended_asks_to_fetch_again() -> None:
    fetcher = LagFetcher(NOWHERE, group_id="g")
    fetcher._link = Link(NOWHERE)
    fetcher._link.shut()
    assert fetcher._link.wait_shut(10)
    with pytest.raises(LagUnreachableError, match="fetch again"):
        fetcher.fetch([TopicPartition("t", 0)], 1000)
    assert "not connected" in repr(fetcher)


def test_refused_settings_raise() -> None:
    """Only kafka-python knows these settings to be wrong."""
    fetcher = LagFetcher({**NOWHERE, "client_dns_lookup": "by_pigeon"}, group_id="g")
    with pytest.raises(LagError, match="by_pigeon"):
        fetcher.fetch([TopicPartition("t", 0)], 1000)
    fetcher.close()


def test_empty_fetch_needs_no_connection() -> None:
    fetcher = LagFetcher(NOWHERE, group_id="g")
    assert fetcher.fetch([], 1000).lags == {}
    assert "not connected" in repr(fetcher)
