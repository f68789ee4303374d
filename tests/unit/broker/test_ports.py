from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator

import pytest

from kafka_assignors.broker.ports import HOST, answers, free_ports, require_free
from kafka_assignors.errors import BrokerError


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server((HOST, 0)) as server:
        yield server


def framed(body: bytes) -> bytes:
    """Make a response with correlation id 0."""
    return (4 + len(body)).to_bytes(4, "big") + bytes(4) + body


def metadata(cluster_id: bytes) -> bytes:
    """Make a Metadata response, version 2, of a cluster of one broker without a rack."""
    broker = b"\0\0\0\x01" + b"\0\x09127.0.0.1" + b"\0\0\x23\x84" + b"\xff\xff"
    return framed(b"\0\0\0\x01" + broker + cluster_id + b"\0\0\0\x01" + b"\0\0\0\0")


VERSIONS = framed(b"\0\0" + b"\0\0\0\x01" + b"\0\x12\0\0\0\x03")


def reply_once(
    listener: socket.socket, *replies: bytes, requests: list[bytes] | None = None
) -> threading.Thread:
    """Answer the next requests, of one connection, with ``replies`` and hang up; append to ``requests``."""
    received = [] if requests is None else requests

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            for reply in replies:
                received.append(connection.recv(1024))
                connection.sendall(reply)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def test_free_ports_are_distinct_and_free() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        require_free(port)


def test_taken_port_is_named(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    with pytest.raises(BrokerError, match=rf"^cannot listen on port {port} \(Address already in use\)"):
        require_free(port)


@pytest.mark.parametrize("port", [-1, 0, 65536])
def test_number_outside_the_port_range_is_named(port: int) -> None:
    with pytest.raises(BrokerError, match=rf"^port {port}: not a TCP port"):
        require_free(port)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may listen anywhere")
def test_privileged_port_is_named() -> None:
    with pytest.raises(BrokerError, match=r"^cannot listen on port 81 \(Permission denied\)"):
        require_free(81)


@pytest.mark.parametrize(
    ("reply", "ready"),
    [
        (b"\0\0\0\x0a" + b"\0\0\0\0" + b"\0\0" + b"\0\0\0\0", True),
        (b"\0\0\0\x06" + b"\0\0\0\0" + b"\0\x23", False),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", False),
        (b"\0\0", False),
        (b"", False),
    ],
    ids=["kafka", "kafka with an error", "a web server", "cut short", "hangs up"],
)
def test_only_a_serving_kafka_answers(listener: socket.socket, reply: bytes, ready: bool) -> None:
    thread = reply_once(listener, reply)
    assert answers(listener.getsockname()[1]) is ready
    thread.join()


@pytest.mark.parametrize(
    ("metadata", "ours"),
    [
        (metadata(b"\0\x04ours"), True),
        (metadata(b"\0\x0aSome(ours)"), True),
        (metadata(b"\0\x06theirs"), False),
        (metadata(b"\xff\xff"), False),
        (metadata(b"\0\x04our"), False),
        (metadata(b"\0\x02\xff\xff"), False),
        (b"\x7f\xff\xff\xff\0\0\0\0\x7f\xff\xff\xff\0\0", False),
        (framed(b"\x7f\xff\xff\xff\0\0"), False),
        (b"", False),
    ],
    ids=[
        *("ours", "as some images say it", "another", "null", "cut short", "no text"),
        *("junk", "too many brokers", "hangs up"),
    ],
)
def test_another_cluster_does_not_answer(listener: socket.socket, metadata: bytes, ours: bool) -> None:
    thread = reply_once(listener, VERSIONS, metadata)
    assert answers(listener.getsockname()[1], "ours") is ours
    thread.join()


def test_requests_are_the_oldest_that_a_broker_reads(listener: socket.socket) -> None:
    """ApiVersions 0 and Metadata 2, with correlation id 0, without a client id and without topics."""
    requests = list[bytes]()
    thread = reply_once(listener, VERSIONS, metadata(b"\0\x04ours"), requests=requests)
    assert answers(listener.getsockname()[1], "ours")
    thread.join()
    assert [request.hex(" ", 2) for request in requests] == [
        "0000 000a 0012 0000 0000 0000 ffff",
        "0000 000e 0003 0002 0000 0000 ffff 0000 0000",
    ]


def test_junk_is_not_read_to_its_end(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a server that keeps the connection open, as a web server may."""
    monkeypatch.setattr("kafka_assignors.broker.ports._TIMEOUT_S", 10.0)
    rest = list[bytes]()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1024)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.settimeout(5)
            rest.append(connection.recv(1024))

    thread = threading.Thread(target=serve)
    thread.start()
    assert not answers(listener.getsockname()[1])
    thread.join()
    assert rest == [b""], "the client closes the connection before its time-out"


def test_silent_listener_does_not_answer(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_assignors.broker.ports._TIMEOUT_S", 0.1)
    assert not answers(listener.getsockname()[1])


def test_port_without_listener_does_not_answer() -> None:
    assert not answers(free_ports(1)[0])
