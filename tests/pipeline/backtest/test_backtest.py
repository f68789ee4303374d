"""Back-tests on a real Spark: the recorded history, the trials, and the written results."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from kafka_assignors.cli.backtest import command as cli_backtest
from kafka_assignors.errors import HistoryError, KafkaAssignorsError
from kafka_assignors.pipeline import history as history_module
from kafka_assignors.pipeline.backtest import job
from kafka_assignors.pipeline.backtest.files import (
    RESULTS,
    RESULTS_NAME,
    SERIES_NAME,
    read_series,
    results_folder,
)
from kafka_assignors.pipeline.backtest.grid import Grid, Trial, candidates
from kafka_assignors.pipeline.backtest.history_shape import LoadColumns
from kafka_assignors.pipeline.backtest.job import SERIES, TrialResult, run_trials, try_out
from kafka_assignors.pipeline.backtest.recorded import Recorded, RecordedBuilder
from kafka_assignors.pipeline.history import read_history
from kafka_assignors.pipeline.tables.schemas import SAMPLES
from kafka_assignors.pipeline.tables.storage import Storage
from kafka_assignors.plan import Assignment, Claims, Group
from kafka_assignors.simulation import History, parse_churn
from tests.support.examples import ROOT
from tests.support.forecast.loads import START, Cell, busy_group, row, write_load

PAGE = (ROOT / "docs" / "guides" / "backtest.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```sh\n(kafka-assignors backtest.*?)\n```", PAGE, re.DOTALL | re.MULTILINE)
BY_LAG: dict[str, Sequence[Any]] = {"rebalance_on_skew": [False, True]}
GRID = Grid(
    candidates(["range", "cooperative-sticky", "cooperative-lag-aware"], BY_LAG, forecasts=True),
    members=(2, 3),
    churn=(parse_churn("join@100,kill@400"),),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline's folder with ten minutes of the load of two groups."""
    made = tmp_path_factory.mktemp("pipeline")
    write_load(made, busy_group("g") + busy_group("h", partitions=4, forecasts=True))
    return made


@pytest.fixture(scope="module")
def recorded(spark: SparkSession, folder: Path) -> list[Recorded]:
    return read_history(spark, str(folder))


def ordered(results: Iterator[TrialResult]) -> list[TrialResult]:
    return sorted(results, key=lambda result: result.number)


def trials_of(recorded: Sequence[Recorded]) -> list[Trial]:
    return GRID.trials([recording.history for recording in recorded])


# --- reading -----------------------------------------------------------------------------------------------


def test_each_group_is_read_as_it_was_recorded(recorded: list[Recorded]) -> None:
    assert [recording.history.group for recording in recorded] == ["g", "h"]
    for recording, partitions in zip(recorded, (6, 4), strict=True):
        history = recording.history
        assert (history.steps, history.partitions, history.step_s) == (60, partitions, 10.0)
        assert history.starts_at == START.timestamp()
        busy = np.where((np.arange(60) >= 20) & (np.arange(60) < 30), 3, 1)
        expected = 20 * busy[:, None] * (np.arange(partitions) + 1)
        assert (history.arrivals == expected).all()
        assert history.expected is not None
        assert (history.expected == 6.0 * expected).all()
        assert history.horizon_s == 60.0
        assert history.service_rate == pytest.approx(4.0 * partitions)  # the fastest one's while it lagged
        assert recording.unknown == 0.0


def test_history_of_a_period_and_a_group(spark: SparkSession, folder: Path) -> None:
    [one] = read_history(
        spark,
        str(folder),
        groups=["g"],
        since=START + timedelta(seconds=195),  # within the 20th step, which is left out
        until=START + timedelta(seconds=300),
    )
    assert one.history.starts_at == (START + timedelta(seconds=200)).timestamp()
    assert one.history.steps == 10
    assert one.history.start_lags.sum() == 0
    [later] = read_history(spark, str(folder), groups=["g"], since=START + timedelta(seconds=250))
    assert later.history.start_lags.tolist() == [20 * (p + 1) * 5 for p in range(6)]  # left by five steps


def is_mapped(array: object) -> bool:
    """Return whether an array is a view of a file."""
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return isinstance(array, np.memmap)


