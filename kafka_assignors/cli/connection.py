"""A connection to a cluster, which a command keeps between two reads."""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Mapping
from typing import Any

from kafka.errors import BrokerResponseError

from kafka_assignors.errors import BrokerError, LagError
from kafka_assignors.lag.fetch.errors import is_denial, likely_cause
from kafka_assignors.lag.fetch.link import Link, connect

RESPONSE_S = 5.0
"""Time limit for a connection, and for most requests, seconds."""


class Connection:
    """Connects at the first ``open``, and again after ``close`` or if no known broker answers.

    Attributes:
        link: the open link; None: there is none.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self.link: Link | None = None

    def open(self, deadline: float) -> Link:
        """Return a link with a fresh list of brokers and no cached partition leaders.

        Args:
            deadline: time limit on the clock ``time.monotonic``, seconds.
        """
        if (link := self.link) is not None:
            left_s = max((deadline - time.monotonic()) / 2, 0.001)  # the rest is for a new link
            try:
                link.run(_refresh, link, timeout_s=left_s)
            except Exception:  # all brokers that the link knows are down or hang
                self.close()
            else:
                return link
        self.link = connect(self._settings, deadline)
        return self.link

    def reach(self) -> Link:
        """Open a link within ``RESPONSE_S``, or raise a BrokerError that names the bootstrap addresses."""
        try:
            return self.open(time.monotonic() + RESPONSE_S)
        except LagError as error:
            where = ",".join(self._settings["bootstrap_servers"])
            raise BrokerError(connection_error(where, error.__cause__ or error)) from error

    def close(self) -> None:
        """Close the link, if there is one."""
        link, self.link = self.link, None
        if link is not None:
            link.shut()
            link.wait_shut(1)


def connection_error(where: str, cause: BaseException) -> str:
    """Describe a failed connection: unusable TLS files, the broker refused it, or no broker answered."""
    text = re.sub(r"^\[Error \d+\] ", "", str(cause))
    if isinstance(cause, ssl.SSLError):  # kafka-python wraps those of a connection
        return f"this client cannot use its TLS files: {text}"
    if isinstance(cause, BrokerResponseError) or is_denial(cause):
        return f"the broker at {where} refused the connection: {text}"
    return f"no Kafka broker answers at {where}: {likely_cause(cause)}{text}"


async def _refresh(link: Link) -> None:
    """Refresh the brokers, because a new one may coordinate groups.  Drop the cached partition leaders."""
    link.leaders.clear()
    await link.manager.cluster.refresh_metadata()
