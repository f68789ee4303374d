"""The broker as a JVM of its own, from the fetched jars."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka_assignors.broker.java import Java
from kafka_assignors.broker.settings import HEAP, JVM_OPTIONS, SETTINGS, new_cluster_id, render
from kafka_assignors.broker.supervised import Spec

__all__ = ["DATA", "launch"]

DATA = "data"  # Kafka's directory, below the broker's own

_LOG4J = """\
<Configuration status="WARN">
  <Appenders><Console name="log"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console></Appenders>
  <Loggers><Root level="WARN"><AppenderRef ref="log"/></Root></Loggers>
</Configuration>
"""


def launch(
    java: Java, jars: Sequence[Path], root: Path, properties: Mapping[str, str], *, scratch: bool
) -> tuple[Spec, dict[str, str]]:
    """Write the broker's files below ``root``, and make the commands that format its data and run it.

    Names in the files are relative to ``root``, where the JVM runs: Kafka takes a comma in ``log.dirs`` for
    the end of a path.

    Raises:
        OSError: ``root`` cannot be written.
    """
    (root / "tmp").mkdir(parents=True, exist_ok=True)
    (root / "log4j2.xml").write_text(_LOG4J, encoding="utf-8")
    settings = {**SETTINGS, "log.dirs": DATA, **properties}
    conf = "server.properties"
    (root / conf).write_text(render(settings), encoding="ascii")
    jvm = [
        str(java.path),
        HEAP,
        *JVM_OPTIONS,
        "-XX:ErrorFile=hs_err.log",
        "-Djava.io.tmpdir=tmp",  # zstd and snappy unpack their libraries, and a killed JVM leaves them
        "-Dlog4j2.configurationFile=log4j2.xml",
        "-cp",
        os.pathsep.join(map(str, jars)),
    ]
    meta = root / DATA / "meta.properties"
    formatted = meta.exists()
    cluster_id = _cluster_id(meta) if formatted else new_cluster_id()
    # With "=", for an id of somebody else's making that starts with a dash.
    form = [*jvm, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}", "-c", conf]
    serve = [*jvm, "kafka.Kafka", conf]
    spec = Spec(
        commands=[serve] if formatted else [form, serve],
        cwd=str(root),
        log=str(root / "broker.log"),
        scratch=str(root) if scratch else None,
        cluster_id=cluster_id,
    )
    # KAFKA_* variables would only confuse; JAVA_TOOL_OPTIONS and the like are the user's wish and stay.
    return spec, dict(os.environ)


def _cluster_id(meta: Path) -> str | None:
    """Read the id that a data directory was formatted with; None when it does not say."""
    found = re.search(r"^cluster\.id=(\S+)", meta.read_text(encoding="latin-1"), re.MULTILINE)
    return found.group(1) if found else None
