"""The report of a running load model, and its end when Spark has died."""

from __future__ import annotations

import threading
from typing import Any, cast
from unittest.mock import Mock

import pytest

from kafka_assignors.errors import PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.pipeline.model import job
from kafka_assignors.pipeline.model.job import LoadRun, run_load_model

Progress = dict[str, Any]


class Query:
    """A stream that has ended; counts how often its whole list of progress is fetched."""

    isActive = False  # noqa: N815  # Spark's name

    def __init__(self) -> None:
        self.shown: list[Progress] = []
        self.fetched = 0

    def show(self, batch: int, dropped: int, **durations: int) -> None:
        operators = [{"numRowsDroppedByWatermark": dropped}]
        self.shown.append({"batchId": batch, "durationMs": durations, "stateOperators": operators})

    @property
    def lastProgress(self) -> Progress | None:  # noqa: N802  # Spark's name
        return self.shown[-1] if self.shown else None

    @property
    def recentProgress(self) -> list[Progress]:  # noqa: N802  # Spark's name
        self.fetched += 1
        return self.shown

    def stop(self) -> None:
        """End, as Spark's query does."""


def running(query: Query) -> LoadRun:
    unused = cast(Any, None)
    run = LoadRun(unused, LoadSettings(), None)
    run.query = cast(Any, query)
    return run


def test_idle_trigger_hides_no_dropped_samples() -> None:
    """Spark reports an idle trigger with the number of the next batch."""
    query = Query()
    run = running(query)
    seen = []
    for batch, dropped, durations in ((5, 3, {"addBatch": 1}), (6, 0, {}), (6, 100, {"addBatch": 1})):
        query.show(batch, dropped, **durations)
        seen.append(run.report().refused)
    assert seen == [3, 3, 103]


def test_report_fetches_all_progress_only_after_a_batch() -> None:
    """Otherwise each report would fetch a hundred objects, while the next batch waits for its lock."""
    query = Query()
    run = running(query)
    for _ in range(3):
        run.report()
    assert query.fetched == 0
    query.show(5, 3, addBatch=1)
    for _ in range(3):
        run.report()
    assert query.fetched == 1


def test_stop_counts_a_batch_behind_an_idle_trigger() -> None:
    query = Query()
    run = running(query)
    query.show(5, 3, addBatch=1)
    query.show(6, 0)
    run.report()
    assert run.stop().refused == 3


def test_first_batch_waits_until_the_query_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark may call ``land`` before its ``start`` returns the query."""
    run, seen = LoadRun(cast(Any, None), LoadSettings(), None), []

    class EndOfTestError(Exception):
        """Ends the batch where it would first use the query."""

    def note_refused() -> None:
        seen.append(hasattr(run, "query"))
        raise EndOfTestError

    def land() -> None:
        with pytest.raises(EndOfTestError):
            run.land(cast(Any, None), 0)

    class Stream:
        def start(self) -> Query:
            batch.start()
            batch.join(0.2)
            return Query()

    batch = threading.Thread(target=land)
    monkeypatch.setattr(run, "_note_refused", note_refused)
    run.start(cast(Any, Stream()))
    batch.join(10)
    assert seen == [True]


def test_dead_spark_is_a_pipeline_error_although_the_stream_cannot_be_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Mock()
    run.query.awaitTermination.side_effect = run.stop.side_effect = ConnectionRefusedError("refused")
    monkeypatch.setattr(job, "start_load_model", Mock(return_value=run))
    with pytest.raises(PipelineError, match="the load model of here: Spark itself has ended"):
        run_load_model(cast(Any, None), "here", LoadSettings())
