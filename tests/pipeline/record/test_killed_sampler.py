"""A sampler killed in the middle of batches lands each sample whole and once."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlparse

import pytest
from pyspark.sql import SparkSession

from kafka_assignors.pipeline.record.samples import record_samples_once
from kafka_assignors.pipeline.tables.reading import read_samples
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.lagging import commit
from tests.pipeline.killing import done, kill_at, program, under_way
from tests.pipeline.record.busy_topic import PARTITIONS, looks_of, writing
from tests.pipeline.record.writer_points import Writer

SAMPLER = Writer("sampler")


@pytest.mark.long
def test_killed_sampler_lands_each_batch_completely_and_once(
    spark: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    """Killed with -9 as a batch began, while its file was written, and before Spark knew it was done.

    Files are merged all the time, and the kill comes at any point of a merge.

    A look that is taken again has a time of its own, so one that landed twice would be two looks.  But a
    batch is one look: when none is under way there are as many looks as batches.
    """
    names = FreshNames(bootstrap)
    group, topic = names.group(), names.topic(PARTITIONS)
    commit(bootstrap, group, {TopicPartition(topic, p): 0 for p in range(PARTITIONS)})
    settings, root = {"bootstrap_servers": [bootstrap]}, tmp_path / "root"
    given = tmp_path / "settings.json"
    given.write_text(json.dumps(settings), encoding="utf-8")
    process = ["tests.pipeline.record.sampling_process", "record", str(given), str(root), group]
    with writing(bootstrap, topic) as made:
        for point in (SAMPLER.written, SAMPLER.finished, SAMPLER.planned):
            kill_at(point, root, SAMPLER.name, lambda: program(root, *process))
            if point == SAMPLER.written:
                assert SAMPLER.in_no_list(root), "what was cut short is still lying there"
    for _ in range(2):  # the first time is for the batch that was cut short, which may have landed already
        record_samples_once(spark, settings, str(root), groups=[group])
    assert not under_way(root, SAMPLER.name)

    samples = read_samples(spark, str(root))
    looks = looks_of(samples)
    assert len(looks) == done(root, SAMPLER.name)
    assert all(look.keys() == set(range(PARTITIONS)) for look in looks)
    assert looks[-1] == dict.fromkeys(range(PARTITIONS), len(made)), "it has gone on"
    for p in range(PARTITIONS):
        ends = [look[p] for look in looks]
        assert ends == sorted(ends)
    read = {Path(urlparse(file).path).name for file in samples.inputFiles()}
    lying = SAMPLER.in_no_list(root)
    assert lying, "what was cut short is still there"
    assert read.isdisjoint(lying)
