"""On the leader: what is expected to come, put into the load of its plans."""

from __future__ import annotations

import logging

from kafka_assignors.lag.feed.sources import Expected, LoadSource
from kafka_assignors.plan import Group, TopicPartition, enough_expected, shown, with_expected

__all__ = ["Expectations"]

log = logging.getLogger("kafka_assignors")


class Expectations:
    """Takes forecasts into account while there are enough of them, and says so when that changes.

    Args:
        name: the strategy's, for the log.
        source: where they come from.

    Attributes:
        counted: of how many partitions the last plan had one; 0: it went by lag alone.
    """

    def __init__(self, name: str, source: LoadSource) -> None:
        self.source = source
        self.counted = 0
        self._name = name
        self._used = Expected()
        self._complaint = logging.NOTSET  # how loud the last one was

    def in_plan(self, group: Group, *, settling: bool, timeout_s: float) -> Group:
        """The group with the load to plan by.

        Args:
            group: who plans, with its lags.
            settling: partitions still wait to be handed over.  The plan is then to be the same again, not
                another one, so what was expected before is, whatever has come in.
            timeout_s: how long a function of the user's may take.
        """
        self.counted = 0
        partitions = _partitions(group)
        if not partitions:  # no topic whose partitions could be another member's
            return group
        if not settling:
            self._used = Expected()  # should the next line fail
            self._used = self.source.ask(partitions, timeout_s)
            counts = enough_expected(group, self._used.arrivals)
            self._say_when_it_changes(counts, self._used)
            if not counts:
                self._used = Expected()
        if not self._used.arrivals:
            return group
        self.counted = sum(at in self._used.arrivals for at in partitions)
        return with_expected(group, self._used.arrivals, self._used.lags)

    def now(self, group: Group) -> Group:
        """The same for a look in the background, which decides nothing yet."""
        expected = self.source.look(_partitions(group))
        if not enough_expected(group, expected.arrivals):
            return group
        return with_expected(group, expected.arrivals, expected.lags)

    def _say_when_it_changes(self, counts: bool, expected: Expected) -> None:
        known = len(expected.arrivals)
        if counts and self._complaint:
            log.info("%s: %d forecasts count beside lag", self._name, known)
        # What passes by itself, or was said by who reads, is no reason to warn; what comes after it may be.
        level = logging.NOTSET if counts else logging.INFO if expected.was_said else logging.WARNING
        if level > self._complaint:
            log.log(
                level,
                "%s: too few forecasts (%d), lag alone decides: %s",
                *(self._name, known, shown(expected.problem)),
            )
        self._complaint = max(level, self._complaint) if level else level


def _partitions(group: Group) -> list[TopicPartition]:
    return [TopicPartition(topic, p) for topic, lags in group.lags.items() for p in range(len(lags))]
