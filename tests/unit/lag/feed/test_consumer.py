"""Pins parts of kafka-python that the feed's consumer uses; and the life of its thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from kafka import KafkaConsumer
from kafka.protocol.metadata import MetadataRequest

from kafka_assignors.errors import LagError, LagTimeoutError, LagUnreachableError
from kafka_assignors.lag.feed.consumer import FeedConsumer


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_used_settings_exist_in_kafka_python() -> None:
    assert {
        *("kafka_client", "group_id", "enable_auto_commit", "auto_offset_reset", "isolation_level"),
        *("fetch_max_wait_ms", "max_poll_records", "metrics_enabled"),
    } <= KafkaConsumer.DEFAULT_CONFIG.keys()
    assert "allow_auto_topic_creation" in MetadataRequest.fields
    assert MetadataRequest.MetadataRequestTopic(name="t").name == "t"


def test_feed_topic_is_never_created() -> None:
    consumer = FeedConsumer({"bootstrap_servers": "127.0.0.1:1"}, "feed")
    try:
        cluster = consumer._link.manager.cluster
        assert cluster.metadata_request().allow_auto_topic_creation is False
    finally:
        consumer.shut()
        assert consumer.wait_shut(10)


def test_unreachable_broker_is_an_error_in_time() -> None:
    consumer = FeedConsumer({"bootstrap_servers": "127.0.0.1:1"}, "feed")
    with pytest.raises((LagUnreachableError, LagTimeoutError)):
        consumer.open(0.3)
    consumer.shut()
    assert consumer.wait_shut(10)


def test_shut_ends_a_call_that_waits(silent: str) -> None:
    consumer = FeedConsumer({"bootstrap_servers": silent}, "feed")
    raised: list[Exception] = []

    def wait() -> None:
        try:
            consumer.open(60)
        except LagError as error:
            raised.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    waiting.join(0.2)
    consumer.shut()
    waiting.join(30)
    assert not waiting.is_alive()
    assert len(raised) == 1
    assert consumer.wait_shut(10)


def test_settings_that_kafka_python_refuses_raise_our_error() -> None:
    with pytest.raises(LagError):
        FeedConsumer({"bootstrap_servers": "127.0.0.1:1", "client_dns_lookup": "never"}, "feed")
