"""The files of a back-test: ``results.parquet``, ``series.parquet``, ``results.json``, ``report.html``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.backtest.job import TrialResult
from kafka_assignors.pipeline.backtest.page import render
from kafka_assignors.pipeline.backtest.results import Results
from kafka_assignors.pipeline.backtest.summary import FIGURES
from kafka_assignors.pipeline.faults import one_line
from kafka_assignors.pipeline.tables.storage import Storage

RESULTS: dict[str, str] = {
    "scenario": "int32",
    "group": "string",
    "load": "string",
    "scale": "double",
    "candidate": "string",
    "strategy": "string",
    "parameters": "string",
    "members": "int32",
    "churn": "string",
    "replicate": "int32",
    "service_rate": "double",
    **dict.fromkeys(FIGURES, "double"),
    **dict.fromkeys(("arrived", "moved", "rebalances"), "int64"),
    "error": "string",
}
"""Columns of results.parquet, one row per scenario (docs/reference/backtest.md); ``parameters`` is JSON."""

SERIES: dict[str, str] = {
    "scenario": "int32",
    "at_s": "double",
    "lag": "double",
    "largest_member_lag": "double",
    "unowned_lag": "double",
    "time_lag_s": "double",
    "members": "int32",
}
"""Columns of series.parquet, up to 300 rows per scenario, in the order of scenarios and of time."""


def prepare(folder: Storage) -> None:
    """Create the folder of the results before the back-test starts.

    Raises:
        KafkaAssignorsError: the folder cannot be created, or is not empty.
    """
    with one_line(f"writing to {folder.root}"):
        folder.make("")
        is_empty = folder.is_empty()
    if not is_empty:
        raise KafkaAssignorsError(f"{folder.root} is not empty: give --out a new folder")


def save(folder: Storage, results: Results, trial_results: Sequence[TrialResult]) -> None:
    """Write all files into a folder, each atomically.

    Raises:
        KafkaAssignorsError: a file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{**row, "parameters": json.dumps(row["parameters"])} for row in results["scenarios"]]
    files: dict[str, bytes] = {}
    for name, table in (
        ("results.parquet", pa.Table.from_pylist(rows, _schema(RESULTS))),
        ("series.parquet", _series(trial_results)),
    ):
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        files[name] = sink.getvalue().to_pybytes()
    files["results.json"] = json.dumps(results, allow_nan=False).encode()
    files["report.html"] = render(results).encode()
    for name, data in files.items():
        with one_line(f"writing {folder.root}/{name}"):
            folder.write_bytes(name, data)


def _series(trial_results: Sequence[TrialResult]) -> Any:
    import numpy as np
    import pyarrow as pa

    drawn = [
        (result.number, series)
        for result in trial_results
        if result.outcome and (series := result.outcome.series)
    ]
    columns = {"scenario": [np.full(len(series.at), number) for number, series in drawn]}
    for name in SERIES.keys() - columns.keys():
        columns[name] = [getattr(series, name.removesuffix("_s")) for _, series in drawn]
    joined = {name: np.concatenate([np.empty(0), *columns[name]]) for name in SERIES}
    return pa.table(joined, _schema(SERIES))


def _schema(columns: dict[str, str]) -> Any:
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])