def test_history_in_files_is_read_in_parts(
    spark: SparkSession, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two topics, with two partition numbers missing; a part has at most two partitions."""
    widths = []

    class Builder(RecordedBuilder):
        def add(self, rows: LoadColumns, begin: int, end: int) -> None:
            widths.append(end - begin)
            super().add(rows, begin, end)

    two_topics = [of for of in busy_group("two") if of["partition"] not in (2, 3)]
    two_topics += [{**of, "topic": "payments"} for of in busy_group("two", partitions=4)]
    write_load(tmp_path, busy_group("g", forecasts=False) + busy_group("h", partitions=2) + two_topics)
    whole = read_history(spark, str(tmp_path), recorded_members=2)
    monkeypatch.setattr(history_module, "CELLS", 2 * 60)
    monkeypatch.setattr(history_module, "RecordedBuilder", Builder)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "50")  # several batches a part
    (tmp_path / "scratch").mkdir()
    try:
        parts = read_history(spark, str(tmp_path), recorded_members=2, scratch=tmp_path / "scratch")
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert [one.history.group for one in parts] == ["g", "h", "two"]
    assert parts[2].history.topics == {"orders": 6, "payments": 4}
    assert parts[2].never_known == 2
    assert max(widths) <= 2
    for one, other in zip(parts, whole, strict=True):
        assert is_mapped(one.history.arrivals)
        assert (one.history.expected is None) == (one.history.group == "g")
        np.testing.assert_array_equal(one.lag, other.lag)
        for field in fields(one.history):
            np.testing.assert_array_equal(
                getattr(one.history, field.name), getattr(other.history, field.name)
            )


def test_size_of_a_history_counts_partitions_without_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A history has all partitions up to the highest number of each topic."""
    rows = [row(Cell(step, topic, p, 1, 1, 0)) for step in range(3) for topic, p in (("a", 50), ("b", 1))]
    write_load(tmp_path, rows)
    monkeypatch.setattr(history_module, "MOST", 3 * 53)
    [recorded] = read_history(spark, str(tmp_path))
    assert recorded.history.topics == {"a": 51, "b": 2}
    monkeypatch.setattr(history_module, "MOST", 3 * 53 - 1)
    with pytest.raises(
        HistoryError, match=r"group 'g': 3 steps of 53 partitions are too many at once: .*--since"
    ):
        read_history(spark, str(tmp_path))


def test_only_forecasts_of_the_most_frequent_horizon_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """Of two equally frequent ones, the shorter."""
    horizons = (60.0, 60.0, 3600.0, 3600.0, 3600.0)
    forecasts = (1.0, 2.0, 3.0, None, 4.0)
    rows = [row(Cell(step, "t", 0, 1, 1, 0)) for step in range(5)]
    given = zip(rows, horizons, forecasts, strict=True)
    write_load(tmp_path, [{**of, "horizon_s": horizon, "forecast": value} for of, horizon, value in given])
    [recorded] = read_history(spark, str(tmp_path), until=START + timedelta(seconds=40))
    assert recorded.history.horizon_s == 60
    [recorded] = read_history(spark, str(tmp_path), since=START + timedelta(seconds=10))
    assert recorded.history.horizon_s == 3600


def test_steps_without_a_length_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_load(tmp_path, [{**row(Cell(step, "t", 0, 1, 1, 0)), "step_s": 0.0} for step in range(2)])
    with pytest.raises(HistoryError, match="group 'g': steps of 0 s"):
        read_history(spark, str(tmp_path))


def test_days_and_gaps_are_read_as_one_history(spark: SparkSession, tmp_path: Path) -> None:
    late = START.replace(hour=23, minute=59, second=30)
    cells = [Cell(s, "t", 0, None if s == 1 else 10 * s, 10 * s, 0) for s in (0, 1, 2, 4, 5)]
    write_load(tmp_path, [row(cell, start=late) for cell in cells])
    assert len(list((tmp_path / "load").iterdir())) == 2
    [one] = read_history(spark, str(tmp_path))
    assert one.history.arrivals[:, 0].tolist() == [0, 10, 20, 30, 40, 50]
    assert one.unknown == pytest.approx(2 / 6)
    assert one.history.expected is None


def test_history_without_a_model_is_made_of_samples(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        (START + timedelta(seconds=30 * n), "g", "t", 0, 0, 300 * n, 150 * n, "sampler", START.date())
        for n in range(41)
    ]
    spark.createDataFrame(rows, SAMPLES).coalesce(1).write.partitionBy("date").parquet(
        str(tmp_path / "samples" / "sampler")
    )
    [one] = read_history(spark, str(tmp_path), step_s=60.0)
    known = one.history.arrivals[1:-1, 0]
    assert len(known) >= 17
    assert (known == 600).all()
    assert one.lag[5] - one.lag[4] == 300
    [short] = read_history(spark, str(tmp_path), step_s=0.25)  # an hour would be too many of these
    assert short.history.step_s == 0.25


def test_missing_history_is_an_error_of_one_line(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    asked: list[tuple[Path, dict[str, Any], str]] = [
        (tmp_path, {}, "it has no load/ and no samples/"),
        (folder, {"groups": ["x"]}, "no rows of group 'x' in the requested time"),
        (folder, {"since": START + timedelta(days=2)}, "no rows in the requested time"),
    ]
    for path, more, message in asked:
        with pytest.raises(HistoryError, match=message) as caught:
            read_history(spark, str(path), **more)
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)


def test_error_names_the_wrong_column_of_a_load_table(spark: SparkSession, tmp_path: Path) -> None:
    write_load(tmp_path, busy_group(steps=3))
    [file] = (tmp_path / "load").glob("*/*.parquet")
    whole = pq.read_table(file, partitioning=None)
    place = whole.schema.get_field_index("lag")
    for table, message in (
        (whole.drop_columns(["arrived"]), "column 'arrived' is missing"),
        (whole.set_column(place, "lag", whole["lag"].cast(pa.string())), "'lag' is string, expected bigint"),
    ):
        pq.write_table(table, file)
        with pytest.raises(HistoryError, match=message):
            read_history(spark, str(tmp_path))


@pytest.mark.parametrize("keep", [0.5, 0.0])
def test_half_written_file_is_named(spark: SparkSession, tmp_path: Path, keep: float) -> None:
    write_load(tmp_path, busy_group(steps=3))
    [file] = (tmp_path / "load").glob("*/*.parquet")
    content = file.read_bytes()
    file.with_name("part-1.parquet").write_bytes(content[: int(keep * len(content))])
    with pytest.raises(
        HistoryError, match=r"part-1\.parquet is not a complete Parquet file: remove"
    ) as caught:
        read_history(spark, str(tmp_path))
    assert "\n" not in str(caught.value)


def test_output_of_two_pipelines_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_load(tmp_path, busy_group(steps=3))
    [file] = (tmp_path / "load").glob("*/*.parquet")
    file.with_name("part-1.parquet").write_bytes(file.read_bytes())
    with pytest.raises(HistoryError, match="has a step more than once"):
        read_history(spark, str(tmp_path))


# --- running -----------------------------------------------------------------------------------------------


def same(one: TrialResult, other: TrialResult) -> bool:
    if one.outcome is None or other.outcome is None:
        return one == other
    arrays = zip(vars_of(one.outcome.series), vars_of(other.outcome.series), strict=True)
    return one.outcome.figures() == other.outcome.figures() and all(
        np.array_equal(mine, theirs) for mine, theirs in arrays
    )


def vars_of(series: Any) -> list[Any]:
    return [series.at, series.lag, series.largest_member_lag, series.time_lag, series.members]


def test_spark_gives_the_results_of_a_simulation_in_this_process(
    spark: SparkSession, recorded: list[Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each group is a job with a broadcast of its own history, and each trial a task of it."""
    shared: list[str] = []
    broadcast = spark.sparkContext.broadcast

    def noted(value: tuple[History, list[bytes]]) -> Any:
        shared.append(value[0].group)
        return broadcast(value)

    monkeypatch.setattr(spark.sparkContext, "broadcast", noted)
    histories = {recording.history.group: recording.history for recording in recorded}
    trials = trials_of(recorded)
    assert len(trials) == 2 * 2 * 6
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup())
    results_in_order = ordered(run_trials(spark, histories, trials))
    assert sorted(shared) == ["g", "h"]
    jobs = [tracker.getJobInfo(job) for job in set(tracker.getJobIdsForGroup()) - before]
    stages = [tracker.getStageInfo(id) for job in jobs if job is not None for id in job.stageIds]
    assert [stage.numTasks for stage in stages if stage is not None] == [len(trials) // 2] * 2
    assert [result.number for result in results_in_order] == list(range(len(trials)))
    for result, trial in zip(results_in_order, trials, strict=True):
        assert result.error == ""
        assert same(result, try_out(histories[trial.group], trial))


def test_workers_write_the_series_of_each_group(
    spark: SparkSession, recorded: list[Recorded], tmp_path: Path
) -> None:
    """The driver has only the figures, and reads the series that it draws."""
    histories = {recording.history.group: recording.history for recording in recorded}
    trials = trials_of(recorded)
    with results_folder(spark, f"{tmp_path}/[x]") as folder:
        results_in_order = ordered(run_trials(spark, histories, trials, series_to=folder.at(SERIES_NAME)))
        assert all(result.outcome and result.outcome.series is None for result in results_in_order)
        written = read_series(spark, folder, [3, len(trials) - 1])
        with pytest.raises(KafkaAssignorsError, match=r"series\.parquet has lost files"):
            read_series(spark, folder, [3, len(trials)])
    assert list(written) == [3, len(trials) - 1]
    for number, series in written.items():
        outcome = try_out(histories[trials[number].group], trials[number]).outcome
        assert outcome is not None
        for mine, theirs in zip(vars_of(series), vars_of(outcome.series), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    files = [pq.read_table(path) for path in (tmp_path / "[x]" / SERIES_NAME).glob("*.parquet")]
    numbers = sorted((set(file["scenario"].to_pylist()) for file in files), key=min)
    assert numbers == [set(range(12)), set(range(12, 24))]


def test_series_of_a_failed_run_are_removed(spark: SparkSession, tmp_path: Path) -> None:
    def fail(*names: str) -> None:
        with results_folder(spark, str(tmp_path)) as folder:
            for name in names:
                folder.write(name, "")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail(SERIES_NAME, ".unfinished/part-0")
    assert list(tmp_path.iterdir()) == []
    # They cost hours; what `save` could not write is little.
    with pytest.raises(ZeroDivisionError):
        fail(SERIES_NAME, RESULTS_NAME)
    assert {path.name for path in tmp_path.iterdir()} == {SERIES_NAME, RESULTS_NAME}


@pytest.mark.parametrize("are_lost", [False, True])
def test_each_trial_is_simulated_once(
    spark: SparkSession,
    recorded: list[Recorded],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    are_lost: bool,
) -> None:
    """The writing task takes what the tasks before have simulated, also if the cached rows are lost."""

    class Writing:
        """The lock of the writers; with it, the rows of the trials are no longer cached."""

        def __enter__(self) -> None:
            java: Any = spark.sparkContext._jsc
            cached = list(java.getPersistentRDDs().values())
            assert cached
            for rdd in cached if are_lost else ():
                rdd.unpersist(True)

        def __exit__(self, *_: object) -> None:
            """Nothing to release."""

    monkeypatch.setattr(job, "threading", SimpleNamespace(Lock=Writing))
    calls = tmp_path / "calls"
    trial = trials_of(recorded)[0]
    planner = trial.scenario.strategy.plan

    def plan(group: Group, claims: Claims) -> Assignment:
        with calls.open("a") as file:
            file.write(".")
        return planner(group, claims)

    strategy = replace(trial.scenario.strategy, plan=plan)
    counted = replace(trial, scenario=replace(trial.scenario, strategy=strategy))
    histories = {trial.group: recorded[0].history}
    try_out(recorded[0].history, counted)
    once = calls.stat().st_size
    assert once > 0
    [result] = run_trials(spark, histories, [counted], series_to=f"{tmp_path}/series")
    assert result.error == ""
    assert calls.stat().st_size == 2 * once
    assert spark.read.parquet(f"{tmp_path}/series").count() > 0


def test_folder_that_workers_do_not_share_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver looks elsewhere than the workers write, as on another machine."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr(Storage, "to_read", lambda *_: f"{tmp_path}/elsewhere")
    with pytest.raises(KafkaAssignorsError, match="out is not shared: the driver does not see all files"):
        ExitStack().enter_context(results_folder(spark, f"{tmp_path}/out"))
    assert list((tmp_path / "out").iterdir()) == []


def test_failed_trial_has_its_error_and_others_go_on(spark: SparkSession, recorded: list[Recorded]) -> None:
    histories = {recording.history.group: recording.history for recording in recorded}
    trials = trials_of(recorded)[:6]
    trials[2] = replace(trials[2], scenario=replace(trials[2].scenario, churn=parse_churn("join@9999")))
    trials[4] = replace(trials[4], scenario=replace(trials[4].scenario, strategy=broken_strategy()))
    results_in_order = ordered(run_trials(spark, histories, trials))
    assert [bool(result.error) for result in results_in_order] == [False, False, True, False, True, False]
    assert "not within the history of 600 s" in results_in_order[2].error
    assert results_in_order[4].error == "ZeroDivisionError: division by zero"
    assert all(result.outcome is not None for result in results_in_order if not result.error)


def broken_strategy() -> Any:
    """Return a strategy whose planner fails."""

    def plan(group: Group, claims: Claims) -> Assignment:
        raise ZeroDivisionError("division by zero")

    return replace(GRID.candidates[0].strategy, plan=plan)


@pytest.mark.long
def test_own_strategy_of_the_current_folder_runs_on_spark(folder: Path, tmp_path: Path) -> None:
    """Tasks import its module; an invalid plan is the trial's error, in one line, and the exit code is 1."""
    (tmp_path / "just_here.py").write_text(
        "from tests.support.group.own_strategies import ToAStranger, ToTheFirst\n"
        "class Mine(ToTheFirst):\n    name = 'mine'\n"
        "class Wrong(ToAStranger):\n    name = 'wrong'\n"
    )
    arguments = ["--strategies", "just_here:Mine,just_here:Wrong", "--cores", "2", "--group", "g"]
    done = subprocess.run(
        [sys.executable, "-m", "kafka_assignors", "backtest", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "100", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1
    assert "just_here:Mine" in done.stdout
    last = done.stderr.splitlines()[-1]
    assert "1 of 2 scenarios failed; " in last
    assert "wrong: invalid plan: stranger is no member of the group" in last


def test_failure_of_spark_is_raised_and_ends_all_tasks(spark: SparkSession, recorded: list[Recorded]) -> None:
    trials = trials_of(recorded)[:3]
    with pytest.raises(KafkaAssignorsError, match=r"Spark gave up after \d of 3 scenarios"):
        list(run_trials(spark, {"another": recorded[0].history}, trials))
    first = next(
        run := run_trials(
            spark, {recording.history.group: recording.history for recording in recorded}, trials
        )
    )
    assert first.outcome is not None
    run.close()  # type: ignore[attr-defined]  # a generator's, as by Ctrl-C
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []


# --- the command -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_this_session")
def test_command_writes_tables_results_and_a_report(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = "--strategies range,cooperative-lag-aware --members 2,3 --churn join@100 --churn join@9999"
    done = CliRunner().invoke(
        cli_backtest.command, [str(folder), *arguments.split(), "--out", str(out), "--output", "json"]
    )
    assert isinstance(done.exception, KafkaAssignorsError)  # of 40 scenarios 20 failed
    assert str(done.exception) == (
        "20 of 40 scenarios failed; 10 of 40: option 'churn': join m3 is not within the history of 600 s"
    )
    results = json.loads(done.stdout)
    assert results.pop("report") == str(out / "report.html")
    assert results == json.loads((out / "results.json").read_text())
    assert {path.name for path in out.iterdir()} == {
        "results.parquet", "series.parquet", "results.json", "report.html",
    }  # fmt: skip
    table = pq.read_table(out / "results.parquet")
    assert {field.name: str(field.type) for field in table.schema} == RESULTS
    rows = table.to_pylist()
    for row_, scenario in zip(rows, results["scenarios"], strict=True):
        assert {**row_, "parameters": json.loads(row_["parameters"])} == scenario
    assert sum(row_["error"] is not None for row_ in rows) == 20
    series = pq.read_table(out / "series.parquet")
    assert {field.name: str(field.type) for field in series.schema} == SERIES
    drawn = set(series["scenario"].to_pylist())
    assert drawn == {row_["scenario"] for row_ in rows if row_["error"] is None}
    assert (
        "note: group 'g': a member reads 24.0 records/s, the rate of the fastest partition during "
        in done.stderr
    )
    assert "scenario 40 of 40" in done.stderr


@pytest.mark.usefixtures("_this_session")
def test_results_are_the_same_on_the_storage_of_spark(folder: Path, tmp_path: Path) -> None:
    local, uri = tmp_path / "at 10:30", f"file:{tmp_path}/new/uri"
    arguments = [
        str(folder),
        "--strategies",
        "range,cooperative-lag-aware",
        "--group",
        "h",
        "--replicates",
        "5",
    ]
    for out in (str(local), uri):
        done = CliRunner().invoke(cli_backtest.command, [*arguments, "--out", out])
        assert done.exit_code == 0, done.output
        assert done.stdout.splitlines()[-1] == f"report: {out}/report.html"
    written = tmp_path / "new" / "uri"
    assert {path.name for path in written.iterdir() if path.suffix != ".crc"} == {  # checksums of Hadoop's
        path.name for path in local.iterdir()
    }
    for name in ("results.parquet", "series.parquet"):
        assert pq.read_table(written / name).equals(pq.read_table(local / name))
    for folder_ in (local, written):
        results = json.loads((folder_ / "results.json").read_text())
        assert results["replicates"] == 5
        low, high = results["candidates"][0]["intervals"]["mean_lag"]
        assert 0 < low <= results["candidates"][0]["mean_lag"] <= high
        assert "</html>" in (folder_ / "report.html").read_text()
    for out in (str(local), uri):
        again = CliRunner().invoke(cli_backtest.command, [*arguments, "--out", out])
        assert str(again.exception) == f"{out} is not empty: give --out a new folder"
    (tmp_path / "file").write_text("")
    refused = CliRunner().invoke(cli_backtest.command, [*arguments, "--out", f"{tmp_path}/file/new"])
    assert isinstance(refused.exception, KafkaAssignorsError)
    assert str(refused.exception).startswith(f"writing to {tmp_path}/file/new: ")
    assert "\n" not in str(refused.exception)


@pytest.mark.usefixtures("_this_session")
def test_command_asks_for_a_service_rate_the_history_does_not_have(tmp_path: Path) -> None:
    pipeline, out = tmp_path / "pipeline", tmp_path / "out"
    write_load(pipeline, [row(Cell(step, "t", 0, 10, 10, 0)) for step in range(9)])
    done = CliRunner().invoke(cli_backtest.command, [str(pipeline), "--out", str(out)])
    assert done.exit_code == 2
    assert "--service-rate: group 'g' was never behind for long enough" in done.stderr


@pytest.mark.usefixtures("_this_session")
def test_group_without_a_backlog_is_left_out(tmp_path: Path) -> None:
    """The idle group has lag between its commits.  Its missing forecasts do not affect the other group."""
    pipeline, out = tmp_path / "pipeline", tmp_path / "out"
    idle = [row(Cell(step, "t", 0, 100, 100, 40), "idle") for step in range(60)]
    write_load(pipeline, busy_group("busy") + idle)
    arguments = [str(pipeline), "--strategies", "range,cooperative-lag-aware", "--out", str(out)]
    done = CliRunner().invoke(cli_backtest.command, arguments)
    assert done.exit_code == 0, done.output
    line = "left out: idle (no backlog was long enough to measure a service rate: give --service-rate)"
    assert line in " ".join(done.stdout.split())
    assert "'idle'" not in done.stderr
    results = json.loads((out / "results.json").read_text())
    assert [group["group"] for group in results["left_out"]] == ["idle"]
    assert [group["group"] for group in results["groups"]] == ["busy"]
    assert {row_["group"] for row_ in results["scenarios"]} == {"busy"}
    assert "cooperative-lag-aware (load=forecast)" in {
        candidate["candidate"] for candidate in results["candidates"]
    }
    assert line in (out / "report.html").read_text()


@pytest.mark.usefixtures("_this_session")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command.split()[:5]))
def test_documented_command_runs(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_load(Path("pipeline"), busy_group("billing"))
    words = shlex.split(command.removeprefix("kafka-assignors backtest").replace("\\\n", " "))
    done = CliRunner().invoke(cli_backtest.command, words)
    assert done.exit_code == 0, done.output
    [report] = tmp_path.glob("out/**/report.html")
    assert f"report: {report.relative_to(tmp_path)}" in done.stdout


@pytest.mark.long
def test_results_do_not_depend_on_the_number_of_cores(folder: Path, tmp_path: Path) -> None:
    """Each run is a process, as for a user.  The names of the files of the series are random."""
    in_order = [("scenario", "ascending"), ("at_s", "ascending")]
    tables = []
    for cores in (1, 2):
        out = tmp_path / f"out-{cores}"
        arguments = ["--strategies", "sticky,cooperative-lag-aware", "--cores", str(cores), "--out", str(out)]
        done = subprocess.run(
            [sys.executable, "-m", "kafka_assignors", "backtest", str(folder), *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "100"},
        )
        assert done.returncode == 0, done.stderr
        assert "Use " in done.stdout
        assert f"report: {out / 'report.html'}" in done.stdout
        assert max(map(len, done.stdout.splitlines()[:-1])) <= 100
        assert "ERROR" not in done.stderr
        series = pq.read_table(out / "series.parquet").sort_by(in_order)
        tables.append((pq.read_table(out / "results.parquet"), series))
    assert tables[0][0].equals(tables[1][0])
    assert tables[0][1].equals(tables[1][1])
