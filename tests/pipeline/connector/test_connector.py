"""The connector gets a connection's settings, and no output contains its secrets."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_assignors.pipeline.connector import connector_options
from kafka_assignors.pipeline.faults import pipeline_error
from kafka_assignors.pipeline.record.sampler import NAME, group_samples
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.lagging import commit, write
from tests.pipeline.connector.secured import AWKWARD, PASSWORD, Secured, secured_broker

PROGRAM = [sys.executable, "-m", "tests.pipeline.record.sampling_process"]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_broker(tmp_path_factory.mktemp("certificates")) as broker:
        yield broker


@pytest.fixture(scope="module")
def topic(secured: Secured) -> str:
    name = FreshNames(secured.bootstrap).topic(1)
    write(secured.bootstrap, {TopicPartition(name, 0): 9})
    return name


def rows(spark: SparkSession, settings: dict[str, Any], topic: str, **more: str) -> int:
    options = {**connector_options(settings), "subscribe": topic, "startingOffsets": "earliest", **more}
    count: int = spark.read.format("kafka").options(**options).load().count()
    return count


def test_session_reaches_brokers_by_ipv6(spark: SparkSession) -> None:
    """Without IPv6 on this machine, the setting that would switch it off is checked alone."""
    jvm: Any = spark._jvm
    assert jvm.java.lang.System.getProperty("java.net.preferIPv4Stack") in (None, "false")
    with socket.socket(socket.AF_INET6) as server:
        try:
            server.bind(("::1", 0))
        except OSError:
            return
        server.listen()
        jvm.java.net.Socket("::1", server.getsockname()[1]).close()


def test_password_with_special_characters(spark: SparkSession, secured: Secured, topic: str) -> None:
    assert rows(spark, secured.login("PLAIN", PASSWORD), topic) == 9
    assert rows(spark, secured.login("SCRAM-SHA-512", AWKWARD), topic) == 9


def test_certificate_and_key_in_two_files_and_in_one(
    spark: SparkSession, secured: Secured, topic: str
) -> None:
    settings = secured.certified()
    assert rows(spark, settings, topic) == 9
    both = str(secured.certificates / "client.both.pem")
    assert rows(spark, {**settings, "ssl_certfile": both, "ssl_keyfile": both}, topic) == 9
    assert rows(spark, {**settings, "ssl_check_hostname": False}, topic) == 9


def test_wrong_password_is_an_error_of_one_line_without_it(
    spark: SparkSession, secured: Secured, topic: str
) -> None:
    wrong = secured.login("SCRAM-SHA-512", "wrong-" + PASSWORD)
    with pytest.raises(Exception, match="SaslAuthenticationException") as caught:
        rows(spark, wrong, topic)
    assert PASSWORD not in str(caught.value)
    message = str(pipeline_error(caught.value, "reading"))
    assert message.startswith("reading: the cluster denies access")
    assert "\n" not in message
    assert PASSWORD not in message


def test_server_with_a_wrong_host_name_is_not_trusted(
    spark: SparkSession, secured: Secured, topic: str
) -> None:
    stranger = {**secured.certified(), "ssl_cafile": str(secured.certificates / "client.pem")}
    with pytest.raises(Exception, match=r"Ssl|SSL") as caught:
        rows(spark, stranger, topic)
    assert "denies access" in str(pipeline_error(caught.value, "reading"))


def secrets_in(output: str, secured: Secured) -> list[str]:
    """Return the parts of the passwords and of the private key that an output contains."""
    key = (secured.certificates / "client.key").read_text(encoding="ascii").splitlines()[1]
    return [secret for secret in ("pa55word", key, key[8:40]) if secret in output]


def text_below(*folders: Path) -> str:
    """Return the text of all files in some folders."""
    files = (file for folder in folders for file in folder.rglob("*") if file.is_file())
    return "".join(file.read_text(encoding="utf-8", errors="replace") for file in files)


@contextmanager
def logged(spark: SparkSession) -> Iterator[Any]:
    """Yield a Java writer that gets the log of Spark and Kafka at INFO."""
    jvm: Any = spark.sparkContext._jvm
    log4j, writer = jvm.org.apache.logging.log4j, jvm.java.io.StringWriter()
    context = log4j.LogManager.getContext(False)
    settings = context.getConfiguration()
    layout = settings.getAppender("console").getLayout()
    appender = log4j.core.appender.WriterAppender.createAppender(layout, None, writer, "test", False, False)
    appender.start()
    logger = log4j.core.config.LoggerConfig("org.apache", log4j.Level.INFO, False)
    logger.addAppender(appender, None, None)
    settings.addLogger("org.apache", logger)
    context.updateLoggers()
    try:
        yield writer
    finally:
        settings.removeLogger("org.apache")
        context.updateLoggers()


@pytest.mark.parametrize("way", ["password", "certificate"])
def test_plans_log_and_checkpoint_contain_no_secret(
    spark: SparkSession,
    secured: Secured,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    way: str,
) -> None:
    """Covers plans of both sources, as batches and streams, a batch of the connector, a stream of samples."""
    group = FreshNames(secured.bootstrap).group()
    commit(secured.bootstrap, group, {TopicPartition(topic, 0): 1})
    settings = secured.login("SCRAM-SHA-512", AWKWARD) if way == "password" else secured.certified()
    options = {**connector_options(settings), "subscribe": topic, "startingOffsets": "earliest"}
    with logged(spark) as log:
        spark.dataSource.register(group_samples(settings))
        for reading in (spark.read, spark.readStream):
            sampled = reading.format(NAME).option("groups", json.dumps([group])).load()
            sampled.explain(True)
            reading.format("kafka").options(**options).load().explain(True)
        assert rows(spark, settings, topic) == 9
        writing = sampled.writeStream.format("parquet").option("path", str(tmp_path / "samples"))
        query = writing.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        query.start().awaitTermination()
    assert spark.read.parquet(str(tmp_path / "samples")).count() == 1
    assert "ConsumerConfig values" in log.toString()
    plans = capsys.readouterr().out
    assert "KafkaSourceProvider" in plans
    assert NAME in plans
    outputs = (plans, log.toString(), text_below(tmp_path / "checkpoint"))
    assert [secrets_in(output, secured) for output in outputs] == [[]] * 3


@pytest.mark.long
@pytest.mark.parametrize("way", ["password", "certificate"])
def test_plans_logs_and_events_contain_no_secret(
    secured: Secured, topic: str, tmp_path: Path, way: str
) -> None:
    """Covers both sources, in batch and as streams, Spark's log at INFO, and its event log."""
    group = FreshNames(secured.bootstrap).group()
    commit(secured.bootstrap, group, {TopicPartition(topic, 0): 1})
    settings = secured.login("SCRAM-SHA-512", AWKWARD) if way == "password" else secured.certified()
    given = tmp_path / "settings.json"
    given.write_text(json.dumps(settings), encoding="utf-8")
    done = subprocess.run(
        [*PROGRAM, "tell_all", str(given), str(tmp_path), group, topic],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for line in ("batch 0: 1", "batch 1: 9", "stream 0: 1", "stream 1: 9"):
        assert line in done.stdout.splitlines()
    events = text_below(tmp_path / "events")
    assert "SparkListenerApplicationStart" in events
    kept = text_below(*tmp_path.glob("checkpoint*"))
    assert [secrets_in(output, secured) for output in (done.stdout, done.stderr, events, kept)] == [[]] * 4
