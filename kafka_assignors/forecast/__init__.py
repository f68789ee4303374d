"""The load of a partition, from samples of its offsets: what arrives, is served, and will arrive.  Pure.

==============  =================================================================  ==========================
file            purpose                                                            key names
==============  =================================================================  ==========================
``settings``    how long a step, a horizon and a gap are                           ``LoadSettings``
``samples``     one look at a partition                                            ``Sample``, ``position``
``counters``    what offsets were where steps end                                  ``Ends``, ``Commits``
``told``        when what one of two writers tells of commits says nothing         ``Told``
``age``         how old the oldest unread record is                                ``Growth``
``steps``       from samples to steps                                              ``Steps``, ``Step``
``season``      what a time of the day and an hour of the week add                 ``Season``
``model``       level, trend, season; the forecast and its error                   ``Model``, ``Outlook``
``fold``        all of it, for one partition, whatever order samples come in       ``Partition``, ``Row``
``codec``       that as bytes                                                      ``encode``, ``decode``
==============  =================================================================  ==========================
"""

from __future__ import annotations

from kafka_assignors.forecast.codec import decode, encode
from kafka_assignors.forecast.fold import Partition, Row, Tally
from kafka_assignors.forecast.model import Outlook
from kafka_assignors.forecast.samples import NO_COMMIT, UNKNOWN, Sample
from kafka_assignors.forecast.settings import LoadSettings
from kafka_assignors.forecast.steps import Quality, Step

__all__ = [
    "NO_COMMIT", "UNKNOWN", "LoadSettings", "Outlook", "Partition", "Quality", "Row", "Sample", "Step",
    "Tally", "decode", "encode",
]  # fmt: skip
