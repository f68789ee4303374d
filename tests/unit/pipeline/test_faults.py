"""Errors of Spark as one line."""

from __future__ import annotations

import re

import pytest

from kafka_assignors.errors import OptionError, PipelineError
from kafka_assignors.pipeline import faults
from kafka_assignors.pipeline.faults import as_pipeline_error, pipeline_error

STREAM = """[STREAM_FAILED] Query [id = 6] terminated with exception: {what} SQLSTATE: XXKST
=== Streaming Query ===
Identifier: offsets-topic [id = 6, runId = 7]
"""
KAFKA = "org.apache.kafka.common.errors"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "An exception was thrown from the Python worker:\nModuleNotFoundError: No module named 'kafka'",
            "the executors' Python has no kafka: install kafka-assignors[spark] there",
        ),
        ("java.io.IOException: No space left on device", "the disk is full, or a quota or limit is reached"),
        (
            f"{KAFKA}.SaslAuthenticationException: Authentication failed: wrong user",
            "the cluster denies access: Authentication failed: wrong user",
        ),
        (
            f"Caused by: {KAFKA}.TopicAuthorizationException: Not authorized to access topics: [offsets]\n",
            "not authorized for topic offsets: the ACLs must allow READ to read it",
        ),
        (
            f"{KAFKA}.ClusterAuthorizationException: Cluster authorization failed.",
            "not authorized to write: the ACLs must allow WRITE on the topic",
        ),
        (
            f"ExecutionException: {KAFKA}.UnknownTopicOrPartitionException: This server does not host it.",
            "the topic or one of its partitions does not exist (any more)",
        ),
        (
            f"{KAFKA}.TimeoutException: Topic t not present in metadata after 60000 ms.\n"
            f"Caused by: {KAFKA}.UnknownTopicOrPartitionException: This server does not host it.",
            "the topic or one of its partitions does not exist (any more)",
        ),
        (
            f"{KAFKA}.TimeoutException: Topic t not present in metadata after 60000 ms.",
            "no Kafka broker answers",
        ),
        (
            "Partition t-0's offset was changed from 9 to 3, some data may be missing.",
            "the next records are gone from the topic",
        ),
        (
            f"{KAFKA}.TimeoutException: Timed out waiting for a node assignment.",
            "no Kafka broker answers: check the address, and whether it runs",
        ),
        (
            "java.lang.AssertionError: assertion failed: There are [2] sources in the checkpoint offsets and "
            "now there are [1] sources requested by the query. Cannot continue.",
            "the checkpoint is damaged, or belongs to another stream: of the load model, remove load/ and "
            "checkpoints/load (samples are kept); of a recorder, take another folder",
        ),
        (
            "[UNSUPPORTED_FEATURE.STORE_BACKEND_NOT_SUPPORTED_FOR_TWS] The feature is not supported: Store b",
            "this Spark keeps no state in RocksDB: set spark.sql.streaming.stateStore.providerClass",
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
            "not authorized for group spark-kafka-source-1: the ACLs must allow READ",
        ),
        (
            f"{KAFKA}.SslAuthenticationException: SSL handshake failed",
            "the cluster denies access: TLS: SSL handshake failed",
        ),
        (
            "org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls given in bootstrap",
            "no address of a broker can be resolved",
        ),
        (
            "org.apache.kafka.common.KafkaException: Failed to construct kafka consumer\n\tat a.b(C.java:1)\n"
            f"Caused by: {KAFKA}.InvalidConfigurationException: Failed to load PEM SSL keystore /pki/ca.pem\n"
            "Caused by: java.nio.file.NoSuchFileException: /pki/ca.pem\n\tat a.b(C.java:1)\n",
            "Kafka's Java client cannot use the connection settings: java.nio.file.NoSuchFileException: "
            "/pki/ca.pem; the files that they name must be on every machine",
        ),
        (
            "[CONCURRENT_QUERY] Another instance of this query was just started by a session",
            "another run writes to this folder",
        ),
        ("[INTERNAL_ERROR] Race while writing batch 7", "another run writes to this folder"),
        (
            "[USER_RAISED_EXCEPTION] there is no 'group' in a row of file:/a/b.parquet SQLSTATE: P0001",
            "there is no 'group' in a row of file:/a/b.parquet",
        ),
        (
            "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/a/b-1.parquet. SQLSTATE",
            "file:/a/b-1.parquet is not a complete Parquet file: remove",
        ),
        (
            "java.lang.RuntimeException: file:/a/b-1.parquet is not a Parquet file. Expected magic number",
            "file:/a/b-1.parquet is not a complete Parquet file: remove",
        ),
        (
            "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file:/a/b-1.parquet. "
            "File does not exist. It is possible the underlying files have been updated. SQLSTATE: KD001",
            "file:/a/b-1.parquet is gone: if it was merged or deleted meanwhile, try again, else restore it",
        ),
        (
            "[PATH_NOT_FOUND] Path does not exist: hdfs://node:8020/our load/b-1.parquet. SQLSTATE: 42K03",
            "hdfs://node:8020/our load/b-1.parquet is gone: if it was merged or deleted meanwhile, try again",
        ),
        (
            "org.apache.spark.SparkException: Python worker failed to connect back.",
            "a Python worker of Spark did not start within 10 s",
        ),
        ("Python worker exited unexpectedly (crashed)", "a worker process of Spark died: start again"),
        (
            "Total size of results of 3 tasks is bigger than spark.driver.maxResultSize (1024 MiB)",
            "the results exceed the limit of Spark's driver",
        ),
        (
            "java.net.ConnectException: Call From a/127.0.1.1 to namenode:8020 failed: Connection refused",
            "the storage of the folder, or another service this Spark needs, does not answer: Call From a",
        ),
        (
            "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.",
            "Java ended before Spark started",
        ),
        ("Answer from Java side is empty", "Spark itself has ended"),
    ],
)
def test_known_error_has_a_line_with_a_remedy(text: str, message: str) -> None:
    for whole in (text, STREAM.format(what=text)):
        line = str(pipeline_error(RuntimeError(whole), "recording"))
        assert line.startswith(f"recording: {message}")
        assert "\n" not in line


