"""Runs the load model in a process that a test kills, with or without the feed."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from kafka_assignors.errors import PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.pipeline.maintenance import job, merging
from kafka_assignors.pipeline.model.job import run_load_model
from kafka_assignors.pipeline.run import PipelineOptions, run_pipeline
from kafka_assignors.pipeline.session import local_session
from tests.pipeline.killing import done
from tests.pipeline.model.points import MODEL
from tests.support.waiting import until

SETTINGS = LoadSettings(step_s=60, horizon_s=300, delay_s=120, max_gap_s=600)


def model_and_feed(root: str, bootstrap: str, topic: str) -> PipelineOptions:
    """Return the options of a pipeline that records nothing."""
    return PipelineOptions(
        root,
        {"bootstrap_servers": [bootstrap]},
        every_s=0,
        load=SETTINGS,
        sampler=False,
        offsets_topic=False,
        feed_topic=topic,
    )


def has_more_batches(root: str, before: int) -> bool:
    """Return whether the model has finished more than ``before`` batches."""
    return done(Path(root), MODEL) > before


def keep_merging(spark: SparkSession, root: str) -> None:
    """Merge the load, as a maintenance on the next day does."""
    merging.MOST_LEFT = 4
    while True:
        before = done(Path(root), MODEL)
        with contextlib.suppress(PipelineError):
            job.maintain(spark, root, now=datetime(2013, 11, 10, tzinfo=timezone.utc))
        until(partial(has_more_batches, root, before), "a batch", patience_s=math.inf)


def main(root: str, *feed: str) -> None:
    """Go on until killed."""
    with local_session("load model, to be killed", cores=2, memory="512m") as spark:
        if feed:
            wanted = model_and_feed(root, *feed)
            run_pipeline(spark, wanted, stop=threading.Event(), on_report=lambda _: None)
        else:
            threading.Thread(target=keep_merging, args=(spark, root), daemon=True).start()
            run_load_model(spark, root, SETTINGS, available_now=False, every_s=0)


if __name__ == "__main__":
    main(*sys.argv[1:])
