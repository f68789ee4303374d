"""Runs the examples of the docs that need a Spark session, against a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.lagging import commit, write
from tests.support.examples import Example, examples
from tests.support.waiting import until

PATIENCE_S = 240.0
A_MINUTE = "recording.query.awaitTermination(60)"


@pytest.fixture(scope="module")
def billing(bootstrap: str) -> str:
    """The broker, with the groups of the examples."""
    topic = FreshNames(bootstrap).topic(2)
    write(bootstrap, {TopicPartition(topic, 0): 5})
    for group in ("billing", "billing-eu"):
        commit(bootstrap, group, {TopicPartition(topic, 0): 3})
    return bootstrap


def until_it_sees_something(recording: Any) -> None:
    def sees_something() -> bool:
        assert recording.query.isActive, recording.query.exception()
        return bool(recording.report().rows)

    until(sees_something, "a sample", patience_s=PATIENCE_S, pause_s=1)


@pytest.mark.parametrize("example", examples("python spark"), ids=lambda e: str(e.where))
def test_example_runs(
    example: Example, spark: SparkSession, billing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = example.code.replace('"history"', repr(str(tmp_path)))  # the JVM has a folder of its own
    if "recording" in code:
        assert A_MINUTE in code
        code = code.replace(A_MINUTE, "until(recording)")
    Example(example.where, code).run(billing, spark=spark, until=until_it_sees_something)
    output = capsys.readouterr().out
    assert "rows=" in output or "billing" in output
