"""kafka-python's errors as ours."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from kafka.errors import (
    InvalidReceiveError,
    KafkaConnectionError,
    KafkaTimeoutError,
    RequestTimedOutError,
)

from kafka_assignors.cli.connection import connection_error
from kafka_assignors.errors import LagUnreachableError
from kafka_assignors.lag.fetch.errors import is_denial, lag_error, reason, replaces


@pytest.mark.parametrize("timeout", [KafkaTimeoutError, RequestTimedOutError])
def test_timeout_does_not_hide_an_earlier_failure(timeout: type[Exception]) -> None:
    cut, refused = timeout("after 5 ms"), KafkaConnectionError("ECONNREFUSED")
    assert replaces(cut, None)
    assert replaces(cut, KafkaTimeoutError("after 9 ms"))
    assert not replaces(cut, refused)
    assert replaces(refused, cut)
    assert replaces(KafkaConnectionError("reset"), refused)


def test_connection_that_ends_in_the_tls_handshake_is_no_denial() -> None:
    """A load balancer accepts connections although its brokers are away."""
    error = KafkaConnectionError("Handshake failed: [SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred")
    assert not is_denial(error)
    assert isinstance(lag_error(error), LagUnreachableError)
    assert "ends in the TLS handshake" in str(lag_error(error))
    assert is_denial(KafkaConnectionError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"))


def test_unusable_tls_files_are_not_blamed_on_the_cluster(tmp_path: Path) -> None:
    """kafka-python raises OpenSSL's error as it is only while it loads the files."""
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(ssl.SSLError) as caught:
        ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    assert str(lag_error(caught.value)).startswith("this client cannot use its TLS files: ")
    assert connection_error("a:1", caught.value).startswith("this client cannot use its TLS files: ")
    assert is_denial(caught.value), "a retry cannot help"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (999, "unknown error 999"),
        (-1, "unknown error -1"),
        (3, "no such partition"),
        (5, "LeaderNotAvailable"),
    ],
)
def test_error_code_has_a_reason(code: int, text: str) -> None:
    assert reason(code) == text


def test_other_protocol_suggests_tls() -> None:
    error = lag_error(InvalidReceiveError("Invalid frame length: 352518912"))
    assert isinstance(error, LagUnreachableError)
    assert "TLS" in str(error)
    assert "352518912" in str(error)
