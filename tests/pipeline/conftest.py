"""A local Spark session with the locked connector jars, and a broker to read from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from kafka_assignors.broker import development_broker
from kafka_assignors.pipeline.session import local_session
from tests.support.broker.backend import own_backend


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """``host:port`` of Spark's own broker: these tests read ``__consumer_offsets`` whole."""
    with development_broker(own_backend()) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Run the session the pipeline runs, with two cores."""
    with local_session("kafka-assignors tests", cores=2) as session:
        yield session
