"""The files of a back-test: ``results.parquet``, ``series.parquet``, ``results.json``, ``report.html``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.files import atomic_write
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


def prepare(folder: Path | Storage) -> None:
    """Create the folder of the results before the back-test starts.

    Raises:
        KafkaAssignorsError: the folder cannot be created, or is not empty.
    """
    if isinstance(folder, Path):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            is_empty = not any(folder.iterdir())
        except OSError as error:
            raise KafkaAssignorsError(f"cannot write to {folder}: {error.strerror or error}") from error
    else:
        with one_line(f"writing to {folder.root}"):
            folder.make("")
            is_empty = not (folder.folders() or folder.files("*"))
    if not is_empty:
        name = folder.root if isinstance(folder, Storage) else folder
        raise KafkaAssignorsError(f"{name} is not empty: give --out a new folder")


def save(folder: Path | Storage, results: Results, trial_results: Sequence[TrialResult]) -> None:
    """Write all files into a folder, each atomically.

    Raises:
        KafkaAssignorsError: a file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{**row, "parameters": json.dumps(row["parameters"])} for row in results["scenarios"]]
    tables = {
        "results.parquet": pa.Table.from_pylist(rows, _schema(RESULTS)),
        "series.parquet": _series(trial_results),
    }
    for name, table in tables.items():
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        _write(folder, name, sink.getvalue().to_pybytes())
    _write(folder, "results.json", json.dumps(results, allow_nan=False).encode())
    _write(folder, "report.html", render(results).encode())


def _series(trial_results: Sequence[TrialResult]) -> Any:
    import numpy as np
    import pyarrow as pa

    columns: dict[str, list[Any]] = {name: [np.empty(0)] for name in SERIES}
    for result in trial_results:
        if (series := result.series) is not None:
            columns["scenario"].append(np.full(len(series.at), result.number))
            columns["at_s"].append(series.at)
            columns["time_lag_s"].append(series.time_lag)
            for name in ("lag", "largest_member_lag", "unowned_lag", "members"):
                columns[name].append(getattr(series, name))
    schema = _schema(SERIES)
    arrays = [
        pa.array(np.concatenate(parts)).cast(field.type)
        for field, parts in zip(schema, columns.values(), strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _schema(columns: dict[str, str]) -> Any:
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])


def _write(folder: Path | Storage, name: str, data: bytes) -> None:
    if isinstance(folder, Storage):
        with one_line(f"writing {folder.root}/{name}"):
            folder.write_bytes(name, data)
        return
    path = folder / name
    try:
        atomic_write(path, data)
    except OSError as error:
        raise KafkaAssignorsError(f"cannot write {path}: {error.strerror or error}") from error
