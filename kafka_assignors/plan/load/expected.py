"""Loads that have in them what is expected to come: lag, and the arrivals a model foresees.

A forecast here and none there must not make the one partition look heavier than the other.  So an estimate
that is missing counts as the mean of those there are: it then pulls a plan nowhere, as a lag that is not
known does (``Group.lag``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.model import UNKNOWN_LAG, Group, TopicPartition

__all__ = ["enough_expected", "with_expected"]

_ENOUGH = 0.5
_MOST_RECORDS = 2.0**61  # so that there is room for the lag, too


def enough_expected(group: Group, arrivals: Mapping[TopicPartition, float]) -> bool:
    """Whether there is an estimate for at least half of the partitions that the group has lags of.

    With fewer, most would count as the same guess, which would only hide what is known of lag.
    """
    wanted = [TopicPartition(topic, p) for topic, lags in group.lags.items() for p in range(len(lags))]
    return bool(wanted) and sum(at in arrivals for at in wanted) >= _ENOUGH * len(wanted)


def with_expected(
    group: Group, arrivals: Mapping[TopicPartition, float], lags: Mapping[TopicPartition, int]
) -> Group:
    """The group with loads in place of its lags, for those topics that it has lags of.

    An estimate that is missing is the mean of its topic; of a topic without any, the mean of all there are.

    Args:
        group: who plans.  A sequence of its ``lags`` has an entry for each partition.
        arrivals: records expected to come, from 0, over one and the same time.
        lags: records left to read, to be taken where the group's lag is not known; where neither is, it is
            the mean of its topic.

    Returns:
        A group whose load, in whole records, is known of every partition of those topics.
    """
    filled = {
        topic: [
            lags.get(TopicPartition(topic, p), UNKNOWN_LAG) if lag == UNKNOWN_LAG else lag
            for p, lag in enumerate(of_topic)
        ]
        for topic, of_topic in group.lags.items()
    }
    to_come = np.full(group.size, np.nan)
    for topic, of_topic in filled.items():
        for p in range(len(of_topic)):
            to_come[group.first[topic] + p] = arrivals.get(TopicPartition(topic, p), np.nan)
    whole = np.rint(np.clip(_with_means(to_come, group.topic_of), 0, _MOST_RECORDS)).astype(np.int64)
    load = replace(group, lags=filled).lag + whole
    return replace(
        group,
        lags={
            topic: load[group.first[topic] : group.first[topic] + len(of_topic)].tolist()
            for topic, of_topic in filled.items()
        },
    )


def _with_means(values: npt.NDArray[np.float64], topic_of: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """The mean of its topic, or of all, in place of each NaN; 0 where there is nothing but NaN."""
    known = ~np.isnan(values)
    if not known.any():
        return np.zeros_like(values)
    topics = int(topic_of.max()) + 1
    how_many = np.bincount(topic_of[known], minlength=topics)
    total = np.bincount(topic_of[known], values[known], minlength=topics)
    mean = np.where(how_many > 0, total / np.maximum(how_many, 1), values[known].mean())
    return np.where(known, values, mean[topic_of])
