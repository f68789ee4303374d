"""A strategy that a user wrote, in a live group: its plan becomes invalid, and the group goes on."""

from __future__ import annotations

import importlib
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer

from kafka_assignors.strategies import load_strategy
from tests.integration.conftest import FreshNames
from tests.integration.groups.continuous.polled import Polled
from tests.support.waiting import until

MODULE = '''
from kafka_assignors import Assignor, RebalanceProtocol

IS_VALID = True


class TenantToItsMember(Assignor):
    """Topic acme-orders goes to the member whose client_id is acme; without it, to the first member."""

    name = "tenant-to-its-member"
    protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)

    def plan(self, group, claims):
        plan = {}
        for topic, count in group.topics.items():
            tenant = topic.split("-")[0]
            tenants = [m for m in group.members if m.member_id.startswith(f"{tenant}-")]
            owner = (tenants or group.members)[0].member_id
            plan.setdefault(owner, {})[topic] = range(count if IS_VALID else count + 1)
        return plan
'''
PARTITIONS = 4


def test_group_goes_on_when_the_plan_of_a_users_strategy_becomes_invalid(
    fresh: FreshNames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "tenants.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    strategy = load_strategy("tenants:TenantToItsMember")
    module: Any = importlib.import_module("tenants")
    acme, bolt = (fresh.topic(PARTITIONS, prefix=tenant) for tenant in ("acme", "bolt"))
    every = {(topic, number) for topic in (acme, bolt) for number in range(PARTITIONS)}
    group_id = fresh.group()
    members: list[Polled] = []

    @contextmanager
    def consumer(client_id: str) -> Iterator[Any]:
        with (
            KafkaConsumer(
                acme,
                bolt,
                bootstrap_servers=fresh.bootstrap,
                group_id=group_id,
                client_id=client_id,
                auto_offset_reset="earliest",
                enable_auto_commit=False,  # kafka-python logs commits that a rebalance interrupts
                heartbeat_interval_ms=200,
                session_timeout_ms=6000,
                partition_assignment_strategy=[strategy],
            ) as consumer,
            Polled(consumer, commits=False) as polled,
        ):
            members.append(polled)
            yield consumer

    def owned(member: Any) -> Counter[str]:
        return Counter(tp.topic for tp in member.assignment())

    def by_tenant(first: Any, second: Any) -> bool:
        return owned(first) == {acme: PARTITIONS} and owned(second) == {bolt: PARTITIONS}

    def produce(value: bytes) -> None:
        with KafkaProducer(bootstrap_servers=fresh.bootstrap) as producer:
            for topic, number in every:
                producer.send(topic, value, partition=number)
        until(lambda: sum(m.values[value] for m in members) >= len(every), f"{value!r} from every partition")

    with caplog.at_level(logging.INFO, logger="kafka_assignors"), consumer("acme") as a:
        until(lambda: owned(a) == {acme: PARTITIONS, bolt: PARTITIONS}, "everything for the only member")
        with consumer("bolt") as b:
            until(lambda: by_tenant(a, b), "each tenant's topic at its member")
            produce(b"planned")
            assert "invalid plan" not in caplog.text

            module.IS_VALID = False
            with consumer("third") as c:
                # Ranges: two of each topic's four partitions for the first member, one for the others.
                until(lambda: sorted(map(len, (owned(m) for m in (a, b, c)))) == [2, 2, 2], "ranges")
                until(
                    lambda: Counter(tp for m in (a, b, c) for tp in m.assignment()) == Counter(every),
                    "one owner for each partition",
                )
                produce(b"fallback")
            fault = f"invalid plan: {acme} has no partition 4, it has 4"
            line = f"tenant-to-its-member: {fault}; falling back to ranges"
            faults = [r for r in caplog.records if r.levelno >= logging.ERROR and r.name == "kafka_assignors"]
            assert {record.getMessage() for record in faults} == {line}

            module.IS_VALID = True
            with consumer("fourth"):
                until(lambda: by_tenant(a, b), "the strategy's own plan again")
                produce(b"planned again")
