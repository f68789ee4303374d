from __future__ import annotations

from pathlib import Path

import pytest

from kafka_assignors.broker.java import Java, find_java, major_version
from kafka_assignors.errors import ToolMissingError
from tests.support.broker.javas import fake_java, without_java


@pytest.mark.parametrize(
    ("banner", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21-ea" 2023-09-19', 21),
        ('openjdk version "25" 2025-09-16 LTS', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "11.0.2" 2019-01-15', 11),
        ("The operation couldn’t be completed. Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_major_version_is_parsed_from_any_banner(banner: str, major: int | None) -> None:
    assert major_version(banner) == major


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No Java anywhere: neither by JAVA_HOME, nor on PATH, nor from PyPI."""
    without_java(monkeypatch, tmp_path / "empty")
    return monkeypatch


def test_java_home_comes_before_path(tmp_path: Path, nowhere: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "home" / "bin", "21.0.1")
    fake_java(tmp_path / "path", "17.0.1")
    nowhere.setenv("PATH", f"{tmp_path / 'path'}")
    nowhere.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == Java(home, 21)


def test_relative_java_home_works_in_another_directory(tmp_path: Path, nowhere: pytest.MonkeyPatch) -> None:
    """The broker runs in its data directory."""
    java = fake_java(tmp_path / "home" / "bin", "21")
    nowhere.chdir(tmp_path)
    nowhere.setenv("JAVA_HOME", "home")
    assert find_java() == Java(java, 21)


@pytest.mark.parametrize(("version", "status"), [("11.0.2", 0), ("21", 1)], ids=["too old", "only a stub"])
def test_unusable_java_home_is_skipped(
    tmp_path: Path, nowhere: pytest.MonkeyPatch, version: str, status: int
) -> None:
    fake_java(tmp_path / "home" / "bin", version, status)
    good = fake_java(tmp_path / "path", "17.0.1")
    nowhere.setenv("PATH", str(tmp_path / "path"))
    nowhere.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == Java(good, 17)


def test_banner_with_bytes_that_are_no_text_is_read(tmp_path: Path, nowhere: pytest.MonkeyPatch) -> None:
    """Java repeats JAVA_TOOL_OPTIONS there."""
    java = fake_java(tmp_path / "path", "21")
    java.write_text(java.read_text().replace("echo", "printf '\\377\\n' >&2; echo", 1))
    nowhere.setenv("PATH", str(tmp_path / "path"))
    assert find_java() == Java(java, 21)


def test_missing_java_is_one_line_with_advice(nowhere: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolMissingError) as caught:
        find_java()
    assert str(caught.value) == (
        "the broker needs Java 17 or newer: set JAVA_HOME, install a JDK 17+, "
        "or pip install 'kafka-assignors[java]'"
    )


def test_too_old_java_is_named(tmp_path: Path, nowhere: pytest.MonkeyPatch) -> None:
    old = fake_java(tmp_path / "path", "1.8.0_392")
    nowhere.setenv("PATH", str(tmp_path / "path"))
    with pytest.raises(ToolMissingError, match=rf"found only Java 8 at {old}"):
        find_java()
