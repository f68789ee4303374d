"""The metrics of a member, in kafka-python's own registry."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kafka.metrics import MetricConfig, Metrics

from kafka_assignors import CooperativeStickyAssignor
from kafka_assignors.assignor.coordinator_access.metrics import consumer_recorder
from kafka_assignors.metrics import STATEFUL, Recorder
from kafka_assignors.metrics import STATEFUL_GROUP as GROUP
from kafka_assignors.stateful import Duties
from kafka_assignors.stateful.metrics import RestoreRate, register_metrics
from kafka_assignors.stateful.runtime.tasks import ActiveTask, MemberTasks
from tests.unit.conftest import MakeConsumer
from tests.unit.stateful.bench import T0, Bench

S0, S1, S2, S3 = (("s", number) for number in range(4))


def part(**values: Any) -> Any:
    return SimpleNamespace(**values)


class Member:
    """A member's parts, as its metrics read them."""

    def __init__(self) -> None:
        self.tasks = MemberTasks()
        self.reader = part(lags={}, applied=0)
        self.parts = part(commit_age_s=0.0, checkpoint_age_s=-1.0)
        self.registry = Metrics(MetricConfig(tags={"client-id": "c"}))
        recorder = Recorder(self.registry)
        register_metrics(recorder, self.tasks, self.reader, processing=self.parts, copies=self.parts)

    def owns(self, task: tuple[str, int], *, ready: bool) -> None:
        self.tasks.actives[task] = ActiveTask(task, print, "m-1", ready=ready)

    @property
    def values(self) -> dict[str, float]:
        return {
            name.name: metric.value() for name, metric in self.registry.metrics.items() if name.group == GROUP
        }


def test_tasks_are_counted_by_state_and_copies_by_their_lag() -> None:
    """A copy of an active task is no standby; a lag that is not measured yet does not count."""
    member = Member()
    new = {name: -1 if name == "last-checkpoint-seconds-ago" else 0 for name in member.values}
    assert member.values == new
    member.owns(S0, ready=True)
    member.owns(S1, ready=False)
    member.tasks.duties = Duties(actives=(S0, S1), standbys=(S1, S2), warmups=(S3, ("s", 4)))
    member.reader.lags = {S0: 1, S1: 20, S2: 300, S3: 4_000, ("closed", 0): 50_000}
    member.parts.commit_age_s, member.parts.checkpoint_age_s = 1.5, 31.0
    assert member.values == {
        **new,
        "active-running-tasks": 1,
        "active-restoring-tasks": 1,
        "standby-tasks": 1,
        "warmup-tasks": 2,
        "restore-lag": 20,
        "copy-lag": 4_300,
        "copy-lag-max": 4_000,
        "last-commit-seconds-ago": 1.5,
        "last-checkpoint-seconds-ago": 31.0,
    }


def test_every_metric_is_registered() -> None:
    names = [name for name in Member().registry.metrics if name.group == GROUP]
    assert [(name.name, name.description) for name in names] == [(row.name, row.meaning) for row in STATEFUL]
    assert all(name.tags == {"client-id": "c"} for name in names)


def test_restore_rate_counts_from_a_reading_30_s_ago() -> None:
    """Two readers within a second share a sample, so neither shortens the other's time."""
    restored = 0
    rate = RestoreRate(lambda: restored, 0.0)
    assert rate.per_second(0.0) == 0
    restored = 1_000
    assert rate.per_second(10_000.0) == 100
    assert rate.per_second(10_500.0) == pytest.approx(1_000 / 10.5)
    restored = 4_000
    assert rate.per_second(40_000.0) == 100  # since 10 s
    assert rate.per_second(70_000.0) == 0


def test_restore_rate_of_rare_readings_counts_from_the_last_one() -> None:
    restored = 0
    rate = RestoreRate(lambda: restored, 0.0)
    restored = 6_000
    assert rate.per_second(60_000.0) == 100
    restored = 6_600
    assert rate.per_second(120_000.0) == 10


def test_metrics_are_beside_those_of_the_consumer_until_it_is_closed(consumer: MakeConsumer) -> None:
    """Both in the shape of ``KafkaConsumer.metrics``."""
    made, member = consumer(CooperativeStickyAssignor), Member()
    register_metrics(
        consumer_recorder(made), member.tasks, member.reader, processing=member.parts, copies=member.parts
    )
    assert made.metrics()[GROUP]["standby-tasks"] == 0
    assert "consumer-fetch-manager-metrics" in made.metrics()
    made.close()
    assert made.metrics() == {}
    assert consumer(CooperativeStickyAssignor, metrics_enabled=False).metrics() is None


def test_commit_age_counts_from_the_last_commit_that_left_nothing(bench: Bench) -> None:
    """Or from the start.  A member without records commits nothing, and is not late."""
    assert bench.processing.commit_age_s == 0
    for last_s, age_s in ((0.0, 61.0), (61.0, 5.0)):
        bench.process(T0, b"a")
        bench.cluster.is_stable = False
        bench.now = last_s + age_s
        assert not bench.processing.commit()
        assert bench.processing.commit_age_s == age_s
        bench.cluster.is_stable = True
        assert bench.processing.commit()
        assert bench.processing.commit_age_s == 0
