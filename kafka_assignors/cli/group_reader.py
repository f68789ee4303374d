"""Describes one live group repeatedly over one connection."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any

from kafka.errors import KafkaError, UnknownTopicOrPartitionError, for_code

from kafka_assignors.cli.live_group import ANSWER_MS, connection_error
from kafka_assignors.errors import BrokerError, GroupError
from kafka_assignors.lag.fetch.group import GroupState
from kafka_assignors.lag.fetch.group_offsets import attempt
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.fetch.many_groups import GroupsFetch
from kafka_assignors.lag.fetch.requests import metadata_request, read_leaders


def connect(settings: Mapping[str, Any], link: Link | None = None) -> Link:
    """Return a connection to a cluster that has answered; ``link``, if there is one.

    Raises:
        BrokerError: no broker answers, or it refuses.  The link is closed.
    """
    try:
        link = link or Link(settings)
        link.run(link.ready, ANSWER_MS, timeout_s=ANSWER_MS / 1000)
    except Exception as error:  # kafka-python raises any type for a bad setting
        if link is not None:
            link.shut()
            link.wait_shut(1)
        where = ",".join(settings["bootstrap_servers"])
        raise BrokerError(connection_error(where, error)) from error
    return link


class GroupReader:
    """Describes one group over a connection of its own.

    Args:
        settings: as ``connection_settings`` makes them.
        group_id: the group.
    """

    def __init__(self, settings: Mapping[str, Any], group_id: str) -> None:
        self._settings = settings
        self._group_id = group_id
        self._link: Link | None = None

    def read(self) -> GroupState:
        """Return the current state of the group.

        Raises:
            BrokerError: no broker answers, or it refuses.
            GroupError: the group does not exist.
        """
        known, self._link = self._link, None
        link = self._link = connect(self._settings, known)
        deadline = time.monotonic() + ANSWER_MS / 1000
        fetch = GroupsFetch(link, [self._group_id], deadline)
        late = attempt(link, deadline, fetch.run)
        if (error := late or fetch.failures.get(self._group_id)) is not None:
            self.close()
            raise BrokerError(f"the broker does not describe group {self._group_id!r}: {error}") from error
        if self._group_id not in fetch.states:
            raise GroupError(f"there is no group {self._group_id!r}")
        return fetch.states[self._group_id]

    def partition_counts(self, topics: Collection[str]) -> dict[str, int | None]:
        """Return the partition count of each existing topic; None where the broker does not return it.

        Call it after ``read``, whose connection it uses.

        Raises:
            BrokerError: no broker answers.
        """
        if self._link is None or not topics:
            return {}
        try:
            manager, request = self._link.manager, metadata_request(sorted(topics))
            response = self._link.run(manager.send, request, timeout_s=ANSWER_MS / 1000)
        except KafkaError as error:
            self.close()
            raise BrokerError(f"the broker does not describe the group's topics: {error}") from error
        return {
            topic: None if code else len(partitions)
            for topic, code, partitions in read_leaders(response)
            if for_code(code) is not UnknownTopicOrPartitionError
        }

    def close(self) -> None:
        """Close the connection.  A later ``read`` opens a new one."""
        if self._link is not None:
            self._link.shut()
            self._link.wait_shut(1)
            self._link = None
