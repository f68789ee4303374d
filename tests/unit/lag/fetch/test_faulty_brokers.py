"""Fetches from servers that do not answer, or hang up."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse
from kafka.protocol.sasl import SaslHandshakeRequest

from kafka_assignors.errors import LagClosedError, LagDeniedError, LagError, LagUnreachableError
from kafka_assignors.lag import LagFetcher
from kafka_assignors.lag.fetch.errors import lag_error
from kafka_assignors.lag.fetch.link import Link, _was_authenticating
from kafka_assignors.plan import TopicPartition
from tests.support.waiting import until

HOST = "127.0.0.1"
T0 = TopicPartition("t", 0)
SASL = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "u",
    "sasl_plain_password": "p",
    "reconnect_backoff_max_ms": 50,
}


# --- silence, and several threads ---


class Silent(ExitStack):
    """A server that accepts connections and never answers."""

    def __enter__(self) -> Silent:
        self._server = self.enter_context(socket.create_server((HOST, 0)))
        self._server.setblocking(False)
        self._accepted = 0
        self.address = f"{HOST}:{self._server.getsockname()[1]}"
        return self

    def accepted(self) -> int:
        """Accept waiting connections; return how many were accepted so far."""
        with suppress(BlockingIOError):
            while True:
                self.enter_context(self._server.accept()[0])
                self._accepted += 1
        return self._accepted


def test_fetch_that_times_out_leaves_other_threads_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    errors: list[Exception] = []
    shut = Link.shut

    def shut_slowly(link: Link) -> None:
        shut(link)
        if threading.current_thread() is not thread:
            until(lambda: server.accepted() > 1 or errors, "the first fetch to connect again")

    def fetch() -> None:
        with pytest.raises(LagError) as caught:
            fetcher.fetch([T0], 60_000)
        errors.append(caught.value)

    with Silent() as server:
        fetcher = LagFetcher({"bootstrap_servers": server.address}, group_id="g")
        thread = threading.Thread(target=fetch)
        thread.start()
        until(server.accepted, "the first fetch to connect")
        monkeypatch.setattr(Link, "shut", shut_slowly)
        with pytest.raises(LagError):
            fetcher.fetch([T0], 200)
        assert not errors
        fetcher.close()
        thread.join(60)
    assert [type(error) for error in errors] == [LagClosedError]


def test_fetch_connects_again_if_another_thread_ended_its_link(monkeypatch: pytest.MonkeyPatch) -> None:
    with Silent() as server:
        config = {"bootstrap_servers": server.address}
        fetcher = LagFetcher(config, group_id="g")
        ended = [Link(config)]
        ended[0].shut()
        assert ended[0].wait_shut(10)
        connect = fetcher._connect
        monkeypatch.setattr(fetcher, "_connect", lambda done: ended.pop() if ended else connect(done))
        with pytest.raises(LagError) as caught:
            fetcher.fetch([T0], 1000)
        assert "fetch again" not in str(caught.value)
        fetcher.close()


def test_ready_outlasts_another_call_with_less_time() -> None:
    with Silent() as server:
        link = Link({"bootstrap_servers": server.address})
        short, long = [link.manager.call_soon(link.ready, timeout_ms) for timeout_ms in (1000, 60_000)]
        until(lambda: short.is_done and (server.accepted() > 1 or long.is_done))
        assert not long.is_done
        link.shut()
        assert link.wait_shut(10)
        assert long.is_done


# --- hang-ups ---


@contextmanager
def hanging_up(*, after_api_versions: bool) -> Iterator[tuple[str, list[Any]]]:
    """A server that closes each connection at once, or when authentication begins.

    Yields its address, and the addresses of its clients.
    """
    clients: list[Any] = []
    keys = [(ApiVersionsRequest.API_KEY, 4), (SaslHandshakeRequest.API_KEY, 1)]
    response = ApiVersionsResponse(
        error_code=0,
        api_keys=[ApiVersionsResponse.ApiVersion(api_key=k, min_version=0, max_version=v) for k, v in keys],
        throttle_time_ms=0,
    )

    def serve() -> None:
        while True:
            client, address = server.accept()
            with client, suppress(OSError):  # the client may hang up, too
                if ended.is_set():
                    return
                clients.append(address)
                if after_api_versions and len(request := client.recv(10_000)) > 12:
                    _size, _key, version, number = struct.unpack_from(">ihhi", request)
                    body = response.encode(version=version)
                    client.sendall(struct.pack(">ii", 4 + len(body), number) + body)
                    client.recv(10_000)

    ended = threading.Event()
    with socket.create_server((HOST, 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"{HOST}:{server.getsockname()[1]}", clients
        finally:
            ended.set()
            socket.create_connection(server.getsockname()).close()
            thread.join(10)


@pytest.mark.parametrize("api_version", [None, (3, 9)])
def test_hang_ups_before_authentication_are_no_denial(api_version: object) -> None:
    """A proxy accepts and closes connections while the brokers behind it restart."""
    with hanging_up(after_api_versions=False) as (address, clients):
        link = Link({**SASL, "bootstrap_servers": address, "api_version": api_version})
        ready = link.manager.call_soon(link.ready, 60_000)
        until(lambda: len(clients) > 5 or ready.is_done)
        assert not ready.is_done
        failure = link.connection_failure
        link.shut()
        assert link.wait_shut(10)
    assert failure is not None
    assert isinstance(lag_error(failure), LagUnreachableError)


@pytest.mark.parametrize("api_version", [None, (3, 9)])
def test_repeated_hang_ups_during_authentication_are_a_denial(api_version: object) -> None:
    """One is none, because a broker that shuts down hangs up, too."""
    with hanging_up(after_api_versions=True) as (address, clients):
        settings = {**SASL, "bootstrap_servers": address, "api_version": api_version}
        fetcher = LagFetcher(settings, group_id="g")
        with pytest.raises(LagDeniedError, match="closed the connection during authentication"):
            fetcher.fetch([T0], 60_000)
        assert (before := len(clients)) >= 3
        with pytest.raises(LagDeniedError, match="closed the connection during authentication"):
            fetcher.fetch([T0], 60_000)
        fetcher.close()
    assert len(clients) > before, "the login is tried again"


def test_hang_up_right_after_a_response_is_one_during_authentication() -> None:
    """kafka-python may read a refusal together with the hang-up, and drop the refusal."""
    connection = SimpleNamespace(sasl_enabled=True, parser=SimpleNamespace(in_flight_requests=()))
    assert _was_authenticating(connection)
