"""The environment of the broker's JVM."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_assignors.broker.java import Java
from kafka_assignors.broker.jvm import prepare


@pytest.mark.parametrize(
    ("given", "passed"),
    [("C", "C.UTF-8"), ("POSIX", "C.UTF-8"), ("de_DE.UTF-8", "de_DE.UTF-8"), (None, None)],
)
def test_paths_are_utf_8_in_the_plain_locale(
    given: str | None, passed: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else the broker does not start in a directory with an umlaut, nor with its jars in one."""
    if given is None:
        monkeypatch.delenv("LC_ALL", raising=False)
    else:
        monkeypatch.setenv("LC_ALL", given)
    _spec, env = prepare(Java(Path("/java"), 17), [], tmp_path, {}, scratch=True)
    assert env.get("LC_ALL") == passed


def test_files_of_another_broker_in_the_directory_stay(tmp_path: Path) -> None:
    """As in the folder of an unpacked Kafka."""
    theirs = [tmp_path / "server.properties", tmp_path / "log4j2.xml"]
    for file in theirs:
        file.write_text("theirs")
    prepare(Java(Path("/java"), 17), [], tmp_path, {}, scratch=False)
    assert [file.read_text() for file in theirs] == ["theirs", "theirs"]
