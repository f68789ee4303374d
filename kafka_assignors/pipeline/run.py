"""The whole pipeline at once: record, model the load, feed the assignor; until it is stopped, or once.

Recording runs as streams beside the load model, which reads what they land; each batch of the model goes to
the feed as soon as it is on disk.  Every step has a checkpoint of its own, so that the pipeline goes on where
it ended, and each can be run alone as well.

What fails at the start is an error.  What fails later is tried again, as long as it takes, and the others go
on meanwhile: the cluster has answered before, and will again; so has the storage.  The model has started when
its first batch has landed; until then a checkpoint that is damaged is an error, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafka_assignors.forecast import LoadSettings
from kafka_assignors.pipeline.connector import connector_options
from kafka_assignors.pipeline.faults import one_line
from kafka_assignors.pipeline.feed.feed import Feed
from kafka_assignors.pipeline.feed.feeding import Feeding
from kafka_assignors.pipeline.kept import Kept
from kafka_assignors.pipeline.model.job import LoadReport, run_load_model, start_load_model
from kafka_assignors.pipeline.record.offsets import OffsetsReport, record_offsets, record_offsets_once
from kafka_assignors.pipeline.record.sample_report import SamplesReport
from kafka_assignors.pipeline.record.samples import record_samples, record_samples_once
from kafka_assignors.pipeline.tables.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["PipelineReport", "Wanted", "record", "run_pipeline"]

_LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the pipeline is to do.

    Attributes:
        root: its folder, as Spark takes it: a path or a URI.
        settings: the connection, as ``KafkaConsumer`` takes it.
        groups: by name.
        groups_like: and all whose whole name matches, but for Spark's own consumers.
        every_s: from one look at the groups to the next, and from one batch to the next.
        load: settings of the load model.
        sampler: look at the groups.
        offsets_topic: record the commits that ``__consumer_offsets`` holds.
        feed_topic: where forecasts go; None: nowhere.
    """

    root: str
    settings: Mapping[str, Any] = field(repr=False)  # it has passwords in it
    groups: Sequence[str] = ()
    groups_like: str | None = None
    every_s: float = 10.0
    load: LoadSettings = field(default_factory=LoadSettings)
    sampler: bool = True
    offsets_topic: bool = True
    feed_topic: str | None = None


@dataclass(slots=True)
class PipelineReport:
    """What was done until now.

    Attributes:
        samples: by looking at the groups; None: that was not asked for.
        offsets: out of ``__consumer_offsets``; None: that was not asked for.
        load: by the model.
        fed: records that went to the feed.
        unfed: batches after which the feed could not be written; a later one makes up for it.
        down: what does not work at present (``samples``, ``offsets``, ``load``, ``feed``), and why; it is
            tried again.
    """

    samples: SamplesReport | None = None
    offsets: OffsetsReport | None = None
    load: LoadReport = field(default_factory=LoadReport)
    fed: int = 0
    unfed: int = 0
    down: dict[str, str] = field(default_factory=dict)


OnReport = Callable[[PipelineReport], None]


def record(
    spark: SparkSession, wanted: Wanted, *, stop: threading.Event | None, on_report: OnReport
) -> PipelineReport:
    """Record alone; see `run_pipeline`."""
    report = PipelineReport()
    if stop is None:
        _record_once(spark, wanted, report)
        on_report(report)
        return report
    with _running(report) as streams:
        for name, start in _recorders(spark, wanted).items():
            streams[name] = Kept(name, start)
        _keep(streams, report, stop, on_report)
    return report


