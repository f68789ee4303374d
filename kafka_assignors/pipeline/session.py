"""The Spark that the jobs run on: what ``spark-submit`` brings, else one of our own in this process.

Of our own:
- Jars come from the lock (``fetch_jars``), not from Spark's resolver: the same bytes everywhere, and no
  network once they are here.
- Nothing listens outside loopback.
- It is quiet: what Spark has to say goes to stderr, from errors on.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_assignors.broker import OnProgress, Progress, fetch_jars, find_java
from kafka_assignors.broker.progress import silent
from kafka_assignors.errors import MissingExtraError
from kafka_assignors.pipeline.faults import one_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["MEMORY", "SHORT_LIVED", "STREAMING", "java_home", "local_session", "session", "submitted"]

MEMORY = "1g"
"""Of the JVM of a session of our own; its Python workers come on top of that."""

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java options of a session that ends within minutes: it spends less on compiling than on its work."""

#: What the jobs need of any session, wherever it runs.
STREAMING = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Spark's other way to ask for offsets reads __consumer_offsets as empty, without an error.
    "spark.sql.streaming.kafka.useDeprecatedOffsetFetching": "true",
    # Spark hides what is called a password; a private key and a login have other names.
    "spark.sql.redaction.options.regex": "(?i)url|jaas|keystore[.]key",
}

_SILENT = {"spark.log.level": "FATAL"}

_LOG4J = Path(__file__).with_name("log4j2.properties")

# PySpark always asks for a module that only speeds up vectors: the runtime from PyPI does not have it, and
# the others warn of it.
_LAUNCHER = """\
#!/bin/sh
for word in "$@"; do
  shift
  [ "$word" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$word"
done
exec '{java}' "$@"
"""


def submitted() -> bool:
    """Whether ``spark-submit`` started this program: then it has a Spark already."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


@contextmanager
def session(
    name: str,
    *,
    cores: int | None = None,
    memory: str = MEMORY,
    java_options: str = "",
    on_progress: OnProgress = silent,
) -> Iterator[SparkSession]:
    """Take the session of ``spark-submit``, whose master, size and jars are the submitter's, else make one.

    For commands, which say in a line what went wrong: one of our own logs nothing.

    Args and errors are those of `local_session`; all but ``name`` are only of a local one.
    """
    if not submitted():
        with local_session(
            name,
            cores=cores,
            memory=memory,
            java_options=java_options,
            settings=_SILENT,
            on_progress=on_progress,
        ) as local:
            yield local
        return
    from pyspark.sql import SparkSession

    given = SparkSession.builder.appName(name).getOrCreate()
    for key, value in STREAMING.items():
        given.conf.set(key, value)
    try:
        yield given
    finally:
        given.stop()


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
    """Run Spark in this process for as long as the block lasts; takes about 6 s to start, 300 MB idle.

    Args:
        name: of the application.
        cores: how many to use; None: all there are.
        memory: of the JVM.  It is set when the process makes its first session, and stays.
        java_options: of the JVM; they stay, too.
        settings: Spark settings, before ours.
        on_progress: told of jars that are fetched, and of the start.

    Raises:
        MissingExtraError: PySpark is not installed.
        ToolMissingError: no Java that is new enough.
        BrokerError: a jar is missing and cannot be fetched.
        PipelineError: Java does not get as far as Spark.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtraError("spark", "pyspark") from error
    java = find_java("Spark")
    jars = fetch_jars("spark", on_progress=on_progress)
    on_progress(Progress("starting Spark"))
    with tempfile.TemporaryDirectory(prefix="kafka-assignors-spark-") as scratch:
        environment = {
            "JAVA_HOME": str(java_home(Path(scratch, "java"), java.path)),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,  # else the workers are whatever python3 is on PATH
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }
        ours = {
            "spark.jars": ",".join(map(str, jars)),
            "spark.driver.memory": memory,
            "spark.driver.maxResultSize": "0",  # the memory is bound enough
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(Path(scratch, "local")),
            "spark.sql.warehouse.dir": str(Path(scratch, "warehouse")),
            "spark.sql.shuffle.partitions": str(max(2, cores or os.cpu_count() or 2)),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.extraJavaOptions": (
                f"-Dlog4j2.configurationFile={_LOG4J.as_uri()} -Djava.net.preferIPv4Stack=true {java_options}"
            ),
            **STREAMING,
        }
        builder = SparkSession.builder.master(f"local[{cores or '*'}]").appName(name)
        for key, value in {**ours, **(settings or {})}.items():
            builder = builder.config(key, value)
        with _environment(environment), one_line("starting Spark"):
            session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables for a moment: Spark reads them when it starts, our children need not."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def java_home(home: Path, java: Path) -> Path:
    """Make ``home`` a JAVA_HOME whose launcher PySpark gets along with; return it."""
    (home / "bin").mkdir(parents=True)
    launcher = home / "bin" / "java"
    launcher.write_text(_LAUNCHER.format(java=os.path.realpath(java)), encoding="utf-8")
    launcher.chmod(0o755)
    return home
