"""What the commands of the pipeline do without Spark: folders, SIGTERM, patterns."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kafka_assignors.cli.pipeline import recording
from kafka_assignors.cli.pipeline.recording import RecordingOptions
from kafka_assignors.cli.pipeline.spark import is_of_spark
from kafka_assignors.errors import OptionError
from kafka_assignors.pipeline.record.sampling import pattern
from kafka_assignors.pipeline.run import PipelineOptions


def test_only_a_uri_may_be_out_of_reach() -> None:
    folders = ["s3a://bucket/x", "hdfs:///x", "file:/x", "x/y", "x/2026-01-01T10:00"]
    assert [is_of_spark(folder) for folder in folders] == [True, True, True, False, False]


def test_sigterm_with_once_stops_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the temporary files of the session would stay."""
    stopped: list[bool] = []

    @contextmanager
    def session(*_args: Any, **_options: Any) -> Iterator[None]:
        try:
            signal.raise_signal(signal.SIGTERM)
            yield
        finally:
            stopped.append(True)

    monkeypatch.setattr(recording, "session", session)
    pipeline = PipelineOptions("pipeline", {"bootstrap_servers": ["a:1"]}, groups=("g",))
    options = RecordingOptions(pipeline, None, once=True, cores=None, memory="1g", as_json=False)
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)  # else a failure would end the tests
    try:
        with pytest.raises(KeyboardInterrupt):
            options.run("test", pipeline)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert stopped


@pytest.mark.parametrize("text", ["(", "a{99999999999999999999}", "(" * 5000])
def test_pattern_that_python_cannot_compile_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="a regular expression"):
        pattern("groups_like", text)
