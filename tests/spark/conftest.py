"""A local Spark session with the locked connector jars, and a broker to read from."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_assignors.broker import development_broker, fetch_jars, find_java

# PySpark always asks for a module that only speeds up vectors, and that the runtime from PyPI does not have.
LAUNCHER = """\
#!/bin/sh
for word in "$@"; do
  shift
  [ "$word" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$word"
done
exec '{java}' "$@"
"""

LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """``host:port`` of a broker for the whole session."""
    with development_broker() as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Run ``local[2]``, quiet, on loopback only; nothing is resolved, so it needs no network."""
    root = tmp_path_factory.mktemp("spark")
    (root / "log4j2.properties").write_text(LOG4J, encoding="ascii")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", str(_java_home(root / "java")))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # else the workers are whatever python3 is on PATH
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        settings = {
            "spark.jars": ",".join(map(str, fetch_jars("spark"))),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.memory": "1g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(root / "local"),
            "spark.sql.warehouse.dir": str(root / "warehouse"),
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC",
            "spark.driver.extraJavaOptions": (
                f"-Dlog4j2.configurationFile={(root / 'log4j2.properties').as_uri()} "
                "-Djava.net.preferIPv4Stack=true"
            ),
        }
        builder = SparkSession.builder.master("local[2]").appName("kafka-assignors tests")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        yield session
        session.stop()


def _java_home(home: Path) -> Path:
    (home / "bin").mkdir(parents=True)
    launcher = home / "bin" / "java"
    launcher.write_text(LAUNCHER.format(java=os.path.realpath(find_java().path)), encoding="utf-8")
    launcher.chmod(0o755)
    return home
