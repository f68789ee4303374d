"""Loads of lag plus forecast arrivals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.arrays import Vector
from kafka_assignors.plan.model import UNKNOWN_LAG, Group, TopicPartition

_ENOUGH = 0.5  # part of the partitions that must have a forecast
_MOST_RECORDS = 2.0**61  # leaves room to add the lag


def enough_expected(group: Group, arrivals: Mapping[TopicPartition, float]) -> bool:
    """Whether at least half of the partitions in ``group.lags`` have a forecast.

    With fewer, the same mean would be added to most partitions, which would only hide their lag.
    """
    wanted = [TopicPartition(topic, p) for topic, lags in group.lags.items() for p in range(len(lags))]
    return is_enough(sum(partition in arrivals for partition in wanted), len(wanted))


def is_enough(known: int, partitions: int) -> bool:
    """Whether forecasts for ``known`` of the partitions are enough to plan with them."""
    return partitions > 0 and known >= _ENOUGH * partitions


def with_expected(
    group: Group, arrivals: Mapping[TopicPartition, float], lags: Mapping[TopicPartition, int]
) -> Group:
    """Return the group with loads (lag plus forecast arrivals) in place of its lags.

    A missing forecast counts as the mean of its topic's forecasts, or of all forecasts if the topic has none.
    Otherwise a partition with a forecast would look heavier than one without.

    Args:
        group: members and topics.  Each sequence of its ``lags`` has an entry for every partition.
        arrivals: forecast arrivals (records, 0 or more), all over the same horizon.
        lags: records left to read, used where the group's lag is unknown.  Where both are unknown, the mean
            of the topic is used.

    Returns:
        A group that knows the load, in whole records, of every partition of the topics in ``group.lags``.
    """
    filled = {
        topic: [
            lags.get(TopicPartition(topic, p), UNKNOWN_LAG) if lag == UNKNOWN_LAG else lag
            for p, lag in enumerate(topic_lags)
        ]
        for topic, topic_lags in group.lags.items()
    }
    forecast = np.full(group.size, np.nan)
    for topic, topic_lags in filled.items():
        for p in range(len(topic_lags)):
            forecast[group.first[topic] + p] = arrivals.get(TopicPartition(topic, p), np.nan)
    load = replace(group, lags=filled).lag + in_whole_records(forecast, group.topic_of)
    return replace(
        group,
        lags={
            topic: load[group.first[topic] : group.first[topic] + len(topic_lags)].tolist()
            for topic, topic_lags in filled.items()
        },
    )


def in_whole_records(forecast: npt.NDArray[np.float64], topic_of: npt.NDArray[np.int32]) -> Vector:
    """Return arrivals by partition; a missing forecast (NaN) counts as a mean, as in `with_expected`."""
    return np.rint(np.clip(_with_means(forecast, topic_of), 0, _MOST_RECORDS)).astype(np.int64)


def _with_means(values: npt.NDArray[np.float64], topic_of: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """Replace each NaN by the mean of its topic, else by the mean of all, else by 0."""
    is_known = ~np.isnan(values)
    if not is_known.any():
        return np.zeros_like(values)
    topics = int(topic_of.max()) + 1
    count = np.bincount(topic_of[is_known], minlength=topics)
    total = np.bincount(topic_of[is_known], values[is_known], minlength=topics)
    mean = np.where(count > 0, total / np.maximum(count, 1), values[is_known].mean())
    return np.where(is_known, values, mean[topic_of])
