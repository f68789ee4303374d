"""One strategy's run in one scene: a fresh topic and group, and at the end neither of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress

from demo.data.events import Flight
from demo.figures.measure import RunLogs
from demo.group.cluster import Cluster
from demo.group.fleet import Fleet
from demo.scenes import backlog as backlog_scene
from demo.scenes import replay as replay_scene
from demo.scenes.stage import Place, Stage, View
from demo.settings import Settings
from kafka_assignors.errors import BrokerError

SCENES = {"replay": replay_scene.perform, "backlog": backlog_scene.perform}


def run(settings: Settings, flights: Sequence[Flight], place: Place, view: View) -> RunLogs:
    """Run one strategy from the first join to the last commit.

    Returns:
        What was logged; when the backlog was not drained in time, the note of its ``end`` says so.

    Raises:
        KafkaAssignorsError: a member died by itself, the first members did not share all partitions, or the
            broker's offsets do not agree with the logs.
        BrokerError: the broker ended or refused.
    """
    cluster = Cluster(place.bootstrap)
    with closing(cluster):
        cluster.create_topic(place.topic, settings.partitions)
        try:
            with Fleet(place.folder) as fleet:
                stage = Stage(settings, place, view, cluster, fleet)
                with closing(stage.log):
                    SCENES[place.scene](stage, flights)
        finally:
            with suppress(BrokerError):
                place.check_broker()
                cluster.delete([place.topic], [place.topic])
    return stage.logs()
