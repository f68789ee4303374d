from __future__ import annotations

from pathlib import Path

import pytest

from kafka_assignors.broker.diagnose import error_line, is_port_taken

STAMP = "[2026-11-21 15:08:43,155] "


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (
            f"{STAMP}ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)\n"
            "org.apache.kafka.common.config.ConfigException: Invalid value 0 for configuration x: must be 1\n"
            "\tat org.apache.kafka.X(Y.java:1)\n",
            "ConfigException: Invalid value 0 for configuration x: must be 1",
        ),
        (
            f"{STAMP}ERROR Exiting\njava.lang.RuntimeException: wrapped\nCaused by: java.io.IOException: "
            "No space left on device\n",
            "IOException: No space left on device",
        ),
        (
            f"{STAMP}ERROR Exiting Kafka (kafka.Kafka$)\njava.lang.RuntimeException: no meta\n",
            "RuntimeException: no meta",
        ),
        (
            "Caused by: java.net.BindException: Address already in use\n",
            "BindException: Address already in use",
        ),
        (
            "Error: Could not find or load main class k\nCaused by: java.lang.ClassNotFoundException: k\n",
            "Error: Could not find or load main class k",
        ),
        ('Exception in thread "main" java.lang.IllegalStateException: odd\n', "IllegalStateException: odd"),
        ("one\nlast words\n\n", "last words"),
        ("", "its log is empty"),
    ],
)
def test_actionable_line_comes_first(tmp_path: Path, log: str, line: str) -> None:
    (tmp_path / "broker.log").write_text(log)
    assert error_line(tmp_path / "broker.log") == line


def test_large_log_is_read_from_its_end(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_bytes(b"ERROR early\n" + b"\xff" * 400_000 + b"\nERROR " + b"x" * 1000 + b"\n")
    line = error_line(log)
    assert line.startswith("xxx")
    assert len(line) == 300


@pytest.mark.parametrize(
    ("line", "taken"),
    [
        ("BindException: Address already in use", True),
        ("Error response from daemon: Bind for 127.0.0.1:9092 failed: port is already allocated", True),
        ("IOException: No space left on device", False),
    ],
)
def test_taken_port_is_recognised(line: str, taken: bool) -> None:
    assert is_port_taken(line) is taken


def test_missing_log_is_reported(tmp_path: Path) -> None:
    assert error_line(tmp_path / "none") == "its log cannot be read (No such file or directory)"
