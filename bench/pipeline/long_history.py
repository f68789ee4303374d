"""``python -m bench.pipeline.long_history``: time and memory of a back-test of a long history.

The load has steps of a minute: a daily wave, in ``--partitions`` partitions for ``--days`` days.  The command
``kafka-assignors backtest`` reads it and tries strategies.  The table has the peak memory of Java, of the
driver in Python, and of the largest worker, without memory that processes share.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from bench.machine import machine
from tests.support.forecast.loads import SCHEMA

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
MINUTES = 1440
WATCH_S = 0.5
RECORDS = 600
"""Mean records of a partition and step."""


def write_day(root: Path, day: int, partitions: int) -> None:
    """Write the load of a day as one merged file, with forecasts; the group keeps up."""
    draw = np.random.default_rng(day)
    minute = np.tile(np.arange(MINUTES), partitions)
    arrived = draw.poisson(RECORDS * (1 + 0.5 * np.sin(minute / MINUTES * 2 * np.pi)))
    size = len(minute)
    start_us = int((START + timedelta(days=day)).timestamp()) * 1_000_000
    given = {
        "time": start_us + (minute + 1) * 60_000_000,
        "group": pa.repeat("g", size),
        "topic": pa.repeat("t", size),
        "quality": pa.repeat("ok", size),
        "partition": np.repeat(np.arange(partitions), MINUTES),
        "step_s": np.full(size, 60.0),
        "arrived": arrived,
        "served": arrived,
        "lag": np.zeros(size, np.int64),
        "horizon_s": np.full(size, 3600.0),
        "forecast": 60.0 * arrived,
    }
    columns = [pa.array(given[f.name], f.type) if f.name in given else pa.nulls(size, f.type) for f in SCHEMA]
    folder = root / "load" / f"date={(START + timedelta(days=day)).date()}"
    folder.mkdir(parents=True)
    pq.write_table(
        pa.Table.from_arrays(columns, schema=SCHEMA), folder / "part-0.parquet", compression="zstd"
    )


def watched(command: Sequence[str]) -> Counter[str]:
    """Run a command; return the peak memory of each kind of its processes, bytes.

    Raises:
        RuntimeError: the command failed.
    """
    peaks: Counter[str] = Counter()
    with subprocess.Popen(command) as running:
        driver = psutil.Process(running.pid)
        while running.poll() is None:
            for process in (driver, *driver.children(recursive=True)):
                try:
                    kind = "driver" if process == driver else "a worker"
                    kind = "java" if process.name() == "java" else kind
                    memory = process.memory_info()
                except psutil.Error:  # it has ended
                    continue
                peaks[kind] = max(peaks[kind], memory.rss - memory.shared)
            time.sleep(WATCH_S)
    if running.returncode:
        raise RuntimeError(f"exit code {running.returncode}")
    return peaks


def main(arguments: Sequence[str] | None = None) -> None:
    """Write, back-test and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline.long_history", description=__doc__)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="1g")
    parser.add_argument("--strategies", default="range,cooperative-lag-aware")
    options = parser.parse_args(arguments)
    print(", ".join(f"{name} {value}" for name, value in machine().items()))
    with tempfile.TemporaryDirectory(prefix="bench-history-") as place:
        root = Path(place, "pipeline")
        for day in range(options.days):
            write_day(root, day, options.partitions)
        megabytes = sum(file.stat().st_size for file in root.rglob("*.parquet")) >> 20
        began = time.perf_counter()
        peaks = watched(
            [
                *(sys.executable, "-m", "kafka_assignors", "backtest", str(root), "--out", f"{place}/out"),
                *("--strategies", options.strategies, "--members", "50", "--churn", "join@600,kill@7200"),
                *("--service-rate", str(options.partitions * RECORDS / 60 / 40)),
                *("--cores", str(options.cores), "--memory", options.memory),
            ]
        )
        cells = options.days * MINUTES * options.partitions
        print("| cells | MB of Parquet | seconds | " + " | ".join(peaks) + " |")
        print(
            f"| {cells / 1e6:,.1f} million | {megabytes:,} | {time.perf_counter() - began:.0f} | "
            + " | ".join(f"{peak / 1e6:,.0f} MB" for peak in peaks.values())
            + " |"
        )


if __name__ == "__main__":
    main()