def run_pipeline(
    spark: SparkSession, wanted: Wanted, *, stop: threading.Event | None, on_report: OnReport
) -> PipelineReport:
    """Record, model and feed.

    Args:
        spark: the session; it needs ``session.STREAMING``.
        wanted: what to do.
        stop: ends it, between two batches where that does not take long; None: do all there is to do now.
        on_report: is told how far it is, some times a second.  What it raises ends all.

    Returns:
        What was done.

    Raises:
        PipelineError: the cluster does not answer when it begins, or does not let us in; what lies in the
            folder is not a pipeline's, or another's; the first batch of the model fails.
        OptionError: a setting that cannot be.
    """
    report = PipelineReport()
    feeding = None
    if (topic := wanted.feed_topic) is not None:
        feeding = Feeding(lambda: Feed(spark, connector_options(wanted.settings), topic), wanted.root, stop)
    if stop is None:
        _record_once(spark, wanted, report)
        on_report(report)
        report.load = run_load_model(spark, wanted.root, wanted.load, available_now=True)
        if feeding is not None:
            feeding.make_up()
            report.fed = feeding.fed
        on_report(report)
        return report

    def landed(rows: DataFrame, _: LoadReport) -> None:
        if feeding is not None:
            feeding.batch(rows)

    def start_model() -> Any:
        return start_load_model(spark, wanted.root, wanted.load, every_s=wanted.every_s, on_batch=landed)

    # The model reads the writers that are there when it first begins.
    with one_line(f"the folder {wanted.root}"):
        for writer in _writers(wanted):
            Storage(spark, wanted.root).make(f"samples/{writer}")
    caught_up = _catch_up(spark, wanted, report, stop, on_report)
    if stop.is_set():
        return report
    with _running(report) as streams:
        for name, start in _recorders(spark, wanted).items():
            streams[name] = Kept(name, start, before=caught_up if name == "offsets" else None)
        streams["load"] = Kept("load", start_model, has_worked=lambda load: load.batches > 0)
        _keep(streams, report, stop, on_report, feeding)
    _note_feed(feeding, report)
    return report


def _writers(wanted: Wanted) -> list[str]:
    return [
        *(["sampler"] if wanted.sampler else []),
        *(["offsets-topic"] if wanted.offsets_topic else []),
    ]


def _record_once(spark: SparkSession, wanted: Wanted, report: PipelineReport) -> None:
    which: dict[str, Any] = {"groups": wanted.groups, "groups_like": wanted.groups_like}
    if wanted.offsets_topic:
        report.offsets = record_offsets_once(spark, wanted.settings, wanted.root, **which)
    if wanted.sampler:
        report.samples = record_samples_once(spark, wanted.settings, wanted.root, **which)


def _catch_up(
    spark: SparkSession, wanted: Wanted, report: PipelineReport, stop: threading.Event, on_report: OnReport
) -> OffsetsReport | None:
    """Land the commits there are, before anybody looks at a group.

    A look is of now.  After one, the model would take commits of before for late ones.
    """
    if not wanted.offsets_topic:
        return None
    recording = record_offsets(
        spark,
        wanted.settings,
        wanted.root,
        groups=wanted.groups,
        groups_like=wanted.groups_like,
        available_now=True,
    )
    try:
        with one_line("recording the commits there are"):
            while not (recording.query.awaitTermination(_LOOK_S) or stop.is_set()):
                report.offsets = recording.report()
                on_report(report)
    finally:
        report.offsets = recording.stop()
    return report.offsets


def _recorders(spark: SparkSession, wanted: Wanted) -> dict[str, Callable[[], Any]]:
    given: dict[str, Any] = {
        "groups": wanted.groups,
        "groups_like": wanted.groups_like,
        "every_s": wanted.every_s,
    }
    start: dict[str, Callable[[], Any]] = {}
    if wanted.sampler:
        start["samples"] = lambda: record_samples(spark, wanted.settings, wanted.root, **given)
    if wanted.offsets_topic:
        start["offsets"] = lambda: record_offsets(spark, wanted.settings, wanted.root, **given)
    return start


@contextmanager
def _running(report: PipelineReport) -> Iterator[dict[str, Kept]]:
    """Streams that end with the block, the last one first, whatever happens; the report then has all."""
    streams: dict[str, Kept] = {}

    def end(name: str) -> None:
        setattr(report, name, streams[name].stop())

    with ExitStack() as ending:
        try:
            yield streams
        finally:
            for name in streams:
                ending.callback(end, name)


def _keep(
    streams: Mapping[str, Kept],
    report: PipelineReport,
    stop: threading.Event,
    on_report: OnReport,
    feeding: Feeding | None = None,
) -> None:
    """See that all of them run, until it is to end."""
    while not stop.wait(_LOOK_S):
        for name, stream in streams.items():
            stream.keep()
            setattr(report, name, stream.report())
        down = {name: stream.down for name, stream in streams.items()}
        report.down = {name: str(error) for name, error in down.items() if error is not None}
        _note_feed(feeding, report)
        on_report(report)


def _note_feed(feeding: Feeding | None, report: PipelineReport) -> None:
    if feeding is not None:
        report.fed, report.unfed = feeding.fed, feeding.unfed
        report.down.pop("feed", None)
        if feeding.down is not None:
            report.down["feed"] = str(feeding.down)
