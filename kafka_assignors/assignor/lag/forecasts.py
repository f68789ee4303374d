"""Adds forecast arrivals to the load the leader plans with."""

from __future__ import annotations

import logging

from kafka_assignors.lag.feed.sources import Expected, LoadSource
from kafka_assignors.plan import Group, TopicPartition, enough_expected, shown, with_expected

log = logging.getLogger("kafka_assignors")


class LoadForecasts:
    """Plans with forecasts while there are enough of them, and logs when that changes.

    Attributes:
        count: number of partitions in the last plan that had a forecast.  0 means lag only.
    """

    def __init__(self, name: str, source: LoadSource) -> None:
        self.source = source
        self.count = 0
        self._name = name
        self._used = Expected()
        self._logged_level = logging.NOTSET  # of the last log line about too few forecasts

    def with_planned_forecasts(self, group: Group, *, is_later_round: bool) -> Group:
        """Return the group with load instead of lag; unchanged if there are too few forecasts.

        ``is_later_round``: whether this is a later round of a rebalance whose first round is recent.  This
        round then plans with the forecasts of the first one, so that all rounds have the same target.
        """
        self.count = 0
        if not is_later_round:
            self._used = Expected()  # those of an earlier rebalance, in case this one gets none
        partitions = _partitions(group)
        if not partitions:  # no topic has two subscribers
            return group
        if not is_later_round:
            self._used = self.source.look(partitions)
            is_enough = enough_expected(group, self._used.arrivals)
            self._log_change(is_enough, self._used)
            if not is_enough:
                self._used = Expected()
        if not self._used.arrivals:
            return group
        self.count = sum(partition in self._used.arrivals for partition in partitions)
        return with_expected(group, self._used.arrivals, self._used.lags)

    def with_current_forecasts(self, group: Group) -> Group:
        """Return the group with current forecasts, for the skew watcher; unchanged if there are too few.

        Leaves ``count`` as it is.
        """
        expected = self.source.look(_partitions(group))
        if not enough_expected(group, expected.arrivals):
            return group
        return with_expected(group, expected.arrivals, expected.lags)

    def _log_change(self, is_enough: bool, expected: Expected) -> None:
        count = len(expected.arrivals)
        if is_enough and self._logged_level:
            log.info("%s: planning by lag and %d forecasts", self._name, count)
        # INFO for a problem that passes or that the source has logged.  Log again only at a higher level.
        level = logging.NOTSET if is_enough else logging.INFO if expected.is_logged else logging.WARNING
        if level > self._logged_level:
            log.log(
                level,
                "%s: too few forecasts (%d), planning by lag alone: %s",
                self._name,
                count,
                shown(expected.problem),
            )
        self._logged_level = max(level, self._logged_level) if level else level


def _partitions(group: Group) -> list[TopicPartition]:
    return [TopicPartition(topic, p) for topic, lags in group.lags.items() for p in range(len(lags))]
