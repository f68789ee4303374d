"""Finds free TCP ports of this machine, and checks that Kafka answers on one."""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import BinaryIO

from kafka_assignors.errors import BrokerError

HOST = "127.0.0.1"

# ApiVersions: length, API key, version 0, correlation id 0, no client id.
_API_VERSIONS = struct.Struct(">ihhih").pack(10, 18, 0, 0, -1)
_HEADER = struct.Struct(">iih")  # length, correlation id, error code

# Metadata: the same fields and an empty list of topics.  Version 2 is the first with the cluster's id.
_METADATA = struct.Struct(">ihhihi").pack(14, 3, 2, 0, -1, 0)
_LONGEST = 64 * 1024  # limit of an ApiVersions response, which has some hundred bytes
_TIMEOUT_S = 1.0  # for connecting, and for each read


def free_ports(count: int) -> list[int]:
    """Return free ports; another process may take one before it is used."""
    with contextlib.ExitStack() as stack:  # all sockets are open at once, so that all ports differ
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind((HOST, 0))
        return [sock.getsockname()[1] for sock in sockets]


def require_free(port: int) -> None:
    """Raise a BrokerError if this process cannot listen on ``port``."""
    if not 1 <= port <= 65535:
        raise BrokerError(f"port {port}: not a TCP port (1 to 65535)")
    with socket.socket() as probe:
        # Java sets it too on POSIX, so that a former broker's connections in TIME_WAIT do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise BrokerError(f"cannot listen on port {port} ({error.strerror}): use another") from error


def answers(port: int, cluster_id: str | None = None) -> bool:
    """Whether a Kafka broker on ``port`` is ready for clients.

    Sends an ApiVersions request, with ``cluster_id`` also a Metadata request.  A TCP connection alone proves
    nothing, because the broker and Docker's proxy accept connections before the broker answers requests.  A
    client of kafka-python would back off for seconds.

    Args:
        port: on this machine.
        cluster_id: id of the expected cluster; None: any.
    """
    try:
        with socket.create_connection((HOST, port), _TIMEOUT_S) as connection:
            connection.sendall(_API_VERSIONS)
            with connection.makefile("rb") as stream:
                length, correlation, error = _HEADER.unpack(stream.read(_HEADER.size))
                if (correlation, error) != (0, 0):
                    return False
                if cluster_id is None:
                    return True
                read_already = 6  # bytes of the correlation id and the error code
                stream.read(min(max(length - read_already, 0), _LONGEST))
                connection.sendall(_METADATA)
                # Images of Kafka 3.7 and some later ones call the cluster "Some(ID)".
                return cluster_id in _cluster_id(stream)
    except (OSError, ValueError, struct.error):  # no listener, or not Kafka
        return False


def _cluster_id(stream: BinaryIO) -> str:
    """Read the cluster's id from a Metadata response, version 2; empty if the cluster has none yet."""

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
