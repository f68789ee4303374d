"""The whole pipeline: record, model the load, feed the assignor; once, or until it is stopped.

Recording runs as streams beside the load model, which reads the landed samples.  Each batch of the model goes
to the feed as soon as it is on disk; another thread writes it to Kafka.  After a restart the pipeline
continues: each stream has a checkpoint, and the feed reads the last forecasts from its topic.  Each stage can
also run alone.

A recorder or the model that fails at the start ends the pipeline with an error.  The start lasts until the
first batch has landed, so a damaged checkpoint or a missing right ends the pipeline.  A stage that fails
later is tried again while the others go on, because the cluster and the storage have answered before.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from kafka_assignors.background import Background
from kafka_assignors.errors import PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.pipeline.connector import connector_options
from kafka_assignors.pipeline.faults import as_pipeline_error, is_slow_worker
from kafka_assignors.pipeline.feed.feed import Feed, landed_records, newest_records, write_feed
from kafka_assignors.pipeline.feed.feeding import Feeding
from kafka_assignors.pipeline.maintenance.job import Maintenance, maintain
from kafka_assignors.pipeline.model.job import LoadReport, run_load_model, start_load_model
from kafka_assignors.pipeline.model.model import FORGET_S
from kafka_assignors.pipeline.record.offsets import record_offsets, record_offsets_once
from kafka_assignors.pipeline.record.offsets_report import OffsetsReport
from kafka_assignors.pipeline.record.sample_report import SamplesReport
from kafka_assignors.pipeline.record.samples import record_samples, record_samples_once
from kafka_assignors.pipeline.restarting_query import PAUSES_S, RestartingQuery
from kafka_assignors.pipeline.tables.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)

_CHECK_EVERY_S = 0.5  # interval of checks of ``stop`` and of the streams
_MODEL_EVERY_S = 60.0
_SET_BACK_S = 1.0  # the streams restart if the clock is set back by more


@dataclass(frozen=True, slots=True)
class PipelineOptions:
    """The options of a pipeline."""

    root: str  # folder of the pipeline, a path or a URI for Spark
    settings: Mapping[str, Any] = field(repr=False)  # settings of ``KafkaConsumer``, perhaps with passwords
    groups: Sequence[str] = ()  # names of groups to record
    groups_like: str | None = None  # pattern of whole names of more groups; Spark's own are excluded
    every_s: float = 10.0  # between two samples, and two batches of commits; see also ``model_every_s``
    load: LoadSettings | None = None  # None: record only, without a model and a feed
    forget_s: float = FORGET_S  # the model drops a partition's state after this time without samples
    sampler: bool = True  # whether to sample the groups
    offsets_topic: bool = True  # whether to record the commits in ``__consumer_offsets``
    feed_topic: str | None = None  # None: no feed
    keep_days: int | None = None  # days of samples and load to keep besides today; None: all

    @property
    def group_arguments(self) -> dict[str, Any]:
        """The groups, as arguments of the functions that record."""
        return {"groups": self.groups, "groups_like": self.groups_like}


@dataclass(slots=True)
class PipelineReport:
    """The work done so far.

    ``down``: stage that has failed (``samples``, ``offsets``, ``load``, ``feed``, ``maintenance``) -> reason.
    The pipeline tries such a stage again; with ``stop`` None, the next run does.
    """

    samples: SamplesReport | None = None  # None: not requested, or nothing to report yet
    offsets: OffsetsReport | None = None  # None: not requested, or nothing to report yet
    load: LoadReport = field(default_factory=LoadReport)
    fed: int = 0  # records written to the feed
    unfed: int = 0  # failed attempts to fetch or write forecasts; the next write includes these forecasts
    down: dict[str, str] = field(default_factory=dict)


OnReport = Callable[[PipelineReport], None]


def model_every_s(load: LoadSettings, every_s: float) -> float:
    """Return the interval of the model's batches, seconds: one step, at most a minute, at least ``every_s``.

    A batch costs about the same with one sample of each partition as with all samples of a step.
    """
    return max(every_s, min(load.step_s, _MODEL_EVERY_S))


def forecast_age_s(load: LoadSettings, every_s: float) -> float:
    """Return how old forecasts get before newer ones are published, seconds since the end of their step.

    A look takes a sample of each partition.  Spark starts looks and batches at whole multiples of their
    intervals.  A step is complete with the first look that comes more than ``delay_s`` after its end.  The
    next batch publishes the step's forecasts; they are the newest until those of the next step.  If the
    intervals do not divide each other, the result is an upper bound.
    """
    batch_s = model_every_s(load, every_s)
    if load.step_s % batch_s or batch_s % every_s:
        return load.step_s + load.delay_s + 3 * every_s + batch_s
    look_s = (load.delay_s // every_s + 1) * every_s
    return load.step_s + (look_s // batch_s + 1) * batch_s


def run_pipeline(
    spark: SparkSession, options: PipelineOptions, *, stop: threading.Event | None, on_report: OnReport
) -> PipelineReport:
    """Run all stages of the pipeline.

    Args:
        spark: the session; it needs ``session.STREAMING``.
        options: options of the pipeline.
        stop: ends the pipeline when set.  A running batch has 5 s to end, the model's 30 s; the next run
            repeats an interrupted one.  None: process the existing records, and end.
        on_report: called with the report about twice a second, but not during a restart.  With ``stop``
            None, called after the recording (if there is a model) and before the maintenance.  An exception
            in it ends the pipeline.

    Returns:
        The report of the run.

    Raises:
        PipelineError: the cluster does not answer at the start or denies access, the folder belongs to
            another pipeline, or the first batch of a recorder or of the model failed.  If it failed because
            Python workers of Spark start too slowly, it has been tried seven times (``stop`` None: once).
        OptionError: a setting is invalid.
    """
    report = PipelineReport()
    if stop is None:
        _run_once(spark, options, report, on_report)
        return report
    feeding, caught_up, load = None, None, options.load
    model_options: dict[str, Any] = {"forget_s": options.forget_s}
    if load is not None:
        model_options["every_s"] = model_every_s(load, options.every_s)
        if (topic := options.feed_topic) is not None:
            feeding = Feeding(
                lambda: Feed(spark, connector_options(options.settings), topic),
                newest_records,
                partial(landed_records, spark, options.root),
                stop,
            )
            model_options["on_batch"] = feeding.batch
        # The model reads only the writers that exist at its first start.
        with as_pipeline_error(f"the folder {options.root}"):
            for is_wanted, writer in ((options.sampler, "sampler"), (options.offsets_topic, "offsets-topic")):
                if is_wanted:
                    Storage(spark, options.root).make(f"samples/{writer}")
    if options.offsets_topic:
        caught_up = _catch_up(spark, options, report, stop, on_report)
    if stop.is_set():
        return report
    streams: dict[str, RestartingQuery] = {}
    with ExitStack() as ending:
        if feeding is not None:
            ending.callback(feeding.close)  # runs after the model has stopped

        def end(name: str) -> None:
            with as_pipeline_error(f"the stream of {name}"):  # Java may have ended
                setattr(report, name, streams[name].stop())

        def run(name: str, start: Callable[[], Any], **more: Any) -> None:
            """Start a stream.  The streams stop at the end, the last one first, and complete the report."""
            streams[name] = RestartingQuery(name, start, **more)
            ending.callback(end, name)

        arguments = {**options.group_arguments, "every_s": options.every_s}
        of_folder = spark, options.settings, options.root
        if options.sampler:
            run(
                "samples",
                partial(record_samples, *of_folder, **arguments),
                has_worked=lambda counts: counts.looks > 0,
            )
        if options.offsets_topic:
            run("offsets", partial(record_offsets, *of_folder, **arguments), before=caught_up)
        if load is not None:
            start_model = partial(start_load_model, spark, options.root, load, **model_options)
            run("load", start_model, has_worked=lambda counts: counts.batches > 0)
        background = Background("kafka-assignors-maintenance")
        ending.callback(background.stop)
        maintain_root = partial(maintain, spark, options.root, keep_days=options.keep_days)
        maintenance = Maintenance(maintain_root, background)
        _run(streams, report, stop, on_report, maintenance=maintenance, feeding=feeding)
    _note_feed(feeding, report)
    return report


def _run_once(
    spark: SparkSession, options: PipelineOptions, report: PipelineReport, on_report: OnReport
) -> None:
    """Process the existing records."""
    root, load, topic = options.root, options.load, options.feed_topic
    kafka_options = {} if topic is None else connector_options(options.settings)
    if options.offsets_topic:
        report.offsets = record_offsets_once(spark, options.settings, root, **options.group_arguments)
    if options.sampler:
        report.samples = record_samples_once(spark, options.settings, root, **options.group_arguments)
    if load is not None:
        on_report(report)
        report.load = run_load_model(spark, root, load, available_now=True, forget_s=options.forget_s)
        if topic is not None:
            report.fed = write_feed(spark, root, kafka_options, topic)
    on_report(report)
    try:
        maintain(spark, root, keep_days=options.keep_days)
    except PipelineError as error:  # all records are processed
        _LOG.warning("%s; the next run tries again", error)
        report.down["maintenance"] = str(error)


def _catch_up(
    spark: SparkSession,
    options: PipelineOptions,
    report: PipelineReport,
    stop: threading.Event,
    on_report: OnReport,
) -> OffsetsReport:
    """Land the existing commits first, or the model would count commits older than a sample as late.

    This also shows whether the topic can be read.
    """
    pauses_s, landed = list(PAUSES_S), OffsetsReport()
    while True:
        recording = record_offsets(
            spark, options.settings, options.root, **options.group_arguments, available_now=True
        )
        try:
            with as_pipeline_error("recording existing commits"):
                while not (recording.query.awaitTermination(_CHECK_EVERY_S) or stop.is_set()):
                    report.offsets = landed + recording.report()
                    on_report(report)
                break
        except PipelineError as error:
            if not pauses_s or not is_slow_worker(error):
                raise
            _LOG.warning("%s; trying again in %.0f s", error, pauses_s[0])
        finally:
            report.offsets = landed = landed + recording.stop()
        if stop.wait(pauses_s.pop(0)):
            break
    return landed


def _run(
    streams: Mapping[str, RestartingQuery],
    report: PipelineReport,
    stop: threading.Event,
    on_report: OnReport,
    *,
    maintenance: Maintenance,
    feeding: Feeding | None = None,
) -> None:
    """Until the pipeline is stopped, restart failed streams, and report on all stages."""
    offset_s = time.time() - time.monotonic()
    while not stop.wait(_CHECK_EVERY_S):
        last_s, offset_s = offset_s, time.time() - time.monotonic()
        for name, stream in streams.items():
            with as_pipeline_error(f"the stream of {name}"):  # Java may have ended
                if last_s - offset_s > _SET_BACK_S:  # Spark would delay its next batch by as much
                    stream.restart(f"the clock was set back by {last_s - offset_s:,.0f} s")
                stream.check()
                setattr(report, name, stream.report())
        down = {name: stream.down for name, stream in streams.items()} | {"maintenance": maintenance.down}
        report.down = {name: str(error) for name, error in down.items() if error is not None}
        _note_feed(feeding, report)
        on_report(report)


def _note_feed(feeding: Feeding | None, report: PipelineReport) -> None:
    if feeding is not None:
        report.fed, report.unfed = feeding.fed, feeding.unfed
        report.down.pop("feed", None)
        if feeding.down is not None:
            report.down["feed"] = str(feeding.down)
