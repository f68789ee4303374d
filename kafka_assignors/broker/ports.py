"""TCP ports of this machine: finding free ones, and knocking on Kafka's."""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import BinaryIO

from kafka_assignors.errors import BrokerError

__all__ = ["HOST", "answers", "free_ports", "require_free"]

HOST = "127.0.0.1"

# Length, API key, version 0, correlation id 0, no client id.
_API_VERSIONS = struct.Struct(">ihhih").pack(10, 18, 0, 0, -1)
_HEADER = struct.Struct(">iih")  # length, correlation id, error code

# The same for version 2 of Metadata, the first that has the cluster's id; of no topics, a list of length 0.
_METADATA = struct.Struct(">ihhihi").pack(14, 3, 2, 0, -1, 0)
_LONGEST = 64 * 1024  # one broker and no topics are 70 bytes


def free_ports(count: int) -> list[int]:
    """Pick ports nobody listens on; another process may take one before its user does."""
    with contextlib.ExitStack() as stack:  # all open at once, so that no two are the same
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]


def require_free(port: int) -> None:
    """Raise a BrokerError that names ``port`` if this process could not listen on it."""
    if not 1 <= port <= 65535:
        raise BrokerError(f"port {port}: not a TCP port (1 to 65535)")
    with socket.socket() as probe:
        # As Java does on POSIX: connections of a predecessor that linger in TIME_WAIT are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise BrokerError(f"cannot listen on port {port} ({error.strerror}): name another") from error


def answers(port: int, cluster_id: str | None = None, timeout_s: float = 1.0) -> bool:
    """Say whether a Kafka broker that is ready for clients listens on ``port``.

    A socket that accepts is not enough (the broker listens before it serves, and Docker's proxy before
    anything), and kafka-python's own bootstrap backs off for seconds; so this asks for ApiVersions, by hand.

    Args:
        port: on this machine.
        cluster_id: of the only cluster that counts; None: any does.
        timeout_s: for each step of the conversation.
    """
    try:
        with socket.create_connection((HOST, port), timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(_API_VERSIONS)
            with connection.makefile("rb") as stream:
                length, correlation, error = _HEADER.unpack(stream.read(_HEADER.size))
                if (correlation, error) != (0, 0):
                    return False
                if cluster_id is None:
                    return True
                stream.read(min(max(length - 6, 0), _LONGEST))  # 6: what the header has of it
                connection.sendall(_METADATA)
                # Images of Kafka 3.7 and some later ones call the cluster "Some(ID)".
                return cluster_id in _cluster_id(stream)
    except (OSError, ValueError, struct.error):  # nobody there, or no Kafka
        return False


def _cluster_id(stream: BinaryIO) -> str:
    """Read the cluster's id from a Metadata response, version 2; empty when it has none yet."""

    def number(kind: str) -> int:
        read = struct.Struct(kind)
        value: int = read.unpack(stream.read(read.size))[0]
        return value

    def text() -> str:
        return stream.read(max(number(">h"), 0)).decode()  # -1: null

    number(">q")  # length and correlation id
    for _ in range(number(">i")):
        number(">i"), text(), number(">i"), text()  # a broker's id, host, port, rack
    return text()
