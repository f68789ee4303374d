"""The Spark session of the jobs: that of ``spark-submit``, or a local one in this process.

The local session:
- takes jars from the lock (`connector_jars`), not from Spark's resolver: the same bytes everywhere, and no
  network after the first download;
- is the Spark that is installed with PySpark, unless ``SPARK_HOME`` has one of the same minor version;
- listens only on loopback;
- logs only errors, to stderr; one made by `session` logs nothing.
"""

from __future__ import annotations

import logging
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_assignors.broker import OnProgress, Progress, fetch_jars, find_java
from kafka_assignors.broker.progress import silent
from kafka_assignors.errors import PipelineError, needs_extra
from kafka_assignors.pipeline.faults import as_pipeline_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEMORY = "1g"
"""Memory of the JVM of a local session.  The Python workers of the session need memory besides."""

OFFSET_FETCHING = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
"""Must be true: Spark's newer way to fetch offsets reads __consumer_offsets as empty, without an error."""

VERSIONS = ("4.0", "4.1", "4.2")
"""Versions of Spark that the pipeline supports; ``jars.lock`` has a connector for each."""

STREAMING = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    OFFSET_FETCHING: "true",
    # Otherwise Spark would skip a damaged or missing file of samples without an error.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # With other values, readers would see files of unfinished batches, Spark would delete lists that
    # maintenance needs, dates would be text, and `batch_files` could not read the checkpoint.
    "spark.sql.streaming.fileStreamSink.ignoreMetadata": "false",
    "spark.sql.streaming.minBatchesToRetain": "100",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "true",
    "spark.sql.streaming.offsetLog.formatVersion": "1",
    # Every 1,000 batches instead of every 10, Spark rewrites the list of all files that the model has read.
    "spark.sql.streaming.fileSource.log.compactInterval": "1000",
    # Adds rates, latency, watermark and state of each stream to Spark's metrics, by the name of its query.
    "spark.sql.streaming.metricsEnabled": "true",
    # Spark's default patterns redact passwords, but not the options with a private key or a login.
    "spark.sql.redaction.options.regex": "(?i)url|jaas|keystore[.]key",
}
"""Settings that the jobs need in any session."""

_LOG = logging.getLogger(__name__)
_LOG4J = Path(__file__).with_name("log4j2.properties")

# PySpark always requests a module that only speeds up vectors.  The Java runtime of PyPI does not have the
# module, and other runtimes print a warning, so this launcher drops the option.
_LAUNCHER = """\
#!/bin/sh
for word in "$@"; do
  shift
  [ "$word" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def connector_jars(*, on_progress: OnProgress = silent) -> tuple[Path, ...]:
    """Return the jars of the Kafka connector for the installed PySpark; missing ones are fetched.

    Raises:
        MissingExtraError: PySpark is not installed.
        PipelineError: the pipeline does not support this version of Spark.
        BrokerError: a jar is missing and cannot be fetched.
    """
    with needs_extra("spark"):
        from pyspark import __version__ as spark
    minor = _minor(spark)
    if minor not in VERSIONS:
        raise PipelineError(f"Spark {spark} is not supported, only {', '.join(VERSIONS)}")
    return fetch_jars(f"spark{minor.replace('.', '')}", on_progress=on_progress)


def submitted() -> bool:
    """Return whether ``spark-submit`` started this program, so it has a session already."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


@contextmanager
def session(
    name: str,
    *,
    cores: int | None = None,
    memory: str = MEMORY,
    on_progress: OnProgress = silent,
) -> Iterator[SparkSession]:
    """Take the session of ``spark-submit`` with its master, size and jars, or else make a local one.

    The local session logs nothing, because the commands that use it print errors as one line.  Arguments and
    errors are those of `local_session`; all but ``name`` apply only to a local session.
    """
    if not submitted():
        silence = {"spark.log.level": "FATAL"}
        with local_session(
            name, cores=cores, memory=memory, settings=silence, on_progress=on_progress
        ) as spark:
            yield spark
        return
    from pyspark.sql import SparkSession

    of_submit = SparkSession.builder.appName(name).getOrCreate()
    for key, value in STREAMING.items():
        of_submit.conf.set(key, value)
    with _stopped_afterwards(of_submit):
        yield of_submit


