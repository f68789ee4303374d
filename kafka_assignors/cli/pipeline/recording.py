"""Shared by ``record`` and ``pipeline run``: options, the run itself, progress and results."""

from __future__ import annotations

import functools
import json
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, BinaryIO

import click

from kafka_assignors.background import Background
from kafka_assignors.cli.common import (
    FiniteRange,
    client_settings,
    connection_options,
    option_as_usage_error,
    output_option,
    sigterm_as_interrupt,
)
from kafka_assignors.cli.pipeline.spark import spark_size_options
from kafka_assignors.cli.progress import ProgressView
from kafka_assignors.pipeline.record.offsets_decoder import PROBLEMS
from kafka_assignors.pipeline.run import PipelineOptions, PipelineReport, run_pipeline
from kafka_assignors.pipeline.session import session

_EVENTS = {
    "late": "samples were late",
    "ahead": "samples were ahead of this machine's clock",
    "duplicates": "samples were duplicates",
    "refused": "samples were too far behind the newest one",
    "gone": "sample files were deleted before they were read",
    "gaps": "gaps in the samples",
    "resets": "steps with a recreated topic or a reset group",
}
"""Name of a count in a `LoadReport` -> text after the number."""

_LINE_EVERY_S = 10.0  # between two lines of progress, if not on a terminal


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """The options that the commands share.  Each command adds its own to ``pipeline``."""

    pipeline: PipelineOptions
    for_s: float | None  # None: until interrupted
    once: bool
    cores: int | None
    memory: str
    as_json: bool

    def run(self, name: str, options: PipelineOptions, *hints: str) -> None:
        """Run the pipeline with a Spark session and a progress view, then print the results and ``hints``."""
        with (
            sigterm_as_interrupt(),
            ProgressView(_LINE_EVERY_S) as view,
            session(name, cores=self.cores, memory=self.memory, on_progress=view.step) as spark,
            option_as_usage_error(str),
            nullcontext() if self.once else stopping(self.for_s) as stop,
        ):
            report = run_pipeline(
                spark, options, stop=stop, on_report=lambda report: view.update(in_a_line(report))
            )
        if self.as_json:
            click.echo(json.dumps(as_json(report, options.root)))
        else:
            click.echo("\n".join([*lines(report), *hints]))


def recording_command(command: Callable[..., None]) -> Callable[..., None]:
    """Add the shared options to a command and pass them to it as a ``RecordingOptions``."""

    @functools.wraps(command)
    def call(
        *,
        groups: tuple[str, ...],
        groups_like: str | None,
        bootstrap: str | None,
        config: BinaryIO | None,
        root: str,
        every_s: float,
        keep_days: int | None,
        for_s: float | None,
        once: bool,
        cores: int | None,
        memory: str,
        output: str,
        **own: Any,
    ) -> None:
        if not groups and groups_like is None:
            raise click.UsageError("no groups given: name some, or give --groups-like REGEX")
        if once and for_s is not None:
            raise click.UsageError("--for has no effect with --once: leave one out")
        settings = client_settings(bootstrap, config)
        options = PipelineOptions(
            root, settings, groups=groups, groups_like=groups_like, every_s=every_s, keep_days=keep_days
        )
        command(RecordingOptions(options, for_s, once, cores, memory, output == "json"), **own)

    with_options = call
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return click.argument("groups", metavar="[GROUP]...", nargs=-1)(connection_options(with_options))


def _days(text: str) -> int:
    """Parse a number of days, such as ``90d``."""
    if (match := re.fullmatch(r"([1-9]\d{0,4})d?", text)) is None:
        raise click.BadParameter(f"expected a number of days such as 90d, got {text}")
    return int(match[1])


_OPTIONS = (
    click.option(
        "--groups-like",
        metavar="REGEX",
        help="Also record groups whose whole name matches, also those created later, but not Spark's own.",
    ),
    click.option(
        "--out",
        "root",
        metavar="FOLDER",
        default="pipeline",
        help="The pipeline's folder, new or one to continue; any that Spark can write to.",
    ),
    click.option(
        "--every",
        "every_s",
        metavar="SECONDS",
        type=FiniteRange(0.1, 3600),
        default=10.0,
        help="Interval between two samples, and between two reads of the offsets topic, without --once.",
    ),
    click.option(
        "--keep",
        "keep_days",
        metavar="DAYS",
        type=_days,
        help="Days of samples and load to keep besides today, such as 90d.  Older days are "
        "deleted, even if the model has not read them.  [default: all]",
    ),
    click.option(
        "--for",
        "for_s",
        metavar="SECONDS",
        type=FiniteRange(min=1),
        help="How long to record.  [default: until interrupted]",
    ),
    click.option("--once", is_flag=True, help="Process the available data, then end."),
    spark_size_options,
    output_option,
)


