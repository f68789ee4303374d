"""A topic that gets records many times a second, and its samples by time."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict

from kafka import KafkaProducer
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.pipeline.killing import meanwhile

PARTITIONS = 4
EVERY_S = 0.02  # a record of each partition


def writing(bootstrap: str, topic: str) -> contextlib.AbstractContextManager[list[int]]:
    """Write a record to all partitions, many a second; yield the numbers written."""

    def work(over: threading.Event, made: list[int]) -> None:
        with KafkaProducer(bootstrap_servers=bootstrap) as producer:
            while not over.wait(EVERY_S):
                for sent in [producer.send(topic, b"x", partition=p) for p in range(PARTITIONS)]:
                    sent.get(60)
                made.append(len(made))

    return meanwhile(work)


def looks_of(samples: DataFrame) -> list[dict[int, int]]:
    """Return each partition's end offset, by the time of the sample."""
    rows = samples.select(F.unix_micros("time").alias("at"), "partition", "end_offset").collect()
    looks: dict[int, dict[int, int]] = defaultdict(dict)
    for row in rows:
        assert row["partition"] not in looks[row["at"]], "a sample is there twice"
        looks[row["at"]][row["partition"]] = row["end_offset"]
    return [looks[key] for key in sorted(looks)]