def _spark_home(own: Path, version: str) -> dict[str, str]:
    """Set ``SPARK_HOME`` to PySpark's own folder, unless the user's has a Spark of the same minor version."""
    core, home = f"jars/spark-core_*-{version}.*.jar", os.environ.get("SPARK_HOME")
    if not any(own.glob(core)) or (home and any(Path(home).glob(core))):
        return {}
    if home:
        _LOG.warning("SPARK_HOME %s is no Spark %s: starting that of PySpark", home, version)
    return {"SPARK_HOME": str(own)}


@contextmanager
def local_session(
    name: str,
    *,
    cores: int | None = None,
    memory: str = MEMORY,
    java_options: str = "",
    settings: Mapping[str, str] | None = None,
    on_progress: OnProgress = silent,
) -> Iterator[SparkSession]:
    """Run Spark in this process within the block; takes about 6 s to start, 300 MB idle.

    If the process already has a session, the block gets that session, master, memory and jars included.  In
    either case the session stops after the block.

    Args:
        name: name of the application.
        cores: number of cores; None: all.
        memory: memory of the JVM.  It is set by the first session of the process, and cannot change.
        java_options: options of the JVM; they are fixed like its memory.
        settings: Spark settings; they override those of this package.
        on_progress: called for jars that are fetched, and for the start.

    Raises:
        MissingExtraError: PySpark is not installed.
        ToolMissingError: there is no Java that is new enough.
        BrokerError: a jar is missing and cannot be fetched.
        PipelineError: Spark does not start, or this version is not supported.
    """
    with needs_extra("spark"):
        import pyspark
        from pyspark.sql import SparkSession
    java = find_java("Spark")
    jars = connector_jars(on_progress=on_progress)
    on_progress(Progress("starting Spark"))
    # A Java whose stop failed or was interrupted may still write there, and the first error counts.
    with tempfile.TemporaryDirectory(prefix="kafka-assignors-spark-", ignore_cleanup_errors=True) as scratch:
        environment = {
            "JAVA_HOME": str(java_home(Path(scratch, "java"), java.path)),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,  # else the workers run the python3 of PATH
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }
        environment |= _spark_home(Path(pyspark.__file__).parent, _minor(pyspark.__version__))
        defaults = {
            "spark.jars": ",".join(map(str, jars)),
            "spark.driver.memory": memory,
            "spark.driver.maxResultSize": "0",  # the memory is the limit
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",  # spark-defaults.conf may have another one
            "spark.local.dir": str(Path(scratch, "local")),
            "spark.sql.warehouse.dir": str(Path(scratch, "warehouse")),
            "spark.sql.shuffle.partitions": str(max(2, cores or os.cpu_count() or 2)),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOG4J.as_uri()} {java_options}",
            **STREAMING,
        }
        builder = SparkSession.builder.master(f"local[{cores or '*'}]").appName(name)
        with _environment(environment), as_pipeline_error("starting Spark"):
            session = builder.config(map={**defaults, **(settings or {})}).getOrCreate()
        with _stopped_afterwards(session):
            yield session


@contextmanager
def _stopped_afterwards(spark: SparkSession) -> Iterator[None]:
    """Stop Spark after the block.  If both fail, the error of the block is raised."""
    try:
        yield
    except BaseException:
        with suppress(Exception):  # py4j cannot connect if Spark itself has ended
            spark.stop()
        raise
    spark.stop()


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables only while Spark starts and reads them, not for later child processes."""
    before = {name: os.environ[name] for name in values if name in os.environ}
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            del os.environ[name]
        os.environ.update(before)


def java_home(home: Path, java: Path) -> Path:
    """Make ``home`` a JAVA_HOME whose launcher drops PySpark's vector option; return it."""
    (home / "bin").mkdir(parents=True)
    launcher = home / "bin" / "java"
    launcher.write_text(_LAUNCHER.format(java=shlex.quote(os.path.realpath(java))), encoding="utf-8")
    launcher.chmod(0o755)
    return home
