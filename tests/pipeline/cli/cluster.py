"""A real Spark cluster with one master and one worker, for tests of ``spark-submit``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

from kafka_assignors.broker import find_java
from kafka_assignors.broker.ports import free_ports
from kafka_assignors.pipeline.session import connector_jars, java_home
from tests.support.waiting import PATIENCE_S

_SPARK = Path(pyspark.__file__).parent


@dataclass(frozen=True)
class Cluster:
    """The cluster's address, and the settings a program needs to use it."""

    master: str
    environment: dict[str, str]

    def submit(
        self, *arguments: str, cwd: Path, jars: tuple[Path, ...] | None = None, timeout_s: float = 900
    ) -> subprocess.CompletedProcess[str]:
        """Run the command line by ``spark-submit`` (docs/guides/cluster.md), with the connector's jars."""
        entry = subprocess.run(
            [sys.executable, "-m", "kafka_assignors", "pipeline", "entry"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        command = [
            *(str(_SPARK / "bin" / "spark-submit"), "--master", self.master, "--executor-memory", "512m"),
            *("--jars", ",".join(map(str, connector_jars() if jars is None else jars))),
            *("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"),
            *(entry, *arguments),
        ]
        return subprocess.run(
            command,
            env=self.environment,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def report_of(self, *arguments: str, cwd: Path) -> dict[str, Any]:
        """Run a command line, which must succeed; return the JSON of its last line."""
        done = self.submit(*arguments, cwd=cwd)
        assert done.returncode == 0, done.stderr[-3000:]
        report: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return report


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[Cluster]:
    """Start Spark's own master and one worker with two cores, on loopback."""
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home(folder / "java", find_java("Spark").path)),
        "SPARK_HOME": str(_SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    port, of_master, of_worker = free_ports(3)
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        stack.enter_context(
            _daemon(
                ["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(of_master)],
                environment,
                folder / "master.log",
                "I have been elected leader",
            )
        )
        stack.enter_context(
            _daemon(
                [
                    *("worker.Worker", "--host", "127.0.0.1", "--cores", "2", "--memory", "1g"),
                    *("--webui-port", str(of_worker), "--work-dir", str(folder / "work"), master),
                ],
                environment,
                folder / "worker.log",
                "Successfully registered with master",
            )
        )
        yield Cluster(master, environment)


@contextmanager
def _daemon(arguments: list[str], environment: dict[str, str], log: Path, ready: str) -> Iterator[None]:
    first, *rest = arguments
    command = [str(_SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{first}", *rest]
    with log.open("wb") as out, subprocess.Popen(command, env=environment, stdout=out, stderr=out) as process:
        try:
            deadline = time.monotonic() + PATIENCE_S
            while ready not in (output := log.read_text(encoding="utf-8", errors="replace")):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{first} did not start:\n{output[-2000:]}")
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
