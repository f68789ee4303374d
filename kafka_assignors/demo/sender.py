"""A producer that reports what the broker took."""

from __future__ import annotations

from collections.abc import Callable

import kafka
from kafka.errors import KafkaError

from kafka_assignors.errors import BrokerError


class Sender:
    """A producer whose acknowledgements are reported.

    Args:
        bootstrap: ``host:port`` of a broker.
        topic: where to.
        acknowledged: called with partition and offset on the producer's I/O thread.
        failed: called with the error on the producer's I/O thread.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        *,
        acknowledged: Callable[[int, int], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._topic = topic
        self._acknowledged = acknowledged
        self._failed = failed
        self._producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=10)

    def send(self, key: bytes, value: bytes) -> None:
        """Send one record to the partition of its key."""
        future = self._producer.send(self._topic, key=key, value=value)
        future.add_callback(lambda sent: self._acknowledged(sent.partition, sent.offset))
        future.add_errback(self._failed)

    def flush(self, timeout: float) -> None:
        """Wait up to ``timeout`` seconds until all is acknowledged.

        Raises:
            BrokerError: it was not.
        """
        try:
            self._producer.flush(timeout=timeout)
        except KafkaError as error:
            raise BrokerError(
                f"the broker did not acknowledge all records within {timeout:g} s: {error}"
            ) from error

    def close(self) -> None:
        """Drop what is not sent, close the connections."""
        self._producer.close(timeout=2)
