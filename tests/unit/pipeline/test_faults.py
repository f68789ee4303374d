"""What Spark says in a page, in a line."""

from __future__ import annotations

import re

import pytest

from kafka_assignors.errors import OptionError, PipelineError
from kafka_assignors.pipeline import faults
from kafka_assignors.pipeline.faults import one_line, pipeline_error

STREAM = """[STREAM_FAILED] Query [id = 6] terminated with exception: {what} SQLSTATE: XXKST
=== Streaming Query ===
Identifier: offsets-topic [id = 6, runId = 7]
"""
KAFKA = "org.apache.kafka.common.errors"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Failed to find data source: kafka. Please deploy", "this Spark has no Kafka connector"),
        (
            "An exception was thrown from the Python worker:\nModuleNotFoundError: No module named 'kafka'",
            "the executors' Python has no kafka: install kafka-assignors[spark] there",
        ),
        ("java.io.IOException: No space left on device", "the disk is full: make room"),
        (
            f"{KAFKA}.SaslAuthenticationException: Authentication failed: wrong user",
            "the cluster does not let us in: Authentication failed: wrong user",
        ),
        (
            f"Caused by: {KAFKA}.TopicAuthorizationException: Not authorized to access topics: [offsets]\n",
            "the cluster does not let us use topic offsets: its rules have to allow READ to read it",
        ),
        (
            f"{KAFKA}.ClusterAuthorizationException: Cluster authorization failed.",
            "the cluster does not let us write: its rules have to allow WRITE on the topic",
        ),
        (
            f"ExecutionException: {KAFKA}.UnknownTopicOrPartitionException: This server does not host it.",
            "the topic is not there (any more)",
        ),
        (
            "Partition t-0's offset was changed from 9 to 3, some data may be missing.",
            "records that were to be read next are gone from the topic",
        ),
        (
            f"{KAFKA}.TimeoutException: Timed out waiting for a node assignment.",
            "no Kafka broker answers: check the address, and whether it runs",
        ),
        (
            "java.lang.AssertionError: assertion failed: There are [2] sources in the checkpoint offsets and "
            "now there are [1] sources requested by the query. Cannot continue.",
            "the checkpoint is of something else, or damaged",
        ),
        ("java.lang.OutOfMemoryError: Java heap space", "Spark ran out of memory: give it more (--memory"),
        (
            "Failed to find data source: kafka.\njava.lang.ClassNotFoundException: kafka.DefaultSource",
            "this Spark has no Kafka connector",
        ),
        (
            "java.lang.NoClassDefFoundError: org/apache/kafka/common/serialization/ByteArraySerializer",
            "a jar of Spark's Kafka connector is missing (no class org/apache/kafka/common",
        ),
        ("kafka_assignors.errors.LagError: no group coordinator\n", "no group coordinator"),
        (
            f"{KAFKA}.GroupAuthorizationException: Not authorized to access group: spark-kafka-source-1",
            "the cluster does not let us use group spark-kafka-source-1: its rules have to allow READ",
        ),
        (
            f"{KAFKA}.SslAuthenticationException: SSL handshake failed",
            "the cluster does not let us in: TLS: SSL handshake failed",
        ),
        (
            "org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls given in bootstrap",
            "none of the addresses of the brokers can be looked up",
        ),
        (
            "[CONCURRENT_QUERY] Another instance of this query was just started by a session",
            "another run writes to this folder",
        ),
        (
            "[USER_RAISED_EXCEPTION] there is no 'group' in a row of file:/a/b.parquet SQLSTATE: P0001",
            "there is no 'group' in a row of file:/a/b.parquet",
        ),
        (
            "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/a/b-1.parquet. SQLSTATE",
            "file:/a/b-1.parquet is no whole Parquet file: remove it",
        ),
        (
            "java.lang.RuntimeException: file:/a/b-1.parquet is not a Parquet file. Expected magic number",
            "file:/a/b-1.parquet is no whole Parquet file: remove it",
        ),
        (
            "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file:/a/b-1.parquet. "
            "File does not exist. It is possible the underlying files have been updated. SQLSTATE: KD001",
            "file:/a/b-1.parquet is gone, and the list of what was written has it: bring it back",
        ),
        (
            "[PATH_NOT_FOUND] Path does not exist: file:/a/b-1.parquet. SQLSTATE: 42K03",
            "file:/a/b-1.parquet is gone, and the list of what was written has it: bring it back",
        ),
        (
            "[PATH_NOT_FOUND] Path does not exist: hdfs://node:8020/our load/b-1.parquet. SQLSTATE: 42K03",
            "hdfs://node:8020/our load/b-1.parquet is gone, and the list of what was written has it: "
            "bring it back",
        ),
        (
            "Python worker exited unexpectedly (crashed)",
            "a worker process of Spark died: start again",
        ),
        (
            "Total size of results of 3 tasks is bigger than spark.driver.maxResultSize (1024 MiB)",
            "the results are more than this Spark hands to its driver",
        ),
        (
            "java.net.ConnectException: Call From a/127.0.1.1 to namenode:8020 failed: Connection refused",
            "what the folder lies on, or something else this Spark needs, does not answer: Call From a",
        ),
        (
            "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.",
            "Java ended before Spark had begun",
        ),
        ("Answer from Java side is empty", "Spark itself has ended"),
    ],
)
def test_what_is_known_says_what_to_do(text: str, says: str) -> None:
    for whole in (text, STREAM.format(what=text)):
        line = str(pipeline_error(RuntimeError(whole), "recording"))
        assert line.startswith(f"recording: {says}")
        assert "\n" not in line


def test_each_rule_is_tested() -> None:
    texts = [mark.args[1] for mark in test_what_is_known_says_what_to_do.pytestmark]  # type: ignore[attr-defined]  # pytest adds it
    hit = {_rule_of(text) for cases in texts for text, _ in cases}
    assert hit == set(range(len(faults._RULES)))


def _rule_of(text: str) -> int:
    return next(at for at, (pattern, _) in enumerate(faults._RULES) if re.search(pattern, text))


def test_a_java_that_has_gone_is_told_from_a_service_that_has() -> None:
    gone = str(pipeline_error(ConnectionRefusedError(111, "Connection refused"), "recording"))
    assert gone == "recording: Spark itself has ended: start again; what was finished is kept"


def test_what_is_not_known_is_its_first_line() -> None:
    told = pipeline_error(RuntimeError("the tape is torn\n\tat a.b(C.java:1)\n"), "recording")
    assert str(told) == "recording: RuntimeError: the tape is torn"
    java = "An error occurred while calling o33.mkdirs.\n: java.io.IOException: no\n\tat a.b(C.java:1)\n"
    told = pipeline_error(RuntimeError(java), "recording")
    assert str(told) == "recording: RuntimeError: java.io.IOException: no"
    assert str(pipeline_error(RuntimeError(), "recording")) == "recording: RuntimeError: no more is known"


def test_the_cause_of_a_cause_decides() -> None:
    error = RuntimeError("Job aborted")
    error.__cause__ = OSError("No space left on device")
    assert "the disk is full" in str(pipeline_error(error, "recording"))


def test_errors_of_ours_pass_as_they_are_and_others_keep_their_cause() -> None:
    ours = OptionError("every", "0 is too little")
    with pytest.raises(OptionError) as caught, one_line("recording"):
        raise ours
    assert caught.value is ours
    with pytest.raises(PipelineError, match="recording: ValueError: odd") as other, one_line("recording"):
        raise ValueError("odd")
    assert isinstance(other.value.__cause__, ValueError)