@contextmanager
def stopping(for_s: float | None) -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C, SIGTERM or a timer sets; a signal after that interrupts at once.

    Enter the block after Spark has started: its start installs a Ctrl-C handler that cancels all jobs.
    """
    stop = threading.Event()

    def end(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    timer = Background("kafka-assignors-timer")
    if for_s is not None:
        timer.submit(stop.set, for_s)
    try:
        yield stop
    finally:
        timer.stop()
        for number, handler in before.items():
            signal.signal(number, handler)


def in_a_line(report: PipelineReport) -> str:
    """Return a line such as ``samples 1,200, commits 340, steps 96, forecasts sent 12, left out 3``."""
    parts = []
    if report.samples is not None:
        parts.append(f"samples {report.samples.rows:,}")
    if report.offsets is not None:
        parts.append(f"commits {report.offsets.landed:,}")
    if report.load.batches:
        parts.append(f"steps {report.load.steps:,}")
    if report.fed:
        parts.append(f"forecasts sent {report.fed:,}")
    left_out = report.load.late + report.load.ahead + report.load.refused + report.load.gone
    if report.offsets is not None:
        left_out += sum(report.offsets.problems.values())
    if left_out:
        parts.append(f"left out {left_out:,}")
    parts += [f"{name} down, retrying" for name in sorted(report.down)]
    return ", ".join(parts) or "waiting for the first batch"


def lines(report: PipelineReport) -> Iterator[str]:
    """Yield the results line by line: the numbers of processed and of left-out data."""
    if (samples := report.samples) is not None:
        yield f"sampler: looked {samples.looks:,} times, {samples.rows:,} samples"
        yield from (f"  missed: {why}, {count:,} times" for why, count in sorted(samples.misses.items()))
    if (offsets := report.offsets) is not None:
        yield f"offsets topic: {offsets.records:,} records read, {offsets.landed:,} commits recorded"
        if offsets.since is not None and offsets.until is not None:
            yield f"  commits from {offsets.since:%Y-%m-%d %H:%M:%S} to {offsets.until:%Y-%m-%d %H:%M:%S} UTC"
        kinds = {kind: count for kind, count in offsets.kinds.items() if kind not in {"commit", "tombstone"}}
        yield from (f"  skipped: {count:,} of kind {kind!r}" for kind, count in sorted(kinds.items()))
        for problem, count in sorted(offsets.problems.items()):
            partition, offset = offsets.first[problem]
            where = f"the first is at offset {offset} of partition {partition}"
            yield f"  left out: {count:,} records, {PROBLEMS[problem]} ({where})"
    load = report.load
    if load.batches:
        yield f"load model: {load.samples:,} samples to {load.steps:,} steps"
        for name, event in _EVENTS.items():
            if count := getattr(load, name):
                yield f"  {count:,} {event}"
        if load.unread:
            writers = ", ".join(load.unread)
            yield f"  not read: samples of writers added after the model's first start: {writers}"
    if report.fed:
        yield f"feed: {report.fed:,} forecasts sent"
    if report.unfed:
        yield f"feed: {report.unfed:,} failed attempts; the next successful write includes their forecasts"
    yield from (f"down at the end: {name}: {why}" for name, why in sorted(report.down.items()))


def as_json(report: PipelineReport, root: str) -> dict[str, Any]:
    """Return the results as JSON, version 1."""
    samples, offsets, load = report.samples, report.offsets, report.load
    return {
        "version": 1,
        "folder": root,
        "samples": samples and {"looks": samples.looks, "rows": samples.rows, "misses": dict(samples.misses)},
        "offsets_topic": offsets
        and {
            "records": offsets.records,
            "commits": offsets.landed,
            "kinds": dict(offsets.kinds),
            "problems": dict(offsets.problems),
            "first_problems": {
                problem: {"partition": partition, "offset": offset}
                for problem, (partition, offset) in offsets.first.items()
            },
            "since": offsets.since and offsets.since.isoformat(),
            "until": offsets.until and offsets.until.isoformat(),
        },
        "load": {
            "samples": load.samples,
            "steps": load.steps,
            **{name: getattr(load, name) for name in _EVENTS},
            "unread": list(load.unread),
        },
        "feed": {"sent": report.fed, "failed_batches": report.unfed},
        "down": dict(report.down),
    }
