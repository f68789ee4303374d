"""kafka-python's errors as ours."""

from __future__ import annotations

import pytest
from kafka.errors import (
    InvalidReceiveError,
    KafkaConnectionError,
    KafkaTimeoutError,
    RequestTimedOutError,
)

from kafka_assignors.errors import LagUnreachableError
from kafka_assignors.lag.fetch.errors import is_denial, lag_error, replaces


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


def test_other_protocol_suggests_tls() -> None:
    error = lag_error(InvalidReceiveError("Invalid frame length: 352518912"))
    assert isinstance(error, LagUnreachableError)
    assert "TLS" in str(error)
    assert "352518912" in str(error)
