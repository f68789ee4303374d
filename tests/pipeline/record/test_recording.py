"""The end of a recording, without Spark."""

from __future__ import annotations

from unittest.mock import Mock, PropertyMock

import pytest

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.record.recording import Recording
from kafka_assignors.pipeline.record.sample_report import SamplesReport


def test_ended_java_is_an_error_of_one_line_although_the_stream_cannot_be_stopped() -> None:
    query, error = Mock(), ConnectionRefusedError(111, "Connection refused")  # as py4j shows it
    query.awaitTermination.side_effect = error
    type(query).isActive = PropertyMock(side_effect=error)
    recording = Recording(Mock(), "recording samples", lambda _: query, SamplesReport())
    for end in (recording.finish, recording.stop):
        with pytest.raises(PipelineError, match="recording samples: Spark itself has ended"):
            end()
