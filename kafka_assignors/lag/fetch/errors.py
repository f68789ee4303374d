"""What kafka-python raises, as errors split by what the caller can do."""

from __future__ import annotations

import re
import ssl

from kafka.errors import (
    AuthorizationError,
    IllegalSaslStateError,
    InvalidReceiveError,
    InvalidTopicError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NodeNotReadyError,
    RequestTimedOutError,
    SaslAuthenticationFailedError,
    TopicAuthorizationFailedError,
    UnknownBrokerIdError,
    UnknownTopicOrPartitionError,
    UnsupportedSaslMechanismError,
    for_code,
)

from kafka_assignors.errors import LagDeniedError, LagError, LagTimeoutError, LagUnreachableError
from kafka_assignors.plan import shown

__all__ = ["is_more_specific", "is_permanent", "lag_error", "reason"]

_NOT_LET_IN = (
    AuthorizationError,
    IllegalSaslStateError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)
_TIMEOUTS = (KafkaTimeoutError, RequestTimedOutError)
_NOT_THERE = (KafkaConnectionError, NodeNotReadyError, UnknownBrokerIdError, OSError)
_WORDS: dict[type[KafkaError], str] = {
    TopicAuthorizationFailedError: "not authorised to describe the topic",
    UnknownTopicOrPartitionError: "no such partition",
    InvalidTopicError: "no such partition",
}


def is_permanent(error: BaseException) -> bool:
    """Whether the cluster's door stays shut, however often one knocks."""
    # A connection that ends in the middle of a TLS handshake may be that of a broker that is about to stop.
    return _not_let_in(error) and "EOF" not in str(error)


def is_more_specific(error: BaseException, known: BaseException | None) -> bool:
    """Whether a failure to connect is to be told instead of an earlier one."""
    # The last attempt before a deadline gets what time is left, and runs out of it whatever the broker does.
    return known is None or not isinstance(error, _TIMEOUTS) or isinstance(known, _TIMEOUTS)


def _not_let_in(error: BaseException) -> bool:
    return isinstance(error, (*_NOT_LET_IN, ssl.SSLError)) or (
        isinstance(error, KafkaConnectionError) and "SSL" in str(error)
    )


def lag_error(error: BaseException) -> LagError:
    """The error for callers; its text is one line, of bounded length, and tells nothing of the settings."""
    if isinstance(error, LagError):
        return error
    text = shown(re.sub(r"^\[Error -?\d+\] ", "", str(error)).strip() or type(error).__name__)
    if _not_let_in(error):
        return LagDeniedError(f"the cluster does not let us in: {text}")
    if isinstance(error, _TIMEOUTS):
        return LagTimeoutError(f"the cluster did not answer in time: {text}")
    if isinstance(error, _NOT_THERE):
        return LagUnreachableError(f"no broker answers: {text}")
    if isinstance(error, InvalidReceiveError):  # as the alert of a server that expects TLS
        return LagUnreachableError(
            f"no broker answers: what does, speaks another protocol (TLS, see security_protocol?): {text}"
        )
    return LagError(f"the cluster does not tell the lag: {text}")


def reason(error_code: int) -> str:
    """Why there is no lag of a partition, in a few words."""
    error: type[KafkaError] = for_code(error_code)
    return _WORDS.get(error) or error.__name__.removesuffix("Error")


def is_retriable(error_code: int) -> bool:
    """Whether a partition's error may pass by itself, as that of one without a leader."""
    return bool(for_code(error_code).retriable)
