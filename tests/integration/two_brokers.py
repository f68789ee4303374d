"""A cluster of two brokers, in two zones."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from kafka_assignors.broker import DevelopmentBroker, jvm
from kafka_assignors.broker.jars import fetch_jars
from kafka_assignors.broker.java import find_java
from kafka_assignors.broker.ports import HOST, free_ports
from kafka_assignors.broker.progress import silent
from kafka_assignors.broker.supervised import Supervised
from tests.integration.conftest import FreshNames
from tests.support.waiting import until

START_S = 90.0


class InZones(FreshNames):
    """Topics with one replica a partition: the even ones on broker 1, the odd ones on broker 2."""

    def topics(
        self, *partitions: int, prefix: str = "topic", configs: Mapping[str, str] | None = None
    ) -> list[str]:
        """Create one topic per number of partitions; return their names."""
        names = [self.group(prefix) for _ in partitions]
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
            admin.create_topics(
                [
                    NewTopic(
                        name,
                        num_partitions=-1,
                        replication_factor=-1,
                        replica_assignments={p: [1 + p % 2] for p in range(count)},
                        topic_configs=dict(configs or {}),
                    )
                    for name, count in zip(names, partitions, strict=True)
                ]
            )
        return names


@contextmanager
def one_more_broker(first: DevelopmentBroker, rack: str) -> Iterator[None]:
    """Let a second broker join the cluster of a development broker, which stays its controller."""
    (port,) = free_ports(1)
    settings = (first.data_dir / jvm.PROPERTIES).read_text(encoding="ascii")
    meta = (first.data_dir / jvm.DATA / "meta.properties").read_text(encoding="ascii")
    (voters,) = re.findall(r"^controller\.quorum\.voters=(.*)$", settings, re.MULTILINE)
    (cluster_id,) = re.findall(r"^cluster\.id=(.*)$", meta, re.MULTILINE)
    address = f"PLAINTEXT://{HOST}:{port}"
    properties = {
        "process.roles": "broker",
        "node.id": "2",
        "listeners": address,
        "advertised.listeners": address,
        "controller.quorum.voters": voters,
        "broker.rack": rack,
    }
    root = Path(tempfile.mkdtemp(prefix="kafka-assignors-"))
    spec, env = jvm.prepare(find_java(), fetch_jars("broker"), root, properties, scratch=True)
    commands = [
        [f"--cluster-id={cluster_id}" if word.startswith("--cluster-id=") else word for word in command]
        for command in spec.commands
    ]
    second = Supervised(replace(spec, commands=commands, cluster_id=cluster_id), env)
    second.wait_ready(port, START_S, "starting the second broker", silent)
    try:
        yield
    finally:
        second.stop()


def wait_until_seen(bootstrap: str, racks: dict[int, str | None]) -> None:
    """Wait until a broker's metadata lists exactly these brokers, because a new broker is listed late."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:

        def seen() -> dict[int, str | None]:
            return {node["broker_id"]: node["rack"] for node in admin.describe_cluster()["brokers"]}

        until(lambda: seen() == racks, f"brokers {racks}", pause_s=0.2)
