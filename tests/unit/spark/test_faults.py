"""What Spark says in a page, in a line."""

from __future__ import annotations

import pytest

from kafka_assignors.errors import PipelineError
from kafka_assignors.spark.faults import explained, reason

STREAM = """[STREAM_FAILED] Query [id = 6] terminated with exception: {what} SQLSTATE: XXKST
=== Streaming Query ===
Identifier: offsets-topic [id = 6, runId = 7]
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "Failed to find data source: kafka. Please deploy the application as per the deployment section",
            "this Spark has no Kafka connector: submit with --packages or --jars, see docs/clusters.md",
        ),
        (
            "An exception was thrown from the Python worker:\nModuleNotFoundError: No module named 'kafka'",
            "the executors' Python has no kafka: install kafka-assignors[spark] there, see docs/clusters.md",
        ),
        ("java.io.IOException: No space left on device", "the disk is full: make room and start again"),
        (
            "org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed: wrong password",
            "the cluster does not let us in: Authentication failed: wrong password",
        ),
        (
            "Caused by: org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access "
            "topics: [__consumer_offsets]\n\tat x",
            "Not authorized to access topics: [__consumer_offsets]",
        ),
        (
            "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors."
            "UnknownTopicOrPartitionException: This server does not host this topic-partition.",
            "there is no such topic, or no longer",
        ),
        (
            "Partition t-0's offset was changed from 9 to 3, some data may have been missed. Some data may have "
            "been lost because they are not available in Kafka any more",
            "records that were not read yet are gone: retention took them, or the topic was made again; to "
            "begin anew with what is there, remove this stream's folder under checkpoints/",
        ),
        (
            "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment.",
            "the cluster does not answer: Timed out waiting for a node assignment.",
        ),
        (
            "java.lang.AssertionError: assertion failed: There are [2] sources in the checkpoint offsets and "
            "now there are [1] sources requested by the query. Cannot continue.",
            "the checkpoint is another query's, or broken; it belongs to the data beside it: docs/pipeline.md",
        ),
        (
            "file:/data/x/date=2026-01-01/part-0.parquet is not a Parquet file. Expected magic number",
            "file:/data/x/date=2026-01-01/part-0.parquet is no whole Parquet file: half-written, or "
            "damaged; move it away",
        ),
        ("java.lang.OutOfMemoryError: Java heap space", "out of memory: give Spark more, or ask for less"),
    ],
)
def test_what_is_known_says_what_to_do(text: str, says: str) -> None:
    for whole in (text, STREAM.format(what=text)):
        line = str(explained(RuntimeError(whole)))
        assert line.startswith(says)
        assert "\n" not in line


def test_what_is_not_known_is_its_innermost_cause_without_the_classes() -> None:
    text = "[STREAM_FAILED] Query terminated\njava.lang.RuntimeException: outer\n\tat a.b(C.java:1)\n"
    text += "Caused by: java.lang.IllegalStateException: java.io.IOException: the tape is torn\n\tat d\n"
    assert str(explained(RuntimeError(text))) == "the tape is torn"
    assert reason(RuntimeError("only this")) == "only this"
    assert reason(RuntimeError()) == "RuntimeError"


def test_what_is_explained_already_stays_as_it_is() -> None:
    error = PipelineError("no samples in x: record some first")
    assert explained(error) is error
    assert str(explained(None)) == "the stream ended by itself"


def test_a_line_stays_a_line_however_long_the_cause_is() -> None:
    assert len(str(explained(RuntimeError("x" * 10_000)))) == 300
