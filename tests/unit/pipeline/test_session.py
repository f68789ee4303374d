"""The Kafka connector fits the version of Spark."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_assignors.broker.jars.lock import locked
from kafka_assignors.errors import MissingExtraError, PipelineError
from kafka_assignors.pipeline import session
from kafka_assignors.pipeline.session import VERSIONS, connector_jars, java_home


@pytest.fixture(autouse=True)
def no_download(monkeypatch: pytest.MonkeyPatch) -> None:
    def files(configuration: str, **_: object) -> tuple[Path, ...]:
        return tuple(Path(jar.filename) for jar in locked(configuration))

    monkeypatch.setattr(session, "fetch_jars", files)


def jars_with(monkeypatch: pytest.MonkeyPatch, pyspark_version: str) -> tuple[Path, ...]:
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(__version__=pyspark_version))
    return connector_jars()


@pytest.mark.parametrize("minor", VERSIONS)
def test_connector_is_of_the_minor_version_of_the_installed_pyspark(
    monkeypatch: pytest.MonkeyPatch, minor: str
) -> None:
    names = [jar.name for jar in jars_with(monkeypatch, f"{minor}.1")]
    assert len(names) == 4
    assert [name for name in names if name.startswith(f"spark-sql-kafka-0-10_2.13-{minor}.")]


@pytest.mark.parametrize("spark", ["3.5.6", "4.3.0", "5.0.0.dev1"])
def test_other_version_of_spark_is_an_error(monkeypatch: pytest.MonkeyPatch, spark: str) -> None:
    with pytest.raises(PipelineError, match=rf"Spark {spark} is not supported, only 4\.0, 4\.1, 4\.2"):
        jars_with(monkeypatch, spark)


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtraError, match="spark"), session.local_session("job"):
        pass
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtraError, match="spark"):
        connector_jars()


@pytest.mark.parametrize(
    ("own", "of_user", "uses_own"),
    [
        ("4.2.1", "3.5.6", True),
        ("4.2.1", None, True),
        ("4.2.1", "4.2.0-amzn-0", False),
        (None, "4.2.1", False),
    ],
)
def test_spark_of_another_version_than_pyspark_is_not_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: str | None, of_user: str | None, uses_own: bool
) -> None:
    """PySpark without a Spark of its own is a part of the user's."""
    for name, version in (("own", own), ("user", of_user)):
        (tmp_path / name / "jars").mkdir(parents=True)
        if version is not None:
            (tmp_path / name / "jars" / f"spark-core_2.13-{version}.jar").touch()
    homes: list[str] = []
    fake_pyspark(monkeypatch, tmp_path / "own", on_start=lambda: homes.append(os.environ["SPARK_HOME"]))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "user"))
    with session.local_session("job"):
        homes.append(os.environ["SPARK_HOME"])
    assert homes == [str(tmp_path / ("own" if uses_own else "user")), str(tmp_path / "user")]


def fake_pyspark(monkeypatch: pytest.MonkeyPatch, folder: Path, on_start: Callable[[], object]) -> None:
    def start() -> Any:
        on_start()
        return SimpleNamespace(stop=lambda: None)

    builder = SimpleNamespace(config=lambda **_: SimpleNamespace(getOrCreate=start))
    master = SimpleNamespace(master=lambda _: SimpleNamespace(appName=lambda _: builder))
    pyspark: Any = SimpleNamespace(__version__="4.2.1", __file__=str(folder / "__init__.py"))
    pyspark.sql = SimpleNamespace(SparkSession=SimpleNamespace(builder=master))
    monkeypatch.setitem(sys.modules, "pyspark", pyspark)
    monkeypatch.setitem(sys.modules, "pyspark.sql", pyspark.sql)
    monkeypatch.setattr(session, "find_java", lambda _: SimpleNamespace(path="java"))


def test_folder_to_which_java_still_writes_does_not_hide_the_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def rmdir(path: str, **_: object) -> None:
        raise OSError(errno.ENOTEMPTY, "Directory not empty", path)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with monkeypatch.context() as patch:
        fake_pyspark(patch, tmp_path, on_start=lambda: patch.setattr(os, "rmdir", rmdir))
        with pytest.raises(KeyboardInterrupt), session.local_session("job"):
            raise KeyboardInterrupt


def test_ended_spark_that_cannot_stop_does_not_hide_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Java process has ended, so py4j cannot connect."""
    stops: list[str] = []

    def stop() -> None:
        stops.append("stop")
        raise ConnectionRefusedError(111, "Connection refused")

    spark = SimpleNamespace(conf=SimpleNamespace(set=lambda *_: None), stop=stop)
    builder = SimpleNamespace(appName=lambda _: SimpleNamespace(getOrCreate=lambda: spark))
    pyspark: Any = SimpleNamespace(SparkSession=SimpleNamespace(builder=builder))
    monkeypatch.setitem(sys.modules, "pyspark.sql", pyspark)
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with pytest.raises(PipelineError, match="Spark itself has ended"), session.session("job"):
        raise PipelineError("recording: Spark itself has ended")
    with pytest.raises(ConnectionRefusedError), session.session("job"):
        pass
    assert stops == ["stop", "stop"]


def test_launcher_drops_pysparks_option_and_takes_any_path(tmp_path: Path) -> None:
    java = tmp_path / "it's java"
    java.write_text('#!/bin/sh\nprintf "%s," "$@"\n')
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    launcher = java_home(tmp_path / "home", java) / "bin" / "java"
    answer = subprocess.run(
        [launcher, "-version", "--add-modules=jdk.incubator.vector", "a b"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "-version,a b,"
