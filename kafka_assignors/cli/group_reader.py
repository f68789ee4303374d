"""Describes one live group repeatedly over one connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.errors import KafkaError

from kafka_assignors.cli.live_group import ANSWER_MS, connection_error
from kafka_assignors.errors import BrokerError
from kafka_assignors.lag.fetch.group import GroupState, ask_group
from kafka_assignors.lag.fetch.link import Link


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
        try:
            if self._link is None:
                self._link = Link(self._settings)
            link = self._link
            link.run(link.ready, ANSWER_MS, timeout_s=ANSWER_MS / 1000)
        except Exception as error:  # kafka-python raises any type for a bad setting
            self.close()
            where = ",".join(self._settings["bootstrap_servers"])
            raise BrokerError(connection_error(where, error)) from error
        try:
            return link.run(ask_group, link, self._group_id, ANSWER_MS, timeout_s=ANSWER_MS / 1000)
        except KafkaError as error:
            self.close()
            raise BrokerError(f"the broker does not describe group {self._group_id!r}: {error}") from error

    def close(self) -> None:
        """Close the connection.  A later ``read`` opens a new one."""
        if self._link is not None:
            self._link.shut()
            self._link.wait_shut(1)
            self._link = None
