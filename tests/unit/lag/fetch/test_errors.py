"""kafka-python's errors, in the words and classes of ours."""

from __future__ import annotations

import pytest
from kafka.errors import (
    InvalidReceiveError,
    KafkaConnectionError,
    KafkaTimeoutError,
    RequestTimedOutError,
)

from kafka_assignors.errors import LagUnreachableError
from kafka_assignors.lag.fetch.errors import lag_error, says_more


@pytest.mark.parametrize("timeout", [KafkaTimeoutError, RequestTimedOutError])
def test_that_time_ran_out_hides_nothing_that_was_known(timeout: type[Exception]) -> None:
    cut, refused = timeout("after 5 ms"), KafkaConnectionError("ECONNREFUSED")
    assert says_more(cut, None)
    assert says_more(cut, KafkaTimeoutError("after 9 ms"))
    assert not says_more(cut, refused)
    assert says_more(refused, cut)
    assert says_more(KafkaConnectionError("reset"), refused)


def test_another_protocol_is_named_as_what_it_may_be() -> None:
    error = lag_error(InvalidReceiveError("Invalid frame length: 352518912"))
    assert isinstance(error, LagUnreachableError)
    assert "TLS" in str(error)
    assert "352518912" in str(error)
