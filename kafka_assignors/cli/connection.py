"""A connection to a cluster that lasts from reading to reading."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from kafka_assignors.lag.fetch.group_offsets import connect
from kafka_assignors.lag.fetch.link import Link


class Connection:
    """Connects at the first reading, and again after ``close``.

    Args:
        settings: as ``connection_settings`` makes them.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._link: Link | None = None

    def open(self, deadline: float) -> Link:
        """Return a link that knows the present brokers, and no leaders.

        Raises:
            LagError: no broker answers, or access is denied.
        """
        if (link := self._link) is not None:
            left_s = max((deadline - time.monotonic()) / 2, 0.001)  # the rest is for a new link
            try:
                link.run(_refresh, link, timeout_s=left_s)
            except Exception:  # all brokers that it knows are away, or hang
                self.close()
            else:
                return link
        self._link = connect(self._settings, deadline)
        return self._link

    def close(self) -> None:
        """Close the link, if there is one."""
        link, self._link = self._link, None
        if link is not None:
            link.shut()
            link.wait_shut(1)


async def _refresh(link: Link) -> None:
    """Fetch the list of brokers, because a new one may coordinate groups, and forget the leaders."""
    link.leaders.clear()
    await link.manager.cluster.refresh_metadata()
