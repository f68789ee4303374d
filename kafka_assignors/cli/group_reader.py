"""Reads one live group repeatedly over one connection."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any

from kafka.errors import InvalidTopicError, UnknownTopicOrPartitionError, for_code

from kafka_assignors.cli.connection import RESPONSE_S, Connection
from kafka_assignors.errors import BrokerError, GroupError
from kafka_assignors.lag.fetch.group import GroupState
from kafka_assignors.lag.fetch.group_offsets import why
from kafka_assignors.lag.fetch.many_groups import GroupsFetch
from kafka_assignors.lag.fetch.requests import metadata_request, read_leaders
from kafka_assignors.lag.fetch.sending import attempt

MISSING_TOPIC = frozenset({UnknownTopicOrPartitionError, InvalidTopicError})
"""Errors for a topic that does not exist; a member may subscribe to any name."""


class GroupReader:
    """Reads one group over a connection of its own."""

    def __init__(self, settings: Mapping[str, Any], group_id: str) -> None:
        self._group_id = group_id
        self._connection = Connection(settings)

    def read(self) -> GroupState:
        """Return the current state of the group.

        Raises:
            BrokerError: no broker answers, or the broker returned an error for the group.
            GroupError: the group does not exist.
        """
        link = self._connection.reach()
        deadline = time.monotonic() + RESPONSE_S
        fetch = GroupsFetch(link, [self._group_id], deadline)
        failure = attempt(link, deadline, fetch.run)
        if (error := failure or fetch.failures.get(self._group_id)) is not None:
            self.close()
            raise BrokerError(f"group {self._group_id!r}: {why(error)}") from error
        if self._group_id not in fetch.states:
            raise GroupError(f"there is no group {self._group_id!r}")
        return fetch.states[self._group_id]

    def metadata(self, topics: Collection[str]) -> Any:
        """Return the broker's metadata of topics, over the connection of ``read`` or a new one."""
        link = self._connection.link or self._connection.reach()
        try:
            return link.run(link.manager.send, metadata_request(sorted(topics)), timeout_s=RESPONSE_S)
        except Exception as error:  # the connection may fail in any way
            self.close()
            raise BrokerError(f"the broker does not describe the group's topics: {why(error)}") from error

    def partition_counts(self, topics: Collection[str]) -> dict[str, int | None]:
        """Return the partition count of each existing topic; None: the broker returned an error for it."""
        if not topics:
            return {}
        return {
            topic: None if code else len(partitions)
            for topic, code, partitions in read_leaders(self.metadata(topics))
            if for_code(code) not in MISSING_TOPIC
        }

    def close(self) -> None:
        """Close the connection.  A later call opens a new one."""
        self._connection.close()
