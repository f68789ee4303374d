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
from kafka_assignors.lag.fetch.errors import is_more_specific, lag_error


@pytest.mark.parametrize("timeout", [KafkaTimeoutError, RequestTimedOutError])
def test_timeout_does_not_hide_an_earlier_failure(timeout: type[Exception]) -> None:
    cut, refused = timeout("after 5 ms"), KafkaConnectionError("ECONNREFUSED")
    assert is_more_specific(cut, None)
    assert is_more_specific(cut, KafkaTimeoutError("after 9 ms"))
    assert not is_more_specific(cut, refused)
    assert is_more_specific(refused, cut)
    assert is_more_specific(KafkaConnectionError("reset"), refused)


def test_other_protocol_suggests_tls() -> None:
    error = lag_error(InvalidReceiveError("Invalid frame length: 352518912"))
    assert isinstance(error, LagUnreachableError)
    assert "TLS" in str(error)
    assert "352518912" in str(error)
