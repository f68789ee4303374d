"""The rights that docs/guides/cluster.md lists are sufficient, and each of them is necessary."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ACLOperation, NewTopic, ResourceType
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_assignors.errors import PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.pipeline.connector import connector_options
from kafka_assignors.pipeline.feed.feed import Feed
from kafka_assignors.pipeline.model.model import model_load
from kafka_assignors.pipeline.record.offsets import record_offsets_once
from kafka_assignors.pipeline.record.samples import record_samples_once
from kafka_assignors.pipeline.run import PipelineOptions, PipelineReport, run_pipeline
from kafka_assignors.pipeline.tables.reading import read_samples
from kafka_assignors.plan import TopicPartition
from tests.integration.guarded import PASSWORD, Guarded, Right, guarded_broker
from tests.integration.lagging import commit, write
from tests.pipeline.samples import START, Look, publish, samples_df
from tests.support.examples import ROOT

PATIENCE_S = 600.0
LOAD = LoadSettings(step_s=1.0, horizon_s=10.0, delay_s=1.0)
GROUP, TOPIC, FEED = "billing", "orders", "the-feed"

DESCRIBE_GROUP = Right(ResourceType.GROUP, GROUP, ACLOperation.DESCRIBE)
DESCRIBE_TOPIC = Right(ResourceType.TOPIC, TOPIC, ACLOperation.DESCRIBE)
READ_OFFSETS = Right(ResourceType.TOPIC, "__consumer_offsets", ACLOperation.READ)
READ_FEED = Right(ResourceType.TOPIC, FEED, ACLOperation.READ)
WRITE_FEED = Right(ResourceType.TOPIC, FEED, ACLOperation.WRITE)
SEE_FEED = Right(ResourceType.TOPIC, FEED, ACLOperation.DESCRIBE_CONFIGS)
MAKE_FEED = Right(ResourceType.TOPIC, FEED, ACLOperation.CREATE)
SPARK_S = Right(ResourceType.GROUP, "spark-kafka-", ACLOperation.READ, prefixed=True)

IN_WORDS = {
    "the groups": [DESCRIBE_GROUP],
    "their topics": [DESCRIBE_TOPIC],
    "topic `__consumer_offsets`": [READ_OFFSETS],
    "its topic": [READ_FEED, WRITE_FEED, SEE_FEED, MAKE_FEED],
    "groups that begin with `spark-kafka-`, by which Spark asks for offsets": [SPARK_S],
}
"""The rights by their text on the page."""

NEEDED = [right for rights in IN_WORDS.values() for right in rights]


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
    """A broker with ACLs, and a group that has committed."""
    with guarded_broker() as broker:
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
        admin.create_topics([NewTopic(TOPIC, num_partitions=1, replication_factor=1)])
        admin.close()
        partition = TopicPartition(TOPIC, 0)
        write(broker.bootstrap, {partition: 3})
        commit(broker.bootstrap, GROUP, {partition: 2})
        yield broker


@pytest.fixture(scope="module")
def with_feed(spark: SparkSession, guarded: Guarded) -> Guarded:
    """The same broker, with a feed that has a record."""
    assert publish(Feed(spark, {"kafka.bootstrap.servers": guarded.bootstrap}, FEED), load(spark, 10)) == 1
    return guarded


def load(spark: SparkSession, seconds: int, first: int = 0) -> DataFrame:
    """Return this many seconds of modelled load, with forecasts."""
    return model_load(samples_df(spark, [Look(first + n, n, n) for n in range(seconds)]), LOAD)


def of_feed(name: str, rights: Iterable[Right]) -> list[Right]:
    """Return the same rights for another feed."""
    return [right._replace(name=name) if right.name == FEED else right for right in rights]


def test_docs_have_a_row_for_each_right() -> None:
    page = (ROOT / "docs" / "guides" / "cluster.md").read_text(encoding="utf-8")
    table = page[page.index("| to | on | operations |") :].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| [^|]+ \| ([^|]+) \| (`[^|]+) \|$", table, re.MULTILINE))
    operations = {words: re.findall(r"`(\w+)`", cell) for words, cell in rows.items()}
    assert operations == {
        words: [right.operation.name.title().replace("_", "") for right in rights]
        for words, rights in IN_WORDS.items()
    }


@pytest.mark.long
def test_pipeline_works_with_only_these_rights(spark: SparkSession, guarded: Guarded, tmp_path: Path) -> None:
    name = "a-new-feed"
    guarded.allow_only(of_feed(name, NEEDED))
    settings = guarded.config()
    wanted = PipelineOptions(
        str(tmp_path), settings, groups=[GROUP], groups_like="bill.*", every_s=3.0, load=LOAD, feed_topic=name
    )
    stop, deadline = threading.Event(), time.monotonic() + PATIENCE_S

    def look(report: PipelineReport) -> None:
        if report.fed or time.monotonic() > deadline:
            stop.set()

    report = run_pipeline(spark, wanted, stop=stop, on_report=look)
    assert report.fed, report
    assert (report.unfed, report.down) == (0, {})
    assert report.samples is not None
    assert report.samples.misses.keys() <= {"the cluster did not answer in time"}
    by_source = {row.source for row in read_samples(spark, str(tmp_path)).select("source").collect()}
    assert by_source == {"sampler", "offsets-topic"}
    # The topic exists now, so the right to create it is not needed.
    guarded.allow_only(of_feed(name, [READ_FEED, WRITE_FEED, SEE_FEED, SPARK_S]))
    another = load(spark, 20, first=int(time.time()) - START).withColumn("group", F.lit("another"))
    assert publish(Feed(spark, connector_options(settings), name), another) == 1


def sample(spark: SparkSession, settings: dict[str, Any], root: str) -> object:
    return record_samples_once(spark, settings, root, groups=[GROUP])


def read_offsets(spark: SparkSession, settings: dict[str, Any], root: str) -> object:
    return record_offsets_once(spark, settings, root, groups=[GROUP])


def write_feed(spark: SparkSession, settings: dict[str, Any], _: str) -> object:
    return publish(Feed(spark, connector_options(settings), FEED), load(spark, 30))


def make_feed(spark: SparkSession, settings: dict[str, Any], _: str) -> object:
    return publish(Feed(spark, connector_options(settings), "not-there"), load(spark, 30))


OFFSETS_REFUSED = "recording __consumer_offsets: not authorized for"
REFUSED: list[tuple[Right, Callable[[SparkSession, dict[str, Any], str], object], str]] = [
    (DESCRIBE_GROUP, sample, "nothing to sample: not authorised to describe the group"),
    (
        DESCRIBE_TOPIC,
        sample,
        "nothing to sample: no group matches, or none .* topic that matches and that we may describe",
    ),
    (READ_OFFSETS, read_offsets, f"{OFFSETS_REFUSED} topic __consumer_offsets: .* READ"),
    (SPARK_S, read_offsets, rf"{OFFSETS_REFUSED} group spark-kafka-\S+: .* READ on groups spark-kafka-\*"),
    (SPARK_S, write_feed, r"feed 'the-feed' \(reading\): not authorized for group spark-kafka-"),
    (READ_FEED, write_feed, r"feed 'the-feed' \(reading\): not authorized for topic the-feed: .* READ"),
    # By the topic's name where Spark has an old producer; a new one is refused before it names a topic.
    (WRITE_FEED, write_feed, r"feed 'the-feed' \(writing\): not authorized .*: .* WRITE"),
    (SEE_FEED, write_feed, r"feed 'the-feed': not authorized to read its settings: .* DESCRIBE_CONFIGS"),
    (MAKE_FEED, make_feed, r"feed 'not-there': it does not exist .* not authorized to create it: .* CREATE"),
]


@pytest.mark.parametrize(
    ("missing", "use", "message"),
    REFUSED,
    ids=[f"{use.__name__}-{right.name}-{right.operation.name}" for right, use, _ in REFUSED],
)
def test_missing_right_is_named_in_the_error(
    spark: SparkSession,
    with_feed: Guarded,
    tmp_path: Path,
    *,
    missing: Right,
    use: Callable[[SparkSession, dict[str, Any], str], object],
    message: str,
) -> None:
    with_feed.allow_only([right for right in NEEDED if right != missing])
    with pytest.raises(PipelineError, match=message) as caught:
        use(spark, with_feed.config(), str(tmp_path))
    assert "\n" not in str(caught.value)
    assert PASSWORD not in str(caught.value)


def test_each_right_is_tested() -> None:
    assert {right for right, _, _ in REFUSED} == set(NEEDED)
