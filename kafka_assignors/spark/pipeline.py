"""The whole pipeline at once: record, model the load, feed the assignor; until it is stopped, or once.

Recording runs as streams beside the load model, which reads what they land; each batch of the model goes to
the feed as soon as it is on disk.  Every step has a checkpoint of its own, so that the pipeline goes on where
it ended, and each can be run alone as well.

What fails at the start is an error.  What fails later is tried again, as long as it takes: the cluster has
answered before, and will again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafka_assignors.errors import PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.spark.connector import connector_options
from kafka_assignors.spark.feed import publish_feed, write_feed
from kafka_assignors.spark.kept import Kept
from kafka_assignors.spark.load_job import LoadReport, run_load_model
from kafka_assignors.spark.load_sink import has_load
from kafka_assignors.spark.record_offsets import OffsetsReport, record_offsets, record_offsets_once
from kafka_assignors.spark.record_samples import record_samples, record_samples_once
from kafka_assignors.spark.sample_report import SamplesReport
from kafka_assignors.spark.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["PipelineReport", "Wanted", "record", "run_pipeline"]

log = logging.getLogger(__name__)

_LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the pipeline is to do.

    Attributes:
        root: its folder, as Spark takes it: a path or a URI.
        settings: the connection, as ``KafkaConsumer`` takes it.
        groups: by name.
        groups_like: and all whose whole name matches.
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
    """

    samples: SamplesReport | None = None
    offsets: OffsetsReport | None = None
    load: LoadReport = field(default_factory=LoadReport)
    fed: int = 0
    unfed: int = 0


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
    streams = _streams(spark, wanted)
    try:
        while not stop.wait(_LOOK_S):
            _look(streams, report)
            on_report(report)
    finally:
        _end(streams, report)
    return report


def run_pipeline(
    spark: SparkSession, wanted: Wanted, *, stop: threading.Event | None, on_report: OnReport
) -> PipelineReport:
    """Record, model and feed.

    Args:
        spark: the session; it needs ``session.STREAMING``.
        wanted: what to do.
        stop: ends it, between two batches where that does not take long; None: do all there is to do now.
        on_report: is told how far it is, after each batch and some times a second.

    Returns:
        What was done.

    Raises:
        PipelineError: the cluster does not answer when it begins, or does not let us in; what lies in the
            folder is not a pipeline's, or another's.
        OptionError: a setting that cannot be.
    """
    report = PipelineReport()
    feed = _Feed(spark, wanted, report, stop)
    if stop is None:
        _record_once(spark, wanted, report)
        on_report(report)
        report.load = run_load_model(spark, wanted.root, wanted.load, available_now=True)
        feed.make_up()
        on_report(report)
        return report
    # The model reads the writers that are there when it first begins.
    for writer in _writers(wanted):
        Storage(spark, wanted.root).make(f"samples/{writer}")
    streams = _streams(spark, wanted)
    looking = threading.Thread(
        target=_keep_looking, args=(streams, report, stop, on_report), name="pipeline", daemon=True
    )
    looking.start()

    def landed(rows: DataFrame, load: LoadReport) -> None:
        report.load = load
        feed.batch(rows)
        on_report(report)

    try:
        report.load = run_load_model(
            spark,
            wanted.root,
            wanted.load,
            available_now=False,
            every_s=wanted.every_s,
            stop=stop,
            on_batch=landed,
        )
    finally:
        stop.set()
        looking.join()
        _end(streams, report)
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


def _streams(spark: SparkSession, wanted: Wanted) -> dict[str, Kept]:
    """Start what records; all or nothing."""
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
    streams: dict[str, Kept] = {}
    try:
        for name, begin in start.items():
            streams[name] = Kept(name, begin)
    except BaseException:
        _end(streams, PipelineReport())
        raise
    return streams


def _keep_looking(
    streams: Mapping[str, Kept], report: PipelineReport, stop: threading.Event, on_report: OnReport
) -> None:
    while not stop.wait(_LOOK_S):
        _look(streams, report)
        on_report(report)


def _look(streams: Mapping[str, Kept], report: PipelineReport) -> None:
    for name, stream in streams.items():
        stream.keep()
        setattr(report, name, stream.report())


def _end(streams: Mapping[str, Kept], report: PipelineReport) -> None:
    for name, stream in streams.items():
        setattr(report, name, stream.stop())


class _Feed:
    """Publishes what the model foresees, and makes up for it later when it cannot."""

    def __init__(
        self, spark: SparkSession, wanted: Wanted, report: PipelineReport, stop: threading.Event | None
    ) -> None:
        self._spark, self._root, self._topic = spark, wanted.root, wanted.feed_topic
        self._options = connector_options(wanted.settings)
        self._report = report
        self._stop = stop
        self._behind = True  # what the last run landed and did not publish any more

    def batch(self, rows: DataFrame) -> None:
        """After a batch of the model, with its rows."""
        if self._topic is None:
            return
        try:
            if self._behind:
                self.make_up()
            else:
                self._report.fed += publish_feed(rows, self._options, self._topic)
        except PipelineError as error:
            if self._stop is not None and self._stop.is_set():
                return  # the end cut it short; the next run begins with making up for it
            if not self._report.unfed or not self._behind:
                log.warning("%s; trying again with the next batch", error)
            self._report.unfed += 1
            self._behind = True

    def make_up(self) -> None:
        """Publish the newest of all that has landed, if anything has."""
        if self._topic is None or not has_load(self._spark, self._root):
            return
        self._report.fed += write_feed(self._spark, self._root, self._options, self._topic)
        self._behind = False
