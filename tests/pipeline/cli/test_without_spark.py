"""What the commands of the pipeline do before or without a Spark session."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kafka_assignors.cli.pipeline import recording
from kafka_assignors.cli.pipeline.recording import RecordingOptions
from kafka_assignors.errors import OptionError
from kafka_assignors.pipeline.record.sampling import pattern
from kafka_assignors.pipeline.run import PipelineOptions


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
