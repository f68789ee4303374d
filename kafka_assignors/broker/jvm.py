"""Prepares the broker to run as a JVM, from the fetched jars."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka_assignors.broker.java import Java
from kafka_assignors.broker.settings import HEAP, JVM_OPTIONS, SETTINGS, java_properties, new_cluster_id
from kafka_assignors.broker.supervised import Spec

DATA = "data"  # Kafka's data directory, below the broker's directory
# Their names are ours alone, because a user may choose a directory that has files of another broker.
PROPERTIES, _LOGGING = "kafka-assignors.properties", "kafka-assignors-log4j2.xml"

_LOG4J = """\
<Configuration status="WARN">
  <Appenders><Console name="log"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console></Appenders>
  <Loggers><Root level="WARN"><AppenderRef ref="log"/></Root></Loggers>
</Configuration>
"""


def prepare(
    java: Java, jars: Sequence[Path], root: Path, properties: Mapping[str, str], *, scratch: bool
) -> tuple[Spec, dict[str, str]]:
    """Write the broker's files below ``root``; return the commands that run it, and their environment.

    Paths in the files are relative to ``root``, the JVM's working directory, because ``root`` may have a
    comma, and Kafka splits ``log.dirs`` at commas.
    """
    (root / "tmp").mkdir(parents=True, exist_ok=True)
    (root / _LOGGING).write_text(_LOG4J, encoding="utf-8")
    settings = {**SETTINGS, "log.dirs": DATA, **properties}
    (root / PROPERTIES).write_text(java_properties(settings), encoding="ascii")
    jvm = [
        str(java.path),
        HEAP,
        *JVM_OPTIONS,
        "-XX:ErrorFile=hs_err.log",
        "-Djava.io.tmpdir=tmp",  # zstd and snappy unpack their libraries there; a killed JVM leaves them
        f"-Dlog4j2.configurationFile={_LOGGING}",
        "-cp",
        os.pathsep.join(map(str, jars)),
    ]
    meta = root / DATA / "meta.properties"
    is_formatted = meta.exists()
    cluster_id = _cluster_id(meta) if is_formatted else new_cluster_id()
    # The option uses "=", because an id from another program may start with a dash.
    format_data = [*jvm, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}", "-c", PROPERTIES]
    serve = [*jvm, "kafka.Kafka", PROPERTIES]
    spec = Spec(
        commands=[serve] if is_formatted else [format_data, serve],
        cwd=str(root),
        log=str(root / "broker.log"),
        scratch=str(root) if scratch else None,
        cluster_id=cluster_id,
    )
    # The JVM gets the whole environment, because JAVA_TOOL_OPTIONS and the like are the user's choice.
    env = dict(os.environ)
    if env.get("LC_ALL") in {"C", "POSIX"}:  # there Java reads paths as ASCII, but Python as UTF-8
        env["LC_ALL"] = "C.UTF-8"
    return spec, env


def _cluster_id(meta: Path) -> str | None:
    """Return the cluster id in a data directory's ``meta.properties``; None if the file has no id."""
    match = re.search(r"^cluster\.id=(\S+)", meta.read_text(encoding="latin-1"), re.MULTILINE)
    return match.group(1) if match else None
