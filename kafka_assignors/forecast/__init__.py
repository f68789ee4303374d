"""The load of a partition, from samples of its offsets: records arrived, served and forecast.  Pure.

================  ===============================================================  ==========================
file              purpose                                                          key names
================  ===============================================================  ==========================
``settings``      length of a step, a horizon and a gap                            ``LoadSettings``
``samples``       the offsets of a partition at one time                           ``Sample``, ``position``
``counters``      end and committed offsets at the ends of steps                   ``Ends``
``commit_order``  commits of two writers with two clocks: advanced, reset, stale   ``CommitOrder``
``steps``         from samples to steps; age of the oldest unread record           ``Steps``, ``LoadStep``
``season``        daily and weekly season                                          ``Season``
``forecasters``   the forecasters of the mixture and its constants                 ``FORECASTERS``, ``favour``
``mixture``       the mean of the forecasts, weighted by their errors so far       ``Mixture``
``model``         level, trend, season; the forecast and its error                 ``Model``, ``Outlook``
``codec``         the counters of a partition as integers                          ``encode``, ``decode``
``bucket/``       samples of many partitions, in any order, to rows                ``Bucket``
``scoring``       forecasts compared to arrivals                                   ``compare``, ``score``
================  ===============================================================  ==========================
"""

from __future__ import annotations

from kafka_assignors.forecast.model import Outlook
from kafka_assignors.forecast.samples import NO_COMMIT, UNKNOWN, Sample, SampleCounts
from kafka_assignors.forecast.settings import LoadSettings
from kafka_assignors.forecast.steps import LoadStep, Quality

__all__ = [
    "NO_COMMIT",
    "UNKNOWN",
    "LoadSettings",
    "LoadStep",
    "Outlook",
    "Quality",
    "Sample",
    "SampleCounts",
]
