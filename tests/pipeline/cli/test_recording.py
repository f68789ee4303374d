"""``record`` and ``pipeline run`` share how they stop and what they print."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from datetime import datetime, timezone
from pathlib import Path

import pytest

from kafka_assignors.broker import Progress
from kafka_assignors.cli.pipeline.recording import as_json, in_a_line, lines, stopping
from kafka_assignors.cli.progress import ProgressView
from kafka_assignors.pipeline.model.job import LoadReport
from kafka_assignors.pipeline.record.offsets_decoder import PROBLEMS
from kafka_assignors.pipeline.record.offsets_report import OffsetsReport
from kafka_assignors.pipeline.record.sample_report import SamplesReport
from kafka_assignors.pipeline.run import PipelineReport
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.lagging import commit, write

PATIENCE_S = 600.0

EVERYTHING = PipelineReport(
    samples=SamplesReport(looks=3, rows=1_200, groups=2, misses={"no broker answered": 4}),
    offsets=OffsetsReport(
        records=900,
        kinds={"commit": 880, "tombstone": 3, "group": 7},
        problems={"value-cut": 10},
        first={"value-cut": (3, 41)},
        landed=340,
        since=datetime(2026, 11, 21, 10, tzinfo=timezone.utc),
        until=datetime(2026, 11, 22, 11, 30, tzinfo=timezone.utc),
    ),
    load=LoadReport(
        batches=2,
        samples=1_540,
        late=5,
        ahead=9,
        duplicates=6,
        refused=7,
        steps=96,
        qualities={"ok": 90, "gap": 4, "reset": 2},
        unread=("import",),
        gone=8,
    ),
    fed=12,
    unfed=1,
    down={"feed": "no broker answers"},
)


def test_report_has_all_counts_and_dropped_samples() -> None:
    report_lines = list(lines(EVERYTHING))
    for line in (
        "sampler: looked 3 times, 1,200 samples",
        "  missed: no broker answered, 4 times",
        "offsets topic: 900 records read, 340 commits recorded",
        "  commits from 2026-11-21 10:00:00 to 2026-11-22 11:30:00 UTC",
        "  skipped: 7 of kind 'group'",
        f"  left out: 10 records, {PROBLEMS['value-cut']} (the first is at offset 41 of partition 3)",
        "load model: 1,540 samples to 96 steps",
        "  5 samples were late",
        "  9 samples were ahead of this machine's clock",
        "  6 samples were duplicates",
        "  7 samples were too far behind the newest one",
        "  8 sample files were deleted before they were read",
        "  4 gaps in the samples",
        "  2 steps with a recreated topic or a reset group",
        "  not read: samples of writers added after the model's first start: import",
        "feed: 12 forecasts sent",
        "feed: 1 failed attempts; the next successful write includes their forecasts",
        "down at the end: feed: no broker answers",
    ):
        assert any(report_line.startswith(line) for report_line in report_lines), (line, report_lines)


def test_json_has_the_counts_of_the_report() -> None:
    report = json.loads(json.dumps(as_json(EVERYTHING, "here")))
    assert (report["version"], report["folder"]) == (1, "here")
    assert report["samples"] == {"looks": 3, "rows": 1_200, "misses": {"no broker answered": 4}}
    offsets = report["offsets_topic"]
    assert (offsets["records"], offsets["commits"], offsets["problems"]) == (900, 340, {"value-cut": 10})
    assert offsets["until"] == "2026-11-22T11:30:00+00:00"
    load = {
        "samples": 1_540,
        "steps": 96,
        "late": 5,
        "ahead": 9,
        "duplicates": 6,
        "refused": 7,
        "gone": 8,
        "gaps": 4,
        "resets": 2,
    }
    assert load.items() <= report["load"].items()
    assert report["down"] == {"feed": "no broker answers"}
    assert report["feed"] == {"sent": 12, "failed_batches": 1}
    nothing = as_json(PipelineReport(), "here")
    assert (nothing["samples"], nothing["offsets_topic"]) == (None, None)


def test_progress_without_a_terminal_is_a_line_every_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now = 100.0
    with ProgressView(10, clock=lambda: now) as view:
        view.step(Progress("starting Spark"))
        view.update(in_a_line(PipelineReport()))
        now += 9
        view.update(in_a_line(PipelineReport()))
        now += 2
        view.update(in_a_line(EVERYTHING))
        now += 11
        view.update(in_a_line(EVERYTHING))
    assert capsys.readouterr().err.splitlines() == [
        "starting Spark",
        "samples 1,200, commits 340, steps 96, forecasts sent 12, left out 39, feed down, retrying",
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_stops_and_second_interrupts(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stopping(None) as stop:
        assert not stop.is_set()
        signal.raise_signal(number)
        assert stop.wait(10)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_recording_ends_after_the_given_time() -> None:
    with stopping(0.01) as stop:
        assert stop.wait(10)


@pytest.mark.long
def test_ctrl_c_ends_the_recording_with_a_report(bootstrap: str, tmp_path: Path) -> None:
    names = FreshNames(bootstrap)
    group, topic = names.group(), names.topic(1)
    write(bootstrap, {TopicPartition(topic, 0): 7})
    commit(bootstrap, group, {TopicPartition(topic, 0): 4})
    arguments = ["record", group, "--bootstrap", bootstrap, "--out", str(tmp_path / "out"), "--every", "1"]
    with subprocess.Popen(
        [sys.executable, "-m", "kafka_assignors", *arguments, "--output", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C goes to all of a terminal's group, as here
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        late = threading.Timer(PATIENCE_S, process.kill)
        late.start()
        try:
            errors = []
            for line in process.stderr:
                errors.append(line)
                if line.startswith("samples") and "commits 1" in line and "samples 0" not in line:
                    break
            os.killpg(process.pid, signal.SIGINT)
            output, rest = process.stdout.read(), process.stderr.read()
            assert process.wait() == 0, [*errors, rest]
        finally:
            late.cancel()
            process.kill()
    report = json.loads(output)
    assert report["samples"]["rows"] >= 1
    assert report["offsets_topic"]["commits"] == 1
    assert "Traceback" not in rest
