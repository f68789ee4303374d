"""What ``record`` and ``pipeline run`` share: which groups, for how long, and telling how far it is."""

from __future__ import annotations

import functools
import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import click
from rich.console import Console
from rich.status import Status

from kafka_assignors.broker import Progress
from kafka_assignors.cli.given import connection_options, given_settings
from kafka_assignors.cli.pipeline.spark_size import spark_size_options
from kafka_assignors.errors import OptionError
from kafka_assignors.pipeline.record.offsets_topic import PROBLEMS
from kafka_assignors.pipeline.run import PipelineReport, Wanted
from kafka_assignors.pipeline.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_assignors.pipeline.run import OnReport

__all__ = ["Recording", "View", "as_json", "lines", "recording_command", "stopping"]

_LINE_EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class Recording:
    """What both commands are told.

    Args:
        wanted: whose commits and samples go where; a command replaces in it what only it is told.
        for_s: how long; None: until interrupted.
        once: do what there is to do, and end.
        cores: of a Spark of its own; None: all.
        memory: of it.
        as_json: how to tell what was done.
    """

    wanted: Wanted
    for_s: float | None
    once: bool
    cores: int | None
    memory: str
    as_json: bool

    def run(self, name: str, work: Work, wanted: Wanted, *hints: str) -> None:
        """Do it on a Spark, showing how far it is, and say what was done, with hints on what to do next."""
        with (
            View() as view,
            session(name, cores=self.cores, memory=self.memory, on_progress=view.step) as spark,
        ):
            try:
                if self.once:
                    report = work(spark, wanted, stop=None, on_report=view.report)
                else:
                    with stopping(self.for_s) as stop:
                        report = work(spark, wanted, stop=stop, on_report=view.report)
            except OptionError as error:
                raise click.UsageError(f"{error.option}: {error.reason}") from error
        if self.as_json:
            click.echo(json.dumps(as_json(report, wanted.root)))
        else:
            click.echo("\n".join([*lines(report), *hints]))


class Work(Protocol):
    """``record`` or ``run_pipeline`` of ``spark.pipeline``."""

    def __call__(
        self, spark: SparkSession, wanted: Wanted, *, stop: threading.Event | None, on_report: OnReport
    ) -> PipelineReport: ...


