"""Where Spark cannot start, a command prints one line that names the remedy, and exits with 1."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_assignors.broker.ports import free_ports
from kafka_assignors.cli import run
from tests.support.broker.javas import fake_java, without_java

COMMANDS = [
    ["pipeline", "run", "billing", "--bootstrap", "127.0.0.1:1"],
    ["record", "billing", "--bootstrap", "127.0.0.1:1", "--once"],
    ["backtest", "."],
]
HOW_TO = ": set JAVA_HOME, install a JDK 17+, or pip install 'kafka-assignors[java]'"


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Remove Java and the variables of ``spark-submit``; change to a new working directory."""
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    without_java(monkeypatch, tmp_path / "bin")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return monkeypatch


def errors_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> list[str]:
    """Run a command that fails; return its lines on stderr.  It must leave no folder of a pipeline."""
    monkeypatch.setattr(sys, "argv", ["kafka-assignors", *arguments])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 1
    assert not Path("pipeline").exists()
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_missing_java_is_an_error_with_a_remedy(
    no_java: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert errors_of(no_java, capsys, arguments) == [f"kafka-assignors: Spark needs Java 17 or newer{HOW_TO}"]


@pytest.mark.parametrize("home", [False, True], ids=["on PATH", "in JAVA_HOME"])
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_old_java_is_an_error_with_its_version(
    no_java: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    *,
    arguments: list[str],
    home: bool,
) -> None:
    old = fake_java(tmp_path / "bin", "11.0.2")
    java = f"Java 11 at {old}"
    if home:
        no_java.setenv("JAVA_HOME", str(tmp_path))
        java = f"{java}, {java}"
    assert errors_of(no_java, capsys, arguments) == [
        f"kafka-assignors: Spark needs Java 17 or newer (found only {java}){HOW_TO}"
    ]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_missing_jars_without_network_are_an_error_with_a_remedy(
    no_java: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str]
) -> None:
    fake_java(tmp_path / "bin", "17.0.1")
    mirror = f"http://127.0.0.1:{free_ports(1)[0]}"
    no_java.setenv("KAFKA_ASSIGNORS_CACHE", str(tmp_path / "cache"))
    no_java.setenv("KAFKA_ASSIGNORS_MAVEN_URL", mirror)
    no_java.setenv("NO_PROXY", "127.0.0.1")
    *before, last = errors_of(no_java, capsys, arguments)
    assert last.startswith("kafka-assignors: cannot fetch ")
    assert f".jar from the mirror {mirror} (" in last
    assert last.endswith("; check the network and proxy, or set KAFKA_ASSIGNORS_MAVEN_URL to a Maven mirror")
    assert all(line.startswith("fetching jars") for line in before)


def test_java_that_ends_before_spark_starts_is_an_error(no_java: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As if it could not get its memory.

    In a process of its own: in this one there may be a Spark of other tests, which would do.
    """
    fake_java(tmp_path / "bin", "17.0.1")
    no_java.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.defpath}")  # PySpark's own scripts need some
    program = "; ".join([
        "from kafka_assignors.pipeline import session",
        "session.fetch_jars = lambda *_, **__: ()",
        "from kafka_assignors.cli import run",
        "run()",
    ])  # fmt: skip
    ended = subprocess.run(
        [sys.executable, "-c", program, *COMMANDS[0]], capture_output=True, text=True, check=False
    )
    before, *_, last = ended.stderr.splitlines()  # the lines between are Java's output
    assert last.startswith("kafka-assignors: starting Spark: Java ended before Spark started")
    assert (before, ended.stdout, ended.returncode) == ("starting Spark", "", 1)
    assert not Path("pipeline").exists()