def test_each_rule_is_tested() -> None:
    texts = [mark.args[1] for mark in test_known_error_has_a_line_with_a_remedy.pytestmark]  # type: ignore[attr-defined]  # pytest adds it
    hit = {_rule_of(text) for cases in texts for text, _ in cases}
    assert hit == faults._RULES.keys()


def _rule_of(text: str) -> str:
    return next(pattern for pattern in faults._RULES if re.search(pattern, text))


def test_ended_jvm_is_not_taken_for_another_service() -> None:
    gone = str(pipeline_error(ConnectionRefusedError(111, "Connection refused"), "recording"))
    assert gone == "recording: Spark itself has ended: start again; finished batches are kept"


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("java.nio.channels.UnresolvedAddressException: java.net.UnknownHostException", "does not answer"),
        ("javax.net.ssl.SSLHandshakeException", "the cluster denies access: TLS"),
    ],
)
def test_error_without_a_message_ends_without_a_colon(name: str, end: str) -> None:
    assert str(pipeline_error(RuntimeError(name), "recording")).endswith(end)


def test_unknown_error_is_its_first_line() -> None:
    error = pipeline_error(RuntimeError("the tape is torn\n\tat a.b(C.java:1)\n"), "recording")
    assert str(error) == "recording: RuntimeError: the tape is torn"
    for target in ("o33.mkdirs.", "z:a.b.runJob.", "None.a.b.JavaSparkContext.", "o33.mkdirs. Trace:"):
        java = f"An error occurred while calling {target}\n: java.io.IOException: no\n\tat a.b(C.java:1)\n"
        error = pipeline_error(RuntimeError(java), "recording")
        assert str(error) == "recording: RuntimeError: java.io.IOException: no"
    assert str(pipeline_error(RuntimeError(), "recording")) == "recording: RuntimeError: no message"


def test_cause_of_an_error_decides() -> None:
    error = RuntimeError("Job aborted")
    error.__cause__ = OSError("No space left on device")
    assert "the disk is full" in str(pipeline_error(error, "recording"))


def test_own_errors_pass_unchanged_and_others_keep_their_cause() -> None:
    ours = OptionError("every", "0 is too little")
    with pytest.raises(OptionError) as caught, as_pipeline_error("recording"):
        raise ours
    assert caught.value is ours
    assert pipeline_error(ours, "recording") is ours
    with (
        pytest.raises(PipelineError, match="recording: ValueError: odd") as other,
        as_pipeline_error("recording"),
    ):
        raise ValueError("odd")
    assert isinstance(other.value.__cause__, ValueError)
