"""A local Spark session with the locked connector jars, and a broker to read from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_assignors.broker import development_broker
from kafka_assignors.cli.backtest import command as cli_backtest
from kafka_assignors.cli.size import command as cli_size
from kafka_assignors.pipeline.session import local_session
from tests.integration.conftest import FreshNames
from tests.support.broker.backend import own_backend


def settings_of(bootstrap: str) -> dict[str, Any]:
    """Return the connection settings of a broker."""
    return {"bootstrap_servers": [bootstrap]}


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """``host:port`` of Spark's own broker: these tests read ``__consumer_offsets`` whole."""
    with development_broker(own_backend()) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="module")
def names(bootstrap: str) -> FreshNames:
    """Topics and groups of that broker."""
    return FreshNames(bootstrap)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Run the session the pipeline runs, with two cores."""
    with local_session("kafka-assignors tests", cores=2) as session:
        yield session


@pytest.fixture
def _this_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the commands use the running session, and keep it running."""
    for command in (cli_backtest, cli_size):
        monkeypatch.setattr(command, "session", lambda *_, **__: nullcontext(spark))
