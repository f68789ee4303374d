"""Converts kafka-python's errors to ours, split by what the caller can do."""

from __future__ import annotations

import re
import ssl

from kafka.errors import (
    AuthorizationError,
    BrokerResponseError,
    IllegalSaslStateError,
    InvalidReceiveError,
    InvalidTopicError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NodeNotReadyError,
    RequestTimedOutError,
    RetriableError,
    SaslAuthenticationFailedError,
    TopicAuthorizationFailedError,
    UnknownBrokerIdError,
    UnknownError,
    UnknownTopicOrPartitionError,
    UnsupportedSaslMechanismError,
    for_code,
)

from kafka_assignors.errors import LagDeniedError, LagError, LagTimeoutError, LagUnreachableError
from kafka_assignors.plan import shown

_DENIALS = (
    AuthorizationError,
    IllegalSaslStateError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)
_TIMEOUTS = (KafkaTimeoutError, RequestTimedOutError)
_UNREACHABLE = (KafkaConnectionError, NodeNotReadyError, UnknownBrokerIdError, OSError)
_WORDS: dict[type[KafkaError], str] = {
    TopicAuthorizationFailedError: "not authorised to describe the topic",
    UnknownTopicOrPartitionError: "no such partition",
    InvalidTopicError: "no such partition",
}


def is_denial(error: BaseException) -> bool:
    """Whether the cluster denies access, or TLS fails, so that a retry cannot help."""
    # A connection that ends during the TLS handshake may belong to a broker that is shutting down.
    return isinstance(error, _DENIALS) or (_is_tls(error) and "EOF" not in str(error))


def is_retriable_error(error: BaseException | None) -> bool:
    """Whether a retry of the request may help."""
    return isinstance(error, (RetriableError, UnknownBrokerIdError))


def is_silence(error: BaseException) -> bool:
    """Whether a broker sent no usable response, so that a new connection may help.

    An error code is a response.  REQUEST_TIMED_OUT is the exception, because kafka-python also raises it when
    its own timeout ends.
    """
    return isinstance(error, _TIMEOUTS) or not isinstance(error, BrokerResponseError)


def replaces(error: BaseException, known: BaseException | None) -> bool:
    """Whether to report this connection failure instead of an earlier one."""
    # The last attempt before a deadline gets only the remaining time, so it often times out.
    return known is None or not isinstance(error, _TIMEOUTS) or isinstance(known, _TIMEOUTS)


def _is_tls(error: BaseException) -> bool:
    return isinstance(error, ssl.SSLError) or (
        isinstance(error, KafkaConnectionError) and "SSL" in str(error)
    )


def lag_error(error: BaseException) -> LagError:
    """Convert an error for callers.  The text is one line of bounded length, and never shows a secret."""
    if isinstance(error, LagError):
        return error
    text = shown(re.sub(r"^\[Error -?\d+\] ", "", str(error)).strip() or type(error).__name__)
    if isinstance(error, ssl.SSLError):  # kafka-python wraps those of a connection
        return LagDeniedError(f"this client cannot use its TLS files: {text}")
    if is_denial(error):
        return LagDeniedError(f"the cluster denies access: {text}")
    if isinstance(error, _TIMEOUTS):
        return LagTimeoutError(f"the cluster did not answer in time: {text}")
    if isinstance(error, (*_UNREACHABLE, InvalidReceiveError)):
        return LagUnreachableError(f"no broker answers: {likely_cause(error)}{text}")
    return LagError(f"the request failed: {text}")


def likely_cause(error: BaseException) -> str:
    """Return a likely cause of a connection that failed; empty: the error's own text has to do."""
    if isinstance(error, InvalidReceiveError):  # such as the TLS alert of a server that expects TLS
        return "the response is not Kafka's (if the port expects TLS, set security_protocol): "
    if _is_tls(error):
        return "the connection ends in the TLS handshake (if the port expects no TLS, do not set SSL): "
    return ""


def reason(error_code: int) -> str:
    """Describe an error code in a few words."""
    error: type[KafkaError] = for_code(error_code)
    if issubclass(error, UnknownError):
        return f"unknown error {error_code}"
    return _WORDS.get(error) or error.__name__.removesuffix("Error")


def is_retriable(error_code: int) -> bool:
    """Whether a partition's error may pass by itself, such as a missing leader."""
    return bool(for_code(error_code).retriable)
