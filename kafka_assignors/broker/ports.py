"""Finds free TCP ports of this machine, and checks that Kafka answers on one."""

from __future__ import annotations

import contextlib
import socket
import struct
from io import BufferedRWPair
from typing import Any

from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse

from kafka_assignors.errors import BrokerError

HOST = "127.0.0.1"
_LONGEST = 64 * 1024  # limit of a response, which has some hundred bytes
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
        # Java also sets SO_REUSEADDR on POSIX, so a former broker's connections in TIME_WAIT do not block the
        # port.
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
        with (
            socket.create_connection((HOST, port), _TIMEOUT_S) as connection,
            connection.makefile("rwb") as pipe,
        ):
            if _ask(pipe, ApiVersionsRequest(), ApiVersionsResponse, version=0).error_code:
                return False
            if cluster_id is None:
                return True
            # The first version with the cluster's id.  Without topics, the response describes none.
            metadata = _ask(pipe, MetadataRequest(topics=[]), MetadataResponse, version=2)
            # Images of Kafka 3.7 and some later ones call the cluster "Some(ID)".
            return cluster_id in (metadata.cluster_id or "")
    except (OSError, ValueError, struct.error):  # no listener, or not Kafka
        return False


def _ask(pipe: BufferedRWPair, request: Any, response: Any, version: int) -> Any:
    """Send a request in this version, and return the decoded response."""
    request.API_VERSION = version
    request.with_header(client_id=None)
    pipe.write(request.encode(header=True, framed=True))
    pipe.flush()
    if (size := int.from_bytes(pipe.read(4), "big")) > _LONGEST:
        raise ValueError(f"a response of {size} bytes")
    answer = response.decode(pipe.read(size), version=version, header=True)
    if answer.header.correlation_id != request.header.correlation_id:
        raise ValueError("a response to another request")
    return answer