def recording_command(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of both; it is called with a ``Recording`` in their place."""

    @functools.wraps(command)
    def called(
        *,
        groups: tuple[str, ...],
        groups_like: str | None,
        bootstrap: str | None,
        config: BinaryIO | None,
        root: str,
        every_s: float,
        for_s: float | None,
        once: bool,
        cores: int | None,
        memory: str,
        output: str,
        **own: Any,
    ) -> None:
        if not groups and groups_like is None:
            raise click.UsageError("which groups? Name some, or give --groups-like REGEX")
        if once and for_s is not None:
            raise click.UsageError("--once ends by itself: leave --for out")
        settings = given_settings(bootstrap, config)
        wanted = Wanted(root, settings, groups=groups, groups_like=groups_like, every_s=every_s)
        command(Recording(wanted, for_s, once, cores, memory, output == "json"), **own)

    with_options = called
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return click.argument("groups", metavar="[GROUP]...", nargs=-1)(connection_options(with_options))


_OPTIONS = (
    click.option(
        "--groups-like",
        metavar="REGEX",
        help="And all groups whose whole name matches, those that come to be later, too.",
    ),
    click.option(
        "--out",
        "root",
        metavar="FOLDER",
        default="pipeline",
        show_default=True,
        help="The pipeline's folder, new or one to go on with; any that Spark can write to.",
    ),
    click.option(
        "--every",
        "every_s",
        metavar="SECONDS",
        type=click.FloatRange(0.1, 3600),
        default=10.0,
        show_default=True,
        help="From one look at the groups to the next.",
    ),
    click.option(
        "--for",
        "for_s",
        metavar="SECONDS",
        type=click.FloatRange(min=1),
        help="How long to go on.  [default: until interrupted]",
    ),
    click.option("--once", is_flag=True, help="Do what there is to do now, and end."),
    spark_size_options,
    click.option("--output", type=click.Choice(["table", "json"]), default="table", show_default=True),
)


@contextmanager
def stopping(for_s: float | None) -> Iterator[threading.Event]:
    """An event that is set by Ctrl-C, by SIGTERM, or after a time; a second Ctrl-C interrupts at once.

    To be entered when the Spark runs: when one starts, it makes Ctrl-C cancel all it does.
    """
    stop = threading.Event()

    def end(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    timer = threading.Timer(for_s, stop.set) if for_s is not None else None
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield stop
    finally:
        if timer is not None:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


class View:
    """Says on stderr how far it is: one line in place on a terminal, else a line every few seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        console = Console(stderr=True)
        self._status: Status | None = console.status("") if console.is_terminal else None
        self._clock = clock
        self._said, self._at = "", clock() - _LINE_EVERY_S

    def __enter__(self) -> View:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def step(self, progress: Progress) -> None:
        """A step before the first batch."""
        of = "" if progress.total is None else f": {progress.done} of {progress.total}"
        self._say(f"{progress.step}{of}", at_once=progress.total is None or progress.done == progress.total)

    def report(self, report: PipelineReport) -> None:
        """What was done until now."""
        self._say(in_a_line(report), at_once=False)

    def _say(self, text: str, *, at_once: bool) -> None:
        if self._status is not None:
            self._status.update(text)
        elif text != self._said and (at_once or self._clock() - self._at >= _LINE_EVERY_S):
            self._said, self._at = text, self._clock()
            print(text, file=sys.stderr, flush=True)


def in_a_line(report: PipelineReport) -> str:
    """``samples 1,200, commits 340, steps 96, forecasts sent 12, left out 3``."""
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
    parts += [f"{name} down, trying again" for name in sorted(report.down)]
    return ", ".join(parts) or "waiting for the first batch"


def lines(report: PipelineReport) -> Iterator[str]:
    """All that was done, and all that was left out, a line each."""
    if (samples := report.samples) is not None:
        yield f"looked at groups: {samples.looks:,} times, {samples.rows:,} samples"
        yield from (f"  not seen: {why}, {count:,} times" for why, count in sorted(samples.misses.items()))
    if (offsets := report.offsets) is not None:
        yield f"read of the offsets topic: {offsets.records:,} records, {offsets.landed:,} commits recorded"
        if offsets.since is not None and offsets.until is not None:
            yield f"  made from {offsets.since:%Y-%m-%d %H:%M:%S} to {offsets.until:%Y-%m-%d %H:%M:%S} UTC"
        kinds = {kind: count for kind, count in offsets.kinds.items() if kind not in {"commit", "tombstone"}}
        yield from (f"  passed over: {count:,} of kind {kind!r}" for kind, count in sorted(kinds.items()))
        for problem, count in sorted(offsets.problems.items()):
            partition, offset = offsets.first[problem]
            where = f"the first is at offset {offset} of partition {partition}"
            yield f"  left out: {count:,} records, {PROBLEMS[problem]} ({where})"
    load = report.load
    if load.batches:
        yield f"load model: {load.samples:,} samples to {load.steps:,} steps"
        for count, what in (
            (load.late, "samples came too late"),
            (load.ahead, "samples were ahead of this machine's clock"),
            (load.duplicates, "samples were there already"),
            (load.refused, "samples were older than what is remembered"),
            (load.gone, "files of samples were gone before they were read"),
            (load.gaps, "steps of which nothing is known"),
            (load.resets, "steps in which a topic began anew, or a group was set back"),
        ):
            if count:
                yield f"  {count:,} {what}"
        if load.unread:
            yield f"  not read, as they came after the model began: {', '.join(load.unread)}"
    if report.fed:
        yield f"feed: {report.fed:,} forecasts sent"
    if report.unfed:
        yield f"feed: could not be written after {report.unfed:,} batches"
    yield from (f"down at the end: {name}: {why}" for name, why in sorted(report.down.items()))


def as_json(report: PipelineReport, root: str) -> dict[str, Any]:
    """The same as JSON, version 1."""
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
            "late": load.late,
            "ahead": load.ahead,
            "duplicates": load.duplicates,
            "refused": load.refused,
            "gone": load.gone,
            "gaps": load.gaps,
            "resets": load.resets,
            "unread": list(load.unread),
        },
        "feed": {"sent": report.fed, "failed_batches": report.unfed},
        "down": dict(report.down),
    }
