"""The loop that watches the streams of a pipeline."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline import run


class _WithoutJava:
    """A stream whose Java process has ended, as py4j shows it."""

    def check(self) -> None:
        raise ConnectionRefusedError(111, "Connection refused")


def test_ended_java_is_an_error_of_one_line() -> None:
    streams: Any = {"samples": _WithoutJava()}
    unused: Any = None
    with pytest.raises(PipelineError, match="the stream of samples: Spark itself has ended"):
        run._run(streams, run.PipelineReport(), threading.Event(), unused, maintenance=unused)
