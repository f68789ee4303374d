"""The traffic of the failover, and counts of it: by the producer, and by Spark from the topic."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from demo.data.events import Flight
from demo.data.flight_samples import partition_of
from kafka_assignors.broker import OnProgress


@dataclass(slots=True)
class Tally:
    """Records by carrier, and by destination."""

    carriers: Counter[str] = field(default_factory=Counter)
    destinations: Counter[str] = field(default_factory=Counter)

    def add(self, carrier: str, destination: str, records: int = 1) -> None:
        """Count records."""
        self.carriers[carrier] += records
        self.destinations[destination] += records

    @property
    def records(self) -> int:
        """All records."""
        return self.carriers.total()


class Ledger:
    """Counts flights as they are sent, in ``tally``."""

    def __init__(self) -> None:
        self.tally = Tally()

    def noted(self, due: Iterator[tuple[float, Flight]]) -> Iterator[tuple[float, Flight]]:
        """Yield the same flights, each counted when it is taken."""
        for at, flight in due:
            self.tally.add(str(json.loads(flight.value)["carrier"]), flight.key.decode())
            yield at, flight


def steady(
    flights: Sequence[Flight], tasks: int, rate: float, over: Callable[[], bool]
) -> Iterator[tuple[float, Flight]]:
    """Yield ``rate`` flights a second until ``over``; each task in turn gets its next one, round and round.

    In their own order, a task with few destinations would have nothing to do for seconds.
    """
    by_task: dict[int, list[Flight]] = {}
    for flight in flights:
        by_task.setdefault(partition_of(flight.key, tasks), []).append(flight)
    turns = itertools.cycle([itertools.cycle(by_task[task]) for task in sorted(by_task)])
    for number, turn in enumerate(turns):
        if over():
            return
        yield number / rate, next(turn)


def count_with_spark(bootstrap: str, topic: str, on_progress: OnProgress) -> Tally:
    """Read the whole topic through Spark's connector and count; takes some 15 s, most of it to start.

    Raises:
        KafkaAssignorsError: no Spark, no Java, or jars that cannot be fetched.
        Exception: any error of Spark.
    """
    from kafka_assignors.pipeline.connector import connector_options
    from kafka_assignors.pipeline.session import SHORT_LIVED, session

    with session("demo", java_options=SHORT_LIVED, on_progress=on_progress) as spark:
        from pyspark.sql import functions as F

        records = (
            spark.read.format("kafka")
            .options(**connector_options({"bootstrap_servers": bootstrap}))
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("endingOffsets", "latest")
            .load()
        )
        counts = (
            records.select(
                F.get_json_object(F.col("value").cast("string"), "$.carrier").alias("carrier"),
                F.col("key").cast("string").alias("destination"),
            )
            .groupBy("carrier", "destination")
            .count()
        )
        tally = Tally()
        for row in counts.collect():
            tally.add(row["carrier"], row["destination"], row["count"])
        return tally
